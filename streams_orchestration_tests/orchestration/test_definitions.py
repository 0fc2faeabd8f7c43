from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

import streams_orchestration
from streams_orchestration.compiler.stage import FUSION, LOGICAL, PARALLEL
from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.orchestration import application, spec_state
from streams_orchestration.orchestration.application import build_application_definitions
from streams_orchestration.orchestration.definitions import build_definitions
from streams_orchestration.orchestration.instance import dagster_instance, run_job_in_process
from streams_orchestration.orchestration.versions import content_version
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.orchestration.components import EXPORTING, IMPORTING
from streams_orchestration_tests.orchestration.conftest import DEMO

pytestmark = pytest.mark.slow


def keys(defs: dg.Definitions) -> set[str]:
    return {key.to_user_string() for key in defs.resolve_all_asset_keys()}


def test_every_spec_has_its_definitions(spec: Path, home: Home):
    (spec.parent / "other.yml").write_text(DEMO.replace("application: demo", "application: other"))
    (spec.parent / "notes.txt").write_text("no spec")
    defs = build_definitions(spec.parent, home)
    dg.Definitions.validate_loadable(defs)
    jobs = {job.name for job in defs.resolve_all_job_defs()}
    for name in ("demo", "other"):
        assert {f"{name}__{job}" for job in ("compile", "deploy", "redeploy", "cancel", "reset")} <= jobs
        assert {f"{name}/{stage}" for stage in BY_NAME} <= keys(defs)
        assert {f"{name}/deployment", f"{name}/pes/pe_0", f"{name}/sinks/Results"} <= keys(defs)
    specs = {s.key.to_user_string(): s for s in defs.resolve_all_asset_specs()}
    assert {specs[key].group_name for key in specs if key.startswith("demo/")} == {"demo", "demo_profiling"}
    assert all(s.kinds and s.description for s in specs.values())


def test_definitions_warn_of_no_feature_that_the_user_did_not_choose(spec: Path, home: Home):
    with warnings.catch_warnings():
        warnings.simplefilter("error", dg.BetaWarning)
        build_definitions(spec.parent, home)


def test_descriptions_of_assets_name_their_subject(spec: Path, home: Home):
    descriptions = [each.description or "" for each in build_definitions(spec.parent, home).resolve_all_asset_specs()]
    assert not [each for each in descriptions if each.split(" ", 1)[0] in ("How", "What", "Where", "Which")]


def test_stages_and_deployment_are_drawn_in_their_descriptions(spec: Path, home: Home):
    assets = {asset.key.path[-1]: asset for asset in build_definitions(spec.parent, home).resolve_all_asset_specs()}
    pictures = {name: (assets[name].description or "").split("\n\n")[-1] for name in (*BY_NAME, "deployment")}
    assert all(picture.startswith("![") for picture in pictures.values())
    assert pictures[LOGICAL] != pictures[PARALLEL] != pictures[FUSION], "each shows what is known after its stage"


def test_a_graph_that_is_too_large_is_not_drawn(spec: Path, home: Home):
    spec.write_text(DEMO.replace("default: 2", "default: 100"))
    assets = build_definitions(spec.parent, home).resolve_all_asset_specs()
    assert [asset.key for asset in assets if "![" in (asset.description or "")] == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "specVersion: 1\napplication: demo\ngraph: [{name: A, operatr: Beacon}]\n",
        "specVersion: 1\napplication: demo\ngraph: [{name: A, operator: Missing}]\n",
        ": : :",
        "- 1",
    ],
)
def test_a_broken_spec_does_not_take_the_location_down(spec: Path, home: Home, text: str):
    (spec.parent / "demo.yaml").write_text(text)
    (spec.parent / "good.yaml").write_text(DEMO.replace("application: demo", "application: good"))
    defs = build_definitions(spec.parent, home)
    dg.Definitions.validate_loadable(defs)
    assert {f"demo/{stage}" for stage in BY_NAME} <= keys(defs)
    assert "good/sinks/Results" in keys(defs)
    result = defs.resolve_job_def("demo__compile").execute_in_process(raise_on_error=False)
    assert not result.success


def test_a_spec_that_is_gone_fails_alone(spec: Path, home: Home):
    defs = build_definitions(spec.parent, home)
    spec.unlink()
    assert not defs.resolve_job_def("demo__compile").execute_in_process(raise_on_error=False).success


