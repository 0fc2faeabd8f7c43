"""The profiling loop as assets: the measured profile, the decoupling decision, and the outcome of that decision."""

# pyright: reportUnknownMemberType=false

# Dagster reads the annotations of configs here, so they may not be turned into text.

import functools
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import dagster as dg
from pydantic import Field

from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.compiling import compute
from streams_orchestration.compiler.fusion.rewriting import decouple
from streams_orchestration.compiler.fusion.stage import FUSION_STAGE
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.profiles.costs import measured_costs
from streams_orchestration.compiler.stage import LOGICAL, PARALLEL, REGIONS
from streams_orchestration.compiler.stage_results import FusionPlan, RegionMap
from streams_orchestration.model.assignment_document import assignment_from_mapping
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.model.profile import Profile
from streams_orchestration.model.profile_document import mapping_of, profile_from_mapping
from streams_orchestration.orchestration.artifacts import ArtifactStore, StageMissingError
from streams_orchestration.orchestration.asset_keys import APPLICATION_TAG, AssetKeys, own_key
from streams_orchestration.orchestration.decisions import APPLIED, DECISION, OUTCOME, PROFILE
from streams_orchestration.orchestration.definition_names import job_name
from streams_orchestration.orchestration.deployments import deployed_fusion
from streams_orchestration.orchestration.epochs import VERSION_TAG
from streams_orchestration.orchestration.jobs import PROFILING_POOL, PROFILING_TAGS, job_tags
from streams_orchestration.orchestration.op_parts import AFTER, NOTHING, NamedOp, named_op, op_name
from streams_orchestration.orchestration.profile_summaries import (
    decision_metadata,
    outcome_metadata,
    profile_metadata,
)
from streams_orchestration.orchestration.resource import StreamsResource, streams_in
from streams_orchestration.orchestration.stage_assets import ApplicationSource
from streams_orchestration.orchestration.versions import content_version
from streams_orchestration.runtime import api


class ProfileOptions(dg.Config):
    """The config of the op that measures the profile of an application."""

    seconds: float = Field(
        default=30.0, gt=0, le=600, description="Seconds for which the running application is measured."
    )


class DecisionOptions(dg.Config):
    """The config of the op that decides which operators to move to PEs of their own."""

    machines: int = Field(default=2, ge=1, le=1000, description="Largest number of parts into which a PE may be split.")
    pe: int | None = Field(default=None, description="The PE to split. Default: the busiest one.")
    solver: Literal["highs", "search"] = "highs"
    time_limit: float = Field(
        default=60.0,
        gt=0,
        le=600,
        description="Largest number of seconds to decide; then the best decision so far is taken.",
    )


def profiling_specs(source: ApplicationSource) -> list[dg.AssetSpec]:
    """Return the specs of three assets downstream of the deployment: the profile, the decision and its outcome.

    The assets are external, since only a running application can be measured: the profile job makes them, *Materialize
    all* leaves them out, no automation runs them, and Dagster never calls them stale.
    """

    def spec(name: str, after: list[str], description: str) -> dg.AssetSpec:
        return dg.AssetSpec(
            key=own_key(source.name, name),
            deps=[own_key(source.name, each) for each in after],
            group_name=f"{source.name}_profiling",
            description=f"{description} Made by job {job_name(source.name, 'profile')}.",
            kinds={"json"},
            tags={APPLICATION_TAG: source.name, "streams/layer": "decoupling"},
        )

    return [
        spec(
            PROFILE, ["deployment"], "The measured cost of the operators, streams and PEs of the running application."
        ),
        spec(
            DECISION,
            [PROFILE],
            "The operators of the busiest PE to move to PEs of their own, and the predicted gain.",
        ),
        spec(
            OUTCOME,
            [PROFILE, DECISION],
            "The predicted and the measured effect of the applied decision.",
        ),
    ]


@functools.cache
def measure_op(key: str, keys: AssetKeys, application: str) -> NamedOp:
    """Return the op that measures an application."""
    name = op_name("measure", key, application)

    @dg.op(name=name, required_resource_keys={key}, out=NOTHING, pool=PROFILING_POOL)
    def op(context: dg.OpExecutionContext, config: ProfileOptions) -> None:
        """Measure the running application, and store and record its profile."""
        streams = streams_in(context, key)
        catalog = api.open_catalog(streams.directory(), application)
        measurement = api.measure_application(catalog, application, config.seconds, _pause)
        for remark in measurement.remarks:
            context.log.warning("%s: %s", application, remark)
        document = mapping_of(measurement.profile)
        path = streams.artifacts.put(application, PROFILE, document)
        context.log_event(_made(keys.of(application, PROFILE), document, profile_metadata(measurement, path)))

    return named_op(op, "measure")


