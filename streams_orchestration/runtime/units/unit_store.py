"""Reads the record of a unit from its row in the catalog, names its columns, and logs the unit's events."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select

from streams_orchestration.compiler.stage_results import RestartPolicy
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.catalog.states import EventKind
from streams_orchestration.runtime.units.region_record import RegionRecord, RegionSettings
from streams_orchestration.runtime.units.unit_facts import Facts

TRIAL_PERIOD = 0.5
"""The longest period in seconds while a redeploy is on trial, since no result is published before the first epoch of
the trial.
"""
STEADY_SECONDS = 60.0
"""Seconds of running after which a PE outside of regions no longer counts its earlier restarts."""
KEPT_EVENTS = 100
"""The number of events of a unit that stay in the catalog."""

_e = tables.unit_event
_its_events = (_e.c.application == bindparam("of"), _e.c.unit == bindparam("by"))
_LAST_EVENT = select(func.max(_e.c.number)).where(*_its_events)
_LOG = insert(_e)
_FORGET = delete(_e).where(*_its_events, _e.c.number <= bindparam("oldest"))


def settings_of(facts: Facts) -> RegionSettings:
    """Return the settings of a unit's state machine; during a trial the period is at most `TRIAL_PERIOD`."""
    unit = facts.unit
    members = frozenset(member.id for member in facts.members)
    on_trial = unit.period is not None and unit.shown_epoch is not None
    period = min(unit.period or 0.0, TRIAL_PERIOD) if on_trial else unit.period
    restart = RestartPolicy(unit.restart_pause, unit.restart_limit)
    return RegionSettings(members, period, unit.drain_timeout, unit.reset_timeout, unit.configured_attempts, restart)


_RECORD = tuple(each.name for each in fields(RegionRecord) if each.name != "done")
"""The columns of a unit's row that hold its record, as fields of the same names."""


def record_of(unit: UnitRow) -> RegionRecord:
    """Read the record of a unit from its row. The state machine takes no step of a unit that has ended."""
    return RegionRecord(**{name: getattr(unit, name) for name in _RECORD})


def columns_of(record: RegionRecord) -> dict[str, Any]:
    """Return the columns of a unit's row that hold its record, and the epoch up to which start PEs close epochs."""
    trigger = record.current_epoch if record.state == "DRAINING" else record.completed_epoch
    return {name: getattr(record, name) for name in _RECORD} | {"trigger_epoch": trigger}


def log_event(
    connection: Connection,
    unit: UnitRow,
    record: RegionRecord,
    kind: EventKind,
    at: float,
    *,
    generation: int,
    seconds: float | None = None,
    cause: str | None = None,
) -> None:
    """Insert an event, and delete all but the last `KEPT_EVENTS` of the unit.

    Args:
        connection: a connection in a write transaction.
        unit: the row of the unit.
        record: the unit's record, whose complete epoch and attempts are stored with the event.
        kind: the kind of the event.
        at: unix seconds.
        generation: the generation of the unit then.
        seconds: see `UnitEventRow`.
        cause: the cause in words; None without one.
    """
    this = {"of": unit.application, "by": unit.name}
    number = (connection.scalar(_LAST_EVENT, this) or 0) + 1
    values = {
        "application": unit.application,
        "unit": unit.name,
        "number": number,
        "at": at,
        "kind": kind,
        "generation": generation,
        "epoch": record.completed_epoch,
        "attempts": record.attempts,
        "seconds": seconds,
        "cause": cause,
    }
    connection.execute(_LOG, values)
    if number > KEPT_EVENTS:
        connection.execute(_FORGET, this | {"oldest": number - KEPT_EVENTS})
