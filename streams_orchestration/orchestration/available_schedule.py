"""The schedule that has an application take what is there, from time to time."""

# pyright: reportUnknownMemberType=false
# Dagster reads the annotations of resources here, so they may not be turned into text.
import dagster as dg

from streams_orchestration.orchestration.definition_names import job_name
from streams_orchestration.orchestration.resource import RESOURCE_KEY, StreamsResource, under_key
from streams_orchestration.runtime import api


def available_schedule(
    application: str, cron: str, timezone: str | None = None, key: str = RESOURCE_KEY
) -> dg.ScheduleDefinition:
    """Return a schedule that requests bounded runs, one at a time; it is off until someone starts it.

    Args:
        application: its name.
        cron: expression.
        timezone: of the expression, an IANA name; UTC by default.
        key: of the resource.
    """

    @dg.schedule(
        name=job_name(application, "available"),
        job_name=job_name(application, "available"),
        cron_schedule=cron,
        execution_timezone=timezone,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description=f"Has {application} take what is there, complete the epoch, and stop.",
    )
    @under_key(key)
    def take_available(streams: StreamsResource) -> dg.RunRequest | dg.SkipReason:
        try:
            status = api.read_status(streams.directory(), application)
        except api.NotDeployedError:
            return dg.RunRequest()
        except api.StreamsRuntimeError as error:
            return dg.SkipReason(str(error))
        if status.state == "RUNNING" and any(host.alive for host in status.hosts):
            how = "takes what is there already" if status.bounded else "runs without an end"
            return dg.SkipReason(f"{application} {how}")
        return dg.RunRequest()

    return take_available
