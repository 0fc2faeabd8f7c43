"""The page of Dagster: each of its snippets runs as it stands there."""

from __future__ import annotations

import socket
import sys
import traceback
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.orchestration.definitions import build_definitions
from streams_orchestration.orchestration.epochs import VERSION_TAG
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.commands import POLL_SECONDS, SPECS, TIMEOUT_SECONDS
from streams_orchestration_tests.orchestration.conftest import DEMO, Runtime
from streams_orchestration_tests.orchestration.dagster_page import (
    DEFS,
    SCAFFOLDED,
    commands,
    copied,
    files,
    loaded,
    run,
    started,
    write,
)
from streams_orchestration_tests.orchestration.statuses import running
from streams_orchestration_tests.waiting import until

pytestmark = [pytest.mark.slow, SCAFFOLDED]

OWN = ["results", "after_epochs", "alerts"]
RESULTS = dg.AssetKey(["numbers", "sinks", "Results"])
MENDED = dg.AssetCheckKey(dg.AssetKey(["numbers", "deployment"]), "failures_are_mended")


@pytest.fixture
def project(scaffolded: Path, tmp_path: Path) -> Path:
    """A project of its own for each test, with the files of the page."""
    copy = copied(scaffolded, tmp_path / "project")
    write(copy, *(f"reports/defs/{name}.py" for name in OWN), "test_reports.py", "workspace.yaml")
    return copy


def shown(epoch: int) -> dg.AssetMaterialization:
    """Return the materialization of the sink at an epoch."""
    return dg.AssetMaterialization(RESULTS, tags={VERSION_TAG: f"{epoch}@life"})


def test_every_snippet_is_known():
    own = {f"reports/defs/{name}.py" for name in [*OWN, "shops"]}
    others = {"pyproject.toml", "reports/definitions.py", DEFS, "test_reports.py", "run_config.yaml", "workspace.yaml"}
    assert set(files()) == own | others | {"reports/defs/orders/defs.yaml"}
    assert len(commands("")) == len(commands("dg ")) + len(commands("python ")) + len(commands("dagster-daemon "))


def test_the_project_is_valid_and_has_what_the_page_names(project: Path, monkeypatch: pytest.MonkeyPatch):
    with loaded(project, monkeypatch) as defs:
        dg.Definitions.validate_loadable(defs)
        assert {RESULTS, dg.AssetKey("largest")} <= set(defs.resolve_all_asset_keys())
        assert dg.AssetCheckKey(RESULTS, "numbers_are_distinct") in {each.key for each in checks(defs)}
        assert defs.resolve_job_def("numbers__redeploy")
        assert defs.resolve_sensor_def("a_person_is_needed")


def checks(defs: dg.Definitions) -> list[dg.AssetCheckSpec]:
    return [each for checked in defs.asset_checks or () for each in checked.check_specs]


@pytest.mark.parametrize("job", ["flights__available", "flights__redeploy"])
def test_the_run_config_fits_the_jobs_that_compile_and_deploy(tmp_path: Path, job: str):
    (config,) = files()["run_config.yaml"]
    defs = build_definitions(SPECS, Home(tmp_path / "home"))
    dg.validate_run_config(defs.resolve_job_def(job), yaml.safe_load(config))


def test_the_workspace_has_the_project_and_the_location_of_the_product():
    (text,) = files()["workspace.yaml"]
    modules = [each["python_module"]["module_name"] for each in yaml.safe_load(text)["load_from"]]
    assert modules == ["reports.definitions", build_definitions.__module__]


@pytest.mark.deep
def test_the_project_is_checked_and_listed(project: Path):
    """The commands read what the tests above load in this process."""
    (check,), (listing,) = commands("dg check"), commands("dg list")
    run(project, *check)
    said = run(project, *listing)
    for name in ("numbers/sinks/Results", "largest", "numbers_are_distinct", "numbers__redeploy", "a_person_is_needed"):
        assert name in said


@pytest.mark.deep
def test_the_component_is_listed_and_a_wrong_key_is_reported(project: Path):
    """Each command takes seconds; `test_component.py` and `test_yaml_schema.py` show the same without one."""
    assert "streams_orchestration.orchestration.StreamsApplicationComponent" in run(project, "dg", "list", "components")
    (project / DEFS).write_text(files()[DEFS][0].replace("timezone", "timezon"))
    assert "timezon" in run(project, "dg", "check", "yaml", succeeds=False)


