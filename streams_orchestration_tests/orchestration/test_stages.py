from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.plan import plan_document
from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.orchestration import application
from streams_orchestration.orchestration.application import build_application_definitions
from streams_orchestration.orchestration.artifacts import ArtifactStore
from streams_orchestration.orchestration.stage_assets import RUNS_HERE
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.orchestration.conftest import DEMO, Runtime, failure_of

pytestmark = pytest.mark.slow


def materialize(defs: dg.Definitions, instance: dg.DagsterInstance | None = None, **config: object):
    run_config = {"ops": {"demo__logical_graph": {"config": config}}}
    job = defs.resolve_job_def("demo__compile")
    return job.execute_in_process(run_config, instance=instance, raise_on_error=False)


def versions(result: dg.ExecuteInProcessResult) -> dict[str, str]:
    return {
        event.asset_key.path[-1]: event.materialization.tags["dagster/data_version"]
        for event in result.get_asset_materialization_events()
        if event.asset_key and event.materialization.tags
    }


def test_all_stages_compile_and_pass_their_checks(defs: dg.Definitions):
    result = materialize(defs)
    assert result.success
    assert set(versions(result)) == set(BY_NAME)
    evaluations = result.get_asset_check_evaluations()
    assert {evaluation.check_name for evaluation in evaluations} == {
        RUNS_HERE, *(stage.invariant_name for stage in BY_NAME.values())
    }  # fmt: skip
    assert all(evaluation.passed and evaluation.blocking for evaluation in evaluations)


def test_a_spec_that_cannot_be_read_is_a_failure_without_a_traceback(
    spec: Path, home: Home, defs: dg.Definitions, monkeypatch: pytest.MonkeyPatch
):
    def refused(_path: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refused)
    result = materialize(defs)
    data = failure_of(result)
    assert data.user_failure_data is not None, data.error
    assert "Permission denied" in (data.user_failure_data.description or "")
    monkeypatch.undo()
    spec.chmod(0o600)
    assert build_application_definitions(spec, home).resolve_job_def("demo__compile")


@pytest.mark.covering
@pytest.mark.parametrize("job", ["demo__compile", "demo__redeploy"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("n % 2 == 0", "m % 2 == 0"), "m"),
        (("format: csv", "format: cvs"), "cvs"),
        (("operator: Beacon", "operator: Beacon"), ""),
    ],
)
def test_a_spec_that_check_refuses_fails_the_check_of_the_plan(
    spec: Path, home: Home, runtime: Runtime, job: str, change: tuple[str, str], said: str
):
    spec.write_text(DEMO.replace(*change))
    defs = build_application_definitions(spec, home)
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def(job).execute_in_process(instance=instance, raise_on_error=False)
        key = dg.AssetCheckKey(dg.AssetKey(["demo", "deployment_plan"]), RUNS_HERE)
        (record,) = instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    assert record.event is not None
    assert record.event.dagster_event is not None
    evaluation = record.event.dagster_event.asset_check_evaluation_data
    assert evaluation.passed == result.success == (not said)
    assert said in (evaluation.description or "")
    assert ("streams/diagnostics" in evaluation.metadata) == bool(said)
    assert bool(runtime.calls) == (result.success and job == "demo__redeploy")


def test_the_stored_sections_are_those_of_the_plan(defs: dg.Definitions, spec: Path, store: ArtifactStore):
    assert materialize(defs).success
    plan = plan_document(compile_spec(spec))
    for stage in BY_NAME.values():
        content = json.loads(store.path("demo", stage.name).read_bytes())
        assert content[stage.key] == plan.get(stage.key)


def test_the_stored_artifacts_are_the_compilation(defs: dg.Definitions, spec: Path, store: ArtifactStore):
    assert materialize(defs).success
    assert store.compilation("demo") == compile_spec(spec)


