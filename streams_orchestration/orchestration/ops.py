"""Ops that deploy, stop and reset applications. Each one writes the wanted state or waits for it, then ends."""

# Dagster reads the annotations of configs and resources here, so they may not be turned into text.
import functools
import json
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import dagster as dg
from pydantic import Field

from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.orchestration.asset_keys import APPLICATION_TAG, AssetKeys
from streams_orchestration.orchestration.containers import require_lasting
from streams_orchestration.orchestration.cut_checks import judge
from streams_orchestration.orchestration.decisions import keep_applied
from streams_orchestration.orchestration.definition_names import job_name
from streams_orchestration.orchestration.deployments import (
    deploy_compiled,
    shown_rows,
    status_when_running,
    status_when_stopped,
)
from streams_orchestration.orchestration.epochs import VERSION_TAG
from streams_orchestration.orchestration.plan_events import plan_event
from streams_orchestration.orchestration.previews import put_in_place
from streams_orchestration.orchestration.progress import deployment_event, deployment_events, news, part_events
from streams_orchestration.orchestration.readable_errors import readable_errors
from streams_orchestration.orchestration.resource import StreamsResource, keyed_op
from streams_orchestration.orchestration.run_events import log_events
from streams_orchestration.orchestration.summaries import image
from streams_orchestration.orchestration.timeline import draw_timeline
from streams_orchestration.runtime import api

CLAIMED_TAG = "streams/claimed"
"""Run tag of a reset: the units whose reset has begun, as JSON. The steps after `claim` read it."""

AFTER = {"after": dg.In(dg.Nothing)}
NOTHING = dg.Out(dg.Nothing)
RETRY_SECONDS = 2.0
HEAL_SECONDS = 0.5
"""Seconds for which the op leaves a failed unit to the sensor before it resets the unit itself."""
LOOK_SECONDS = 0.5
STOP_SECONDS = 60.0
ENDED = ("COMPLETED", "STOPPED")
Result = TypeVar("Result")


class DeployApplication(dg.Config):
    """The config of the op that deploys an application."""

    fresh: bool = Field(default=False, description="Drop the state, streams and results that are kept, and start anew.")
    redeploys: bool = Field(
        default=True,
        description="Let another plan replace the deployed one and keep its state. If false, another plan is refused.",
    )
    drop_state: list[str] = Field(
        default=[], description="Operators whose state may be lost when another plan takes over, as --drop-state names."
    )
    revert: bool = Field(
        default=False,
        description="Restore the plan from before the last redeploy, as `streams redeploy --revert` does. "
        "`drop_state` is the only other value that may be set then.",
    )
    savepoint: str = Field(
        default="",
        description="Begin with the state of this savepoint: NAME, APP/NAME or a directory. The application must not "
        "be deployed, unless `fresh` is set.",
    )


class LaunchHosts(dg.Config):
    """The config of the op that launches hosts."""

    asked_at: float | None = Field(default=None, description="Unix seconds of the request, from which start-up counts.")


class AwaitHeartbeats(dg.Config):
    """The config of the op that waits for the PEs."""

    timeout: float = Field(default=180.0, gt=0, description="Seconds until every PE must have given a heartbeat.")
    taken: float = Field(
        default=3600.0, gt=0, description="Seconds in which a bounded run must process all available data, or fail."
    )


class CancelApplication(dg.Config):
    """The config of the op that stops an application."""

    timeout: float = Field(default=60.0, gt=0, description="Seconds until every host must have ended.")


class ResetUnit(dg.Config):
    """The config of the op that resets units."""

    unit: str = Field(
        default="",
        description="`region-0` for a consistent region, `pe-3` for an autonomous PE; by default all failed units.",
    )
    generation: int | None = Field(
        default=None, description="The generation that failed; nothing is done if the unit has a later one already."
    )
    deployment: int | None = Field(
        default=None, description="Unix seconds of the deployment that failed; nothing is done for a later deployment."
    )
    force: bool = Field(default=False, description="Reset even if no attempt is left, and add the configured attempts.")


