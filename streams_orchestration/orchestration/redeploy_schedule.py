"""The schedule that redeploys an application when its spec has changed, and does nothing when it has not."""

# pyright: reportUnknownMemberType=false
# Dagster reads the annotations of resources here, so they may not be turned into text.
import dagster as dg

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.fingerprint import fingerprint
from streams_orchestration.compiler.redeployment.kept_options import fitting
from streams_orchestration.compiler.stages import WITHOUT_DEPLOYMENT
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.orchestration.artifacts import ArtifactStore
from streams_orchestration.orchestration.definition_names import job_name
from streams_orchestration.orchestration.resource import StreamsResource, under_key
from streams_orchestration.orchestration.spec_state import in_time
from streams_orchestration.orchestration.stage_assets import ApplicationSource, kept_options
from streams_orchestration.runtime import api

_AT_REST = {
    "STOPPED": "it goes on, with the spec as it is then, when it is redeployed by hand",
    "COMPLETED": "nothing of it could go on with another plan",
}


def redeploy_schedule(source: ApplicationSource, cron: str, timezone: str | None = None) -> dg.ScheduleDefinition:
    """Return the schedule that requests the job `APP__redeploy` when something has changed; it is off at first.

    Args:
        source: the application.
        cron: expression.
        timezone: of the expression, an IANA name; UTC by default.
    """

    @dg.schedule(
        name=job_name(source.name, "redeploy"),
        job_name=job_name(source.name, "redeploy"),
        cron_schedule=cron,
        execution_timezone=timezone,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description=f"Compiles {source.name} anew and redeploys it, with its state kept, when that has changed it.",
    )
    @under_key(source.resource)
    def redeploy_what_changed(streams: StreamsResource) -> dg.RunRequest | dg.SkipReason:
        try:
            reason = _nothing_to_do(source, streams.artifacts, streams.directory())
        except api.StreamsRuntimeError as error:
            reason = str(error)
        return dg.RunRequest() if reason is None else dg.SkipReason(reason)

    return redeploy_what_changed


def _nothing_to_do(source: ApplicationSource, store: ArtifactStore, home: api.Home) -> str | None:
    """Why no run is needed; None when one is, also to show the errors of a spec."""
    try:
        status = api.read_status(home, source.name)
    except api.NotDeployedError:
        jobs = f"{job_name(source.name, 'deploy')} or {job_name(source.name, 'redeploy')}"
        return f"{source.name} is not deployed: job {jobs} by hand begins it"
    if status.state in _AT_REST:
        return f"{source.name} is {status.state}: {_AT_REST[status.state]}"
    options, _ = fitting(source.spec, kept_options(source, store, home))
    try:
        wanted = in_time(source.spec, lambda: compile_spec(source.spec, options, WITHOUT_DEPLOYMENT))
    except ApplicationError:
        return None
    plan = fingerprint(wanted)
    if plan == status.fingerprint and _uids(wanted) == _uids(api.deployed_compilation(home, source.name)):
        return f"nothing has changed: {source.name} runs as {plan}"
    tried = api.taken_back(home, source.name)
    if tried is not None and tried.fingerprint == plan:
        return (
            f"this plan was tried and taken back, since {tried.cause}. It is tried again when the spec has changed, or "
            f"when job {job_name(source.name, 'redeploy')} is started by hand"
        )
    return None


def _uids(compilation: Compilation) -> list[str]:
    """Return the identities of the operators, which the fingerprint does not contain."""
    return [each.identity for each in compilation.logical.operators]
