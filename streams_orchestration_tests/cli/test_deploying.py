from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from streams_orchestration.cli import jobs, main
from streams_orchestration.compiler.options import Options
from streams_orchestration.runtime import deployment
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.status import ApplicationStatus
from streams_orchestration_tests.cli.made_up import pe, status, unit
from streams_orchestration_tests.cli.specs import TINY

Capture = pytest.CaptureFixture[str]
FAILED = status(pes=(pe(0, state="FAILED", error="boom"),))


class FakeJobs:
    """Takes note of what it is asked for."""

    asked: list[Any]

    def __init__(self, _home: Home, application: str) -> None:
        self.application = application

    def cancel(self, timeout: float) -> None:
        self.asked.append(("cancel", self.application, timeout))

    def reset(self, unit: str, *, force: bool) -> None:
        self.asked.append(("reset", self.application, unit, force))

    def stop_orphans(self) -> tuple[Any, ...]:
        return ("flights: stopped what was left of host 0, which is gone: java (pid 4712)",)

    def status(self) -> ApplicationStatus:
        return status(state="STOPPED")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    FakeJobs.asked = []
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path))
    monkeypatch.setattr(jobs, "Jobs", FakeJobs)
    return FakeJobs.asked


def deployed(found: ApplicationStatus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deployment, "read_status", lambda _home, _application: found)


def test_cancel(asked: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    deployed(status(), monkeypatch)
    assert main(["cancel", "flights", "--timeout", "5"]) == 0
    assert asked == [("cancel", "flights", 5.0)]
    captured = capsys.readouterr()
    assert captured.out == "flights is STOPPED.\n"
    assert captured.err == "flights: stopped what was left of host 0, which is gone: java (pid 4712)\n"


def test_reset_of_what_has_failed(asked: list[Any], monkeypatch: pytest.MonkeyPatch):
    deployed(FAILED, monkeypatch)
    assert main(["reset", "flights"]) == 0
    assert asked == [("reset", "flights", "region-0", False)]


def test_reset_of_a_unit_by_force(asked: list[Any], monkeypatch: pytest.MonkeyPatch):
    deployed(status(), monkeypatch)
    assert main(["reset", "flights", "--unit", "region-0", "--force"]) == 0
    assert asked == [("reset", "flights", "region-0", True)]


def test_without_a_failure_a_unit_must_be_named(asked: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    deployed(status(hosts=(), units=(unit(), unit(name="pe-1", region=None))), monkeypatch)
    assert main(["reset", "flights"]) == 1
    assert asked == []
    assert "--unit: region-0, pe-1" in capsys.readouterr().err


def test_an_application_that_can_only_be_compiled_is_not_deployed(asked: list[Any], tmp_path: Path, capsys: Capture):
    spec = tmp_path / "tiny.yaml"
    spec.write_text(TINY)
    assert main(["deploy", str(spec)]) == 1
    assert main(["run", str(spec)]) == 1
    assert asked == []
    assert "no implementation" in capsys.readouterr().err


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize(
    "options", [None, Options(submission={"width": "3"}, widths=(("A", 2),), fusion="legacy", pes=2)]
)
def test_run_config_fits_the_jobs(
    options: Options | None, fresh: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    spec = tmp_path / "tiny.yaml"
    spec.write_text(TINY)
    ran: dict[str, Any] = {}

    def run(_instance: object, name: str, defs: dg.Definitions, config: dict[str, Any]) -> None:
        ran[name] = config
        dg.validate_run_config(defs.resolve_job_def(name), config)

    monkeypatch.setattr(jobs, "run_job_in_process", run)
    controls = jobs.Jobs(Home(tmp_path / "home").prepare(), "tiny")
    controls.deploy(spec, options, fresh=fresh)
    controls.cancel()
    controls.reset("region-0", force=True)
    controls.reset("region-0", generation=2)
    assert list(ran) == ["redeploy_tiny", "cancel_tiny", "reset_tiny"]
    ops = ran["redeploy_tiny"]["ops"]
    assert ops["write_wanted_state"]["config"] == {"fresh": fresh}
    assert ops["compile_stages"]["config"]["keep"] is (options is None)


def test_options_of_an_application_that_was_never_compiled(tmp_path: Path):
    assert jobs.last_options(Home(tmp_path), "tiny") == Options()
