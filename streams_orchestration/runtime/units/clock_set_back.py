"""The times of an application after the clock of its catalog was set back.

Heartbeats, deadlines and holds are compared with that clock. Once it is set back they lie in the future, and everything
that waits for them would wait until the clock has caught up. The first process that sees such a time moves it to the
latest value that it could have now.

>>> latest(1_600.0, 1_000.0)
1000.0
>>> latest(1_001.0, 1_000.0)
1001.0
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.application_transitions import move_run_end
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.host_transitions import set_times
from streams_orchestration.runtime.catalog.rows import HostRow, TrialRow, UnitRow
from streams_orchestration.runtime.catalog.trial_transitions import set_trial_end
from streams_orchestration.runtime.catalog.unit_transitions import set_unit_times
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.settings.limits import AHEAD_SECONDS, HOLD_SECONDS

_TIMES_OF_HOST = ("asked_at", "launched_at", "heartbeat_at", "storage_failed_at")


def latest(time: float, limit: float) -> float:
    """Return a unix time, or `limit` if the time is more than `AHEAD_SECONDS` later than `limit`."""
    return limit if time > limit + AHEAD_SECONDS else time


def unit_changes(unit: UnitRow, now: float) -> dict[str, Any]:
    """Return the columns of a unit with times that lie in the future of a unix time, with their new values.

    A time of the past lies in the future if it is later than now. A deadline or the end of a hold does if it is later
    than one that would be set now. Up to `AHEAD_SECONDS` are allowed in both cases.
    """
    timers = {"period": unit.period, "drain": unit.drain_timeout, "reset": unit.reset_timeout}
    seconds = max(timers.get(unit.timer or "") or 0.0, HOLD_SECONDS if unit.timer == "period" else 0.0)
    limits = {
        **dict.fromkeys(("since", "began_at", "completed_at"), now),
        "deadline": now + seconds,
        "held_until": now + HOLD_SECONDS,
        "give_up_at": now + unit.restart_limit,
    }
    earlier = tuple(each._replace(since=latest(each.since, now)) for each in unit.tries)
    outage = {name: latest(time, now) for name, time in (unit.outage or {}).items()} or None
    moved: dict[str, Any] = {"tries": earlier} if earlier != unit.tries else {}
    moved |= {"outage": outage} if outage != (unit.outage or None) else {}
    for name, done in (("drains", unit.drains), ("resets", unit.resets)):
        if done.at is not None and latest(done.at, now) != done.at:
            moved[name] = done._replace(at=now)
    return _changes(unit, limits) | moved


def adjust_future_times(catalog: Catalog, application: str) -> None:
    """Move the times of an application's units, hosts, trial and temporary run that lie in the future.

    Past events move to the present, and deadlines to the latest time that would be set now. The end of a temporary run
    moves to `HOLD_SECONDS` from now if it lies more than `AHEAD_SECONDS` after that. Do nothing while this process is
    not sure of the shared time (`clock.is_sure`).
    """
    a, h, u, t = tables.application, tables.host, tables.unit, tables.trial
    with catalog.write() as connection:
        now = clock.now()
        if not clock.is_sure():
            return
        for unit in UnitRow.all(connection, select(u).where(u.c.application == application)):
            if times := unit_changes(unit, now):
                set_unit_times(connection, unit, times)
        for host in HostRow.all(connection, select(h).where(h.c.application == application)):
            if times := _changes(host, dict.fromkeys(_TIMES_OF_HOST, now)):
                set_times(connection, host, times)
        for trial in TrialRow.all(connection, select(t).where(t.c.application == application)):
            until = latest(trial.until, now + trial.within)
            if until != trial.until:
                set_trial_end(connection, trial, until)
        end = now + HOLD_SECONDS
        far = select(a.c.name).where(a.c.name == application, a.c.runs_until > end + AHEAD_SECONDS)
        if connection.execute(far).first() is not None:
            move_run_end(connection, application, end)


def _changes(row: object, limits: Mapping[str, float]) -> dict[str, Any]:
    times = ((name, getattr(row, name), limit) for name, limit in limits.items())
    return {name: limit for name, time, limit in times if time is not None and latest(time, limit) != time}
