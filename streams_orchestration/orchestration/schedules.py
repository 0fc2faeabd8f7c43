"""The schedules of an application: redeploys, measurements, and bounded runs that process the available data."""

# pyright: reportUnknownMemberType=false
# Dagster reads the annotations of resources here, so they may not be turned into text.
from collections.abc import Callable, Mapping
from zlib import crc32

import dagster as dg

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.compiling import compile_without_plan
from streams_orchestration.compiler.fingerprint import fingerprint
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.compiler.redeployment.kept_options import fit
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.orchestration.artifacts import ArtifactStore
from streams_orchestration.orchestration.definition_names import Verb, job_name
from streams_orchestration.orchestration.deployments import deployed_or_compiled_options
from streams_orchestration.orchestration.resource import streams_in
from streams_orchestration.orchestration.spec_state import in_time
from streams_orchestration.orchestration.stage_assets import ApplicationSource
from streams_orchestration.runtime import api

_AT_REST = {
    "STOPPED": "redeploy it by hand to run its current spec",
    "COMPLETED": "it is complete, so nothing could continue with another plan",
}


def _schedule(
    application: str,
    verb: Verb,
    description: str,
    cron: str,
    timezone: str | None,
    key: str,
    job: dg.JobDefinition | None = None,
) -> Callable[[Callable[[dg.ScheduleEvaluationContext], dg.RunRequest | dg.SkipReason]], dg.ScheduleDefinition]:
    """Return a decorator for a function that decides if the job `APP__VERB` is run; the schedule is off at first.

    `job` is given where the definitions have the job from its schedule only.
    """
    name = job_name(application, verb)
    return dg.schedule(
        name=name,
        job=job,
        job_name=name if job is None else None,
        cron_schedule=cron,
        execution_timezone=timezone,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description=description,
        required_resource_keys={key},
    )


def check_times(crons: Mapping[str, str | None], timezone: str | None) -> None:
    """Raise ValueError if a cron expression or the time zone is not valid; the message has its name and an example.

    An expression or a time zone that is not given is None.
    """
    for name, cron in crons.items():
        if cron is not None and not _scheduled(cron, None):
            message = f"{name}: {cron!r} is not a cron expression of five fields, such as '0 3 * * *'"
            raise ValueError(message)
    if not _scheduled("@daily", timezone):
        message = f"timezone: {timezone!r} is not an IANA name of a time zone, such as 'Europe/Berlin'"
        raise ValueError(message)


def _scheduled(cron: str, timezone: str | None) -> bool:
    """Return True if Dagster accepts a cron expression in a time zone."""
    try:
        dg.ScheduleDefinition(job_name="any", cron_schedule=cron, execution_timezone=timezone)
    except dg.DagsterInvalidDefinitionError:
        return False
    return True


def profile_schedule(
    application: str, job: dg.JobDefinition, cron: str, timezone: str | None, key: str
) -> dg.ScheduleDefinition:
    """Return a schedule that requests profiles of a running application; it is off until someone starts it.

    A tick is skipped unless the application is RUNNING, and if the catalog cannot be read.
    """
    description = f"Measures {application} and decides which operators to move to PEs of their own."

    @_schedule(application, "profile", description, cron, timezone, key, job)
    def profile_what_runs(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        try:
            catalog = api.open_catalog(streams_in(context, key).directory(), application)
            status = api.read_status(catalog, application)
        except api.StreamsRuntimeError as error:
            return dg.SkipReason(str(error))
        if status.state != "RUNNING":
            return dg.SkipReason(
                f"{application} is {status.shown_state}, and only a running application can be measured"
            )
        return dg.RunRequest()

    return profile_what_runs


def available_schedule(application: str, cron: str, timezone: str | None, key: str) -> dg.ScheduleDefinition:
    """Return a schedule that requests bounded runs, unless the application runs; it is off until someone starts it.

    A tick is skipped also if the catalog cannot be read.
    """
    description = f"Lets {application} process the data that is available, complete the epoch, and stop."

    @_schedule(application, "available", description, cron, timezone, key)
    def take_available(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        try:
            status = api.read_status_if_deployed(api.Catalog(streams_in(context, key).directory()), application)
        except api.StreamsRuntimeError as error:
            return dg.SkipReason(str(error))
        if status is None:
            return dg.RunRequest()
        if status.state == "RUNNING" and any(host.alive for host in status.hosts):
            how = "processes the available data already" if status.bounded else "runs without an end"
            return dg.SkipReason(f"{application} {how}")
        return dg.RunRequest()

    return take_available


def nightly(application: str) -> str:
    """Return a cron expression for a time between three and four at night, which depends on the application's name."""
    return f"{_minute(application)} 3 * * *"


def hourly(application: str) -> str:
    """Return a cron expression for once an hour; the minute depends on the application's name."""
    return f"{_minute(application)} * * * *"


def quarterly(application: str) -> str:
    """Return a cron expression for once every quarter of an hour; the minute depends on the application's name."""
    return f"{_minute(application) % 15}-59/15 * * * *"


def _minute(application: str) -> int:
    return crc32(application.encode()) % 60


def redeploy_schedule(source: ApplicationSource, cron: str, timezone: str | None) -> dg.ScheduleDefinition:
    """Return a schedule that requests the job `APP__redeploy` if the compiled plan has changed; it is off at first.

    A spec with errors is a change. A tick is skipped if the plan was tried and reverted, or the application is not
    deployed or at rest; an error of the runtime is the reason of a skipped tick, too.
    """
    description = f"Compiles {source.name} and, if its plan has changed, redeploys it with its state kept."

    @_schedule(source.name, "redeploy", description, cron, timezone, source.resource)
    def redeploy_what_changed(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        streams = streams_in(context, source.resource)
        try:
            reason = _nothing_to_do(source, streams.artifacts, api.Catalog(streams.directory()))
        except api.StreamsRuntimeError as error:
            reason = str(error)
        return dg.RunRequest() if reason is None else dg.SkipReason(reason)

    return redeploy_what_changed


def _nothing_to_do(source: ApplicationSource, store: ArtifactStore, catalog: api.Catalog) -> str | None:
    """Return why no redeploy is needed, or None if one is needed.

    It is also needed if the spec has errors, so that the run shows them.
    """
    status = api.read_status_if_deployed(catalog, source.name)
    if status is None:
        jobs = f"{job_name(source.name, 'deploy')} or {job_name(source.name, 'redeploy')}"
        return f"{source.name} is not deployed: start job {jobs} by hand first"
    if status.state in _AT_REST:
        return f"{source.name} is {status.state}: {_AT_REST[status.state]}"
    spec = in_time(source.spec, lambda: read_application(source.spec))
    fitted = fit(spec, deployed_or_compiled_options(catalog, source.name, store, source.defaults))
    try:
        wanted = compile_without_plan(spec, fitted.options)
    except ApplicationError:
        return None
    plan = fingerprint(wanted)
    if plan == status.fingerprint and _uids(wanted) == _uids(api.read_compilation(catalog, source.name)):
        return f"nothing has changed: {source.name} runs as {plan}"
    tried = api.read_reverted_plan(catalog, source.name)
    if tried is not None and tried.fingerprint == plan:
        return (
            f"this plan was tried and reverted: {tried.cause}. It is tried again when the spec has changed, or "
            f"when job {job_name(source.name, 'redeploy')} is started by hand"
        )
    return None


def _uids(compilation: Compilation) -> list[str]:
    """Return the identities of the operators, which the fingerprint does not contain."""
    return [each.identity for each in compilation.logical.operators]
