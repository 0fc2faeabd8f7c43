"""The sensor that requests a run to apply a decoupling decision if its predicted gain is large enough."""

# pyright: reportUnknownMemberType=false

# Dagster reads the annotations of resources here, so they may not be turned into text.

import dagster as dg

from streams_orchestration.compiler.stage import LOGICAL
from streams_orchestration.orchestration.asset_keys import APPLICATION_TAG, AssetKeys
from streams_orchestration.orchestration.decisions import DECISION, promised_gain
from streams_orchestration.orchestration.definition_names import job_name, sensor_name
from streams_orchestration.orchestration.resource import streams_in

GAIN = 1.2
"""Least predicted gain over the running plan at which the sensor requests a run that applies a decision."""


def gain_sensor(application: str, gain: float, key: str, keys: AssetKeys) -> dg.SensorDefinition:
    """Return a sensor that requests the job `APP__decouple` when a new decision promises enough; it is off at first.

    The decision must promise at least `gain` over the running plan.
    """

    @dg.asset_sensor(
        asset_key=keys.of(application, DECISION),
        name=sensor_name(application, "decoupling_gain"),
        job_name=job_name(application, "decouple"),
        default_status=dg.DefaultSensorStatus.STOPPED,
        description=f"Applies a decision that promises {application} at least {gain:g} times its present throughput. "
        "State, positions and results are kept; a decision that would lose state is refused.",
        tags={APPLICATION_TAG: application},
        required_resource_keys={key},
    )
    def decoupling_gain(context: dg.SensorEvaluationContext, event: dg.EventLogEntry) -> dg.RunRequest | dg.SkipReason:
        document = streams_in(context, key).artifacts.get(application, DECISION)
        if document is None:
            return dg.SkipReason("the decision no longer exists")
        predicted = promised_gain(document)
        if predicted <= 1:
            return dg.SkipReason("the PEs in which the application runs have the same predicted throughput")
        if predicted < gain:
            return dg.SkipReason(f"a predicted gain of {predicted:.2f} over the running PEs is less than {gain:g}")
        return dg.RunRequest(
            run_key=context.cursor,
            run_config={"ops": {f"{application}__{LOGICAL}": {"config": {"decision_gain": gain}}}},
        )

    return decoupling_gain