def _patient(op: Callable[..., Result]) -> Callable[..., Result]:
    """Return the op with readable errors, and with retries if the catalog cannot be used."""

    @functools.wraps(op)
    def tried(context: dg.OpExecutionContext, *arguments: Any, **named: Any) -> Result:
        try:
            with readable_errors(application_of(context)):
                return op(context, *arguments, **named)
        except api.CatalogUnavailableError as error:
            raise dg.RetryRequested(max_retries=2, seconds_to_wait=RETRY_SECONDS) from error

    return tried


def application_of(context: dg.OpExecutionContext) -> str:
    """Return the name of the application that a step serves, from the tag of its asset, or else of the run.

    Raises:
        Failure: the step computes no asset, and the run was launched by hand without the tag.
    """
    if context.has_assets_def:
        (asset,) = context.assets_def.specs
        return asset.tags[APPLICATION_TAG]
    if APPLICATION_TAG not in context.run.tags:
        message = f"the run names no application: launch it with the tag {APPLICATION_TAG}=NAME"
        raise dg.Failure(description=message, allow_retries=False)
    return context.run.tags[APPLICATION_TAG]


def _is_bounded_run(context: dg.OpExecutionContext) -> bool:
    """Return True in the job `APP__available`; the job's name decides, since a run may leave out config values."""
    return context.job_name == job_name(application_of(context), "available")


@keyed_op(ins=AFTER, out=NOTHING)
@_patient
def write_wanted_state(context: dg.OpExecutionContext, config: DeployApplication, streams: StreamsResource) -> None:
    """Write the compiled plan, or with `revert` the previous plan, to the catalog as the wanted plan.

    The op fails if the compiled stages do not belong to one compilation.
    """
    application, home = application_of(context), streams.directory()
    if config.revert:
        if config.fresh or config.savepoint:
            message = "revert restores the previous plan with its state. Leave fresh and savepoint out."
            raise dg.Failure(description=message, allow_retries=False)
        put_in_place(context, lambda: api.restore_previous_plan(home, application, drop=config.drop_state))
        context.log.info("%s runs with the previous plan again", application)
        return
    compilation = streams.artifacts.compilation(application)
    if _is_bounded_run(context):
        deploy_compiled(home, compilation, fresh=config.fresh, available_now=True)
        return

    def bring_up() -> Redeployment | None:
        brought = deploy_compiled(
            home,
            compilation,
            fresh=config.fresh,
            savepoint=config.savepoint,
            replaces=config.redeploys,
            drop=config.drop_state,
        )
        for note in brought.restored.notes if brought.restored is not None else ():
            context.log.info("%s", note)
        return brought.redeployment

    put_in_place(context, bring_up)
    keep_applied(streams.artifacts, compilation)
    context.log.info("%s: the wanted plan has %d PEs", application, len(compilation.fusion.pes))


@keyed_op(ins=AFTER, out=NOTHING)
@_patient
def launch_hosts(context: dg.OpExecutionContext, config: LaunchHosts, streams: StreamsResource) -> None:
    """Start the missing host processes of the wanted plan. They are detached and outlive the run."""
    require_lasting(context, application_of(context), streams.directory())
    _stop_orphans(context, streams.directory())
    hosts = api.launch(streams.directory(), application_of(context), asked_at=config.asked_at)
    context.log.info("launched hosts: %s", "; ".join(hosts) or "none, since all run")


@keyed_op(ins=AFTER, out=NOTHING)
@_patient
def await_heartbeats(
    context: dg.OpExecutionContext, config: AwaitHeartbeats, streams: StreamsResource, keys: AssetKeys
) -> None:
    """Wait until every PE works, and record the application's status on its assets.

    In the job `APP__available`, wait instead until the application has processed all available data.
    """
    application = application_of(context)
    if _is_bounded_run(context):
        _record(context, keys, streams.directory(), _await_taken(streams.directory(), application, config.taken))
        return
    try:
        status = status_when_running(streams.directory(), application, config.timeout)
    except dg.DagsterExecutionInterruptedError:
        context.log.warning(
            "the run was terminated; %s continues, job %s stops it",
            application,
            job_name(application, "cancel"),
        )
        raise
    _record(context, keys, streams.directory(), status)


