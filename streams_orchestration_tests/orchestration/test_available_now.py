"""The job and the schedule of runs that take only what is there."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest

from streams_orchestration import world
from streams_orchestration.orchestration import ops
from streams_orchestration.orchestration.schedules import quarterly
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration_tests.orchestration.conftest import Runtime, failure_of, step
from streams_orchestration_tests.orchestration.statuses import NOW, failed, running
from streams_orchestration_tests.runtime.readings import changed

pytestmark = pytest.mark.slow

UNDER_WAY = running(bounded=True)
TAKEN = running(state="STOPPED", bounded=True, taken_at=NOW)
MENDED = replace(UNDER_WAY, units=(changed(UNDER_WAY.units[0], generation=2),))


@pytest.fixture
def checks(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> list[ApplicationStatus]:
    """The statuses that the job sees, one at each check."""
    statuses: list[ApplicationStatus] = []

    def show_next(*_: Any) -> None:
        if statuses:
            runtime.status = statuses.pop(0)

    # the module's own name: threads of other tests may sleep, too
    monkeypatch.setattr(ops, "time", SimpleNamespace(sleep=show_next, monotonic=time.monotonic))
    monkeypatch.setattr(world, "now", lambda: NOW)
    return statuses


def run(defs: dg.Definitions, **config: Any) -> dg.ExecuteInProcessResult:
    settings = step("await_heartbeats", **config)
    return defs.resolve_job_def("demo__available").execute_in_process(settings, raise_on_error=False)


def failure(result: dg.ExecuteInProcessResult) -> str:
    return str(failure_of(result).user_failure_data.description)


def test_the_job_is_bounded_run_and_ends(defs: dg.Definitions, runtime: Runtime, checks: list[Any]):
    runtime.status = UNDER_WAY
    checks += [UNDER_WAY, TAKEN]
    assert run(defs).success
    names = [
        name
        for name in runtime.names
        if name in ("take what is there", "launch_hosts", "cancel_application", "reset_unit")
    ]
    assert names == ["take what is there", "launch_hosts", "cancel_application"]


def test_a_unit_that_fails_during_the_run_is_reset(
    defs: dg.Definitions, runtime: Runtime, checks: list[Any], monkeypatch: pytest.MonkeyPatch
):
    runtime.status = failed(UNDER_WAY, state="UNHEALTHY")
    checks += [runtime.status, runtime.status, MENDED, TAKEN]
    later = itertools.count()
    monkeypatch.setattr(world, "now", lambda: NOW + next(later))
    assert run(defs).success
    assert ("reset_unit", "demo", "region-0", 1, False) in runtime.calls


def test_a_unit_that_is_reset_no_more_stops_it_with_the_reason(
    defs: dg.Definitions, runtime: Runtime, checks: list[Any]
):
    runtime.status = failed(UNDER_WAY, attempts=5, state="MAXIMUM_RESET_ATTEMPTS_REACHED")
    checks += [TAKEN]
    text = failure(run(defs))
    assert "demo was stopped: region-0: " in text
    assert "out of order" in text
    assert runtime.called("cancel_application")


def test_a_run_that_takes_too_long_or_is_stopped_by_another_one_says_so(
    defs: dg.Definitions, runtime: Runtime, checks: list[Any]
):
    runtime.status = UNDER_WAY
    assert "it did not process all available input within 1e-09 s" in failure(run(defs, taken=1e-9))
    checks += [running(state="STOPPED", bounded=True)]
    assert "demo was stopped by another command" in failure(run(defs))


@pytest.mark.parametrize(
    ("status", "skipped"),
    [
        (None, None),
        (TAKEN, None),
        (running(state="COMPLETED"), None),
        (UNDER_WAY, "demo processes the available data already"),
        (running(), "demo runs without an end"),
        (replace(running(), hosts=(changed(running().hosts[0], alive=False),)), None),
    ],
)
def test_the_schedule_requests_one_run_at_a_time(
    defs: dg.Definitions, runtime: Runtime, status: ApplicationStatus | None, skipped: str | None
):
    runtime.status = status
    schedule = defs.resolve_schedule_def("demo__available")
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
    assert schedule.cron_schedule == quarterly("demo")
    with dg.DagsterInstance.ephemeral() as instance:
        context = dg.build_schedule_context(instance=instance, resources=dict(defs.resources or {}))
        evaluation = schedule.evaluate_tick(context)
    assert evaluation.skip_message == skipped
    assert len(evaluation.run_requests or []) == (1 if skipped is None else 0)
