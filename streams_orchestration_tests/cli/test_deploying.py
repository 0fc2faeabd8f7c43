from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from sqlalchemy.exc import OperationalError

from streams_orchestration.cli import deploying, jobs, main
from streams_orchestration.cli.following import Foreground
from streams_orchestration.compiler.checking.deployable import Deployable, deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.assignment_document import mapping_of_assignment
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.start_lock import StartLock
from streams_orchestration.runtime.deployment.requests import Request, StartOver
from streams_orchestration.runtime.errors.errors import StateDirectoryError, StreamsRuntimeError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.rollout.deploying import Deployment
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.cli.fake_jobs import FakeJobs, replace_jobs
from streams_orchestration_tests.cli.made_up import pe, status, unit
from streams_orchestration_tests.cli.specs import KEYED, TINY
from streams_orchestration_tests.compiler.assignments import assignment
from streams_orchestration_tests.fake_functions import replace_function
from streams_orchestration_tests.runtime.catalog.released import invent_next_release
from streams_orchestration_tests.runtime.locked import deploy

Capture = pytest.CaptureFixture[str]
FAILED = status(pes=(pe(0, state="FAILED", error="boom"),))


@pytest.fixture
def asked(
    java_is_installed: None, no_hosts: None, running_at_once: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> list[Any]:
    asked = replace_jobs(monkeypatch)
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path))
    replace_function(monkeypatch, api, "read_status_if_deployed", lambda *_: None)
    replace_function(monkeypatch, api, "read_status", lambda *_: status(state="STOPPED"))
    replace_function(monkeypatch, api, "stop_orphans", lambda *_: ())

    def deploy_plan(_catalog: Catalog, _lock: StartLock, wanted: Deployable, request: Request, **_: Any) -> Deployment:
        asked.append(("start over" if isinstance(request, StartOver) else "go on", wanted.name))
        return Deployment()

    replace_function(monkeypatch, api, "deploy_plan", deploy_plan)
    return asked