@keyed_op(out=NOTHING)
@_patient
def stop_hosts(
    context: dg.OpExecutionContext, config: CancelApplication, streams: StreamsResource, keys: AssetKeys
) -> None:
    """Stop the application. Its committed state is kept; if it is deployed again, it continues from there."""
    _stop_orphans(context, streams.directory())
    _record(
        context,
        keys,
        streams.directory(),
        status_when_stopped(streams.directory(), application_of(context), config.timeout),
    )


def _await_taken(home: api.Home, application: str, timeout: float) -> api.ApplicationStatus:
    """Wait until the application has processed all available data, reset units that fail, then stop it."""
    known, until = dict[str, api.Known](), time.monotonic() + timeout
    while (status := api.observed_status(home, application)).state not in ENDED:
        healing = api.heal(status, api.now(), known, patience=HEAL_SECONDS)
        known = healing.known
        for request in healing.resets:
            api.reset(home, application, request.failure.unit, generation=request.failure.generation, force=False)
        if healing.exhausted or time.monotonic() > until:
            status_when_stopped(home, application, STOP_SECONDS)
            reasons = [f"{each.unit}: {each.reason}" for each in healing.exhausted]
            late = f"it did not process all available input within {timeout:g} s"
            message = f"{application} was stopped: {'; '.join(reasons) or late}. The next run continues from there."
            raise dg.Failure(description=message, allow_retries=False)
        time.sleep(LOOK_SECONDS)
    stopped = status_when_stopped(home, application, STOP_SECONDS)  # its hosts are about to end
    if status.state != "COMPLETED" and status.taken_at is None:
        message = f"{application} was stopped by another command. The next run continues from there."
        raise dg.Failure(description=message, allow_retries=False)
    return stopped


Units = dict[str, int | None]
"""Unit to reset -> the generation in which it failed; None if the request did not name a generation."""


@keyed_op(out=dg.Out(dg.Nothing, is_required=False, description="Missing when there is nothing to wait for."))
def claim(context: dg.OpExecutionContext, config: ResetUnit, streams: StreamsResource) -> Iterator[dg.Output[None]]:
    """Begin the reset of consistent regions or autonomous PEs, unless another process has begun the reset.

    May be repeated.

    If the cause is gone - the unit was reset and works, or its application was stopped, completed or deployed again -
    the steps after this one are skipped, and the log says why.
    """
    with readable_errors(application_of(context)):
        units = _claimed(context, config, streams.directory())
    if units:
        context.instance.add_run_tags(context.run_id, {CLAIMED_TAG: json.dumps(units)})
        yield dg.Output(None)


def _units_of(context: dg.OpExecutionContext) -> Units:
    """Return the units that the step `claim` began to reset, from the run's tag, which a retried run inherits.

    Raises:
        Failure: the run does not have the tag.
    """
    run = context.instance.get_run_by_id(context.run_id)  # the context has the tags that the run began with
    claimed = None if run is None else run.tags.get(CLAIMED_TAG)
    if claimed is None:
        message = f"the run has no tag {CLAIMED_TAG}, which names the units to reset: run the job from its first step"
        raise dg.Failure(description=message, allow_retries=False)
    return json.loads(claimed)


def _claimed(context: dg.OpExecutionContext, config: ResetUnit, home: api.Home) -> Units:
    """Begin the requested resets unless their cause is gone, and return the units."""
    application = application_of(context)
    try:
        require_lasting(context, application, home)
        gone = _past(home, application, config)
        if gone is not None:
            context.log.info("the reset is not needed any more: %s", gone)
            return {}
        units = [config.unit] if config.unit else list(api.failed_units(api.read_status(home, application), api.now()))
        generations = [
            api.reset(home, application, unit, generation=config.generation, force=config.force) for unit in units
        ]
    except api.CommitUnknownError as error:
        if config.generation is None:  # it might be reset twice
            raise
        raise dg.RetryRequested(max_retries=2, seconds_to_wait=RETRY_SECONDS) from error
    except (api.CatalogUnavailableError, api.HostLaunchError) as error:
        # Only these may pass by themselves; a retry policy would retry a misspelt unit too.
        raise dg.RetryRequested(max_retries=2, seconds_to_wait=RETRY_SECONDS) from error
    for unit, generation in zip(units, generations, strict=True):
        if generation == config.generation:
            context.log.info("%s is reset to its last cut as soon as its hosts run", unit)
        else:
            context.log.info("%s continues from its last cut in generation %d", unit, generation)
    return dict.fromkeys(units, config.generation)


