"""`streams remove`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from streams_orchestration.cli import main
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.control import cancel_application
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import list_applications
from streams_orchestration_tests.cli.specs import KEYED
from streams_orchestration_tests.runtime.exporting import exporter, importer, run_until_idle
from streams_orchestration_tests.runtime.locked import deploy

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    return Home(tmp_path / "home")


@pytest.fixture
def stopped(home: Home, tmp_path: Path) -> Home:
    """A state directory with the application `app`, which was stopped and whose spec is lost."""
    spec = tmp_path / "app.yaml"
    spec.write_text(KEYED)
    deploy(home, deployable(compile_spec(spec)))
    spec.unlink()
    home.logs("app").mkdir(parents=True)
    (home.logs("app") / "pe-0.log").write_text("line\n")
    cancel_application(Catalog(home), "app", 0.0)
    return home


def answered(capsys: Capture, *arguments: str, exit_status: int = 0) -> Any:
    assert main(["remove", *arguments, "--format", "json"]) == exit_status
    return json.loads(capsys.readouterr().out)


def test_remove_shows_what_it_removes_and_removes_it_if_that_is_confirmed(stopped: Home, capsys: Capture):
    shown = answered(capsys, "app", "--dry-run")
    assert (shown["command"], shown["application"], shown["removed"]) == ("remove", "app", False)
    assert shown["rows"] > 3
    assert shown["files"] == [{"content": "logs", "place": str(stopped.logs("app")), "files": 1, "size": 5}]
    assert shown["kept"] == {"savepoints": [], "results": []}
    assert list_applications(Catalog(stopped)) == ("app",)
    refused = answered(capsys, "app", exit_status=2)
    assert "--yes" in refused["error"]["message"]
    assert main(["remove", "app", "--yes"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1] == "app is removed."
    begins = [line.split()[0] for line in captured.out.splitlines() if not line.startswith(" ")]
    assert begins == ["removed", str(shown["rows"]), "logs", "app"]
    assert list_applications(Catalog(stopped)) == ()
    assert main(["status", "app"]) == 1
    assert "app: no such application" in capsys.readouterr().err


@pytest.mark.parametrize(("answer", "status", "left"), [("n", 1, ("app",)), ("y", 0, ())])
def test_remove_asks_on_a_terminal(
    stopped: Home, monkeypatch: pytest.MonkeyPatch, capsys: Capture, answer: str, status: int, left: tuple[str, ...]
):
    monkeypatch.setattr(sys, "stdin", Terminal(f"{answer}\n"))
    assert main(["remove", "app"]) == status
    captured = capsys.readouterr()
    assert "Remove app for good? [y/N]" in captured.err
    assert ("Nothing was removed." in captured.err) == bool(left)
    assert list_applications(Catalog(stopped)) == left


class Terminal(io.StringIO):
    """Answers the questions of a command as a user would."""

    def isatty(self) -> bool:
        return True


def test_a_running_application_is_refused_with_the_command_that_stops_it(home: Home, tmp_path: Path, capsys: Capture):
    spec = tmp_path / "app.yaml"
    spec.write_text(KEYED)
    deploy(home, deployable(compile_spec(spec)))
    refused = answered(capsys, "app", "--dry-run", exit_status=1)
    assert "Stop it first: `streams cancel app`." in refused["error"]["message"]


def test_an_application_that_is_not_deployed_is_named(stopped: Home, capsys: Capture):
    message = answered(capsys, "ap", "--yes", exit_status=1)["error"]["message"]
    assert "ap: no such application" in message
    assert "the nearest is app" in message
    assert not stopped.start_lock("ap").exists()


def test_readers_of_its_streams_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path))
    writer = exporter(tmp_path, 40, streamId="s")
    importer(tmp_path, application="exporter", streamId="s")
    run_until_idle(writer)
    cancel_application(writer.catalog, "exporter", 0.0)
    (reader,) = answered(capsys, "exporter", "--dry-run")["readers"]
    assert (reader["application"], reader["tuples"]) == ("importer", 40)
    assert main(["remove", "exporter", "--yes"]) == 0
    assert "importer imports" in capsys.readouterr().err


def test_savepoints_and_results_that_stay_are_named(stopped: Home, capsys: Capture):
    assert main(["savepoint", "create", "app", "before"]) == 0
    with Catalog(stopped).write() as connection:
        connection.execute(update(tables.sink).values(outputs=2))
    capsys.readouterr()
    kept = answered(capsys, "app", "--dry-run")["kept"]
    place = str(stopped.results("app") / "out")
    assert kept == {"savepoints": ["before"], "results": [{"operator": "Snk", "place": place, "outputs": 2}]}
    assert answered(capsys, "app", "--dry-run", "--results")["kept"]["results"] == []
    assert main(["remove", "app", "--yes"]) == 0
    assert "Savepoints stay: app/before." in capsys.readouterr().out


@pytest.mark.usefixtures("java_is_installed")
@pytest.mark.parametrize("state", ["COMPLETED", "STOPPED"])
def test_a_run_refuses_a_partly_removed_application_and_announces_no_continuation(
    stopped: Home, state: str, tmp_path: Path, capsys: Capture
):
    with Catalog(stopped).write() as connection:
        connection.execute(update(tables.application).values(state=state, wanted="REMOVED"))
    spec = tmp_path / "app.yaml"
    spec.write_text(KEYED)
    assert main(["run", str(spec)]) == 1
    err = capsys.readouterr().err
    assert "app is partly removed" in err
    assert "`streams remove app`" in err
    assert "continuing from" not in err
