"""Applying a decision: the job that compiles with it and deploys, and the sensor that requests it when it pays."""

# pyright: reportUnknownMemberType=false

# Dagster reads the annotations of configs and resources here, so they may not be turned into text.

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import dagster as dg
from pydantic import Field

from streams_orchestration.compiler.redeployment.kept_options import fitting
from streams_orchestration.model.assignment_document import assignment_from_mapping
from streams_orchestration.orchestration.asset_keys import APPLICATION_TAG, asset_key
from streams_orchestration.orchestration.definition_names import job_name, sensor_name
from streams_orchestration.orchestration.deployments import Deployments
from streams_orchestration.orchestration.jobs import job_tags
from streams_orchestration.orchestration.ops import await_heartbeats, launch_hosts
from streams_orchestration.orchestration.previews import put_in_place
from streams_orchestration.orchestration.profiling import APPLIED, DECISION
from streams_orchestration.orchestration.recompiling import compile_all
from streams_orchestration.orchestration.resource import RESOURCE_KEY, StreamsResource, under_key
from streams_orchestration.orchestration.stage_assets import ApplicationSource, kept_options
from streams_orchestration.runtime.errors import NotDeployedError, StreamsRuntimeError

GAIN = 1.2
"""Predicted gain over the running plan from which the sensor requests a decision to be applied."""
STOP_SECONDS = 60.0


class NotDecoupledError(StreamsRuntimeError):
    """A decision is not applied: there is none, it brings too little, or what is kept would be lost."""


class ApplyDecision(dg.Config):
    """When to apply a decision, and at what price."""

    fresh: bool = Field(
        default=False,
        description="Drop state, streams and results and start anew; else state goes with the operators.",
    )
    least_gain: float = Field(
        default=1.0, ge=0, description="Predicted gain over what runs below which nothing is done."
    )


def decouple_op(source: ApplicationSource) -> dg.OpDefinition:
    """An op that compiles the application with its stored decision, and replaces what is deployed.

    Args:
        source: the application.
    """
    name = source.name

    @dg.op(name=f"{name}__apply_decision", out=dg.Out(dg.Nothing))
    @under_key(source.resource)
    def apply_decision(context: dg.OpExecutionContext, config: ApplyDecision, streams: StreamsResource) -> None:
        """Compile with the decision, and put the decoupled application in the place of what runs."""
        artifact_store, deployments = streams.artifacts, streams.deployments
        document = artifact_store.get(name, DECISION)
        if document is None:
            message = (
                f"{name}: nothing was decided yet. Run job {job_name(name, 'profile')} while the application works."
            )
            raise NotDecoupledError(message)
        gain = promised_gain(document)
        if gain < config.least_gain or len(document["decision"]["parts"]) < 2:
            message = (
                f"{name}: the decision promises {gain:.2f} times what it takes now, which is too little to apply it."
            )
            raise NotDecoupledError(message)
        kept = replace(kept_options(source, artifact_store, deployments), decoupling=None)
        fit, left_out = fitting(source.spec, kept)
        for each in left_out:
            context.log.warning("%s: %s", name, each)
        options = replace(fit, decoupling=assignment_from_mapping(document))
        compile_all(context, source, artifact_store, options, deployments.deployed(name))
        compilation = artifact_store.compilation(name)
        if config.fresh and _is_deployed(deployments, name):
            deployments.cancel(name, STOP_SECONDS)
        put_in_place(context, lambda: deployments.bring_up(compilation, fresh=config.fresh, replaces=True).redeployment)
        artifact_store.put(name, APPLIED, document)

    return apply_decision


def promised_gain(document: Mapping[str, Any]) -> float:
    """Return the factor by which throughput should grow; against fused PEs if nothing ran at the decision."""
    decision = document["decision"]
    return float(decision.get("gain", decision["predictedSpeedup"]))


def _is_deployed(deployments: Deployments, application: str) -> bool:
    try:
        deployments.status(application)
    except NotDeployedError:
        return False
    return True


def decouple_job(application: str, apply_decision: dg.OpDefinition, key: str = RESOURCE_KEY) -> dg.JobDefinition:
    """Apply the stored decision and deploy.

    Args:
        application: its name.
        apply_decision: the op of `decouple_op`.
        key: of the resource.
    """

    @dg.job(
        name=job_name(application, "decouple"),
        executor_def=dg.in_process_executor,
        tags=job_tags(application),
        description=f"Split PEs of {application} as its decoupling decision says, with its state kept.",
    )
    def decouple() -> None:
        await_heartbeats(key)(launch_hosts(key)(apply_decision.alias("apply_decision")()))

    return decouple


def gain_sensor(
    application: str, job: dg.JobDefinition, gain: float = GAIN, key: str = RESOURCE_KEY
) -> dg.SensorDefinition:
    """Return a sensor that requests `job` when a new decision promises enough; off until a user starts it.

    Args:
        application: its name.
        job: of `decouple_job`.
        gain: predicted gain over what runs that is enough.
        key: of the resource.
    """

    @dg.asset_sensor(
        asset_key=asset_key(application, DECISION),
        name=sensor_name(application, "decoupling_gain"),
        job=job,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description=f"Applies a decision that promises {application} at least {gain:g} times what it takes now. "
        "State, positions and results are kept; a decision that would lose state is refused.",
        tags={APPLICATION_TAG: application},
    )
    @under_key(key)
    def decoupling_gain(
        context: dg.SensorEvaluationContext, event: dg.EventLogEntry, streams: StreamsResource
    ) -> dg.RunRequest | dg.SkipReason:
        document = streams.artifacts.get(application, DECISION)
        if document is None:
            return dg.SkipReason("the decision is not there any more")
        predicted = promised_gain(document)
        if predicted <= 1:
            return dg.SkipReason("the PEs that the application runs in take as much")
        if predicted < gain:
            return dg.SkipReason(f"a predicted gain of {predicted:.2f} over what runs is less than {gain:g}")
        return dg.RunRequest(
            run_key=context.cursor,
            run_config=dg.RunConfig(ops={"apply_decision": ApplyDecision(least_gain=gain)}),
        )

    return decoupling_gain
