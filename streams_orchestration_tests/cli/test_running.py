from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from dagster import AssetKey, DagsterRunStatus
from sqlalchemy import update

from streams_orchestration.cli import foreground, main
from streams_orchestration.cli import start as starts
from streams_orchestration.cli.start import Start
from streams_orchestration.compiler import compiling
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.compiling import compile_spec, compute
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.stage import Stage
from streams_orchestration.compiler.stages import STAGES
from streams_orchestration.orchestration import stage_assets
from streams_orchestration.orchestration.artifacts import ArtifactStore
from streams_orchestration.orchestration.instance import dagster_instance
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog import start_lock, tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment import opening
from streams_orchestration.runtime.errors.errors import BeingStartedError, StateDirectoryError
from streams_orchestration.runtime.observing.compilations import read_compilation
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.cli.made_up import host, metrics, pe, sink, status, unit
from streams_orchestration_tests.cli.specs import COPY, KEYED
from streams_orchestration_tests.fake_functions import replace_function
from streams_orchestration_tests.runtime.locked import deploy
from streams_orchestration_tests.runtime.starters import Starting

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def spec(java_is_installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A spec that could run; what would run it is replaced."""
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    replace_function(monkeypatch, api, "read_metrics", lambda *_: metrics())
    (tmp_path / "lines.csv").write_text("x\n1\n")
    path = tmp_path / "copy.yaml"
    path.write_text(COPY)
    return str(path)


@pytest.fixture
def result(tmp_path: Path) -> Any:
    directory = tmp_path / "home" / "results"
    directory.mkdir(parents=True)
    pl.DataFrame({"x": [3, 1, 2]}).write_parquet(directory / "part-0.parquet")
    return sink(operator="Copy", path=directory, rows=3)


def world(before: ApplicationStatus | None, after: ApplicationStatus, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace deployment and following; what was called is in the list."""
    calls: list[str] = []

    def follow(*_: object) -> ApplicationStatus:
        calls.append("run")
        return replace(after, application="copy")

    Home.default().prepare()
    replace_function(monkeypatch, api, "read_status_to_continue", lambda _catalog, _wanted: before)
    replace_function(monkeypatch, foreground, "run_in_foreground", follow)
    return calls


def test_a_run_to_the_end_shows_the_result(spec: str, result: Any, monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    calls = world(None, status(state="COMPLETED", sinks=(result,)), monkeypatch)
    assert main(["run", spec, "--max-rows", "2"]) == 0
    captured = capsys.readouterr()
    assert calls == ["run"]
    assert "Copy: 3 rows" in captured.out
    assert f"1 more row in {result.path}" in " ".join(captured.out.split("\n"))
    for part in ("copy is complete.", f"Files of Copy: {result.path}", "Logs: /logs", "dropped  12 by Delays. "):
        assert part in captured.err


def test_a_complete_application_is_shown_again_and_not_run(
    spec: str, result: Any, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    done = status(state="COMPLETED", sinks=(result,))
    calls = world(done, done, monkeypatch)
    assert main(["run", spec]) == 0
    captured = capsys.readouterr()
    assert calls == []
    assert "Copy: 3 rows" in captured.out
    assert f"`streams run {spec} --fresh`" in captured.err


def test_a_complete_application_is_run_again_with_fresh(spec: str, monkeypatch: pytest.MonkeyPatch):
    calls = world(status(state="COMPLETED"), status(state="COMPLETED", sinks=()), monkeypatch)
    assert main(["run", spec, "--fresh"]) == 0
    assert calls == ["run"]


@pytest.mark.parametrize("state", ["COMPLETED", "STOPPED", "RUNNING"])
def test_a_changed_spec_is_refused_and_no_continuation_is_announced(
    spec: str, state: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    replace_function(monkeypatch, foreground, "run_in_foreground", lambda *_: pytest.fail("it runs"))
    deploy(Home.default(), deployable(compile_spec(spec)))
    with Catalog(Home.default()).write() as connection:
        connection.execute(update(tables.application).values(state=state))
    Path(spec).write_text(COPY.replace("format: csv", "format: csv, hasHeaderLine: true"))
    assert main(["run", spec]) == 1
    err = capsys.readouterr().err
    assert "the parameters of operator Lines changed" in err
    assert ("streams redeploy" in err) == (state != "COMPLETED"), "what is complete cannot be redeployed"
    assert "--fresh" in err
    assert "continuing from" not in err


def test_a_stopped_application_continues_and_names_the_epoch(
    spec: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    world(status(state="STOPPED"), status(state="STOPPED", units=(unit(completed_epoch=7),)), monkeypatch)
    assert main(["run", spec]) == 1, "it is not complete, and nobody here asked to stop it"
    err = capsys.readouterr().err
    assert "continuing from epoch 4, the last complete one" in err
    assert (
        f"copy is stopped by another command. `streams run {spec}` continues from epoch 7, the last complete one."
        in err
    )


@pytest.mark.parametrize(("batch", "place"), [(-1, "the start"), (0, "its last commits, in the first epoch")])
def test_an_application_without_a_complete_epoch_goes_on_from_its_commits(
    batch: int, place: str, spec: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    before = status(state="STOPPED", units=(unit(completed_epoch=0),), pes=(pe(0, batch=batch),))
    world(before, status(state="COMPLETED", sinks=()), monkeypatch)
    assert main(["run", spec]) == 0
    assert f"copy: continuing from {place}; " in capsys.readouterr().err


def test_a_running_application_is_followed(spec: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    world(status(state="RUNNING", hosts=(host(),)), status(state="COMPLETED", sinks=()), monkeypatch)
    assert main(["run", spec]) == 0
    assert "copy is already running (pid " in capsys.readouterr().err


def test_the_second_interrupt_leaves_at_once(spec: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    class Left(BaseException):
        pass

    def leave(code: int) -> None:
        raise Left(code)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    world(None, status(), monkeypatch)
    replace_function(monkeypatch, foreground, "run_in_foreground", interrupted)
    monkeypatch.setattr(foreground.os, "_exit", leave)
    with pytest.raises(Left, match="130"):
        main(["run", spec])
    assert "`streams cancel copy` stops it" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_looks_at_the_application_only_after_another_run_has_started_it(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    """Else it would show results that the other one, with `--fresh`, is about to drop."""
    home = Home(tmp_path / "home").prepare()
    runs = status(state="RUNNING", hosts=(host(),))
    with Starting(home, "copy") as other:
        calls = world(runs, status(state="COMPLETED", sinks=()), monkeypatch)
        monkeypatch.setattr(start_lock, "POLL_SECONDS", 0.0)
        monkeypatch.setattr(start_lock.world, "sleep", lambda _seconds: other.release())
        assert main(["run", spec]) == 0
    err = capsys.readouterr().err
    waits = f"copy is being started by `streams run` (pid {other.pid}, since "
    assert err.index(waits) < err.index("copy is already running")
    assert calls == ["run"]


@pytest.mark.slow
def test_a_run_that_waits_for_too_long_is_refused_by_name(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    world(status(state="COMPLETED", sinks=()), status(), monkeypatch)
    monkeypatch.setattr(start_lock, "LOCK_TIMEOUT_SECONDS", 0.0)
    with Starting(Home(tmp_path / "home").prepare(), "copy") as other:
        assert main(["run", spec]) == 1
    err = capsys.readouterr().err
    assert f"copy: `streams run` (pid {other.pid}, since" in err
    assert "complete" not in err


@pytest.mark.parametrize("before", [status(state="STOPPED"), None], ids=["deployed", "new"])
def test_a_run_takes_the_start_lock_once_and_upgrades_the_catalog_once(
    before: ApplicationStatus | None, spec: str, monkeypatch: pytest.MonkeyPatch
):
    calls: list[str] = []
    lock, upgrade = api.lock_start, api.upgrade_older_catalog
    replace_function(
        monkeypatch, api, "lock_start", lambda *given, **named: (calls.append("lock"), lock(*given, **named))[1]
    )
    replace_function(
        monkeypatch, api, "upgrade_older_catalog", lambda catalog: (calls.append("upgrade"), upgrade(catalog))[1]
    )
    world(before, status(state="COMPLETED", sinks=()), monkeypatch)
    assert main(["run", spec]) == 0
    assert calls == ["upgrade", "lock"]


@pytest.mark.usefixtures("no_hosts", "running_at_once")
def test_an_application_is_free_for_others_as_soon_as_it_is_deployed(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def follow(start: Start, *_: object) -> ApplicationStatus:
        with pytest.raises(BeingStartedError):
            start_lock.lock_start(home, "copy", "streams deploy", limit=0.0)
        start.launch(pytest.fail)
        start_lock.lock_start(home, "copy", "streams deploy", limit=0.0).release()
        return status(state="COMPLETED", sinks=())

    home = Home(tmp_path / "home").prepare()
    world(None, status(), monkeypatch)
    replace_function(monkeypatch, foreground, "run_in_foreground", follow)
    replace_function(monkeypatch, api, "deploy_plan", lambda *_, **__: api.Deployment())
    replace_function(monkeypatch, Start, "record_deployment", lambda *_: None)
    assert main(["run", spec]) == 0


@pytest.fixture
def keyed(spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An application that a redeploy has given another width than its spec has."""
    path = tmp_path / "app.yaml"
    path.write_text(KEYED)
    replace_function(monkeypatch, foreground, "run_in_foreground", lambda *_: status(state="STOPPED"))
    deploy(Home(tmp_path / "home"), deployable(compile_spec(path, Options(widths=(("New", 3),)))))
    return str(path)


def test_a_run_keeps_the_options_that_it_is_deployed_with(keyed: str, capsys: Capture):
    assert main(["run", keyed]) == 1, "it was stopped again"
    err = capsys.readouterr().err
    assert "app: New keeps its deployed width 3" in err
    assert f"`streams run {keyed}` continues from" in err


def test_other_options_than_it_is_deployed_with_are_refused_with_both(keyed: str, capsys: Capture):
    assert main(["run", keyed, "--width", "New=2"]) == 1
    assert "(New has width 3, and the new width is 2)" in capsys.readouterr().err
    assert main(["run", keyed, "--fusion", "automatic"]) == 1
    assert "is stopped by another command" in capsys.readouterr().err


def test_a_fresh_start_keeps_no_options(keyed: str, capsys: Capture):
    assert main(["run", keyed, "--fresh"]) == 1
    assert "using the options" not in capsys.readouterr().err


def test_the_hint_of_a_clone_names_it(keyed: str, capsys: Capture):
    assert main(["run", keyed, "--name", "other"]) == 1
    assert f"`streams run {keyed} --name other` continues from" in capsys.readouterr().err


@pytest.fixture
def nothing_starts(no_hosts: None, running_at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deploying is real, in the catalog and in Dagster; no host is started, and what is deployed is complete."""

    def follow(start: Start, *_: object) -> ApplicationStatus:
        start.launch(pytest.fail)
        start.await_running()
        return status(state="COMPLETED", sinks=())

    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    replace_function(monkeypatch, foreground, "run_in_foreground", follow)


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_starts")
def test_a_run_computes_every_stage_once_and_deploys_and_stores_what_it_has_computed(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    computed: list[str] = []

    def counted(stage: Stage, done: Progress) -> Any:
        computed.append(stage.name)
        return compute(stage, done)

    for module in (compiling, stage_assets):
        monkeypatch.setattr(module, "compute", counted)
    home = Home(tmp_path / "home")
    for times in (1, 2):
        computed.clear()
        assert main(["run", spec, "--fresh"]) == 0
        assert computed == [stage.name for stage in STAGES]
        compilation = replace(compile_spec(spec), diagnostics=())
        assert replace(ArtifactStore(home).compilation("copy"), diagnostics=()) == compilation
        assert read_compilation(Catalog(home), "copy").with_plan(compilation.deployment) == compilation
        with dagster_instance(home) as instance:
            runs = instance.get_runs()
            done = [("copy__redeploy", DagsterRunStatus.SUCCESS)] * times
            assert [(run.job_name, run.status) for run in runs] == done
            for stage in STAGES:
                assert instance.get_latest_materialization_event(AssetKey(["copy", stage.name]))


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_starts")
def test_a_deployment_that_dagster_cannot_show_runs_all_the_same_and_that_is_said(
    spec: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    def refuse(*_: object) -> None:
        raise StateDirectoryError(Path("dagster"), "disk I/O error")

    replace_function(monkeypatch, Start, "record_deployment", refuse)
    assert main(["run", spec]) == 0
    assert "Dagster does not show the deployment of copy: dagster: the state" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_starts")
def test_a_run_does_not_wait_for_a_dagster_that_hangs(spec: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    over = threading.Event()
    monkeypatch.setattr(starts, "RECORD_TIMEOUT_SECONDS", 0.01)
    replace_function(monkeypatch, Start, "record_deployment", lambda *_: over.wait(60.0))
    assert main(["run", spec]) == 0
    over.set()
    assert "Dagster does not show the deployment of copy: recording it took more than 0.01 s" in capsys.readouterr().err


def test_a_plan_that_violates_the_condition_of_a_stage_is_not_deployed(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    replace_function(monkeypatch, foreground, "run_in_foreground", lambda start, *_: start.launch(pytest.fail))
    monkeypatch.setattr(
        opening, "broken_conditions", lambda _: "which is a bug: fusion_plan: operator Copy is in no PE"
    )
    assert main(["run", spec]) == 1
    assert "copy: which is a bug: fusion_plan: operator Copy is in no PE" in capsys.readouterr().err
    assert not Home(tmp_path / "home").catalog.exists()


def test_an_application_that_cannot_run_leaves_no_state_directory(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    Path(spec).write_text(COPY.replace("format: csv}", "format: csv, separator: no}"))
    assert main(["run", spec]) == 1
    assert not (tmp_path / "home").exists()


def test_the_first_run_checks_once_that_the_application_can_run_here(spec: str, monkeypatch: pytest.MonkeyPatch):
    checks: list[str] = []
    monkeypatch.setattr(api, "require_java", lambda: checks.append("java"))
    replace_function(monkeypatch, foreground, "run_in_foreground", lambda *_: status(state="COMPLETED", sinks=()))
    assert main(["run", spec]) == 0
    assert checks == ["java"]


LONG = "a" * 300
TOO_LONG = {
    "application": ({"application: copy": f"application: {LONG}"}, "63 characters at most"),
    "operator": ({"name: Copy": f"name: {LONG}"}, "has 300 characters, but at most 200 are possible"),
    "stream": (
        {"stream: Lines": f"stream: {LONG}", "inputs: [Lines]": f"inputs: [{LONG}]"},
        "has 300 characters, but at most 200 are possible",
    ),
}


@pytest.mark.parametrize("what", TOO_LONG)
def test_a_name_that_is_too_long_for_a_file_is_named_before_anything_is_written(
    spec: str, tmp_path: Path, capsys: Capture, what: str
):
    replaced, message = TOO_LONG[what]
    text = COPY
    for short, long in replaced.items():
        assert short in text
        text = text.replace(short, long)
    Path(spec).write_text(text)
    assert main(["run", spec]) == 1
    error = " ".join(capsys.readouterr().err.split())
    assert "SO0105" in error
    assert message in error
    assert not (tmp_path / "home").exists()


def test_the_name_of_a_clone_is_no_longer_than_that_of_an_application(spec: str, tmp_path: Path, capsys: Capture):
    assert main(["run", spec, "--name", LONG]) == 2
    assert "63 characters at most" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "home").exists()