@pytest.mark.parametrize("copy", ["demo-copy.yaml", "a copy of demo.yaml", "zz.yml"])
def test_two_specs_of_one_application_are_an_error_of_that_application_only(spec: Path, home: Home, copy: str):
    (spec.parent / copy).write_text(DEMO)
    (spec.parent / "good.yaml").write_text(DEMO.replace("application: demo", "application: good"))
    defs = build_definitions(spec.parent, home)
    dg.Definitions.validate_loadable(defs)
    assert {key for key in keys(defs) if key.startswith("demo/")} == {"demo/spec"}
    assert {f"demo__{job}" for job in ("cancel", "reset")} == jobs_of(defs, "demo")
    (evaluation,) = failed_checks(defs, "demo")
    assert copy in (evaluation.description or "")
    assert "good/sinks/Results" in keys(defs)


PYTHON = """
from streams_orchestration.builder import Application
{code}
app = Application("slow")
"""


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import threading; threading.Event().wait()", "its code has not ended within"),
        ("raise LookupError('no such table')", "no such table"),
        ("import sys; sys.exit(3)", "SystemExit"),
    ],
)
def test_the_code_of_a_spec_takes_no_other_application_down(
    spec: Path, home: Home, monkeypatch: pytest.MonkeyPatch, code: str, said: str
):
    monkeypatch.setattr(spec_state, "LOAD_SECONDS", 0.5)
    (spec.parent / "slow.py").write_text(PYTHON.format(code=code))
    defs = build_definitions(spec.parent, home)
    dg.Definitions.validate_loadable(defs)
    assert "demo/sinks/Results" in keys(defs)
    (evaluation,) = failed_checks(defs, "slow")
    assert said in (evaluation.description or "")


def test_an_application_that_cannot_be_built_takes_no_other_one_down(
    spec: Path, home: Home, monkeypatch: pytest.MonkeyPatch
):
    (spec.parent / "other.yml").write_text(DEMO.replace("application: demo", "application: other"))

    def faulty(path: Path, *_: object, name: str, **more: Any) -> dg.Definitions:
        if name == "other":
            message = "an error of the product"
            raise LookupError(message)
        return build_application_definitions(path, home, name=name, **more)

    monkeypatch.setattr(application, "build_application_definitions", faulty)
    defs = build_definitions(spec.parent, home)
    assert "demo/sinks/Results" in keys(defs)
    (evaluation,) = failed_checks(defs, "other")
    assert evaluation.description == "LookupError: an error of the product"


def jobs_of(defs: dg.Definitions, application: str) -> set[str]:
    return {job.name for job in defs.resolve_all_job_defs() if job.name.startswith(f"{application}__")}


def failed_checks(defs: dg.Definitions, application: str) -> list[dg.AssetCheckEvaluation]:
    """Return the failed checks that the sensor of specs records first for an application."""
    sensor = defs.resolve_sensor_def("specs")
    with dg.DagsterInstance.ephemeral() as instance:
        data = sensor.evaluate_tick(dg.build_sensor_context(instance=instance))
    checks = [event for event in data.asset_events if isinstance(event, dg.AssetCheckEvaluation)]
    return [each for each in checks if each.asset_key.path[0] == application and not each.passed]


def test_specs_are_observed_when_they_change(spec: Path, home: Home):
    sensor = build_definitions(spec.parent, home).resolve_sensor_def("specs")

    def tick(cursor: str | None) -> tuple[str | None, Sequence[tuple[str, bool | str]]]:
        with dg.DagsterInstance.ephemeral() as instance:
            data = sensor.evaluate_tick(dg.build_sensor_context(instance=instance, cursor=cursor))
        shown = [
            ("check", event.passed)
            if isinstance(event, dg.AssetCheckEvaluation)
            else ("version", (event.tags or {})["dagster/data_version"])
            for event in data.asset_events
        ]
        return data.cursor, shown

    cursor, first = tick(None)
    assert first == [("version", content_version(spec.read_bytes())), ("check", True)]
    cursor, second = tick(cursor)
    assert second == []
    spec.write_text(DEMO.replace("operator: Filter", "operatr: Filter"))
    cursor, third = tick(cursor)
    assert third == [("version", content_version(spec.read_bytes())), ("check", False)]
    spec.unlink()
    assert tick(cursor)[1] == [("version", "missing"), ("check", False)]


def test_applications_compiled_from_elsewhere_have_assets(spec: Path, home: Home, defs: dg.Definitions, tmp_path: Path):
    empty = tmp_path / "none"
    assert not keys(build_definitions(empty, home))
    assert defs.resolve_job_def("demo__compile").execute_in_process().success
    assert "demo/sinks/Results" in keys(build_definitions(empty, home))
    spec.unlink()
    assert "demo/sinks/Results" in keys(build_definitions(empty, home))
    (home.artifacts / "demo" / "logical_graph.json").write_text("[]")
    assert not keys(build_definitions(empty, home))


def test_the_lineage_is_that_of_the_last_compilation(spec: Path, home: Home, defs: dg.Definitions):
    config = {"ops": {"demo__logical_graph": {"config": {"submission": {"width": "5"}}}}}
    assert defs.resolve_job_def("demo__compile").execute_in_process(config).success
    assert "demo/streams/Even[4]" in keys(build_definitions(spec.parent, home))