def _past(home: api.Home, application: str, config: ResetUnit) -> str | None:
    """Return why the cause of a reset is gone; None if it is not, or if the request named no failed generation."""
    if config.generation is None:
        return None
    try:
        status = api.read_status(home, application)
    except api.NotDeployedError:
        return f"{application} is not deployed any more"
    if config.deployment is not None and int(status.deployed_at) != config.deployment:
        return f"{application} was deployed again since"
    unit = next((each for each in status.units if each.name == config.unit), None)
    if status.state in ("COMPLETED", "STOPPED"):
        return f"{application} is {status.state}"
    if unit is not None and unit.works and unit.generation > config.generation + 1:
        return f"{unit.name} was reset again since, and works as generation {unit.generation}"
    return None


@keyed_op(ins=AFTER, out=NOTHING)
@_patient
def await_unit(context: dg.OpExecutionContext, config: AwaitHeartbeats, streams: StreamsResource) -> None:
    """Wait until every PE of the units works again.

    A unit that recovered and has failed again is not waited for, since the new failure has a run of its own. If the
    host of a unit is gone, for example with its machine, and no other process resets the unit, this op resets it again.
    """
    home = streams.directory()
    for unit, failed in _units_of(context).items():
        until = time.monotonic() + config.timeout
        while True:
            try:
                api.await_running(home, application_of(context), until - time.monotonic(), unit, failed)
                break
            except api.FailedAgainError as error:
                if error.failure.exhausted or not error.failure.gone or time.monotonic() > until:
                    raise
                context.log.info("%s; it is reset again", error)
                api.reset(home, application_of(context), unit, generation=error.failure.generation, force=False)


@keyed_op(ins=AFTER, out=NOTHING)
@_patient
def record(context: dg.OpExecutionContext, streams: StreamsResource, keys: AssetKeys) -> None:
    """Record the status of the application on its assets, with a drawing of the timeline of its resets."""
    application, home = application_of(context), streams.directory()
    status = api.read_status(home, application)
    context.log.info("%s: works again, from its last cut", ", ".join(_units_of(context)))
    _record(context, keys, home, status, timeline=draw_timeline(status, api.read_cuts(home, application), api.now()))


def _stop_orphans(context: dg.OpExecutionContext, home: api.Home) -> None:
    for stopped in api.stop_orphans(home, application_of(context)):
        context.log.warning(str(stopped))


def _record(
    context: dg.OpExecutionContext,
    keys: AssetKeys,
    home: api.Home,
    status: api.ApplicationStatus,
    timeline: str | None = None,
) -> None:
    """Record the status on the assets: as the step's output if the step computes the deployment, else as events.

    Args:
        context: the context of the op.
        keys: the keys of the application's assets.
        home: the state directory.
        status: the status to record.
        timeline: the SVG drawing of the timeline, after a reset.
    """
    metrics = api.read_metrics(home, status.application)
    drawn = {} if timeline is None else {"streams/timeline": dg.MetadataValue.md(image("timeline", timeline))}
    now = api.now()
    if context.has_assets_def:  # the step materializes the deployment, and steps behind it evaluate its checks
        plan = plan_event(keys, status, metrics)
        context.add_output_metadata(plan.metadata)
        context.set_data_version(plan.asset_key, dg.DataVersion((plan.tags or {})[VERSION_TAG]))
        log_events(context, [deployment_event(keys, status, metrics, now, drawn)])
    else:
        judged = judge(status, now, api.read_machines(home))
        log_events(context, deployment_events(keys, context.instance, status, metrics, now, judged, drawn))
    sinks = [sink for sink in status.sinks if sink.rows]
    parts = part_events(keys, status, metrics, status.pes, sinks, shown_rows)
    log_events(context, (news(context.instance, each) for each in parts))
