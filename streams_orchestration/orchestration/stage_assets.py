"""Every compilation stage as an asset with blocking checks."""

# Dagster reads the annotations of configs and resources here, so they may not be turned into text.
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import dagster as dg

from streams_orchestration.compiler.checking.deployable import findings_here
from streams_orchestration.compiler.compilation import Compilation, Progress
from streams_orchestration.compiler.compiling import compute
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.plan import section
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.compiler.redeployment.kept_options import fit
from streams_orchestration.compiler.redeployment.numbered import stages_as_deployed
from streams_orchestration.compiler.stage import DEPLOYMENT, Stage
from streams_orchestration.model.brief import plural
from streams_orchestration.model.diagnostics import Diagnostic, errors_of, in_order
from streams_orchestration.model.python_file import file_of
from streams_orchestration.orchestration.artifacts import SPEC, ArtifactStore, StageDocument, plain
from streams_orchestration.orchestration.asset_keys import APPLICATION_TAG, own_key
from streams_orchestration.orchestration.decisions import decided_options
from streams_orchestration.orchestration.deployments import deployed_or_compiled_options
from streams_orchestration.orchestration.remedies import in_dagster
from streams_orchestration.orchestration.resource import RESOURCE_KEY, streams_in
from streams_orchestration.orchestration.settings import CompileOptions
from streams_orchestration.orchestration.summaries import Metadata, check_result, diagnostics_table, summarise
from streams_orchestration.orchestration.versions import code_version, content_version
from streams_orchestration.runtime import api

StageResults = Iterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]
"""The results of a stage's asset: its materialization, then the outcome of each check."""
RUNS_HERE = "runs_here"
"""The check in which the operators themselves judge the deployment plan, as in `streams check`."""
NOT_ASKED = "the operators were not checked, since the plan has errors"


@dataclass(frozen=True, slots=True)
class ApplicationSource:
    """The name and the spec of an application, with the compiler options that a run has unless it sets others."""

    name: str
    spec: Path
    defaults: Options = field(default_factory=Options)
    resource: str = RESOURCE_KEY
    """Key of the resource with the application's state directory."""


class OtherApplicationError(api.StreamsRuntimeError):
    """The application in the spec has another name than the one that the assets are for."""

    def __init__(self, source: ApplicationSource, described: str) -> None:
        super().__init__(
            f"{source.spec} describes {described}, not {source.name}. Reload the definitions if the spec has changed, "
            "or rename the application if another spec has that name."
        )


class StageResult(NamedTuple):
    """The result of compiling one stage."""

    data_version: str
    metadata: Metadata
    violations: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    here: tuple[Diagnostic, ...] | None = None
    """The reasons why the deployment plan cannot run here, and warnings on its operators; None if not checked."""

    @property
    def passed(self) -> bool:
        """True if the stage has no errors and no violations, so that later stages may be computed."""
        return not self.violations and not errors_of(self.diagnostics)

    @property
    def problems(self) -> str | None:
        """The first five errors and violations as a text; None if there are none."""
        problems = [*(error.message for error in errors_of(self.diagnostics)), *self.violations]
        return "; ".join(problems[:5]) or None

    @property
    def check_metadata(self) -> Metadata:
        """The metadata of the stage's check: the number of problems, the diagnostics, the first 20 violations."""
        count = len(errors_of(self.diagnostics)) + len(self.violations)
        metadata: Metadata = {"streams/problems": count}
        if self.diagnostics:
            metadata["streams/diagnostics"] = diagnostics_table(self.diagnostics)
        if self.violations:
            metadata["streams/violations"] = list(self.violations[:20])
        return metadata

    def evaluations(self, key: dg.AssetKey, stage: Stage) -> Iterator[dg.AssetCheckEvaluation]:
        """Yield the outcome of each check of the stage's asset; its text has at most five problems."""
        yield dg.AssetCheckEvaluation(
            asset_key=key,
            check_name=stage.invariant_name,
            passed=self.passed,
            blocking=True,
            metadata=self.check_metadata,
            description=self.problems,
        )
        if stage.name == DEPLOYMENT:
            errors = errors_of(self.here or ())
            metadata: Metadata = {"streams/problems": len(errors)}
            if self.here:
                metadata["streams/diagnostics"] = diagnostics_table(self.here)
            yield dg.AssetCheckEvaluation(
                asset_key=key,
                check_name=RUNS_HERE,
                passed=self.passed and not errors,
                blocking=True,
                metadata=metadata,
                description="\n".join(str(error) for error in errors[:5]) or (None if self.passed else NOT_ASKED),
            )