def deployed(current: ApplicationStatus, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_function(monkeypatch, api, "read_status", lambda _catalog, _application: current)
    replace_function(monkeypatch, api, "open_catalog", lambda home, _application: api.Catalog(home))
    replace_function(monkeypatch, api, "require_deployed", lambda *_: None)
    replace_function(monkeypatch, api, "await_silent_machines", lambda *_: None)


def resets(asked: list[Any], monkeypatch: pytest.MonkeyPatch, refused: tuple[str, ...] = ()) -> None:
    """Let resets of these units fail for lack of an attempt, and note all resets."""

    def reset_unit(_catalog: Catalog, application: str, unit: str, *, generation: int | None, force: bool) -> None:
        asked.append(("reset", application, unit, generation, force))
        if unit in refused:
            message = f"{unit}: no attempt is left"
            raise StreamsRuntimeError(message)

    def await_reset(
        _catalog: Catalog, application: str, unit: str, failed: int | None, _timeout: float, _say: Callable[[str], None]
    ) -> None:
        asked.append(("await", application, unit, failed))

    replace_function(monkeypatch, api, "reset_unit", reset_unit)
    replace_function(monkeypatch, api, "await_reset", await_reset)


def test_a_cancelled_application_is_stopped_and_its_orphans_are_named(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    def cancel(_catalog: Catalog, application: str, timeout: float) -> tuple[str, ...]:
        asked.append(("cancel", application, timeout))
        return ("flights: stopped leftover processes of host 0, which is gone: java (pid 4712)",)

    deployed(status(state="STOPPED"), monkeypatch)
    replace_function(monkeypatch, api, "cancel_application", cancel)
    assert main(["cancel", "flights", "--timeout", "5"]) == 0
    assert asked == [("cancel", "flights", 5.0), ("record cancel", "flights")]
    captured = capsys.readouterr()
    assert captured.out == "flights is STOPPED.\n"
    assert captured.err == "flights: stopped leftover processes of host 0, which is gone: java (pid 4712)\n"


def test_a_deployment_keeps_the_options_that_are_deployed(
    asked: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(deploying, "status_document", lambda *_: {})
    spec = tmp_path / "app.yaml"
    spec.write_text(KEYED)
    kept = Options(widths=(("New", 3),))
    deploy(Home(tmp_path), deployable(compile_spec(spec, kept)))
    assert main(["deploy", str(spec)]) == 0
    assert main(["deploy", str(spec), "--fresh", "--threading", "manual"]) == 0
    assert asked == [
        *(("go on", "app"), ("record", "app.yaml", kept)),
        *(("start over", "app"), ("record", "app.yaml", Options(threading="manual"))),
    ]


@pytest.mark.parametrize(("state", "said"), [("RUNNING", "app was RUNNING already. "), ("STOPPED", "app is STOPPED. ")])
@pytest.mark.usefixtures("asked")
def test_a_deployment_says_if_the_application_was_running_already(
    state: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    monkeypatch.setattr(deploying, "status_document", lambda *_: {})
    for name in ("read_status", "read_status_if_deployed"):
        replace_function(monkeypatch, api, name, lambda *_: status(state=state))
    spec = tmp_path / "app.yaml"
    spec.write_text(KEYED)
    assert main(["deploy", str(spec)]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(said)
    assert ("Starting app" in shown.err) == (state == "STOPPED")


def test_a_deployment_upgrades_an_older_catalog_and_keeps_the_options_in_it(
    asked: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    monkeypatch.setattr(deploying, "status_document", lambda *_: {})
    spec = tmp_path / "app.yaml"
    spec.write_text(KEYED)
    kept = Options(widths=(("New", 3),))
    deploy(Home(tmp_path), deployable(compile_spec(spec, kept)))
    invent_next_release(tmp_path / "migrations", monkeypatch)
    assert main(["deploy", str(spec)]) == 0
    assert asked == [("go on", "app"), ("record", "app.yaml", kept)]
    assert capsys.readouterr().err.count("The catalog was upgraded from") == 1


def test_a_catalog_that_cannot_be_read_is_not_taken_for_one_without_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path))
    spec = tmp_path / "app.yaml"
    spec.write_text(KEYED)
    deploy(Home(tmp_path), deployable(compile_spec(spec)))
    for file in tmp_path.glob("catalog.db*"):
        file.write_bytes(b"no database" * 1000)
    assert main(["deploy", str(spec), "--width", "Other=3"]) == 1
    error = capsys.readouterr().err
    assert str(Home(tmp_path).catalog) in error
    assert "SO0207" not in error, "it does not compile, but the options to compile it with are not known"


def test_reset_of_what_has_failed(asked: list[Any], monkeypatch: pytest.MonkeyPatch):
    deployed(FAILED, monkeypatch)
    resets(asked, monkeypatch)
    assert main(["reset", "flights"]) == 0
    assert asked == [
        *(("reset", "flights", "region-0", 1, False), ("await", "flights", "region-0", 1)),
        ("record reset", "flights", "region-0", 1),
    ]


def test_a_unit_that_cannot_be_reset_keeps_none_of_the_others_from_it(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    pes = tuple(pe(number, unit=f"pe-{number}", state="FAILED", error="boom") for number in range(3))
    units = tuple(unit(name=each.unit, region=None, pes=(each.id,)) for each in pes)
    deployed(status(pes=pes, units=units), monkeypatch)
    resets(asked, monkeypatch, refused=("pe-0", "pe-2"))
    assert main(["reset", "flights"]) == 1
    assert [call[2] for call in asked if call[0] == "reset"] == ["pe-0", "pe-1", "pe-2"]
    assert [call[2] for call in asked if call[0] == "record reset"] == ["pe-1"]
    output = capsys.readouterr()
    assert output.out == "flights: pe-1 continues from its last complete epoch.\n"
    assert "pe-0: no attempt is left\npe-2: no attempt is left" in output.err


def test_reset_of_a_unit_by_force(asked: list[Any], monkeypatch: pytest.MonkeyPatch):
    deployed(status(), monkeypatch)
    resets(asked, monkeypatch)
    assert main(["reset", "flights", "--unit", "region-0", "--force"]) == 0
    assert asked[0] == ("reset", "flights", "region-0", 1, True)


@pytest.mark.parametrize("format", ["table", "json"])
def test_a_complete_unit_is_not_reset_and_says_so(
    format: str, asked: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    deployed(status(state="COMPLETED", pes=(pe(0, state="COMPLETED"),)), monkeypatch)
    assert main(["reset", "flights", "--unit", "region-0", "--format", format]) == 1
    assert asked == []
    captured = capsys.readouterr()
    assert "flights: region-0 is complete, so there is nothing to reset" in captured.out + captured.err
    assert "goes on" not in captured.out


def test_without_a_failure_a_unit_must_be_named(asked: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    deployed(status(hosts=(), units=(unit(), unit(name="pe-1", region=None))), monkeypatch)
    assert main(["reset", "flights"]) == 1
    assert asked == []
    assert "nothing has failed. To reset a unit nevertheless, name it with --unit" in (err := capsys.readouterr().err)
    assert "region-0, pe-1" in err


def test_an_application_that_can_only_be_compiled_is_not_deployed(asked: list[Any], tmp_path: Path, capsys: Capture):
    spec = tmp_path / "tiny.yaml"
    spec.write_text(TINY)
    assert main(["deploy", str(spec)]) == 1
    assert main(["run", str(spec)]) == 1
    assert asked == []
    assert "no implementation" in capsys.readouterr().err


@pytest.mark.slow
def test_run_config_fits_the_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    spec = tmp_path / "tiny.yaml"
    spec.write_text(TINY)
    compilation = compile_spec(spec)
    ran: dict[str, Any] = {}

    def run(_instance: object, name: str, defs: dg.Definitions, config: dict[str, Any], _tags: object) -> None:
        ran[name] = config
        dg.validate_run_config(defs.resolve_job_def(name), config)

    monkeypatch.setattr(jobs, "run_job_in_process", run)
    replace_function(monkeypatch, api, "read_status", lambda *_: status())
    controls = jobs.Jobs(Catalog(Home(tmp_path / "home").prepare()), "tiny")
    controls.record_deployment(spec, compilation)
    controls.record_cancel()
    controls.record_reset("region-0", 2)
    assert list(ran) == ["tiny__redeploy", "tiny__cancel", "tiny__reset"]


def test_redeploy_takes_another_decision_and_keeps_the_other_options(
    asked: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    spec, decision = tmp_path / "numbers.yaml", tmp_path / "decision.yaml"
    spec.write_text(
        "specVersion: 1\napplication: numbers\ngraph:\n"
        "  - {name: Numbers, operator: Beacon, outputs: [{stream: Numbers, schema: n bigint}]}\n"
        "  - {name: Out, operator: FileSink, inputs: [Numbers], parameters: {file: out}}\n"
    )
    last = Options(threading="manual")
    plan = compile_spec(spec, last)
    new = replace(assignment(plan, {"Out": 1}), location=f"{decision}:1")
    decision.write_text(json.dumps(mapping_of_assignment(new)))
    replace_function(monkeypatch, api, "read_deployed_options", lambda *_: last)
    assert main(["redeploy", str(spec), "--decoupling", str(decision), "--fresh"]) == 0
    assert main(["redeploy", str(spec)]) == 0
    assert asked == [
        *(("start over", "numbers"), ("record", "numbers.yaml", replace(last, decoupling=new))),
        *(("go on", "numbers"), ("record", "numbers.yaml", last)),
    ]


def written(directory: Path) -> tuple[Path, PlannedCompilation]:
    """Return the file of an application, and the application compiled."""
    spec = directory / "app.yaml"
    spec.write_text(KEYED)
    return spec, compile_spec(spec)


def test_a_full_disk_under_dagster_is_an_error_that_a_follower_outlives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_arguments: Any, **_named: Any) -> None:
        message = "INSERT"
        raise OperationalError(message, None, sqlite3.OperationalError("disk I/O error"))

    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.setattr(jobs, "run_job_in_process", full)
    with pytest.raises(StateDirectoryError, match=r"dagster: .* cannot be written: disk I/O error\. Make room"):
        jobs.Jobs(Catalog(Home(tmp_path / "home").prepare()), "app").record_deployment(*written(tmp_path))


@pytest.fixture
def unrecorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Home, str]:
    """A deployed application, and Dagster's storage in files that are not databases."""
    home, dagster = Home(tmp_path / "home"), tmp_path / "dagster"
    spec = tmp_path / "app.yaml"
    spec.write_text(KEYED)
    compilation = compile_spec(spec)
    deploy(home, deployable(compilation))
    for name in ("history/runs.db", "history/runs/index.db", "schedules/schedules.db"):
        path = dagster / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("this is no database, and too long for an empty one")
    monkeypatch.setenv("STREAMS_HOME", str(home.root))
    monkeypatch.setenv("DAGSTER_HOME", str(dagster))
    return home, compilation.logical.application


@pytest.mark.slow
def test_an_application_is_stopped_although_dagster_cannot_record_it(unrecorded: tuple[Home, str], capsys: Capture):
    home, name = unrecorded
    assert main(["cancel", name]) == 0
    assert f"Dagster cannot record that {name} is stopped" in capsys.readouterr().err
    assert read_status(Catalog(home), name).state == "STOPPED"


@pytest.mark.slow
def test_an_interrupted_run_stops_its_application_although_dagster_cannot_record_it(unrecorded: tuple[Home, str]):
    home, name = unrecorded
    Foreground(Catalog(home), name).cancel()
    assert read_status(Catalog(home), name).state == "STOPPED"


@pytest.mark.slow
def test_a_unit_is_reset_although_dagster_cannot_record_it(
    unrecorded: tuple[Home, str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    home, name = unrecorded
    [first, *_] = read_status(Catalog(home), name).units
    done: list[Any] = []
    replace_function(monkeypatch, api, "await_silent_machines", lambda *_: None)
    replace_function(monkeypatch, api, "reset_unit", lambda *given, **named: done.append((*given[1:], named)))
    replace_function(monkeypatch, api, "await_reset", lambda *given: done.append(given[1:4]))
    assert main(["reset", name, "--unit", first.name]) == 0
    assert f"Dagster cannot record that {first.name} is reset" in capsys.readouterr().err
    reset = (name, first.name, {"generation": first.generation, "force": False})
    assert done == [reset, (name, first.name, first.generation)]


@pytest.mark.parametrize("command", ["deploy", "redeploy"])
def test_a_deployment_is_one_although_dagster_cannot_record_it(
    command: str, asked: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    class Unrecorded(FakeJobs):
        def record_deployment(self, spec: Path, compilation: PlannedCompilation) -> None:
            raise StateDirectoryError(tmp_path, "disk I/O error")

    monkeypatch.setattr(jobs, "Jobs", Unrecorded)
    monkeypatch.setattr(deploying, "status_document", lambda *_: {})
    replace_function(
        monkeypatch, api, "await_running_pes", lambda _catalog, name, _seconds: asked.append(("await", name))
    )
    spec = tmp_path / "app.yaml"
    spec.write_text(KEYED)
    assert main([command, str(spec)]) == 0
    assert asked == [("go on", "app"), ("await", "app")]
    assert "Dagster does not show the deployment of app: " in capsys.readouterr().err


def test_a_database_of_dagster_that_cannot_be_reached_is_an_error_of_its_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    class DagsterPostgresException(Exception):  # noqa: N818  the name of Dagster's class
        __module__ = "dagster_postgres.utils"

    def refused(*_arguments: Any, **_named: Any) -> None:
        cause = OperationalError("SELECT 1", None, sqlite3.OperationalError("connection refused"))
        message = "too many retries for DB connection"
        raise DagsterPostgresException(message) from cause

    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.setattr(jobs, "dagster_instance", refused)
    home = Home(tmp_path / "home").prepare()
    with pytest.raises(StateDirectoryError, match="too many retries for DB connection: connection refused"):
        jobs.Jobs(Catalog(home), "app").record_deployment(*written(tmp_path))
