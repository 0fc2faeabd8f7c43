"""Reads the facts about a unit of recovery from the catalog, and finds new events for its state machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, bindparam, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.sinks.sinks import sinks_lag
from streams_orchestration.runtime.units.region_events import (
    Action,
    CheckpointDone,
    DrainReported,
    Event,
    FailureCause,
    Healthy,
    ResetDone,
    SourcesEnded,
    TimerFired,
    TriggerReset,
)
from streams_orchestration.runtime.units.region_machine import WORKING, step
from streams_orchestration.runtime.units.region_record import RegionRecord, RegionSettings, fires


@dataclass(frozen=True, slots=True)
class UnitMember:
    """One PE of a unit, as read from its row."""

    id: int
    epoch: int
    """The open epoch of the PE, which has closed all lower epochs."""
    final: bool
    runs: bool
    """True if it was seen to run in the unit's generation, or has ended."""


@dataclass(frozen=True, slots=True)
class Health:
    """The health of a unit's hosts and queries, as far as it is known."""

    failure: FailureCause | None = None
    """The reason why a host or a PE does not work; None if all do."""
    failed_at: float | None = None
    """The time of the failure as far as it is known, in unix seconds; None without a failure.

    It is the time of the last sign of life of a host, or the time at which a host found its PE failed.
    """
    up: bool = True
    """True if every launched host of the unit runs, so that a reset may begin (B12)."""
    gone: Mapping[int, FailureCause] = field(default_factory=dict[int, FailureCause])
    """Host that does not work -> its cause; also a host of a new plan that was not started in time."""
    ahead: bool = False
    """True if a time of a host lies in the future, since the clock was set back."""

    @property
    def cause(self) -> FailureCause | None:
        """The reason why a host, also one that was never launched, or a PE does not work; None if all do."""
        return next(iter(self.gone.values()), self.failure)


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts that the state machine of a unit can learn."""

    members: tuple[UnitMember, ...]
    health: Health | None
    """The health of the unit; None if it was not read."""
    taken_up: bool
    """True if a process has taken up the reset of this generation."""
    final_epoch: int | None
    """The epoch in which the sources have ended; None while a source may still deliver."""
    drain_asked: int | None
    """The epoch whose end the trigger operator has requested last; None before."""
    sinks_lag: bool = False
    """True if many complete epochs of a sink are not visible yet; no further epoch may end then, so no drain times out.
    """

    @property
    def finished(self) -> bool:
        """True if every PE has made its final commit."""
        return all(member.final for member in self.members)


_p = tables.pe
_MEMBERS = select(_p.c.id, _p.c.unit, _p.c.epoch, _p.c.final, _p.c.running).where(
    _p.c.application == bindparam("of"), _p.c.unit.in_(bindparam("units", expanding=True))
)


def read_facts(connection: Connection, units: Iterable[UnitRow], health: Mapping[str, Health]) -> dict[str, Facts]:
    """Return the facts of units of one application, by name.

    Args:
        connection: the connection of a transaction.
        units: the rows of the units.
        health: the health of their hosts and queries, for units where it was read.
    """
    rows = {unit.name: unit for unit in units}
    members: dict[str, list[UnitMember]] = {name: [] for name in rows}
    if rows:
        named = {"of": next(iter(rows.values())).application, "units": list(rows)}
        for row in connection.execute(_MEMBERS, named):
            runs = row.final or row.running == rows[row.unit].generation
            members[row.unit].append(UnitMember(row.id, row.epoch, row.final, runs))
    return {
        name: Facts(
            tuple(members[name]),
            health.get(name),
            unit.asked == unit.generation,
            unit.final_epoch,
            unit.drain_asked,
            unit.timer == "period" and sinks_lag(connection, unit.application, name, unit.shown),
        )
        for name, unit in rows.items()
    }


def advanced(
    settings: RegionSettings, record: RegionRecord, facts: Facts, at: float
) -> tuple[RegionRecord, tuple[Action, ...]]:
    """Return the record after the events that the facts show, up to the first reset, and the resulting actions.

    The function is pure.
    """
    actions: tuple[Action, ...] = ()
    while (event := next_event(record, facts, at)) is not None:
        record, more = step(settings, record, event, at)
        actions += more
        if any(isinstance(action, TriggerReset) for action in more):
            break
    return replace(record, done=frozenset()), actions


def next_event(record: RegionRecord, facts: Facts, at: float) -> Event | None:
    """Return the next event that the facts show and the record does not contain yet; None if there is none.

    A unit whose last epoch is complete has none. A unit that waits for a reset has none until a process has taken the
    reset up and all hosts are present, or no attempt is left. The timer of a period gives none while sinks lag, and the
    timer of a drain or a reset gives none until a process has taken up the reset.
    """
    if (
        record.state in ("STARTED", "PROCESSING")
        and facts.finished
        and facts.final_epoch in (None, record.completed_epoch)
    ):
        return None
    ready = facts.taken_up and facts.health is not None and facts.health.up
    if record.state == "UNHEALTHY":
        # if no attempt is left, no reset follows, so the unit does not wait for its hosts
        return Healthy() if ready or record.gives_up(at) else None
    if record.state == "STARTED" and record.dirty:
        return Healthy() if ready else None
    if record.state not in (*WORKING, "STARTED"):
        return None
    if (done := _report(record, facts)) is not None:
        return done
    if facts.health is not None and facts.health.failure is not None:
        return facts.health.failure
    if record.state == "PROCESSING":
        if facts.final_epoch == record.current_epoch:
            return SourcesEnded()
        if facts.drain_asked == record.current_epoch:
            return DrainReported(record.current_epoch)
    due = fires(record.timer, record.deadline, at, taken_up=facts.taken_up)
    if record.timer is None or not due or (record.timer == "period" and facts.sinks_lag):
        return None
    return TimerFired(record.timer, record.timer_number)


def _report(record: RegionRecord, facts: Facts) -> Event | None:
    """Return an event of a PE that the record does not contain yet; None if there is none.

    A unit in STARTED is healthy once all its PEs run.
    """
    waiting = (member for member in facts.members if member.id not in record.done)
    match record.state:
        case "STARTED":
            return Healthy() if all(member.runs for member in facts.members) else None
        case "DRAINING":
            closed = (member for member in waiting if member.epoch > record.current_epoch)
            return next((CheckpointDone(member.id, record.current_epoch) for member in closed), None)
        case "RESETTING":
            running = (member for member in waiting if member.runs)
            return next((ResetDone(member.id, record.completed_epoch, record.attempt) for member in running), None)
        case _:
            return None
