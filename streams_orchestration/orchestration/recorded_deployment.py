"""Definitions by which a command records its deployment in Dagster: all assets with their checks, none recomputed.

A command compiles and launches without Dagster, since Dagster takes a second to load. Its run is recorded under the
name of the job that does the same.
"""

# pyright: reportUnknownMemberType=false

# Dagster reads the annotations of resources here, so they may not be turned into text.

from collections.abc import Iterator
from typing import Any

import dagster as dg

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.stage import DEPLOYMENT, Stage
from streams_orchestration.compiler.stages import STAGES
from streams_orchestration.orchestration.asset_keys import APPLICATION_TAG, AssetKeys, change_specs, own_key
from streams_orchestration.orchestration.deployment_asset import asset_of_steps
from streams_orchestration.orchestration.deployment_checks import deployment_checks
from streams_orchestration.orchestration.jobs import redeploy_job
from streams_orchestration.orchestration.ops import await_heartbeats_op
from streams_orchestration.orchestration.resource import RESOURCE_KEY, StreamsResource
from streams_orchestration.orchestration.stage_assets import (
    ApplicationSource,
    checks_of,
    keep_stage,
    results_of,
    spec_version,
    stage_spec,
)
from streams_orchestration.runtime import api


def recorded_deployment(
    source: ApplicationSource, compilation: PlannedCompilation, streams: StreamsResource, keys: AssetKeys
) -> dg.Definitions:
    """Return the definitions whose redeploy job stores the compiled stages and waits until the deployed plan works."""
    name = source.name
    deployment = dg.AssetSpec(
        own_key(name, "deployment"), deps=[own_key(name, DEPLOYMENT)], tags={APPLICATION_TAG: name}
    )
    own = [*(stage_spec(source, stage) for stage in STAGES), deployment]
    specs = change_specs(name, lambda spec: spec.replace_attributes(key=keys.of(name, spec.key.path[-1])), own)
    stages = [_kept_stage(source, stage, compilation, specs[stage.name]) for stage in STAGES]
    return dg.Definitions(
        assets=[*stages, _working_deployment(name, keys, specs["deployment"])],
        asset_checks=[deployment_checks(name, RESOURCE_KEY, keys)],
        jobs=[redeploy_job(name, [spec.key for spec in specs.values()], keep=False)],
        resources={RESOURCE_KEY: streams},
    )


def _kept_stage(
    source: ApplicationSource, stage: Stage, compilation: PlannedCompilation, spec: dg.AssetSpec
) -> dg.AssetsDefinition:
    """Return the asset of a stage; it stores the stage's result from the command's compilation."""

    @dg.multi_asset(name=f"{source.name}__{stage.name}", specs=[spec], check_specs=checks_of(spec.key, stage))
    def keep(streams: StreamsResource) -> Iterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]:
        store = streams.artifacts
        deployed = api.read_compilation_if_readable(api.Catalog(streams.directory()), source.name)
        inputs = {each: store.read(source.name, each).data_version for each in stage.inputs}
        names = (stage.name,) if stage.inputs else (stage.name, "")
        diagnostics = [each for each in compilation.diagnostics if each.stage in names]
        kept = keep_stage(
            source, stage, store, compilation.progress, diagnostics, inputs or spec_version(source), deployed
        )
        yield from results_of(kept, spec.key, stage)

    return keep


def _working_deployment(application: str, keys: AssetKeys, spec: dg.AssetSpec) -> dg.AssetsDefinition:
    """Return the asset of the deployment; its only step waits until the PEs work."""

    def wait(plan: Any) -> Any:
        return await_heartbeats_op(RESOURCE_KEY, keys, application)(plan)

    return asset_of_steps(application, wait, spec, keys)
