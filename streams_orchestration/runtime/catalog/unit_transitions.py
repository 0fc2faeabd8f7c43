"""The acts that change rows of units, a function for each; no other module inserts or updates these rows.

A unit is deleted with the rows of its PEs (`forget_units`). A `record` has the columns of a unit's record, see
`columns_of`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, ScalarSelect, bindparam, case, func, insert, select, update

from streams_orchestration.compiler.deployment_plan import Unit
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.kept_rows import Row
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.catalog.states import ENDED
from streams_orchestration.runtime.catalog.unit_columns import FORGIVEN, Moment
from streams_orchestration.runtime.clocks import clock

_HISTORY = ("timer_number", "drains", "resets", "reset_count", "completed_at")
"""The columns that a unit keeps when a redeploy or its revert replaces its row."""

_p, _u = tables.pe, tables.unit
_UNIT = update(_u).where(_u.c.application == bindparam("of"), _u.c.name == bindparam("by"))
_CLOSED = _UNIT.values(unclosed=_u.c.unclosed - 1)
_COMPLETE = _UNIT.values(max_attempts=_u.c.configured_attempts, tries=None, **FORGIVEN)


def count_unclosed(application: Any, unit: Any, epoch: Any) -> ScalarSelect[int]:
    """Return the query that counts the PEs of a unit which have not closed an epoch; arguments may be parameters."""
    members = (_p.c.application == application, _p.c.unit == unit)
    return select(func.count()).select_from(_p).where(*members, _p.c.epoch <= epoch).scalar_subquery()


_STORE = _UNIT.values(unclosed=count_unclosed(bindparam("of"), bindparam("by"), bindparam("closing")))


def insert_unit(
    connection: Connection,
    application: str,
    unit: Unit,
    record: dict[str, Any],
    *,
    generation: int = 1,
    final_epoch: int | None = None,
    former: UnitRow | None = None,
) -> None:
    """Insert a unit, which keeps the history of the `former` one that it replaces, if any."""
    kept = {} if former is None else {name: getattr(former, name) for name in _HISTORY}
    values = {
        "application": application,
        "name": unit.name,
        "region": unit.region,
        "period": unit.period,
        "drain_timeout": unit.drain_timeout,
        "reset_timeout": unit.reset_timeout,
        "unclosed": len(unit.pes),
        "configured_attempts": unit.max_attempts,
        "restart_pause": unit.restart.pause,
        "restart_limit": unit.restart.limit,
        "generation": generation,
        "final_epoch": final_epoch,
    }
    connection.execute(insert(_u).values(**record | kept | values))


def restore_unit(
    connection: Connection, row: Row, record: dict[str, Any], generation: int, final_epoch: int | None
) -> None:
    """Insert a unit of a previous plan, with the settings and the history of its kept row."""
    kept = {name: row[name] for name in _HISTORY}
    values = {
        "generation": generation,
        "final_epoch": final_epoch,
        "shown_epoch": None,
        "held_until": None,
        "drain_asked": None,
        "asked": 0,
        "outage": None,
        "unclosed": 0,
    }
    connection.execute(insert(_u).values(**row | record | kept | values))


def step_unit(
    connection: Connection, unit: UnitRow, record: dict[str, Any], outage: Mapping[Moment, float], at: float
) -> None:
    """Write a record after steps of the state machine that begin no reset, and the moments of the last outage.

    If the steps complete an epoch, it is complete `at` this time.
    """
    _store(connection, unit, record, at, outage=outage or None)


def reset_unit_to_cut(
    connection: Connection,
    unit: UnitRow,
    record: dict[str, Any],
    outage: Mapping[Moment, float],
    at: float,
    *,
    restarts: int,
) -> None:
    """Write a record after a step that begins a reset, and count the reset.

    `restarts` is the number of resets that came one soon after the other, with this one. For the other parameters see
    `step_unit`.
    """
    changes = {"outage": outage, "reset_count": unit.reset_count + 1, "restarts": restarts}
    _store(connection, unit, record, at, generation=unit.generation + 1, **changes, **_columns_at_cut(unit, record))


def begin_unit_again(connection: Connection, unit: UnitRow, record: dict[str, Any], at: float) -> None:
    """Write a record with which a unit begins after the last commits of its PEs, in a new generation."""
    _store(connection, unit, record, at, generation=unit.generation + 1, outage=None)


def take_unit_back(connection: Connection, unit: UnitRow, record: dict[str, Any], at: float) -> None:
    """Write a record with which a unit begins at its last cut, in a new generation; this counts as no reset."""
    _store(connection, unit, record, at, generation=unit.generation + 1, outage=None, **_columns_at_cut(unit, record))


def _store(connection: Connection, unit: UnitRow, record: dict[str, Any], at: float, **columns: Any) -> None:
    """Write a record with further columns, and the number of PEs that have not closed the current epoch."""
    completed_at = at if record["completed_epoch"] > unit.completed_epoch else unit.completed_at
    key = {"of": unit.application, "by": unit.name, "closing": record["current_epoch"], "completed_at": completed_at}
    connection.execute(_STORE, key | record | columns)


def _columns_at_cut(unit: UnitRow, record: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a unit's row that change when its PEs go back to the cut of the last complete epoch.

    A final epoch that is not complete is forgotten, since the tuples before it are read again; so is a drain that the
    trigger operator has requested.
    """
    completed = record["completed_epoch"]
    return {"final_epoch": unit.final_epoch if unit.final_epoch == completed else None, "drain_asked": None}


