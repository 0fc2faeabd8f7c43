"""The sensor that watches one application, and asks for a reset when a unit of it fails."""

# Dagster reads the annotations of configs and resources here, so they may not be turned into text.

import time
from collections.abc import Sequence
from dataclasses import replace

import dagster as dg

from streams_orchestration.orchestration.deployment_checks import evaluation
from streams_orchestration.orchestration.deployments import Deployments
from streams_orchestration.orchestration.ops import ResetUnit
from streams_orchestration.orchestration.progress import deployment_event, observation, sink_event
from streams_orchestration.orchestration.watching import Memory, look
from streams_orchestration.runtime.errors import (
    CatalogUnavailableError,
    CatalogVersionError,
    NotDeployedError,
    StreamsRuntimeError,
)
from streams_orchestration.runtime.regions.failures import UnitFailure
from streams_orchestration.runtime.status import ApplicationStatus

WATCH_SECONDS = 12.5
"""How long a look lasts while nothing is wrong.

Dagster's daemon asks every 5 s, unless the look before is not over, and nobody looks in between: so it lasts a little
less than three times that.
"""


def failed_units_sensor(application: str, reset_job: dg.JobDefinition) -> dg.SensorDefinition:
    """A sensor that requests `reset_job` for every failed unit, and records epochs and results as they complete.

    Args:
        application: the application to watch.
        reset_job: its reset job.
    """

    @dg.sensor(
        name=f"failed_units_of_{application}",
        job=reset_job,
        # The daemon looks every 5 s; an interval of 5 s would beat against that and make it 10.
        minimum_interval_seconds=1,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Requests a reset when a consistent region or an autonomous PE of {application} fails.",
        tags={"streams/application": application},
    )
    def failed_units(context: dg.SensorEvaluationContext, deployments: Deployments) -> dg.SensorResult | dg.SkipReason:
        memory = Memory.load(context.cursor)
        try:
            deployments.status(application)
            if memory.away:
                context.update_cursor(replace(memory, away=False).dump())
                return dg.SkipReason(
                    "the catalog can be used again; hosts have time for a heartbeat until the next look"
                )
            deployments.await_trouble(application, WATCH_SECONDS)
            status = deployments.observed(application)
        except NotDeployedError:
            return dg.SkipReason(f"{application} is not deployed")
        except CatalogVersionError as error:
            return dg.SkipReason(str(error))
        except CatalogUnavailableError as error:
            context.update_cursor(replace(memory, away=True).dump())
            return dg.SkipReason(str(error))
        seen = look(status, time.time(), memory)
        for reset in seen.resets:
            _begin(context, deployments, reset.failure)
        try:
            for stopped in deployments.stop_orphans(application):
                context.log.warning(stopped)
        except CatalogUnavailableError as error:
            context.log.warning(str(error))
        for failure in seen.exhausted:
            context.log.error("%s: %s. %s Log: %s", failure.unit, failure.reason, failure.remedy, failure.log)
        events: list[dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation] = []
        if seen.report:
            record = deployment_event(status, deployments.metrics(application), time.time())
            events = [record if seen.advanced else observation(record)]
            events += [sink_event(application, sink) for sink in seen.sinks]
        events += [evaluation(application, check) for check in seen.checks]
        return dg.SensorResult(
            run_requests=[
                dg.RunRequest(
                    run_key=reset.key,
                    run_config=dg.RunConfig(
                        ops={"reset_unit": ResetUnit(unit=reset.failure.unit, generation=reset.failure.generation)}
                    ),
                    tags={
                        "streams/region": f"{application}/{reset.failure.unit}",
                        "streams/reason": reset.failure.reason[:200],
                    },
                )
                for reset in seen.resets
            ],
            skip_reason=None if seen.resets else _quiet(status, seen.exhausted),
            asset_events=events,
            cursor=seen.memory.dump(),
        )

    return failed_units


def _quiet(status: ApplicationStatus, exhausted: Sequence[UnitFailure]) -> str:
    """Why no reset is requested."""
    if exhausted:
        return " ".join(f"{failure.unit}: {failure.reason}. {failure.remedy}" for failure in exhausted)
    if status.state != "RUNNING":
        return f"{status.application} is {status.state}"
    waiting = [f"{unit.name} is {unit.state}" for unit in status.units if unit.waits or unit.state == "RESETTING"]
    if waiting:
        return f"on the way back to the last cut: {', '.join(waiting)}"
    return "nothing has failed"


def _begin(context: dg.SensorEvaluationContext, deployments: Deployments, failure: UnitFailure) -> None:
    """Begin a reset here, where all is loaded; the run repeats what this has not done, and waits for the rest."""
    try:
        generation = deployments.reset(failure.application, failure.unit, generation=failure.generation, force=False)
    except StreamsRuntimeError as error:
        context.log.warning("%s: %s; it is for the run to reset it", failure.unit, error)
    else:
        context.log.info("%s: %s; its reset has begun, generation %d", failure.unit, failure.reason, generation)