def test_a_run_in_process_is_filed_under_its_job(
    home: Home, defs: dg.Definitions, monkeypatch: pytest.MonkeyPatch, capfd
):
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    with dagster_instance(home, captured=False) as instance:
        run = run_job_in_process(instance, "demo__compile", defs, tags={"streams/by": "test"})
        actual = instance.get_runs(filters=dg.RunsFilter(job_name="demo__compile"))
    assert [record.run_id for record in actual] == [run.run_id]
    assert actual[0].status is dg.DagsterRunStatus.SUCCESS
    assert actual[0].tags[".dagster/repository"] == "__repository__@streams"
    assert actual[0].tags["streams/by"] == "test"
    assert (home.dagster / "dagster.yaml").is_file()
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_the_error_of_an_op_surfaces_as_it_is(home: Home, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("DAGSTER_HOME", raising=False)

    @dg.op
    def wrapped() -> None:
        try:
            raise LookupError("the cause")  # noqa: EM101
        except LookupError as error:
            raise dg.Failure(allow_retries=False) from error

    @dg.op(retry_policy=dg.RetryPolicy(max_retries=1))
    def retried() -> None:
        raise LookupError("the cause")  # noqa: EM101

    for op in (wrapped, retried):
        job = dg.GraphDefinition(name=f"of_{op.name}", node_defs=[op]).to_job(executor_def=dg.in_process_executor)
        with dagster_instance(home) as instance:
            with pytest.raises(LookupError, match="the cause"):
                run_job_in_process(instance, job.name, dg.Definitions(jobs=[job]))
            (run,) = instance.get_runs(filters=dg.RunsFilter(job_name=job.name))
            assert run.tags["dagster/will_retry"] == "false", "who asked was told; a daemon must not reset once more"


def test_an_interrupt_surfaces_as_such(home: Home, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("DAGSTER_HOME", raising=False)

    @dg.op
    def interrupted() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()

    job = dg.GraphDefinition(name="interrupted_job", node_defs=[interrupted]).to_job(
        executor_def=dg.in_process_executor
    )
    with dagster_instance(home) as instance:
        with pytest.raises(KeyboardInterrupt):
            run_job_in_process(instance, job.name, dg.Definitions(jobs=[job]))
        assert [run.status for run in instance.get_runs()] == [dg.DagsterRunStatus.FAILURE]


def loaded(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after a statement."""
    code = f"import sys\n{statement}\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_the_code_location_does_not_load_spark(tmp_path: Path):
    modules = loaded("import streams_orchestration.orchestration.definitions")
    assert "dagster" in modules
    assert not modules & {"pyspark", "py4j", "pandas", "polars", "pyarrow", "pulp"}


def test_the_functions_of_ops_and_sensors_do_not_load_spark():
    assert not loaded("import streams_orchestration.runtime.deployment.deployment") & {"pyspark", "py4j"}


def test_the_package_loads_dagster_on_demand_only():
    assert "dagster" not in loaded("import streams_orchestration.orchestration")
    component = (
        "from streams_orchestration.orchestration import StreamsApplicationComponent, build_application_definitions"
    )
    assert "dagster" in loaded(component)


def test_exports_that_an_import_reads_are_upstream_of_it(tmp_path: Path, home: Home):
    for name, level in (("low", 1), ("high", 2)):
        (tmp_path / f"{name}.yaml").write_text(EXPORTING.format(name=name, level=level))
    (tmp_path / "reader.yaml").write_text(IMPORTING)
    defs = build_definitions(tmp_path, home)
    dg.Definitions.validate_loadable(defs)
    (spec,) = [spec for spec in defs.resolve_all_asset_specs() if spec.key.path == ["reader", "imports", "In"]]
    assert [dep.asset_key.path for dep in spec.deps] == [["high", "exports", "Out"]]


def test_descriptions_in_the_launchpad_hold_no_code_of_tests(defs: dg.Definitions):
    descriptions: list[str] = []

    def visit(shape: Any) -> None:
        for field in getattr(shape, "fields", {}).values():
            descriptions.append(field.description or "")
            visit(field.config_type)

    for job in defs.resolve_all_job_defs():
        visit(job.run_config_schema.run_config_schema_type)
    assert any("state directory" in text for text in descriptions)
    assert not [text for text in descriptions if ">>>" in text or "doctest" in text]


def test_a_checkout_is_a_project_of_dagsters_command():
    root = Path(streams_orchestration.__file__).parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["dg"]["project"]
    modules = [project["code_location_target_module"], project["defs_module"], *project["registry_modules"]]
    assert all(find_spec(module) for module in modules)