@pytest.mark.parametrize("broken", [None, ": : :"])
def test_a_spec_with_errors_fails_the_load_where_that_is_wanted(
    project: Path, broken: str | None, monkeypatch: pytest.MonkeyPatch
):
    spec = project / "reports/defs/numbers/application.yaml"
    spec.unlink()
    if broken is not None:
        spec.write_text(broken)
    with loaded(project, monkeypatch) as defs:
        assert dg.AssetKey(["numbers", "spec"]) in defs.resolve_all_asset_keys()
    write(project, DEFS)
    with pytest.raises(Exception, match="numbers") as error, loaded(project, monkeypatch):
        pass
    assert "application.yaml" in "".join(traceback.format_exception(error.value))


def test_the_settings_of_the_component_are_those_of_its_schedule(project: Path, monkeypatch: pytest.MonkeyPatch):
    write(project, DEFS)
    with loaded(project, monkeypatch) as defs:
        schedule = defs.resolve_schedule_def("numbers__redeploy")
        assert (schedule.cron_schedule, schedule.execution_timezone) == ("0 3 * * *", "Europe/Berlin")


def test_assets_have_the_keys_groups_and_owners_of_the_translation(project: Path, monkeypatch: pytest.MonkeyPatch):
    (project / DEFS).write_text(files()[DEFS][2])
    with loaded(project, monkeypatch) as defs:
        specs = {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}
    sink = specs["plant/numbers/sinks/Results"]
    assert (sink.group_name, sink.owners, sink.metadata["streams/node"]) == ("plant", ["team:data"], "sinks/Results")


def test_the_job_and_the_selection_run_the_application(
    project: Path, runtime: Runtime, monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance
):
    runtime.status = running(application="numbers")
    (launch,) = commands("dg launch")
    with loaded(project, monkeypatch) as defs:
        assert defs.resolve_job_def(launch[-1]).execute_in_process(instance=instance).success
        runtime.calls.clear()
        chosen = dg.AssetSelection.from_string('+key:"numbers/deployment"')
        job = dg.define_asset_job("materialize", chosen)
        with_job = dg.Definitions.merge(defs, dg.Definitions(jobs=[job]))
        assert with_job.resolve_job_def("materialize").execute_in_process(instance=instance).success
    assert runtime.names[:3] == ["replace", "launch_hosts", "await_running_pes"]