@functools.cache
def decide_op(key: str, keys: AssetKeys, application: str) -> NamedOp:
    """Return the op that decides which operators of an application to move."""

    @dg.op(name=op_name("decide", key, application), required_resource_keys={key}, ins=AFTER, out=NOTHING)
    def op(context: dg.OpExecutionContext, config: DecisionOptions) -> None:
        """Decide from the last profile which operators to move to PEs of their own, and store the decision."""
        _decide(context, config, streams_in(context, key), keys, application)

    return named_op(op, "decide")


def _decide(
    context: dg.OpExecutionContext,
    config: DecisionOptions,
    streams: StreamsResource,
    keys: AssetKeys,
    application: str,
) -> None:
    """Decide from the last profile which operators to move to PEs of their own, and store and record the decision."""
    # loaded on use: they bring the solvers, which a process that only shows assets does without
    from streams_orchestration.compiler.decoupling.application_decision import decide
    from streams_orchestration.compiler.decoupling.decision_document import decision_document

    store = streams.artifacts
    profile = _stored_profile(store, application)
    done = _undecoupled(store, application)
    plan = done[LogicalGraph], done[PhysicalGraph], done[FusionPlan]
    try:
        costs, diagnostics = measured_costs(plan[0], plan[1], profile)
        decision = decide(
            *plan, costs, parts=config.machines, pe=config.pe, solver=config.solver, seconds=config.time_limit
        )
    except ApplicationError as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error
    for each in (*diagnostics, *decision.solution.diagnostics):
        context.log.warning("%s", each)
    document = decision_document(
        *plan, decision, deployed_fusion(api.Catalog(streams.directory()), application, plan[1])
    )
    path = streams.artifacts.put(application, DECISION, document)
    metadata = decision_metadata(document, _parted(done, document), path)
    context.log_event(_made(keys.of(application, DECISION), document, metadata))


@functools.cache
def compare_op(key: str, keys: AssetKeys, application: str) -> NamedOp:
    """Return the op that compares the last prediction for an application with its profile."""

    @dg.op(name=op_name("compare", key, application), required_resource_keys={key}, ins=AFTER, out=NOTHING)
    def op(context: dg.OpExecutionContext) -> None:
        """Compare the decision that was applied last with the last profile, and record the outcome.

        Nothing is recorded if no decision was applied, or if the application does not run with it.
        """
        streams = streams_in(context, key)
        home, store = streams.directory(), streams.artifacts
        applied, profile = store.get(application, APPLIED), _stored_profile(store, application)
        if applied is None:
            outcome = None
        else:
            outcome = api.compare_with_profile(
                api.read_compilation(api.open_catalog(home, application), application), profile, applied
            )
        if outcome is None:
            what = "runs without a decoupling decision of its assets, so there is nothing to compare"
            context.log.info("%s %s", application, what)
            return
        path, kept = api.store_outcome(home, application, outcome, api.now())
        context.log_event(_made(keys.of(application, OUTCOME), kept, outcome_metadata(outcome, kept, path)))

    return named_op(op, "compare")


def profile_job(application: str, key: str, keys: AssetKeys) -> dg.JobDefinition:
    """Return the job that measures the running application, decides what to move, and checks the last prediction."""
    place = key, keys, application

    @dg.job(
        name=job_name(application, "profile"),
        executor_def=dg.in_process_executor,
        tags=job_tags(application) | PROFILING_TAGS,
        description=f"Measure {application} while it runs, and decide which operators to move to PEs of their own.",
    )
    def profile() -> None:
        compare_op(*place)(decide_op(*place)(measure_op(*place)()))

    return profile


def _pause(seconds: float) -> bool:
    time.sleep(seconds)  # Dagster interrupts it when the run is terminated
    return False


def _made(key: dg.AssetKey, document: Any, metadata: dict[str, dg.MetadataValue]) -> dg.AssetMaterialization:
    version = content_version(json.dumps(document, sort_keys=True).encode())
    return dg.AssetMaterialization(key, metadata=metadata, tags={VERSION_TAG: version})


def _stored_profile(store: ArtifactStore, application: str) -> Profile:
    document = store.get(application, PROFILE)
    if document is None:
        message = f"{application} was not profiled yet. Run job {job_name(application, 'profile')} while it runs."
        raise StageMissingError(message)
    return profile_from_mapping(document)


def _undecoupled(store: ArtifactStore, application: str) -> Progress:
    """Return the stored stages, with fusion repeated without a decoupling decision; its findings are left out."""
    done, _ = store.progress(application, (LOGICAL, PARALLEL, REGIONS))
    fused, _ = compute(FUSION_STAGE, replace(done, options=replace(done.options, decoupling=None)))
    return fused


def _parted(done: Progress, document: Mapping[str, Any]) -> Progress:
    """Return the stages with the decision of a document applied to their fusion; findings are left out."""
    plan = done[LogicalGraph], done[PhysicalGraph], done[RegionMap], done[FusionPlan]
    parted, _ = decouple(*plan, replace(done.options, decoupling=assignment_from_mapping(document)))
    return done.with_result(parted)
