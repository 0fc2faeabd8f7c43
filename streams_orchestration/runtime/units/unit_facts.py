"""The facts about a unit of recovery, and the new events that they show to its state machine.

The functions are pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from streams_orchestration.runtime.catalog.cause_kinds import CauseKind
from streams_orchestration.runtime.catalog.reading import CatalogRow
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.catalog.states import PeState
from streams_orchestration.runtime.units.region_events import (
    CheckpointDone,
    DrainReported,
    Event,
    FailureCause,
    Healthy,
    ResetDone,
    SourcesEnded,
    TimerFired,
)
from streams_orchestration.runtime.units.region_machine import WORKING, begins_reset, step
from streams_orchestration.runtime.units.region_record import RegionRecord, RegionSettings, fires


@dataclass(frozen=True, slots=True)
class UnitMember(CatalogRow):
    """The columns of a PE on which its unit depends: whether the PE works, and how far it has come."""

    application: str
    unit: str
    host: int
    id: int
    state: PeState
    error: str | None
    kind: CauseKind
    outside: bool
    failed_at: float | None
    final: bool
    epoch: int
    """The open epoch of the PE, which has closed all lower epochs."""
    running: int
    """The generation in which it was last seen to run."""


@dataclass(frozen=True, slots=True)
class Health:
    """The health of a unit's hosts and queries, as far as it is known."""

    failure: FailureCause | None = None
    """The reason why a host or a PE does not work; None if all do."""
    failed_at: float | None = None
    """The time of the failure as far as it is known, in unix seconds; None without a failure.

    It is the time of the last sign of life of a host, or the time at which a host found its PE failed.
    """
    up: bool = False
    """True if every launched host of the unit is known to run, so that a reset may begin (B12)."""
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

    unit: UnitRow
    members: tuple[UnitMember, ...]
    health: Health = Health()
    sinks_lag: bool = False
    """True if many complete epochs of a sink are not visible yet; no further epoch may end then, so no drain times out.
    """

    @property
    def finished(self) -> bool:
        """True if every PE has made its final commit."""
        return all(member.final for member in self.members)

    def runs(self, member: UnitMember) -> bool:
        """Return True if a PE was seen to run in the unit's generation, or has ended."""
        return member.final or member.running == self.unit.generation


def advanced(settings: RegionSettings, record: RegionRecord, facts: Facts, at: float) -> tuple[RegionRecord, bool]:
    """Return the record after the events that the facts show, up to the first reset, and True if a reset begins.

    The function is pure.
    """
    resets = False
    while not resets and (event := next_event(record, facts, at)) is not None:
        before, record = record, step(settings, record, event, at)
        resets = begins_reset(before, record)
    return replace(record, done=frozenset()), resets


def next_event(record: RegionRecord, facts: Facts, at: float) -> Event | None:
    """Return the next event that the facts show and the record does not contain yet; None if there is none.

    A unit whose last epoch is complete has none. A unit that waits for a reset has none until a process has taken the
    reset up and all hosts are present, or no attempt is left. The timer of a period gives none while sinks lag, and the
    timer of a drain or a reset gives none until a process has taken up the reset.
    """
    if (
        record.state in ("STARTED", "PROCESSING")
        and facts.finished
        and facts.unit.final_epoch in (None, record.completed_epoch)
    ):
        return None
    ready = facts.unit.taken_up and facts.health.up
    if record.state == "UNHEALTHY":
        # if no attempt is left, no reset follows, so the unit does not wait for its hosts
        return Healthy() if ready or record.gives_up(at) else None
    if record.state == "STARTED" and record.dirty:
        return Healthy() if ready else None
    if record.state not in (*WORKING, "STARTED"):
        return None
    if (done := _report(record, facts)) is not None:
        return done
    if facts.health.failure is not None:
        return facts.health.failure
    if record.state == "PROCESSING":
        if facts.unit.final_epoch == record.current_epoch:
            return SourcesEnded()
        if facts.unit.drain_asked == record.current_epoch:
            return DrainReported(record.current_epoch)
    due = fires(record.timer, record.deadline, at, taken_up=facts.unit.taken_up)
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
            return Healthy() if all(facts.runs(member) for member in facts.members) else None
        case "DRAINING":
            closed = (member for member in waiting if member.epoch > record.current_epoch)
            return next((CheckpointDone(member.id, record.current_epoch) for member in closed), None)
        case "RESETTING":
            running = (member for member in waiting if facts.runs(member))
            return next((ResetDone(member.id, record.completed_epoch, record.attempt) for member in running), None)
        case _:
            return None
