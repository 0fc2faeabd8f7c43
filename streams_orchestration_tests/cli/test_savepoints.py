"""`streams savepoint`, and `--from`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.cli import deploying, main
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.start_lock import Starter, StartLock, lock_start
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import list_applications
from streams_orchestration_tests.cli.fake_jobs import replace_jobs
from streams_orchestration_tests.cli.specs import KEYED
from streams_orchestration_tests.fake_functions import replace_function
from streams_orchestration_tests.runtime.locked import deploy

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """With an application that was deployed and has not begun, so that it is at its first cut."""
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    (tmp_path / "app.yaml").write_text(KEYED)
    made = Home(tmp_path / "home")
    deploy(made, deployable(compile_spec(tmp_path / "app.yaml")))
    return made


def answered(capsys: Capture, *arguments: str, exit_status: int = 0) -> Any:
    assert main([*arguments, "--format", "json"]) == exit_status
    return json.loads(capsys.readouterr().out)


def test_a_savepoint_is_made_shown_and_removed(home: Home, capsys: Capture):
    created = answered(capsys, "savepoint", "create", "app", "first")
    assert created["application"] == "app"
    assert created["command"] == "savepoint create"
    assert created["pausedSeconds"] >= 0
    assert created["savepoint"]["path"] == str(home.root / "savepoints" / "app" / "first")
    (listed,) = answered(capsys, "savepoint", "list", "app")["savepoints"]
    assert (listed["application"], listed["name"], listed["error"]) == ("app", "first", None)
    assert answered(capsys, "savepoint", "show", "first")["savepoint"] == created["savepoint"]
    assert answered(capsys, "savepoint", "remove", "app/first")["removed"] == "app/first"
    assert answered(capsys, "savepoint", "list")["savepoints"] == []


def test_a_savepoint_is_shown_as_text_too(home: Home, capsys: Capture):
    assert main(["savepoint", "create", "app", "first"]) == 0
    assert capsys.readouterr().out.startswith("app/first: epoch 0, 0 states with 0 rows")
    assert main(["savepoint", "list"]) == 0
    assert "app/first" in capsys.readouterr().out
    assert main(["savepoint", "show", "first"]) == 0
    assert "sink Snk" in capsys.readouterr().out


def test_a_list_without_savepoints_names_the_application(home: Home, capsys: Capture):
    answered(capsys, "savepoint", "create", "app", "first")
    capsys.readouterr()
    assert main(["savepoint", "list", "ap"]) == 0
    assert "There is no savepoint of ap." in capsys.readouterr().err


def test_a_damaged_savepoint_does_not_hide_the_others(home: Home, capsys: Capture):
    for name in ("first", "second"):
        answered(capsys, "savepoint", "create", "app", name)
    (home.root / "savepoints" / "app" / "first" / "manifest.json").write_text("{}")
    first, second = answered(capsys, "savepoint", "list")["savepoints"]
    assert "no schemaVersion" in first["error"]
    assert second["error"] is None
    assert main(["savepoint", "list"]) == 0
    assert "app/second" in capsys.readouterr().out
    assert answered(capsys, "savepoint", "show", "first", exit_status=1)["error"]["kind"] == "runtime"


def test_a_savepoint_is_exported_and_imported(home: Home, capsys: Capture, tmp_path: Path):
    answered(capsys, "savepoint", "create", "app", "first")
    exported = tmp_path / "exported"
    assert answered(capsys, "savepoint", "export", "first", str(exported))["savepoint"]["path"] == str(exported)
    assert answered(capsys, "savepoint", "import", str(exported), "second")["savepoint"]["name"] == "second"
    assert main(["savepoint", "import", str(exported)]) == 0
    assert capsys.readouterr().out == "app/first exists already; nothing was copied.\n"


ERRORS: dict[str, tuple[list[str], int, str]] = {
    "no application": (["create", "ap"], 1, "ap: no such application"),
    "no name": (["create", "app", "a/b"], 1, "'a/b' cannot be the name of a savepoint"),
    "no savepoint": (
        ["show", "frist"],
        1,
        "frist: no savepoint has this name, and it is not a directory; the nearest is",
    ),
    "no directory": (["import", "nowhere"], 2, "Directory 'nowhere' does not exist"),
    "an empty directory": (["import", "."], 1, "is not a savepoint: it has no manifest.json"),
    "a full directory": (["export", "first", "full"], 1, "full is not empty"),
    "no time": (["create", "app", "--within", "0"], 2, "--within"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_of_savepoints_are_in_the_document(
    home: Home, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
):
    arguments, exit_status, message = ERRORS[case]
    answered(capsys, "savepoint", "create", "app", "first")
    (tmp_path / "empty" / "full" / "x").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "empty")
    assert message in answered(capsys, "savepoint", *arguments, exit_status=exit_status)["error"]["message"]


def test_a_savepoint_waits_for_whoever_starts_or_redeploys_the_application(
    home: Home, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    starter = Starter(4711, 0.0, "streams redeploy")

    def lock(home: Home, application: str, command: str, *, waiting: Callable[[Starter | None], None]) -> StartLock:
        waiting(starter)
        return lock_start(home, application, command)

    replace_function(monkeypatch, api, "lock_start", lock)
    assert main(["savepoint", "create", "app", "first"]) == 0
    assert "app is being started by `streams redeploy` (pid 4711" in capsys.readouterr().err


@pytest.fixture
def no_jobs(no_hosts: None, java_is_installed: None, running_at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_jobs(monkeypatch)
    monkeypatch.setattr(deploying, "status_document", lambda *_: {})


@pytest.mark.usefixtures("no_jobs")
def test_an_application_is_deployed_from_one(home: Home, capsys: Capture, tmp_path: Path):
    answered(capsys, "savepoint", "create", "app", "first")
    spec = str(tmp_path / "app.yaml")
    refused = answered(capsys, "deploy", spec, "--from", "first", exit_status=1)
    assert "app is deployed and would continue from its last complete epoch" in refused["error"]["message"]
    clone = answered(capsys, "deploy", spec, "--from", "first", "--name", "other")
    assert clone["application"] == "other"
    assert (clone["from"]["savepoint"], clone["from"]["verdict"], clone["from"]["notes"]) == ("app/first", "kept", [])
    assert list_applications(Catalog(home)) == ("app", "other")
    assert answered(capsys, "redeploy", spec, "--name", "other", "--dry-run")["verdict"] == "unchanged"
    assert answered(capsys, "deploy", spec, "--from", "first", "--fresh")["from"]["epoch"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--drop-state", "New"], "--drop-state applies to the state of a savepoint"),
        (["--name", "2nd"], "'2nd' is not a name"),
        (["--name", ""], "'' is not a name"),
    ],
)
@pytest.mark.parametrize("command", ["run", "deploy"])
def test_options_that_say_nothing(
    home: Home, capsys: Capture, tmp_path: Path, command: str, options: list[str], message: str
):
    refused = answered(capsys, command, str(tmp_path / "app.yaml"), *options, exit_status=2)
    assert message in refused["error"]["message"]


def test_another_name_is_that_of_the_application(home: Home, capsys: Capture, tmp_path: Path):
    assert answered(capsys, "compile", str(tmp_path / "app.yaml"), "--name", "other")["application"] == "other"
