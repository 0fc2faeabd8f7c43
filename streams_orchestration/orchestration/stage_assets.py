"""Every compilation stage as an asset with a blocking check."""

# Dagster reads the annotations of configs and resources here, so they may not be turned into text.

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import dagster as dg

from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.plan.plan import section
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic
from streams_orchestration.orchestration.artifacts import SPEC, ArtifactStore, StageDocument, StageMissingError, plain
from streams_orchestration.orchestration.checks import INVARIANTS
from streams_orchestration.orchestration.settings import CompileOptions
from streams_orchestration.orchestration.stages import (
    LOGICAL,
    STAGES,
    code_version,
    content_version,
    first_stage,
    next_stage,
)
from streams_orchestration.orchestration.summaries import Metadata, diagnostics_table, summarise
from streams_orchestration.runtime.errors import StreamsRuntimeError


@dataclass(frozen=True, slots=True)
class ApplicationSource:
    """An application as its definitions know it: its spec, and how it is compiled unless a run says otherwise."""

    name: str
    spec: Path
    defaults: Options = field(default_factory=Options)


class OtherApplicationError(StreamsRuntimeError):
    """The spec describes an application of another name than its assets have."""

    def __init__(self, source: ApplicationSource, found: str) -> None:
        super().__init__(
            f"{source.spec} describes {found}, not {source.name}. Reload the definitions if the spec has changed, or "
            "rename the application if another spec has that name."
        )


class StageResult(NamedTuple):
    """What compiling one stage gave."""

    data_version: str
    metadata: Metadata
    violations: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def passed(self) -> bool:
        """Whether the stages after it may be computed."""
        return not self.violations and not _errors(self.diagnostics)


def compile_stage(source: ApplicationSource, stage: str, store: ArtifactStore, options: Options) -> StageResult:
    """Compute one stage from the spec or from the stored stages before it, and store it.

    Args:
        source: the application.
        stage: name of the stage.
        store: where stages are read and written.
        options: for the first stage; the others go by what is stored with it.

    Raises:
        Failure: the spec has errors that leave no graph, or a stage before this one has errors; the diagnostics are
            in its metadata.
        OtherApplicationError: the spec is of another application.
        StageMissingError: a stage before this one was not compiled.
    """
    if stage == LOGICAL:
        inputs = {SPEC: content_version(source.spec.read_bytes())} if source.spec.is_file() else {}
        try:
            done, diagnostics = first_stage(source.spec, options)
        except ApplicationError as error:
            raise failure(source, error.diagnostics) from error
        if done.logical.application != source.name:
            raise OtherApplicationError(source, done.logical.application)
        result = {"options": plain(done.options), "graph": plain(done.logical)}
    else:
        before, inputs = store.progress(source.name, STAGES[stage].inputs)
        if _errors(before.diagnostics):
            raise failure(source, before.diagnostics)
        done, diagnostics = next_stage(stage, before)
        result = plain(getattr(done, STAGES[stage].field))
    violations = () if _errors(diagnostics) else tuple(INVARIANTS[stage].violations(done))
    document = StageDocument(
        application=source.name,
        stage=stage,
        spec=str(source.spec),
        inputs=inputs,
        section=section(stage, done),
        result=result,
        diagnostics=tuple(diagnostics),
        violations=violations,
    )
    path = store.write(document)
    return StageResult(document.data_version, summarise(stage, done, path), violations, tuple(diagnostics))


def failure(source: ApplicationSource, diagnostics: tuple[Diagnostic, ...]) -> dg.Failure:
    """The failure of a run, with every diagnostic; no retry can mend a spec."""
    errors = [str(error) for error in _errors(diagnostics)]
    return dg.Failure(
        description=f"{source.spec}: {len(errors)} error(s)\n" + "\n".join(errors),
        metadata={"streams/diagnostics": diagnostics_table(diagnostics)},
        allow_retries=False,
    )


def first_step(source: ApplicationSource) -> str:
    """Name of the step that takes the options."""
    return f"{source.name}__{LOGICAL}"


def stage_spec(source: ApplicationSource, stage: str) -> dg.AssetSpec:
    """How a stage shows as an asset."""
    inputs = STAGES[stage].inputs or (SPEC,)
    own = content_version(source.spec.read_bytes())[:12] if source.spec.is_file() else "missing"
    return dg.AssetSpec(
        key=[source.name, stage],
        deps=[dg.AssetKey([source.name, name]) for name in inputs],
        group_name=source.name,
        description=STAGES[stage].description,
        kinds={"json"},
        code_version=f"{code_version()}-{own}" if stage == LOGICAL else code_version(),
        tags={"streams/application": source.name, "streams/layer": "compilation"},
    )


def stage_asset(source: ApplicationSource, spec: dg.AssetSpec) -> dg.AssetsDefinition:
    """The asset that compiles a stage; the stage is the last part of the spec's key.

    One definition for each stage, not one for all: a blocking check inside a shared one would stop its siblings
    instead of those downstream (dagster#20659).
    """
    stage = spec.key.path[-1]
    invariant = INVARIANTS[stage]
    check = dg.AssetCheckSpec(invariant.name, asset=spec.key, description=invariant.description, blocking=True)
    define = dg.multi_asset(name="__".join(spec.key.path), specs=[spec], check_specs=[check])

    def results(found: StageResult) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
        yield dg.MaterializeResult(data_version=dg.DataVersion(found.data_version), metadata=found.metadata)
        problems = [*(error.message for error in _errors(found.diagnostics)), *found.violations]
        metadata: dict[str, Any] = {"streams/problems": dg.MetadataValue.int(len(problems))}
        if found.diagnostics:
            metadata["streams/diagnostics"] = diagnostics_table(found.diagnostics)
        if found.violations:
            metadata["streams/violations"] = dg.MetadataValue.json(list(found.violations[:20]))
        yield dg.AssetCheckResult(
            check_name=invariant.name,
            passed=found.passed,
            metadata=metadata,
            description="; ".join(problems[:5]) or None,
        )

    if stage != LOGICAL:

        @define
        def compute(artifact_store: ArtifactStore) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
            yield from results(compile_stage(source, stage, artifact_store, source.defaults))

        return compute

    @define
    def compute_first(
        config: CompileOptions, artifact_store: ArtifactStore
    ) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
        yield from results(compile_stage(source, stage, artifact_store, chosen(config, source, artifact_store)))

    return compute_first


def _errors(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    return [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]


def chosen(config: CompileOptions, source: ApplicationSource, store: ArtifactStore) -> Options:
    """The options of a run: those of its config, or with `keep` those of the last compilation if there was one."""
    if config.keep:
        try:
            return store.options(source.name)
        except StageMissingError:
            return source.defaults
    return config.options(source.defaults)