def checks_of(key: dg.AssetKey, stage: Stage) -> list[dg.AssetCheckSpec]:
    """Return the checks of a stage's asset; each one blocks the later stages if it fails."""
    checks = [(stage.invariant_name, stage.invariant_description)]
    if stage.name == DEPLOYMENT:
        checks.append((RUNS_HERE, "Operators can run here: parameters, expressions, types, files and packages fit."))
    return [dg.AssetCheckSpec(name, asset=key, description=text, blocking=True) for name, text in checks]


def compile_stage(
    source: ApplicationSource, stage: Stage, store: ArtifactStore, options: Options, deployed: Compilation | None
) -> StageResult:
    """Compute one stage from the spec or from the stored stages before it, and store it.

    Operators judge a deployment plan without errors, which loads their code. `options` are for the first stage; later
    stages use those that are stored with it. The metadata show the numbers of PEs of the `deployed` plan, if there is
    one.

    Raises:
        Failure: the spec has errors that leave no graph, or a stage before this one has errors; the diagnostics are
            in its metadata.
        OtherApplicationError: the spec describes another application.
        StageMissingError: a stage before this one was not compiled.
    """
    if stage.inputs:
        before, inputs = store.progress(source.name, stage.inputs)
    else:
        before, inputs = _read(source, options)
    if errors_of(before.diagnostics):
        raise failure(source, before.diagnostics)
    done, findings = compute(stage, before)
    diagnostics = findings if stage.inputs else [*before.diagnostics, *findings]
    kept = keep_stage(source, stage, store, done, diagnostics, inputs, deployed)
    return kept._replace(here=findings_here(done)) if stage.name == DEPLOYMENT and kept.passed else kept


def keep_stage(
    source: ApplicationSource,
    stage: Stage,
    store: ArtifactStore,
    done: Progress,
    diagnostics: Sequence[Diagnostic],
    inputs: Mapping[str, str],
    deployed: Compilation | None,
) -> StageResult:
    """Check the result of a stage, and store it. The result of a stage with errors is not checked.

    `done` has the results of this stage and of the stages that it reads. The diagnostics of the first stage include
    those on the text of the spec. `inputs` are the data versions from which the stage was computed.
    """
    result = plain(done[stage.result])
    if not stage.inputs:
        result = {"options": plain(done.options), "graph": result}
    violations = () if errors_of(diagnostics) else tuple(stage.invariant(done))
    document = StageDocument(
        application=source.name,
        stage=stage.name,
        spec=str(source.spec),
        inputs=inputs,
        section=section(stage, done),
        result=result,
        diagnostics=tuple(diagnostics),
        violations=violations,
    )
    path = store.write(document)
    metadata = summarise(stage, stages_as_deployed(done, deployed), path)
    return StageResult(document.data_version, metadata, violations, tuple(diagnostics))


def _read(source: ApplicationSource, options: Options) -> tuple[Progress, dict[str, str]]:
    """Read the spec; return the input of the first stage, with the findings on the text, and the spec's version."""
    inputs = spec_version(source)
    spec = read_application(source.spec)
    if spec.application is None or errors_of(spec.diagnostics):
        raise failure(source, in_order(spec.diagnostics))
    described = options.name or spec.name
    if described != source.name:
        raise OtherApplicationError(source, described)
    return Progress(options, diagnostics=spec.diagnostics).with_result(spec.application), inputs


def spec_version(source: ApplicationSource) -> dict[str, str]:
    """Return `{SPEC: version}` of the spec, which is the input of the first stage; empty if it cannot be read."""
    try:
        return {SPEC: content_version(file_of(source.spec).read_bytes())}
    except OSError:
        return {}