def test_the_tests_of_the_page_pass(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    names: dict[str, Any] = {"__file__": str(project / "test_reports.py")}
    with loaded(project, monkeypatch):
        exec(files()["test_reports.py"][0], names)
        tests = [name for name in names if name.startswith("test_")]
        assert len(tests) == 2
        for name in tests:
            (tmp_path / name).mkdir()
            names[name](tmp_path / name)


def test_the_asset_and_the_check_follow_the_sink(
    project: Path, monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance
):
    with loaded(project, monkeypatch) as defs:
        cursor = dg.evaluate_automation_conditions(defs, instance).cursor
        instance.report_runless_asset_event(shown(1))
        after = dg.evaluate_automation_conditions(defs, instance, cursor=cursor)
    keys = {each.key for each in after.results if each.true_subset.size}
    assert keys == {dg.AssetKey("largest"), dg.AssetCheckKey(RESULTS, "numbers_are_distinct")}


def test_jobs_and_assets_run_after_so_many_epochs(
    project: Path, monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance
):
    with loaded(project, monkeypatch) as defs:
        instance.report_runless_asset_event(shown(100))
        repository = defs.get_repository_def()
        context = dg.build_sensor_context(instance=instance, repository_def=repository)
        wanted = ("epochs_of_numbers_sinks_Results", "automation")
        ticks = {name: repository.get_sensor_def(name).evaluate_tick(context) for name in wanted}
    requests = ticks["epochs_of_numbers_sinks_Results"].run_requests or ()
    assert [each.run_key for each in requests] == ["100@life"]
    chosen = [key for request in ticks["automation"].run_requests or () for key in request.asset_selection or ()]
    assert dg.AssetKey("summary") in chosen


def test_stages_and_deployment_alone_follow_the_spec(project: Path, monkeypatch: pytest.MonkeyPatch):
    (project / DEFS).write_text(files()[DEFS][1])
    with loaded(project, monkeypatch) as defs:
        specs = [each for each in defs.resolve_all_asset_specs() if each.group_name == "numbers"]
    assert {each.key.path[-1] for each in specs if each.automation_condition} == {*BY_NAME, "deployment"}


def test_state_directories_have_resources_of_their_own(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ORDERS_CATALOG", f"sqlite:///{project}/orders.db")
    monkeypatch.setenv("CLICKS_HOME", str(project / "clicks"))
    monkeypatch.chdir(project)
    for name in ("orders", "clicks"):
        (project / f"{name}.yaml").write_text(DEMO.replace("application: demo", f"application: {name}"))
    names: dict[str, Any] = {}
    exec(files()["reports/defs/shops.py"][0], names)
    defs: dg.Definitions = names["defs"]
    dg.Definitions.validate_loadable(defs)
    assert set(defs.resources or {}) == {"orders", "streams_clicks_home"}
    write(project, "reports/defs/orders/defs.yaml")
    spec = (project / "reports/defs/numbers/application.yaml").read_text()
    (project / "reports/defs/orders/application.yaml").write_text(spec.replace("numbers", "orders"))
    with loaded(project, monkeypatch) as defs:
        dg.Definitions.validate_loadable(defs)
        sensors = {each.name for each in defs.sensors or ()}
    assert {"failed_units_in_streams", "failed_units_in_orders"} <= sensors


@pytest.mark.deep
def test_locations_are_loaded_together(project: Path):
    written = yaml.safe_load((project / DEFS).read_text())
    written["attributes"]["home"] = str(project / "own")
    (project / DEFS).write_text(yaml.safe_dump(written))
    said = run(project, "dagster", "definitions", "validate", "--workspace", "workspace.yaml")
    assert "Validation successful for code location reports" in said
    assert "Validation successful for code location streams" in said


def test_alerts_are_told_once(project: Path, monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance):
    told: list[str] = []

    def evaluate(cursor: str | None, *, passed: bool | None = None) -> str | None:
        if passed is not None:
            instance.report_runless_asset_event(
                dg.AssetCheckEvaluation(
                    asset_key=MENDED.asset_key, check_name=MENDED.name, passed=passed, description="mend line 3"
                )
            )
        context = dg.build_sensor_context(instance=instance, cursor=cursor)
        tick = names["a_person_is_needed"].evaluate_tick(context)
        assert tick.skip_message
        return context.cursor

    names: dict[str, Any] = {}
    exec(files()["reports/defs/alerts.py"][0], names)
    monkeypatch.setitem(names, "tell", told.append)
    cursor = evaluate(None)
    cursor = evaluate(evaluate(cursor, passed=True))
    assert not told
    cursor = evaluate(evaluate(cursor, passed=False))
    assert told == ["numbers: mend line 3"]
    evaluate(cursor, passed=False)
    assert len(told) == 2


def test_a_failed_run_is_told(monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance):
    @dg.op
    def failing() -> None:
        raise dg.Failure

    @dg.job
    def broken() -> None:
        failing()

    told: list[str] = []
    names: dict[str, Any] = {}
    exec(files()["reports/defs/alerts.py"][0], names)
    monkeypatch.setitem(names, "tell", told.append)
    result = broken.execute_in_process(instance=instance, raise_on_error=False)
    (event,) = [each for each in result.all_events if each.event_type_value == "PIPELINE_FAILURE"]
    context = dg.build_run_status_sensor_context("a_run_has_failed", event, instance, result.dagster_run)
    names["a_run_has_failed"](context.for_run_failure())
    assert told[0].startswith("broken: ")


@pytest.mark.deep
def test_the_ui_and_the_daemon_start(project: Path):
    """`test_ui.py` starts both by a command of the product."""
    (serve,), (daemon,) = commands("python "), commands("dagster-daemon ")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    serve = [{"3000": port, "python": sys.executable}.get(word, word) for word in serve]
    log = project / "daemon.log"

    def answers() -> bool:
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/server_info") as answer:
            return answer.status == 200
        return False

    with started(project, serve, project / "webserver.log"):
        until(answers, (project / "webserver.log").read_text, TIMEOUT_SECONDS, POLL_SECONDS)
        # Two processes that create the database of a new home at once fail, so the daemon comes second.
        with started(project, daemon, log):
            until(lambda: "SensorDaemon" in log.read_text(), log.read_text, TIMEOUT_SECONDS, POLL_SECONDS)
