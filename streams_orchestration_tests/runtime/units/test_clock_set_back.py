"""The clock of the catalog is set back: nothing waits until it has caught up."""

from __future__ import annotations

import time
from typing import Any

import pytest
from sqlalchemy import select

from streams_orchestration import world
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.unit_columns import ResetDurations
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.observing.status_summaries import advance_and_read_status, read_summaries
from streams_orchestration.runtime.processes.processes import is_here
from streams_orchestration.runtime.settings.limits import AHEAD_SECONDS, HOLD_SECONDS
from streams_orchestration.runtime.units.failures import find_failures
from streams_orchestration.runtime.units.judged_failures import times_of_failure
from streams_orchestration.runtime.units.watch import advance_units
from streams_orchestration_tests.runtime.running import Running

pytestmark = pytest.mark.slow

SET_BACK = 3_600.0


@pytest.fixture(autouse=True)
def has_worked(running: Running) -> None:
    """The application has worked before the clock is set back by an hour."""
    running.work()


def set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "now", lambda: time.time() - SET_BACK)


def wait(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(world, "now", lambda: time.time() - SET_BACK + seconds)


def suspected(running: Running) -> list[str]:
    """Return the units that a healer resets, which looks closer at what the summary shows."""
    if not read_summaries(running.catalog)[running.name].suspected:
        return []
    status = advance_and_read_status(running.catalog, running.name)
    return [failure.unit for failure in find_failures(status, clock.now())]


def column(running: Running, table: Any, name: str) -> Any:
    with running.catalog.read() as connection:
        return connection.scalar(select(table.c[name]).limit(1))


def test_a_host_whose_starter_died_before_that_is_started_again(running: Running, monkeypatch: pytest.MonkeyPatch):
    running.set(tables.host, state="STARTING", pid=None, launched_at=time.time(), heartbeat_at=None)
    set_back(monkeypatch)
    assert suspected(running) == [], "it may still be on its way"
    wait(monkeypatch, 60.0)
    assert suspected(running) == ["region-0"]


def test_a_host_elsewhere_that_died_before_that_is_missed(running: Running, monkeypatch: pytest.MonkeyPatch):
    running.set(tables.host, space="elsewhere", heartbeat_at=time.time())
    assert not is_here("elsewhere")
    set_back(monkeypatch)
    assert suspected(running) == []
    wait(monkeypatch, 60.0)
    assert suspected(running) == ["region-0"]


@pytest.mark.parametrize(
    ("column_of", "ahead", "most"),
    [
        ("since", 0.0, 0.0),
        ("deadline", 0.5, 180.0),
        ("held_until", HOLD_SECONDS, HOLD_SECONDS),
        ("give_up_at", 600.0, 86_400.0),
    ],
)
def test_a_time_of_a_unit_is_as_late_as_it_may_be_now(
    running: Running, monkeypatch: pytest.MonkeyPatch, column_of: str, ahead: float, most: float
):
    running.set(tables.unit, **{column_of: time.time() + ahead})
    set_back(monkeypatch)
    advance_units(running.catalog, running.name)
    assert column(running, tables.unit, column_of) <= clock.now() + most + 10.0


def test_a_pause_before_a_reset_is_not_prolonged(running: Running, monkeypatch: pytest.MonkeyPatch):
    now = time.time()
    running.set(tables.unit, outage={"failed": now, "detected": now}, tries=[["host 0", 2, now, False]])
    set_back(monkeypatch)
    advance_units(running.catalog, running.name)
    assert max(column(running, tables.unit, "outage").values()) <= clock.now()
    assert column(running, tables.unit, "tries")[0][2] <= clock.now()


@pytest.mark.parametrize("name", ["drains", "resets"])
def test_the_end_of_the_last_drain_or_reset_is_past(running: Running, monkeypatch: pytest.MonkeyPatch, name: str):
    running.set(tables.unit, **{name: ResetDurations(1, time.time(), (2.0,))})
    set_back(monkeypatch)
    advance_units(running.catalog, running.name)
    moved = column(running, tables.unit, name)
    assert moved.at <= clock.now()
    assert moved.seconds == (2.0,)


def test_times_that_are_right_stay(running: Running, monkeypatch: pytest.MonkeyPatch):
    names = ("since", "deadline", "outage", "tries")
    before = [column(running, tables.unit, name) for name in names]
    monkeypatch.setattr(world, "now", lambda: time.time() - AHEAD_SECONDS / 2)
    advance_units(running.catalog, running.name)
    assert [column(running, tables.unit, name) for name in names] == before


def test_a_process_that_knows_the_time_badly_changes_nothing(running: Running, monkeypatch: pytest.MonkeyPatch):
    since = column(running, tables.unit, "since")
    clock.read(time.time() - SET_BACK, world.boot_time() - 60.0)
    try:
        advance_units(running.catalog, running.name)
        assert column(running, tables.unit, "since") == since
    finally:
        clock.forget_reading()


def test_failures_of_a_time_to_come_are_forgotten_when_that_is_far_away():
    assert times_of_failure({"failure": {}, "repeats": 1, "times": [1_000.0, 1_500.0, 9_000.0]}, 1_200.0) == 2
