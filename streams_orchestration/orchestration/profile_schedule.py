"""The schedule that profiles an application while it runs."""

# pyright: reportUnknownMemberType=false
# Dagster reads the annotations of resources here, so they may not be turned into text.
import dagster as dg

from streams_orchestration.orchestration.definition_names import job_name
from streams_orchestration.orchestration.resource import RESOURCE_KEY, StreamsResource, under_key
from streams_orchestration.runtime import api


def profile_schedule(
    application: str, job: dg.JobDefinition, cron: str, timezone: str | None = None, key: str = RESOURCE_KEY
) -> dg.ScheduleDefinition:
    """Return a schedule that requests profiles of a running application; it is off until someone starts it.

    Args:
        application: its name.
        job: of `profile_job`.
        cron: expression.
        timezone: of the expression, an IANA name; UTC by default.
        key: of the resource.
    """

    @dg.schedule(
        name=job_name(application, "profile"),
        job=job,
        cron_schedule=cron,
        execution_timezone=timezone,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description=f"Measures {application} and decides which operators to move to PEs of their own.",
    )
    @under_key(key)
    def profile_what_runs(streams: StreamsResource) -> dg.RunRequest | dg.SkipReason:
        try:
            status = api.read_status(streams.directory(), application)
        except api.StreamsRuntimeError as error:
            return dg.SkipReason(str(error))
        if status.state != "RUNNING":
            return dg.SkipReason(f"{application} is {status.shown_state}, and only what runs can be measured")
        return dg.RunRequest()

    return profile_what_runs
