"""Jobs that run in this process, several at the same time."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from streams_orchestration.cli import jobs
from streams_orchestration.cli.interrupts import Background
from streams_orchestration.orchestration import deployments
from streams_orchestration.orchestration.instance import dagster_instance
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.regions.failures import UnitFailure
from streams_orchestration.runtime.status import ApplicationStatus
from streams_orchestration_tests.orchestration.conftest import Runtime
from streams_orchestration_tests.orchestration.statuses import running

LIMIT_SECONDS = 120.0


def failure(unit: str) -> UnitFailure:
    return UnitFailure("demo", unit, 1, 0, 5, "boom", Path("host-0.log"))


def test_one_reset_that_hangs_does_not_hold_up_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home = Home(tmp_path / "home").prepare()
    runtime, comes_up = Runtime(), threading.Event()
    runtime.status = running()

    def await_running(*arguments: Any) -> ApplicationStatus:
        if arguments[-1] == "region-0":
            assert comes_up.wait(LIMIT_SECONDS)
        return running()

    monkeypatch.setattr(runtime, "await_running", await_running)
    monkeypatch.setattr(deployments, "_runtime", lambda: runtime)
    monkeypatch.setattr(jobs, "reset", lambda *_, **__: 2)
    controls = jobs.Jobs(home, "demo")
    hangs, other = (Background(lambda each=unit: controls.answer(failure(each))) for unit in ("region-0", "region-1"))
    try:
        assert other.wait(LIMIT_SECONDS)
        other.result()
        assert not hangs.wait(0.0)
    finally:
        comes_up.set()
    assert hangs.wait(LIMIT_SECONDS)
    hangs.result()
    with dagster_instance(home) as instance:
        assert [run.status for run in instance.get_runs()] == [dg.DagsterRunStatus.SUCCESS] * 2
