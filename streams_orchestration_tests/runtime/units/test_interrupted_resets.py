"""A reset that dies at any step, or that several processes try at once, happens once and is completed."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.deployment import reset as resetting
from streams_orchestration.runtime.deployment.reset import UnitReset, reset_unit
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.units.watch import advance_units
from streams_orchestration_tests.combinations import often
from streams_orchestration_tests.runtime.running import Running

pytestmark = pytest.mark.slow


class CrashError(BaseException):
    """The process that resets is gone."""


def steps_of_a_reset() -> list[str]:
    return ["_end_hosts", "begin_reset", "start_missing_hosts", "remove_files"]


@pytest.mark.parametrize(
    "after", [pytest.param(False, id="before"), pytest.param(True, id="after", marks=pytest.mark.deep)]
)
@pytest.mark.parametrize(
    ("fault", "died"),
    [
        # each fault and each step with others; all pairs are deep
        pytest.param(fault, died, marks=[pytest.mark.deep] * ((number + place) % 2))
        for number, fault in enumerate(("host", "query", "drain", "reset"))
        for place, died in enumerate(steps_of_a_reset())
    ],
)
def test_a_reset_that_dies_half_way_is_completed_by_the_next(
    running: Running, monkeypatch: pytest.MonkeyPatch, fault: str, died: str, after: bool
):
    running.work()
    _break(running, fault)
    real: Callable[..., Any] = getattr(resetting, died)

    def dying(*arguments: Any, **named: Any) -> Any:
        if after:
            real(*arguments, **named)
        raise CrashError

    with monkeypatch.context() as crashing:
        crashing.setattr(resetting, died, dying)
        with contextlib.suppress(CrashError):
            reset_unit(running.catalog, running.name, "region-0", generation=running.unit.generation)
    for _ in range(3):  # others look on, and hosts that were started come up
        running.watch()
        if running.hosts.alive_pids:
            running.come_up()
    assert running.failure is None
    assert running.unit.state in ("PROCESSING", "DRAINING"), "its period may be over by now"
    assert running.unit.generation <= 4
    running.finish()


def _break(running: Running, fault: str) -> None:
    match fault:
        case "host":
            running.kill_host()
        case "query":
            running.set(tables.pe, state="FAILED", error="boom")
        case "drain":
            running.local.trigger()
            running.expire()
        case "reset":
            reset_unit(running.catalog, running.name, "region-0")
            running.expire()


STATEMENTS = range(1, 40, 3)


@pytest.mark.parametrize("statement", often(STATEMENTS, STATEMENTS[::4]))
def test_a_transaction_that_dies_at_any_statement_changes_nothing(
    running: Running, monkeypatch: pytest.MonkeyPatch, statement: int
):
    from sqlalchemy import Connection

    running.work()
    running.set(tables.pe, state="FAILED", error="boom")
    advance_units(running.catalog, running.name)
    before = read_status(running.catalog, running.name)
    count, execute, this_thread = 0, Connection.execute, threading.get_ident()

    def dying(self: Connection, *arguments: Any, **named: Any) -> Any:
        nonlocal count
        if threading.get_ident() == this_thread:
            count += 1
            if count == statement:
                raise CrashError
        return execute(self, *arguments, **named)

    with monkeypatch.context() as crashing:
        crashing.setattr(Connection, "execute", dying)
        try:
            resetting.begin_reset(running.catalog, running.name, "region-0", generation=1, force=False)
            assert statement > 20, "it has that many statements"
        except CrashError:
            crashing.undo()
            assert read_status(running.catalog, running.name) == before
    running.watch()
    assert running.unit.generation == 2
    running.finish()


def test_any_number_of_callers_do_one_reset(running: Running):
    running.work()
    running.kill_host()
    advance_units(running.catalog, running.name)
    with ThreadPoolExecutor(8) as pool:
        actual = list(
            pool.map(lambda _: reset_unit(running.catalog, running.name, "region-0", generation=1), range(16))
        )
    assert set(actual) == {UnitReset(1, begun=False)}, "its host is not back"
    assert running.hosts.launched == [0, 0]
    running.set(tables.host, state="RUNNING", heartbeat_at=time.time())
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: advance_units(running.catalog, running.name), range(16)))
        list(pool.map(lambda _: reset_unit(running.catalog, running.name, "region-0", generation=1), range(16)))
    assert (running.unit.generation, running.unit.row.attempts) == (2, 1)
    assert running.events.count("reset began") == 1
    running.finish()


def test_a_reset_waits_for_a_host_whose_death_nobody_has_recorded(running: Running):
    running.work()
    before = len(running.events)
    running.kill_host()
    row, begun = resetting.begin_reset(running.catalog, running.name, "region-0", generation=None, force=False)
    assert (row.state, row.generation, begun) == ("UNHEALTHY", 1, False)
    assert running.events[before:] == ["unhealthy", "taken up"]


def test_a_request_finds_that_the_reset_begins_by_itself_and_begins_no_second_one(running: Running):
    running.work()
    running.kill_host()
    reset_unit(running.catalog, running.name, "region-0")
    running.set(tables.host, state="RUNNING", heartbeat_at=time.time())
    assert reset_unit(running.catalog, running.name, "region-0").generation == 2
    assert running.unit.row.attempts == 1
    running.finish()
