"""Ops that reset units: they begin a reset, wait until the units work again, and record that they do."""

# Dagster reads the annotations of configs here, so they may not be turned into text.
import functools
import json
from collections.abc import Iterator

import dagster as dg
from pydantic import Field

from streams_orchestration.orchestration.asset_keys import AssetKeys
from streams_orchestration.orchestration.op_parts import (
    AFTER,
    NOTHING,
    NamedOp,
    application_step,
    named_op,
    op_name,
    retry_later,
    step_without_retry,
)
from streams_orchestration.orchestration.ops import AwaitHeartbeats, record_status
from streams_orchestration.orchestration.timeline import draw_timeline
from streams_orchestration.runtime import api

CLAIMED_TAG = "streams/claimed"
"""Run tag of a reset: the units whose reset has begun, as JSON. The steps after `claim` read it."""


class ResetUnit(dg.Config):
    """The config of the op that resets units."""

    unit: str = Field(
        default="",
        description="`region-0` for a consistent region, `pe-3` for a PE in no region; by default all failed units.",
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


@functools.cache
def claim_op(key: str) -> NamedOp:
    """Return the op that begins resets, for applications of the resource of this key."""
    begun = dg.Out(dg.Nothing, is_required=False, description="This output is missing if no reset has begun.")

    @dg.op(name=op_name("claim", key), required_resource_keys={key}, out=begun)
    def begin(context: dg.OpExecutionContext, config: ResetUnit) -> Iterator[dg.Output[None]]:
        """Begin the reset of consistent regions or of PEs in no region, unless another process has begun it.

        If the config names the failed generation, the op may be repeated, and it looks for the cause. If the cause is
        gone - the unit was reset and works, or its application was stopped, completed or deployed again - the steps
        after this one are skipped, and the log says why. Otherwise the run is tagged with the units.
        """
        with step_without_retry(context, key) as step:
            units = _begin_resets(context, config, api.Catalog(step.home), step.application)
        if units:
            context.instance.add_run_tags(context.run_id, {CLAIMED_TAG: json.dumps(units)})
            yield dg.Output(None)

    return named_op(begin, "claim")


def _units_of(context: dg.OpExecutionContext) -> Units:
    """Return the units that the step `claim` began to reset, from the run's tag, which a retried run inherits."""
    run = context.instance.get_run_by_id(context.run_id)  # the context has the tags that the run began with
    claimed = None if run is None else run.tags.get(CLAIMED_TAG)
    if claimed is None:
        message = f"the run has no tag {CLAIMED_TAG}, which names the units to reset: run the job from its first step"
        raise dg.Failure(description=message, allow_retries=False)
    return json.loads(claimed)


def _begin_resets(context: dg.OpExecutionContext, config: ResetUnit, catalog: "api.Catalog", application: str) -> Units:
    """Begin the requested resets, and return the units; none, with the reason in the log, if their cause is gone.

    The cause is looked for only if the config names the failed generation; see `_past`. Only then may the call be
    repeated.
    """
    try:
        gone = _past(catalog, application, config)
        if gone is not None:
            context.log.info("the reset is no longer needed: %s", gone)
            return {}
        api.require_deployed(catalog, application)
        units = (
            [config.unit]
            if config.unit
            else list(api.find_failed_units(api.read_status(catalog, application), api.now()))
        )
        resets = [
            api.reset_unit(catalog, application, unit, generation=config.generation, force=config.force)
            for unit in units
        ]
    except api.CommitUnknownError as error:
        if config.generation is None:  # a repetition could reset the unit twice
            raise
        raise retry_later() from error
    except (api.CatalogUnavailableError, api.HostLaunchError) as error:
        # Only these may pass by themselves; a retry policy would retry a misspelt unit too.
        raise retry_later() from error
    for unit, reset in zip(units, resets, strict=True):
        if reset.begun:
            context.log.info("%s continues from its last cut in generation %d", unit, reset.generation)
        else:
            context.log.info("%s is reset to its last cut as soon as its hosts run", unit)
    return dict.fromkeys(units, config.generation)


def _past(catalog: "api.Catalog", application: str, config: ResetUnit) -> str | None:
    """Return why the cause of a reset is gone; None if it is not, or if the request named no failed generation."""
    if config.generation is None:
        return None
    status = api.read_status_if_deployed(catalog, application)
    if status is None:
        return f"{application} is no longer deployed"
    if config.life is not None and status.life != config.life:
        return f"{application} was deployed again meanwhile"
    unit = next((each for each in status.units if each.name == config.unit), None)
    if status.state in api.ENDED:
        return f"{application} is {status.state}"
    if unit is not None and unit.works and unit.generation > config.generation + 1:
        return f"{unit.name} was reset again meanwhile, and works in generation {unit.generation}"
    return None


@functools.cache
def await_unit_op(key: str) -> NamedOp:
    """Return the op that waits for units which are reset, for applications of the resource of this key."""

    @dg.op(name=op_name("await_unit", key), required_resource_keys={key}, ins=AFTER, out=NOTHING)
    def wait(context: dg.OpExecutionContext, config: AwaitHeartbeats) -> None:
        """Wait until every PE of the units works again.

        A unit that recovered and has failed again is not waited for, since the new failure has a run of its own. If
        the host of a unit is gone, for example with its machine, and no other process resets the unit, this op resets
        it again.
        """
        with application_step(context, key) as step:
            catalog = api.open_catalog(step.home, step.application)
            for unit, failed in _units_of(context).items():
                api.await_reset(catalog, step.application, unit, failed, config.timeout, context.log.info)

    return named_op(wait, "await_unit")


@functools.cache
def record_op(key: str, keys: AssetKeys, application: str = "") -> NamedOp:
    """Return the op that records the status of an application which was reset.

    An op without `application` serves the application that the tag of its run names.
    """

    @dg.op(name=op_name("record", key, application), required_resource_keys={key}, ins=AFTER, out=NOTHING)
    def note(context: dg.OpExecutionContext) -> None:
        """Record the status of the application on its assets, with a drawing of the timeline of its resets."""
        with application_step(context, key) as step:
            catalog = api.open_catalog(step.home, step.application)
            status = api.read_status(catalog, step.application)
            context.log.info("%s: works again, from its last cut", ", ".join(_units_of(context)))
            timeline = draw_timeline(status, api.read_cuts(catalog, step.application), api.now())
            record_status(context, keys, catalog, status, timeline)

    return named_op(note, "record")
