"""Updates the states of units from the catalog: from ended hosts, new commits and expired timers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import bindparam, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.application_transitions import end_temporary_run
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.reading import CatalogRow
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.catalog.states import PeState, Timer, UnitState, waits_for_reset
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.storage.store import remove_files
from streams_orchestration.runtime.units.clock_set_back import adjust_future_times, unit_changes
from streams_orchestration.runtime.units.controller import advance_unit, unit_row, would_change
from streams_orchestration.runtime.units.health import read_facts
from streams_orchestration.runtime.units.region_record import fires

_a, _u = tables.application, tables.unit
_WANTED = select(_a.c.wanted, _a.c.runs_until).where(_a.c.name == bindparam("of"))
_UNITS = select(_u).where(_u.c.application == bindparam("of"))
_NAMED_UNITS = _UNITS.where(_u.c.name.in_(bindparam("names", expanding=True)))


def advance_units(catalog: Catalog, application: str, units: Iterable[str] | None = None) -> None:
    """Update the states of units.

    Nothing is written if nothing has changed. Times that lie in the future, since the clock was set back, are moved
    first. An application whose temporary run has expired is stopped, and its units stay as they are. Files that resets
    no longer need are removed.

    Args:
        catalog: the catalog of the application.
        application: the name of the application; if it is not wanted to run, nothing is done.
        units: the names of the units; None for all.

    Raises:
        StreamsRuntimeError: a changed unit was removed meanwhile, or a rule of the recovery protocol is broken.
    """
    names = None if units is None else tuple(units)
    seen = _read_changes(catalog, application, names)
    if seen.over:
        with catalog.write() as connection:
            end_temporary_run(connection, application, clock.now())
    if seen.ahead:
        adjust_future_times(catalog, application)
        seen = _read_changes(catalog, application, names)
    for unit in seen.changed:
        with catalog.write_unit(application, unit) as connection:
            now = clock.now()
            (facts,) = read_facts(connection, [unit_row(connection, application, unit)], now)
            garbage = advance_unit(connection, facts, now)
        remove_files(catalog.store, garbage)


@dataclass(frozen=True, slots=True)
class _Seen:
    """The changed units of an application, and other reasons to write; there are none if it is not wanted to run."""

    changed: tuple[str, ...] = ()
    ahead: bool = False
    """True if times lie in the future."""
    over: bool = False
    """True if the temporary run of the application has expired."""


def _read_changes(catalog: Catalog, application: str, names: tuple[str, ...] | None) -> _Seen:
    with catalog.read() as connection:
        row = connection.execute(_WANTED, {"of": application}).one_or_none()
        now = clock.now()
        if row is None or row.wanted != "RUNNING" or (row.runs_until is not None and row.runs_until <= now):
            return _Seen(over=row is not None and row.runs_until is not None and row.runs_until <= now)
        statement, named = (_UNITS, {}) if names is None else (_NAMED_UNITS, {"names": names})
        rows = UnitRow.all(connection, statement, {"of": application, **named})
        facts = read_facts(connection, rows, now)
        changed = tuple(each.unit.name for each in facts if would_change(each, now))
        ahead = any(each.health.ahead or unit_changes(each.unit, now) for each in facts)
        return _Seen(changed, ahead=ahead)


@dataclass(frozen=True, slots=True)
class PeOfUnit(CatalogRow):
    """A PE with the state of its unit. Columns that do not describe the PE describe the unit."""

    id: int
    final: bool
    state: PeState
    generation: int
    dirty: bool
    committed_at: float | None
    """The time of the last commit of the PE in unix seconds; None before the first one."""
    unit_state: UnitState
    timer: Timer | None
    deadline: float | None
    """Unix seconds; None without a timer."""
    asked: int
    """The generation whose reset a process has taken up."""


def changes_soon(row: PeOfUnit, now: float) -> bool:
    """Return True if the state of a PE's unit is about to change: it starts, is reset, or its timer fires.

    False if the PE has ended. `next_event` knows further events, for which a host need not hurry: the commit that ends
    an epoch advances the unit itself, and a unit without attempts has no reset to begin.

    Args:
        row: the row of the PE.
        now: unix seconds.
    """
    if row.final:
        return False
    taken_up = row.asked == row.generation
    if waits_for_reset(row.unit_state, dirty=row.dirty):
        return taken_up
    return row.unit_state in ("STARTED", "RESETTING") or fires(row.timer, row.deadline, now, taken_up=taken_up)
