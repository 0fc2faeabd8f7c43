"""`streams redeploy --revert`, and a revert in Dagster."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, update

from streams_orchestration.cli import main
from streams_orchestration.compiler.checking.deployable import Deployable, deployable
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.orchestration.deployments import restore_previous
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.start_lock import StartLock, lock_start
from streams_orchestration.runtime.deployment.requests import Request, Revert
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.programs.stored_compilation import stored
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.cli.fake_jobs import replace_jobs
from streams_orchestration_tests.cli.specs import KEYED
from streams_orchestration_tests.fake_functions import replace_function
from streams_orchestration_tests.runtime.locked import deploy

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def spec(java_is_installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    path = tmp_path / "app.yaml"
    path.write_text(KEYED)
    deploy(Home(tmp_path / "home"), deployable(compile_spec(path)))
    return path


Asked = list[tuple[tuple[tuple[str, int], ...], Request]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The widths and the request of each application that was to be brought up; each is refused."""
    asked: Asked = []

    def deploy_plan(_catalog: Catalog, _lock: StartLock, wanted: Deployable, request: Request, **_: Any) -> None:
        asked.append((wanted.compilation.options.widths, request))
        message = "that is all"
        raise StreamsRuntimeError(message)

    replace_function(monkeypatch, api, "deploy_plan", deploy_plan)
    return asked


def redeployed(spec: Path, state: str) -> None:
    """Make the deployed application one that a redeploy has brought from another width."""
    before = compile_spec(spec, Options(widths=(("New", 3),)))
    values = {
        "application": "app",
        "plan": 2,
        "fingerprint": "",
        "state": state,
        "within": 1.0,
        "until": 1e10,
        "files": [],
    }
    with Catalog(Home(spec.parent / "home")).write() as connection:
        connection.execute(insert(tables.trial).values(**values, before=b"", earlier=stored(before)))


def test_the_plan_before_is_shown_and_brought_back_with_its_options(spec: Path, asked: Asked, capsys: Capture):
    redeployed(spec, "PASSED")
    assert main(["redeploy", "app", "--revert", "--dry-run", "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["verdict"] == "kept"
    assert {"New[0]", "New[1]", "New[2]"} <= {each["operator"] for each in shown["operators"]}
    assert main(["redeploy", str(spec), "--revert", "--drop-state", "New", "--within", "7"]) == 1
    assert asked == [((("New", 3),), Revert(("New",), within=7.0))]


@pytest.mark.usefixtures("no_hosts", "running_at_once")
def test_a_revert_after_the_trial_is_shown_by_dagster_once_its_pes_run(
    spec: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    jobs = replace_jobs(monkeypatch)
    replace_function(monkeypatch, api, "deploy_plan", lambda *_, **__: api.Deployment())
    redeployed(spec, "PASSED")
    assert main(["redeploy", "app", "--revert"]) == 0
    assert jobs == [("record revert", "app")]
    assert "Redeploying app" in capsys.readouterr().err


def by_command() -> None:
    assert main(["redeploy", "app", "--revert"]) == 1


def by_dagster() -> None:
    with pytest.raises(StreamsRuntimeError, match="that is all"):
        restore_previous(api.Catalog(api.Home.default()), "app", Revert())


@pytest.mark.parametrize("revert", [by_command, by_dagster])
def test_a_revert_that_waits_for_another_redeploy_restores_the_plan_from_before_that_one(
    spec: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch, revert: Callable[[], None]
):
    def lock_after_another_redeploy(home: Home, application: str, command: str, **_: Any) -> StartLock:
        second = compile_spec(spec, Options(widths=(("New", 4),)))
        with Catalog(home).write() as connection:
            connection.execute(update(tables.trial).values(earlier=stored(second)))
        return lock_start(home, application, command)

    redeployed(spec, "PASSED")
    replace_function(monkeypatch, api, "lock_start", lock_after_another_redeploy)
    revert()
    assert asked == [((("New", 4),), Revert())]


@pytest.mark.parametrize(
    ("state", "options", "status", "message"),
    [
        ("PASSED", ["--fresh"], 2, "--revert restores the previous plan with its options"),
        ("PASSED", ["--set", "n=1"], 2, "--revert restores the previous plan with its options"),
        ("OPEN", ["--dry-run"], 2, "the redeploy of app is on trial: --revert loses nothing now"),
        ("OPEN", ["--drop-state", "New"], 2, "the redeploy of app is on trial: --revert loses nothing now"),
        (None, [], 1, "there is no previous plan to restore, since it was never redeployed"),
    ],
)
def test_a_revert_that_is_not_possible_is_refused_with_the_reason(
    state: str | None, options: list[str], status: int, message: str, spec: Path, capsys: Capture
):
    if state is not None:
        redeployed(spec, state)
    assert main(["redeploy", "app", "--revert", *options]) == status
    assert message in capsys.readouterr().err