def test_versions_are_stable(defs: dg.Definitions, spec: Path):
    with dg.DagsterInstance.ephemeral() as instance:
        first = versions(materialize(defs, instance))
        assert versions(materialize(defs, instance)) == first
        spec.write_text(spec.read_text().replace("iterations: 1000", "iterations: 2000"))
        changed = versions(materialize(defs, instance))
    assert {stage for stage in BY_NAME if changed[stage] != first[stage]} == {"logical_graph", "deployment_plan"}


def test_code_versions_name_the_spec(defs: dg.Definitions):
    specs = {spec.key.path[-1]: spec for spec in defs.resolve_all_asset_specs()}
    assert specs["logical_graph"].code_version != specs["fusion_plan"].code_version
    assert specs["copy_plan"].code_version == specs["fusion_plan"].code_version


def test_options_of_the_first_stage_hold_for_all(defs: dg.Definitions, store: ArtifactStore):
    assert materialize(defs, submission={"width": "3"}, fusion="legacy").success
    compilation = store.compilation("demo")
    assert compilation.options.submission == {"width": "3"}
    assert compilation.fusion.scheme == "legacy"
    assert sum(operator.name.startswith("Even[") for operator in compilation.physical.operators) == 3
    assert materialize(defs, keep=True).success
    assert store.compilation("demo") == compilation
    assert materialize(defs, widths=[{"pattern": "Ev*", "width": 4}]).success
    assert store.compilation("demo").logical.regions[0].width == 4


def test_a_failed_check_stops_what_is_downstream(spec: Path, home: Home, monkeypatch: pytest.MonkeyPatch):
    def pes_partition_operators(done: Progress) -> Iterator[str]:
        yield "Numbers is in 2 PEs"

    fusion = replace(BY_NAME["fusion_plan"], invariant=pes_partition_operators)
    monkeypatch.setattr(application, "STAGES", [*{**BY_NAME, "fusion_plan": fusion}.values()])
    result = materialize(build_application_definitions(spec, home))
    assert not result.success
    done = set(versions(result))
    assert "consistent_region_map" in done
    assert not done & {"thread_plan", "copy_plan"}
    failed = [evaluation for evaluation in result.get_asset_check_evaluations() if not evaluation.passed]
    assert [evaluation.description for evaluation in failed] == ["Numbers is in 2 PEs"]


def test_a_stage_is_not_computed_from_one_with_errors(defs: dg.Definitions, store: ArtifactStore):
    assert materialize(defs).success
    document = store.read("demo", "fusion_plan")
    store.write(replace(document, diagnostics=(Diagnostic("SO0001", "error", "it is wrong"),)))
    job = defs.resolve_job_def("demo__compile")
    with pytest.raises(dg.Failure, match="it is wrong"):
        job.execute_in_process(asset_selection=[dg.AssetKey(["demo", "thread_plan"])])


def test_metadata_tells_what_is_in_a_stage(defs: dg.Definitions):
    result = materialize(defs)
    shown = {
        e.asset_key.path[-1]: e.materialization.metadata
        for e in result.get_asset_materialization_events()
        if e.asset_key
    }
    assert shown["logical_graph"]["streams/operators"].value == 3
    assert shown["parallel_expanded_graph"]["streams/operators"].value == 4
    assert shown["consistent_region_map"]["streams/regions"].value == 1
    assert isinstance(shown["fusion_plan"]["streams/pe_table"], dg.TableMetadataValue)
    for metadata in shown.values():
        drawing = metadata["streams/drawing"]
        assert isinstance(drawing, dg.MarkdownMetadataValue)
        assert "data:image/svg+xml;base64," in str(drawing.value)
        assert Path(str(metadata["streams/document"].value)).is_file()


def test_an_error_in_the_spec_fails_with_the_diagnostics(defs: dg.Definitions, spec: Path):
    spec.write_text(spec.read_text().replace("operator: Filter", "operator: Fliter"))
    result = materialize(defs)
    assert not result.success
    assert not versions(result).keys() & {"parallel_expanded_graph", "copy_plan"}
    texts = " ".join(str(event.event_specific_data) for event in result.all_events)
    assert "Fliter" in texts
