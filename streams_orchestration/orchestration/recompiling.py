"""Compiling within a run that goes on to deploy: every stage is stored and shows on its asset, with its check."""

# Dagster reads the annotations of configs and resources here, so they may not be turned into text.

from collections.abc import Callable

import dagster as dg
from pydantic import Field

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.stage import Stage
from streams_orchestration.compiler.stages import STAGES
from streams_orchestration.model.diagnostics import errors_of
from streams_orchestration.orchestration.artifacts import SPEC, ArtifactStore
from streams_orchestration.orchestration.asset_keys import asset_key
from streams_orchestration.orchestration.ops import NOTHING
from streams_orchestration.orchestration.resource import StreamsResource, under_key
from streams_orchestration.orchestration.run_events import log_events
from streams_orchestration.orchestration.settings import CompileOptions
from streams_orchestration.orchestration.spec_state import MISSING, observation, version_of
from streams_orchestration.orchestration.stage_assets import (
    ApplicationSource,
    StageResult,
    chosen,
    compile_stage,
    failure,
    keep_stage,
    spec_version,
    stage_spec,
)


class RedeployOptions(CompileOptions):
    """As `CompileOptions`, but what runs keeps the options that are not set."""

    keep: bool = Field(default=True, description="What is left out is as deployed; else as the definitions say.")


def recompile_op(source: ApplicationSource) -> dg.OpDefinition:
    """An op that compiles an application, as the assets of its stages do.

    Args:
        source: the application.
    """

    @dg.op(name=f"{source.name}__compile_stages", out=NOTHING)
    @under_key(source.resource)
    def compile_stages(context: dg.OpExecutionContext, config: RedeployOptions, streams: StreamsResource) -> None:
        """Compile every stage and check it."""
        store, deployments = streams.artifacts, streams.deployments
        options = chosen(context.log, config, source, store, deployments)
        compile_all(context, source, store, options, deployments.deployed(source.name))

    return compile_stages


def compile_all(
    context: dg.OpExecutionContext,
    source: ApplicationSource,
    store: ArtifactStore,
    options: Options,
    deployed: Compilation | None,
) -> None:
    """Compile all stages, one after another, and record each on its asset.

    Args:
        context: of the op.
        source: the application.
        store: where stages are read and written.
        options: of the compiler.
        deployed: the plan that runs, whose PEs have the numbers that are shown; None where none does.

    Raises:
        Failure: a stage has errors, or its check fails; the stages behind it are not computed.
        OtherApplicationError: the spec is of another application.
    """
    _record(context, source, store, lambda stage: compile_stage(source, stage, store, options, deployed))


def keep_op(source: ApplicationSource, compilation: Compilation) -> dg.OpDefinition:
    """An op that stores what is compiled already, as the op of `recompile_op` does what it compiles.

    Args:
        source: the application.
        compilation: all that is to be stored.
    """

    @dg.op(name=f"{source.name}__compile_stages", out=NOTHING)
    @under_key(source.resource)
    def compile_stages(context: dg.OpExecutionContext, streams: StreamsResource) -> None:
        """Store every stage as the command has compiled it, and check it."""
        store, deployed = streams.artifacts, streams.deployments.deployed(source.name)
        versions = spec_version(source)

        def keep(stage: Stage) -> StageResult:
            inputs = {name: versions[name] for name in stage.inputs or (SPEC,) if name in versions}
            names = (stage.name,) if stage.inputs else (stage.name, "")
            diagnostics = [each for each in compilation.diagnostics if each.stage in names]
            kept = keep_stage(source, stage, store, compilation, diagnostics, inputs, deployed)
            versions[stage.name] = kept.data_version
            return kept

        _record(context, source, store, keep)

    return compile_stages


def _record(
    context: dg.OpExecutionContext,
    source: ApplicationSource,
    store: ArtifactStore,
    result_of: Callable[[Stage], StageResult],
) -> None:
    """Record the stages on their assets, one after another, until one has errors or fails its check."""
    context.log_event(observation(source.name, version_of(source.spec) or MISSING))
    for stage in STAGES:
        result = result_of(stage)
        context.log_event(_materialization(source, stage, result, store))
        log_events(context, result.evaluations(asset_key(source.name, stage.name), stage))
        if result.violations:
            message = f"{source.name}: {stage.name} did not pass its check: {result.problems}"
            raise dg.Failure(message, allow_retries=False)
        if not result.passed:
            raise failure(source, result.diagnostics)
        if errors_of(result.here or ()):
            raise failure(source, tuple(result.here or ()))


def _materialization(
    source: ApplicationSource, stage: Stage, result: StageResult, store: ArtifactStore
) -> dg.AssetMaterialization:
    """Return the event of a stage with the versions that Dagster records for assets, so that it finds outdated ones."""
    inputs = store.read(source.name, stage.name).inputs
    return dg.AssetMaterialization(
        asset_key(source.name, stage.name),
        metadata=result.metadata,
        tags={
            "dagster/data_version": result.data_version,
            "dagster/data_version_is_user_provided": "true",
            "dagster/code_version": stage_spec(source, stage).code_version or "",
            **{
                f"dagster/input_data_version/{asset_key(source.name, name).to_user_string()}": version
                for name, version in inputs.items()
            },
            **{
                f"dagster/input_event_pointer/{asset_key(source.name, name).to_user_string()}": "NULL"
                for name in inputs
            },
        },
    )
