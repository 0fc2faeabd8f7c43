"""Ops that reset units: they begin a reset, wait until the units work again, and record that they do.

A `patient` op raises RetryRequested while the catalog cannot be used.
"""

# Dagster reads the annotations of configs and resources here, so they may not be turned into text.
import json
import time
from collections.abc import Callable, Iterator

import dagster as dg
from pydantic import Field

from streams_orchestration.orchestration.asset_keys import AssetKeys
from streams_orchestration.orchestration.containers import require_lasting
from streams_orchestration.orchestration.ops import (
    AFTER,
    NOTHING,
    AwaitHeartbeats,
    application_of,
    patient,
    record_status,
    retry_later,
)
from streams_orchestration.orchestration.readable_errors import readable_errors
from streams_orchestration.orchestration.resource import StreamsResource, keyed_op
from streams_orchestration.orchestration.timeline import draw_timeline
from streams_orchestration.runtime import api

CLAIMED_TAG = "streams/claimed"
"""Run tag of a reset: the units whose reset has begun, as JSON. The steps after `claim` read it."""


class ResetUnit(dg.Config):
    """The config of the op that resets units."""

    unit: str = Field(
        default="",
        description="`region-0` for a consistent region, `pe-3` for an autonomous PE; by default all failed units.",
    )
    generation: int | None = Field(
        default=None, description="The generation that failed; nothing is done if the unit is in a later generation."
    )
    life: str | None = Field(
        default=None, description="The life of the application that failed; nothing is done in another life."
    )
    force: bool = Field(
        default=False,
        description="Reset even if all attempts are used up, and grant the configured number of attempts again.",
    )


Units = dict[str, int | None]
"""Unit to reset -> the generation in which it failed; None if the request did not name a generation."""


@keyed_op(out=dg.Out(dg.Nothing, is_required=False, description="Missing if no reset has begun."))
def claim(context: dg.OpExecutionContext, config: ResetUnit, streams: StreamsResource) -> Iterator[dg.Output[None]]:
    """Begin the reset of consistent regions or autonomous PEs, unless another process has begun the reset.

    If the config names the failed generation, the op may be repeated, and it looks for the cause. If the cause is
    gone - the unit was reset and works, or its application was stopped, completed or deployed again - the steps after
    this one are skipped, and the log says why. Otherwise the run is tagged with the units.

    Raises:
        RetryRequested: the catalog or a host may be usable later.
        CommitUnknownError: it is unknown whether a reset has begun, and the config does not name the failed generation.
        Failure: the run may have a container of its own, and no machine is registered; or the run names no application.
        NothingFailedError: the config names no unit, and no unit has failed.
        StreamsRuntimeError: a unit cannot be reset; see `reset`.
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
    """Begin the requested resets, and return the units; none, with the reason in the log, if their cause is gone.

    The cause is looked for only if the config names the failed generation; see `_past`. Only then may the call be
    repeated.

    Raises:
        RetryRequested: the catalog or a host may be usable later.
        CommitUnknownError: it is unknown whether a reset has begun, and the config does not name the failed generation.
        Failure: the run may have a container of its own and no machine is registered, or it does not name an
            application.
        NothingFailedError: the config names no unit, and no unit has failed.
        StreamsRuntimeError: a unit cannot be reset; see `reset`.
    """
    application = application_of(context)
    try:
        require_lasting(context, application, home)
        gone = _past(home, application, config)
        if gone is not None:
            context.log.info("the reset is no longer needed: %s", gone)
            return {}
        units = [config.unit] if config.unit else list(api.failed_units(api.read_status(home, application), api.now()))
        generations = [
            api.reset(home, application, unit, generation=config.generation, force=config.force) for unit in units
        ]
    except api.CommitUnknownError as error:
        if config.generation is None:  # a repetition could reset the unit twice
            raise
        raise retry_later() from error
    except (api.CatalogUnavailableError, api.HostLaunchError) as error:
        # Only these may pass by themselves; a retry policy would retry a misspelt unit too.
        raise retry_later() from error
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
        return f"{application} is no longer deployed"
    if config.life is not None and status.life != config.life:
        return f"{application} was deployed again meanwhile"
    unit = next((each for each in status.units if each.name == config.unit), None)
    if status.state in ("COMPLETED", "STOPPED"):
        return f"{application} is {status.state}"
    if unit is not None and unit.works and unit.generation > config.generation + 1:
        return f"{unit.name} was reset again meanwhile, and works in generation {unit.generation}"
    return None


@keyed_op(ins=AFTER, out=NOTHING)
@patient
def await_unit(context: dg.OpExecutionContext, config: AwaitHeartbeats, streams: StreamsResource) -> None:
    """Wait until every PE of the units works again.

    A unit that recovered and has failed again is not waited for, since the new failure has a run of its own. If the
    host of a unit is gone, for example with its machine, and no other process resets the unit, this op resets it again.

    Raises:
        HostLaunchError: a unit does not work after the timeout, which counts for each, or needs another reset.
        Failure: the run does not have the tag of `claim`, or names no application.
        NotDeployedError: the application is not deployed.
        JavaError, OtherVersionError, StreamsRuntimeError: the unit cannot be reset, or was removed meanwhile.
    """
    application, home = application_of(context), streams.directory()
    for unit, failed in _units_of(context).items():
        await_reset(home, application, unit, failed, config.timeout, context.log.info)


def await_reset(
    home: api.Home, application: str, unit: str, failed: int | None, timeout: float, say: Callable[[str], object]
) -> None:
    """Wait until every PE of a unit works again, and reset the unit again if its host is gone meanwhile.

    Args:
        home: the state directory.
        application: name of the application.
        unit: the unit that was reset.
        failed: the generation in which it failed; None if unknown.
        timeout: most seconds to wait.
        say: called with a text about another reset.

    Raises:
        HostLaunchError: the unit does not work after the timeout, or needs another reset.
        NotDeployedError: the application is not deployed.
        JavaError, OtherVersionError, StreamsRuntimeError: the unit cannot be reset, or was removed meanwhile.
    """
    catalog = api.open_catalog(home, application)
    until = time.monotonic() + timeout
    while True:
        try:
            api.await_running(catalog, application, until - time.monotonic(), unit, failed)
        except api.FailedAgainError as error:
            if error.failure.exhausted or not error.failure.gone or time.monotonic() > until:
                raise
            say(f"{error}; it is reset again")
            api.reset(home, application, unit, generation=error.failure.generation, force=False)
        else:
            return


@keyed_op(ins=AFTER, out=NOTHING)
@patient
def record(context: dg.OpExecutionContext, streams: StreamsResource, keys: AssetKeys) -> None:
    """Record the status of the application on its assets, with a drawing of the timeline of its resets.

    Raises:
        Failure: the run does not have the tag of `claim`, or names no application.
        NotDeployedError: the application is not deployed.
    """
    application, home = application_of(context), streams.directory()
    status = api.read_status(home, application)
    context.log.info("%s: works again, from its last cut", ", ".join(_units_of(context)))
    record_status(
        context, keys, home, status, timeline=draw_timeline(status, api.read_cuts(home, application), api.now())
    )
