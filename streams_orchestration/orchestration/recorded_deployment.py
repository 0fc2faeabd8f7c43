"""Definitions by which a command records its deployment or revert in Dagster: assets with checks, none recomputed.

A command compiles and launches without Dagster, since Dagster takes a second to load. Its run is recorded under the
name of the job that does the same.
"""

# pyright: reportUnknownMemberType=false

# Dagster reads the annotations of resources here, so they may not be turned into text.

from typing import Any

import dagster as dg

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.stage import DEPLOYMENT, Stage
from streams_orchestration.compiler.stages import STAGES
from streams_orchestration.orchestration.asset_keys import APPLICATION_TAG, AssetKeys, change_specs, own_key
from streams_orchestration.orchestration.deployment_asset import asset_of_steps
from streams_orchestration.orchestration.deployment_checks import deployment_checks
from streams_orchestration.orchestration.jobs import deploy_job, redeploy_job
from streams_orchestration.orchestration.ops import await_heartbeats_op
from streams_orchestration.orchestration.resource import RESOURCE_KEY, StreamsResource
from streams_orchestration.orchestration.stage_assets import (
    ApplicationSource,
    StageResults,
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
    """Return the definitions whose redeploy job stores the compiled stages and waits until the deployed plan works.

    Raises:
        SharedKeyError: the stored keys give two assets the same key.
    """
    name = source.name
    specs = _changed([*(stage_spec(source, stage) for stage in STAGES), _deployment_spec(name)], name, keys)
    stages = [_kept_stage(source, stage, compilation, specs[stage.name]) for stage in STAGES]
    return dg.Definitions(
        assets=[*stages, _working_deployment(name, keys, specs["deployment"])],
        asset_checks=[deployment_checks(name, RESOURCE_KEY, keys)],
        jobs=[redeploy_job(name, [spec.key for spec in specs.values()], keep=False)],
        resources={RESOURCE_KEY: streams},
    )


def recorded_revert(application: str, streams: StreamsResource, keys: AssetKeys) -> dg.Definitions:
    """Return the definitions whose deploy job waits until the restored previous plan works; no stage is stored.

    Raises:
        SharedKeyError: the stored keys give two assets the same key.
    """
    (deployment,) = _changed([_deployment_spec(application)], application, keys).values()
    return dg.Definitions(
        assets=[_working_deployment(application, keys, deployment)],
        asset_checks=[deployment_checks(application, RESOURCE_KEY, keys)],
        jobs=[deploy_job(application, deployment.key)],
        resources={RESOURCE_KEY: streams},
    )


def _deployment_spec(application: str) -> dg.AssetSpec:
    plan = own_key(application, DEPLOYMENT)
    return dg.AssetSpec(own_key(application, "deployment"), deps=[plan], tags={APPLICATION_TAG: application})


def _changed(specs: list[dg.AssetSpec], application: str, keys: AssetKeys) -> dict[str, dg.AssetSpec]:
    """Return name -> spec with the key that the application's definitions have given it."""
    return change_specs(
        application, lambda spec: spec.replace_attributes(key=keys.of(application, spec.key.path[-1])), specs
    )


def _kept_stage(
    source: ApplicationSource, stage: Stage, compilation: PlannedCompilation, spec: dg.AssetSpec
) -> dg.AssetsDefinition:
    """Return the asset of a stage; it stores the stage's result from the command's compilation."""

    @dg.multi_asset(name=f"{source.name}__{stage.name}", specs=[spec], check_specs=checks_of(spec.key, stage))
    def keep(streams: StreamsResource) -> StageResults:
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
