"""With `--format json` standard output is one document, of what was done or of what went wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from streams_orchestration.cli import deploying, foreground, main, running
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration_tests.cli.fake_jobs import replace_jobs
from streams_orchestration_tests.cli.made_up import metrics, pe, sink, status, unit
from streams_orchestration_tests.cli.specs import BROKEN, COPY, TINY
from streams_orchestration_tests.fake_functions import replace_function

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def home(
    no_hosts: None, java_is_installed: None, running_at_once: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    replace_jobs(monkeypatch)
    for module in (deploying, running):
        monkeypatch.setattr(module, "status_document", lambda _catalog, current: {"application": current.application})
    return tmp_path / "home"


@pytest.fixture
def spec(tmp_path: Path) -> str:
    (tmp_path / "lines.csv").write_text("x\n1\n")
    path = tmp_path / "copy.yaml"
    path.write_text(COPY)
    return str(path)


def document(capsys: Capture, *arguments: str, exit_status: int = 0) -> dict[str, Any]:
    assert main([*arguments, "--format", "json"]) == exit_status
    written = json.loads(capsys.readouterr().out)
    assert written["exitStatus"] == exit_status
    assert written["command"] == arguments[0] if arguments[0] != "catalog" else " ".join(arguments[:2])
    assert (written["error"] is None) == (exit_status == 0)
    return written


@pytest.mark.parametrize("command", ["deploy", "redeploy"])
def test_a_deployment_is_one_document(command: str, spec: str, capsys: Capture):
    written = document(capsys, command, spec)
    assert (written["application"], written["state"]) == ("copy", "RUNNING")
    assert written["status"] == {"application": "copy"}
    assert written["diagnostics"] == []


def test_a_cancelled_application_is_one_document(capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    replace_function(monkeypatch, api, "read_status", lambda _catalog, _name: status(state="STOPPED"))
    replace_function(monkeypatch, api, "open_catalog", lambda home, _name: api.Catalog(home))
    replace_function(monkeypatch, api, "require_deployed", lambda *_: None)
    replace_function(monkeypatch, api, "cancel_application", lambda *_: ())
    written = document(capsys, "cancel", "flights")
    assert (written["application"], written["state"]) == ("flights", "STOPPED")


def test_a_reset_names_every_unit(capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    def reset(_catalog: Catalog, _application: str, name: str, *, generation: int | None, force: bool) -> None:
        if name == "pe-0":
            message = "no attempt is left"
            raise StreamsRuntimeError(message)

    pes = tuple(pe(number, unit=f"pe-{number}", state="FAILED", error="boom") for number in range(2))
    units = tuple(unit(name=each.unit, region=None, pes=(each.id,)) for each in pes)
    replace_function(monkeypatch, api, "read_status", lambda _catalog, _name: status(pes=pes, units=units))
    replace_function(monkeypatch, api, "open_catalog", lambda home, _: api.Catalog(home))
    replace_function(monkeypatch, api, "await_silent_machines", lambda *_: None)
    replace_function(monkeypatch, api, "reset_unit", reset)
    replace_function(monkeypatch, api, "await_reset", lambda *_: None)
    written = document(capsys, "reset", "flights", exit_status=1)
    assert written["units"] == [
        {"unit": "pe-0", "reset": False, "error": "no attempt is left"},
        {"unit": "pe-1", "reset": True, "error": None},
    ]
    assert written["error"] == {"kind": "runtime", "message": "no attempt is left"}


@pytest.mark.parametrize("before", ["COMPLETED", None])
def test_a_run_has_its_results(
    before: str | None, spec: str, home: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    pl.DataFrame({"x": [3, 1, 2]}).write_parquet(tmp_path / "part-0.parquet")
    done = status(state="COMPLETED", sinks=(sink(operator="Copy", path=tmp_path, rows=3),))
    follow(done, monkeypatch)
    replace_function(monkeypatch, api, "read_status_to_continue", lambda *_: done if before else None)
    replace_function(monkeypatch, api, "read_metrics", lambda *_: metrics())
    written = document(capsys, "run", spec, "--max-rows", "2")
    assert (written["application"], written["state"]) == ("copy", "COMPLETED")
    (result,) = written["results"]
    assert (result["operator"], result["total"], result["rows"]) == ("Copy", 3, [{"x": 1}, {"x": 2}])
    assert (result["columns"], result["path"]) == (["x"], str(tmp_path))


def test_a_run_that_was_stopped_says_so(spec: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    follow(status(state="STOPPED"), monkeypatch)
    written = document(capsys, "run", spec, exit_status=1)
    assert written["state"] == "STOPPED"
    assert "copy is stopped by another command" in written["error"]["message"]


def follow(after: ApplicationStatus, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_function(monkeypatch, foreground, "run_in_foreground", lambda *_: replace(after, application="copy"))


def test_logs_are_one_document(home: Path, capsys: Capture):
    log = home / "logs" / "flights" / "pe-1.log"
    log.parent.mkdir(parents=True)
    log.write_text("a\nb\nc\n")
    written = document(capsys, "logs", "flights", "--lines", "2")
    assert written["logs"] == [{"name": "pe-1", "path": str(log), "machine": None, "lines": ["b", "c"]}]


def test_logs_that_are_followed_are_no_document(capsys: Capture):
    written = document(capsys, "logs", "flights", "--follow", exit_status=2)
    assert written["error"]["kind"] == "usage"


def test_lineage_is_one_document(tmp_path: Path, capsys: Capture):
    spec = tmp_path / "tiny.yaml"
    spec.write_text(TINY)
    written = document(capsys, "lineage", str(spec), "Snk")
    assert (written["application"], written["node"]) == ("tiny", "sinks/Snk")
    assert "sources/Src" in written["comesFrom"]
    assert written["leadsTo"] == []
    names = {each["name"] for each in written["nodes"]}
    assert names == {"sinks/Snk", *written["comesFrom"]}
    assert all({edge["from"], edge["to"]} <= names for edge in written["edges"])
    assert document(capsys, "lineage", str(spec), "Snkk", exit_status=1)["error"]["kind"] == "runtime"


def test_facts_and_errors_of_the_catalog_are_one_document(home: Path, capsys: Capture):
    written = document(capsys, "catalog", "show")
    assert (written["catalog"], written["revision"], written["deployed"]) == (str(home / "catalog.db"), None, [])
    assert document(capsys, "catalog", "upgrade", exit_status=1)["error"]["kind"] == "runtime"


@pytest.mark.parametrize("command", ["run", "deploy", "redeploy", "explain", "diff"])
def test_errors_of_an_application_are_in_the_document(command: str, tmp_path: Path, capsys: Capture):
    spec = tmp_path / "broken.yaml"
    spec.write_text(BROKEN)
    more = {"explain": ["A"], "diff": ["--to", "A=2"]}.get(command, [])
    written = document(capsys, command, str(spec), *more, exit_status=1)
    assert written["error"]["kind"] == "application"
    assert "SO0102" in [each["code"] for each in written["diagnostics"]]
    assert all(each["remedy"] for each in written["diagnostics"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "Missing argument 'SPEC'"),
        (["run", "nothing.yaml"], "does not exist"),
        (["run", "--freshly"], "No such option"),
        (["logs", "flights", "--lines", "few"], "--lines"),
    ],
)
def test_errors_of_the_command_line_are_documents_too(arguments: list[str], message: str, capsys: Capture):
    written = document(capsys, *arguments, exit_status=2)
    assert written["error"]["kind"] == "usage"
    assert message in written["error"]["message"]
