"""The sensor that changes the width of a parallel region by measured load."""

# pyright: reportUnknownMemberType=false
# Dagster reads the annotations of resources here, so they may not be turned into text.
import dagster as dg
from pydantic import BaseModel, ValidationError

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.fusion_fingerprint import fusion_fingerprint
from streams_orchestration.compiler.stage import LOGICAL
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.model.profile import Profile
from streams_orchestration.model.profile_document import profile_from_mapping
from streams_orchestration.orchestration.artifacts import ArtifactStore
from streams_orchestration.orchestration.asset_keys import APPLICATION_TAG
from streams_orchestration.orchestration.definition_names import job_name, sensor_name
from streams_orchestration.orchestration.profiling import PROFILE
from streams_orchestration.orchestration.region_widths import NewWidth, Rescaling, region_loads, width_change
from streams_orchestration.orchestration.reset_runs import UNDER_WAY
from streams_orchestration.orchestration.resource import streams_in
from streams_orchestration.orchestration.settings import CompileOptions, Width
from streams_orchestration.runtime import api

PROFILE_MAX_AGE_SECONDS = 900.0
"""Seconds after which a profile is too old to change a width by it."""
RESCALE_TAG = "streams/rescale"
"""Run tag of a requested change: application, fingerprint, region and width."""


class RescaleCursor(BaseModel):
    """The state that the sensor keeps between two ticks."""

    measured_at: float = 0.0
    """Unix seconds of the last profile that was judged."""
    requested_at: float = 0.0
    """Unix seconds of the last requested change; 0 before the first."""


def rescale_sensor(application: str, policy: Rescaling, key: str) -> dg.SensorDefinition:
    """Return a sensor that requests a redeploy with another width of a region; it is off until someone starts it.

    The width becomes an option of the deployed application, so that later redeploys keep it. A change that has failed
    before is not requested again. An error of the runtime is the reason of a skipped tick.
    """

    @dg.sensor(
        name=sensor_name(application, "rescale"),
        job_name=job_name(application, "redeploy"),
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description=f"Redeploys {application} with another width of the parallel region whose busiest channel takes "
        f"more than {policy.target:g} processors, or less than {policy.low:g}, by its last profile. "
        f"It makes one change at a time, at least {policy.pause:g} s apart; state, positions and results are kept.",
        tags={APPLICATION_TAG: application},
        required_resource_keys={key},
    )
    def rescale(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        now = api.now()
        cursor = _cursor(context.cursor)
        streams = streams_in(context, key)
        try:
            profile = _profile(streams.artifacts, application, cursor, now)
            if isinstance(profile, str):
                return dg.SkipReason(profile)
            catalog = api.open_catalog(streams.directory(), application)
            busy = _busy(context.instance, catalog, application)
            if busy is None and now - cursor.requested_at < policy.pause:
                busy = f"the last change was {now - cursor.requested_at:.0f} s ago; the pause is {policy.pause:g} s"
            if busy is not None:
                return dg.SkipReason(busy)
            compilation = api.read_compilation(catalog, application)
        except api.StreamsRuntimeError as error:
            return dg.SkipReason(str(error))
        judged = cursor.model_copy(update={"measured_at": profile.measured_at})
        change = _change(compilation, profile, policy)
        if isinstance(change, str):
            return dg.SensorResult(skip_reason=change, cursor=judged.model_dump_json())
        request = _request(application, profile, change)
        if failed := _failed(context.instance, request):
            return dg.SensorResult(skip_reason=failed, cursor=judged.model_dump_json())
        requested = judged.model_copy(update={"requested_at": now})
        return dg.SensorResult(run_requests=[request], cursor=requested.model_dump_json())

    return rescale


def _cursor(text: str | None) -> RescaleCursor:
    try:
        return RescaleCursor.model_validate_json(text or "{}")
    except ValidationError:  # another version has written the cursor
        return RescaleCursor()


def _profile(store: ArtifactStore, application: str, cursor: RescaleCursor, now: float) -> Profile | str:
    """Return the profile to judge, or the reason why there is none, for example a document that is not a profile."""
    job = job_name(application, "profile")
    document = store.get(application, PROFILE)
    if document is None:
        return f"{application} was not profiled yet; the schedule {job} does it"
    try:
        profile = profile_from_mapping(document)
    except ApplicationError as error:
        return f"{store.path(application, PROFILE)}: this is not a profile ({error}). Run job {job}, which replaces it."
    if profile.measured_at is None or profile.measured_at <= cursor.measured_at:
        return "there is no new profile since the last tick"
    if now - profile.measured_at > PROFILE_MAX_AGE_SECONDS:
        return f"the last profile is {now - profile.measured_at:.0f} s old"
    return profile


def _busy(instance: dg.DagsterInstance, catalog: api.Catalog, application: str) -> str | None:
    """Return why a change must wait: the application does not run normally, or another run changes it; else None."""
    status = api.read_status(catalog, application)
    if status.state != "RUNNING":
        return f"{application} is {status.state}"
    if failed := api.find_failures(status, api.now()):
        return f"{failed[0].unit} of {application} has failed: {failed[0].cause.reason}"
    unsettled = next((unit for unit in status.units if not unit.works), None)
    if unsettled is not None:
        return f"{unsettled.name} of {application} is {status.state_of_unit(unsettled)}"
    if under_way := api.describe_redeploy_under_way(catalog, application):
        return under_way
    runs = instance.get_runs(dg.RunsFilter(tags={APPLICATION_TAG: application}, statuses=UNDER_WAY))
    harmless = {job_name(application, "profile"), job_name(application, "compile")}
    others = (run for run in runs if run.job_name not in harmless)
    return next((f"run {run.run_id} of {run.job_name} has not ended yet" for run in others), None)


def _change(compilation: Compilation, profile: Profile, policy: Rescaling) -> NewWidth | str:
    running = fusion_fingerprint(compilation.logical, compilation.physical, compilation.fusion)
    if profile.fingerprint != running:
        return "the last profile was measured with another plan than the running one"
    return width_change(region_loads(compilation, profile), policy, profile.processors)


def _request(application: str, profile: Profile, change: NewWidth) -> dg.RunRequest:
    options = CompileOptions(keep=True, widths=[Width(pattern=change.region, width=change.width)])
    return dg.RunRequest(
        run_key=f"{application}:{change.region}:{change.width}:{profile.measured_at}",
        run_config=dg.RunConfig(ops={f"{application}__{LOGICAL}": options}),
        tags={
            RESCALE_TAG: f"{application}:{profile.fingerprint}:{change.region}:{change.width}",
            "streams/reason": change.reason,
        },
    )


def _failed(instance: dg.DagsterInstance, request: dg.RunRequest) -> str | None:
    """Return a message if an earlier run that requested the same change has failed; otherwise None."""
    mark = {RESCALE_TAG: request.tags[RESCALE_TAG]}
    runs = instance.get_runs(dg.RunsFilter(tags=mark, statuses=[dg.DagsterRunStatus.FAILURE]), limit=1)
    return (
        f"run {runs[0].run_id} has already failed with this change: {request.tags['streams/reason']}" if runs else None
    )
