"""Reads the state of an application for events of OpenLineage from the catalog."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import HostRow, LineageRunRow, UnitRow
from streams_orchestration.runtime.catalog.states import ENDED
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.lineage.progress import RunMoment
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.failures import find_failures
from streams_orchestration.runtime.units.reading import application_row, units_status
from streams_orchestration.runtime.units.status import HostStatus


@dataclass(frozen=True, slots=True)
class View:
    """The state of an application for its events."""

    moment: RunMoment
    run: LineageRunRow | None
    """The latest run of the application; None if there is none."""
    units: list[UnitRow]
    rows: dict[str, int]
    """Sink -> rows that are finally visible, counted since the application was deployed."""
    first: bool
    """True if the application was not stopped since its fresh start."""
    reporter: int | None
    """The host that sends events: the live host with the lowest number; None if no host lives."""


def read_view(connection: Connection, home: Home, application: str, *, last: bool) -> View | None:
    """Return the state of an application for its events; None if it is not deployed.

    When the reporter stops (`last`), an application that is not wanted to run counts as ended.
    """
    a, u, h, s, r = tables.application, tables.unit, tables.host, tables.sink, tables.lineage_run
    columns = (a.c.wanted, a.c.state, a.c.taken_at, a.c.deployed_at, a.c.started_at, a.c.plan)
    facts = connection.execute(select(*columns).where(a.c.name == application)).one_or_none()
    if facts is None:
        return None
    units = UnitRow.all(connection, select(u).where(u.c.application == application).order_by(u.c.name))
    hosts = HostRow.all(connection, select(h).where(h.c.application == application).order_by(h.c.id))
    run = LineageRunRow.one_or_none(connection, select(r).where(r.c.application == application))
    rows = connection.execute(select(s.c.operator, s.c.rows).where(s.c.application == application)).all()
    now = clock.now()
    working = [host for host in hosts if host.state not in ENDED]
    live = [each.id for each in working if each.state in ("STARTING", "RUNNING") and HostStatus.of(each, now).alive]
    broken = any(unit.broken for unit in units)
    moment = RunMoment(
        state=_state(facts, last=last),
        started_at=facts.started_at,
        failure=_failure(connection, home, application, now) if broken or len(live) < len(working) else None,
        condition=("UNHEALTHY" if broken else "RUNNING", facts.plan),
        epochs={unit.name: unit.completed_epoch for unit in units},
        at=now,
    )
    published = {row.operator: row.rows for row in rows}
    first = facts.started_at == facts.deployed_at
    return View(moment, run, units, published, first, min(live, default=None))


def _state(facts: Any, *, last: bool) -> Literal["RUNNING", "ENDING", "COMPLETE", "ABORT"]:
    if facts.state == "COMPLETED":
        return "COMPLETE"
    if facts.wanted == "RUNNING":
        return "RUNNING"
    if not last and facts.state != "STOPPED":
        return "ENDING"
    return "ABORT" if facts.taken_at is None else "COMPLETE"


def _failure(connection: Connection, home: Home, application: str, now: float) -> str | None:
    """Describe the units that are no longer reset, with reasons; return None while all run or are being reset."""
    status = units_status(connection, home, application_row(connection, home, application))
    lost = [each for each in find_failures(status, now) if each.exhausted]
    return " ".join(f"{each.unit}: {each.explanation}. {each.remedy}" for each in lost) or None


def rows_since(view: View, names: Iterable[str]) -> dict[str, int]:
    """Return the rows that sinks have published since the run began; sinks that do not exist are left out."""
    before = {} if view.run is None else view.run.rows
    return {name: max(view.rows[name] - before.get(name, 0), 0) for name in names if name in view.rows}