def note_taken_up(connection: Connection, unit: UnitRow, outage: Mapping[Moment, float]) -> None:
    """Record that a process has taken up the reset of a unit in its generation, with the moments of its outage."""
    key = {"of": unit.application, "by": unit.name}
    connection.execute(_UNIT, {**key, "asked": unit.generation, "outage": outage or None})


def note_first_commit(
    connection: Connection, application: str, unit: str, outage: Mapping[Moment, float], at: float
) -> None:
    """Record the first commit after a reset, in unix seconds, as the last moment of an outage."""
    connection.execute(_UNIT, {"of": application, "by": unit, "outage": {**outage, "committed": at}})


def count_closed(connection: Connection, application: str, unit: str) -> None:
    """Count one more PE of a unit that has closed the current epoch."""
    connection.execute(_CLOSED, {"of": application, "by": unit})


def complete_batch(connection: Connection, application: str, unit: str, epoch: int, at: float) -> None:
    """Complete an epoch of a PE outside of regions, for which every batch is a cut of its own (A49).

    Failed attempts at the epoch are forgotten with their cause.
    """
    cut = {"completed_epoch": epoch, "current_epoch": epoch + 1, "completed_at": at}
    connection.execute(_COMPLETE, {"of": application, "by": unit, **cut})


def request_drain(connection: Connection, application: str, unit: str, epoch: int) -> None:
    """Record that the open epoch of an operator-driven region is to end; the next batch is the boundary (B3)."""
    connection.execute(_UNIT, {"of": application, "by": unit, "drain_asked": epoch})


def announce_final_epoch(connection: Connection, application: str, unit: str, epoch: int) -> None:
    """Record the last epoch of a unit, which gets no more input."""
    connection.execute(_UNIT, {"of": application, "by": unit, "final_epoch": epoch})


def hold(connection: Connection, application: str, units: Collection[str], until: float, *, begins: bool) -> None:
    """Hold units until a time in unix seconds, or with `begins=False` only prolong existing holds."""
    mine = (_u.c.application == application, _u.c.name.in_(units))
    held = () if begins else (_u.c.held_until.is_not(None),)
    connection.execute(update(_u).where(*mine, *held).values(held_until=until))


def end_holds(connection: Connection, application: str) -> None:
    """End all holds of an application's units, and let the current periods of these units end now."""
    held = (_u.c.application == application, _u.c.held_until.is_not(None))
    deadline = case((_u.c.timer == "period", clock.now()), else_=_u.c.deadline)
    connection.execute(update(_u).where(*held).values(held_until=None, deadline=deadline))


def forget_holds(connection: Connection, application: str, *, ended_at: float | None = None) -> None:
    """Remove the holds of an application's units; with `ended_at`, only those expired then, in unix seconds."""
    over = () if ended_at is None else (_u.c.held_until <= ended_at,)
    connection.execute(update(_u).where(_u.c.application == application, *over).values(held_until=None))


def move_period_ends(connection: Connection, application: str, units: Collection[str], end: float) -> None:
    """Let the current periods of units end at a time in unix seconds; units in no period stay as they are."""
    mine = (_u.c.application == application, _u.c.name.in_(units), _u.c.timer == "period")
    connection.execute(update(_u).where(*mine).values(deadline=end))


def hide_epochs(connection: Connection, application: str, units: Collection[str]) -> None:
    """Hide the epochs that units complete from now on from other units and from readers of results."""
    mine = (_u.c.application == application, _u.c.name.in_(units))
    connection.execute(update(_u).where(*mine).values(shown_epoch=_u.c.completed_epoch))


def show_epochs(connection: Connection, application: str) -> None:
    """Show all complete epochs of an application's units."""
    connection.execute(update(_u).where(_u.c.application == application).values(shown_epoch=None))


def complete_units(connection: Connection, application: str, units: Collection[str]) -> None:
    """Mark units that are not complete as COMPLETED."""
    mine = (_u.c.application == application, _u.c.name.in_(units))
    connection.execute(update(_u).where(*mine).values(state="COMPLETED", since=clock.now()))


def stop_units(connection: Connection, application: str) -> None:
    """Mark all units of an application that have not ended as STOPPED."""
    working = (_u.c.application == application, _u.c.state.not_in(ENDED))
    connection.execute(update(_u).where(*working).values(state="STOPPED", since=clock.now()))


def reopen_unit(connection: Connection, unit: UnitRow) -> None:
    """Forget the final epoch of a unit; a complete one is STOPPED then."""
    stopped = {"state": "STOPPED", "since": clock.now()} if unit.state == "COMPLETED" else {}
    connection.execute(_UNIT, {"of": unit.application, "by": unit.name, "final_epoch": None, **stopped})


def set_unit_times(connection: Connection, unit: UnitRow, times: Mapping[str, Any]) -> None:
    """Set the columns of a unit that hold times."""
    connection.execute(_UNIT, {"of": unit.application, "by": unit.name, **times})