def failure(source: ApplicationSource, diagnostics: tuple[Diagnostic, ...]) -> dg.Failure:
    """Return the failure of a run, with every diagnostic; it is not retried, since no retry mends a spec."""
    errors = [str(error) for error in errors_of(diagnostics)]
    return dg.Failure(
        description=f"{source.spec}: {plural(len(errors), 'error')}\n" + in_dagster("\n".join(errors), source.name),
        metadata={"streams/diagnostics": diagnostics_table(diagnostics)},
        allow_retries=False,
    )


def stage_spec(source: ApplicationSource, stage: Stage, description: str | None = None) -> dg.AssetSpec:
    """Return the Dagster spec of a stage's asset.

    A `description` in Markdown replaces the stage's own.
    """
    inputs = stage.inputs or (SPEC,)
    own = spec_version(source).get(SPEC, "missing")[:12]
    return dg.AssetSpec(
        key=own_key(source.name, stage.name),
        deps=[own_key(source.name, name) for name in inputs],
        group_name=source.name,
        description=description or stage.description,
        kinds={"json"},
        code_version=f"{code_version()}-{own}" if not stage.inputs else code_version(),
        tags={APPLICATION_TAG: source.name, "streams/layer": "compilation"},
    )


def stage_asset(source: ApplicationSource, stage: Stage, spec: dg.AssetSpec) -> dg.AssetsDefinition:
    """Return the asset that compiles a stage, with its blocking checks.

    Each stage has a definition of its own, since a blocking check in a shared definition would stop the sibling assets
    instead of the downstream ones (dagster#20659).
    """
    define = dg.multi_asset(
        name=f"{source.name}__{stage.name}",
        specs=[spec],
        check_specs=checks_of(spec.key, stage),
        required_resource_keys={source.resource},
    )

    def compiled(context: dg.AssetExecutionContext, config: CompileOptions | None) -> StageResults:
        streams = streams_in(context, source.resource)
        store, catalog = streams.artifacts, api.Catalog(streams.directory())
        deployed = api.read_compilation_if_readable(catalog, source.name)
        options = source.defaults if config is None else chosen(context.log, config, source, store, catalog)
        yield from results_of(compile_stage(source, stage, store, options, deployed), spec.key, stage)

    if stage.inputs:

        @define
        def compute_next(context: dg.AssetExecutionContext) -> StageResults:
            yield from compiled(context, None)

        return compute_next

    @define
    def compute_first(context: dg.AssetExecutionContext, config: CompileOptions) -> StageResults:
        yield from compiled(context, config)

    return compute_first


def results_of(result: StageResult, key: dg.AssetKey, stage: Stage) -> StageResults:
    """Yield the materialization of a stage's asset, then the outcome of each check."""
    yield dg.MaterializeResult(data_version=dg.DataVersion(result.data_version), metadata=result.metadata)
    for each in result.evaluations(key, stage):
        yield check_result(each)


def chosen(
    log: dg.DagsterLogManager,
    config: CompileOptions,
    source: ApplicationSource,
    store: ArtifactStore,
    catalog: api.Catalog,
) -> Options:
    """Return the compiler options of a run.

    An option that the run's config leaves out has the value in the definitions, or with `keep` or `decision_gain` the
    deployed value. With `decision_gain` the options also contain the stored decision. Deployed values that do not fit
    the spec are left out, with a warning in the log.

    Raises:
        NotDecoupledError: the stored decision promises too little, or does not exist.
        StageMissingError, ApplicationError: the stored decision cannot be read, or is not valid.
        ApplicationError: the profile or the decoupling decision in the config is not valid.
        CatalogError: with `keep` or `decision_gain`, the catalog cannot be read.
    """
    gain = config.decision_gain
    if not config.keep and gain is None:
        return config.options(source.defaults)
    kept = deployed_or_compiled_options(catalog, source.name, store, source.defaults)
    if gain is not None:
        kept = replace(kept, decoupling=None)
    fitted = fit(read_application(source.spec), kept, config.options)
    for remark in fitted.remarks:
        log.warning("%s: %s", source.name, remark)
    return fitted.options if gain is None else decided_options(store, source.name, fitted.options, gain)
