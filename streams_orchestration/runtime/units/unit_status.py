"""The status of a unit of recovery, as read from the catalog: state, epochs, cuts, resets and their durations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streams_orchestration.compiler.stage_results import DEFAULT_RESTART
from streams_orchestration.runtime.catalog.states import EventKind, Timer, UnitState
from streams_orchestration.runtime.units.region_record import Times, Tries

LOST_REMEDY = "Bring it back from a copy, or start anew with --fresh"
"""Remedy for a lost file that the last cut of a unit needs."""

STABLE_SECONDS, UNSTABLE_RESETS = 600.0, 3
"""A unit that failed and was reset so often within so many seconds is not stable, whatever it does right now."""

PHASES = ("failed", "detected", "asked", "began", "done", "committed")
"""Moments of an outage, in their order."""
_PHASE_NAMES = {
    "detected": "detect",
    "asked": "decide",
    "began": "hosts",
    "done": "restart",
    "committed": "first commit",
}


@dataclass(frozen=True, slots=True)
class UnitEvent:
    """An event of a unit. The catalog keeps the last hundred of each unit."""

    at: float
    """Unix seconds."""
    kind: EventKind
    generation: int
    epoch: int
    """The last complete one then."""
    attempts: int
    seconds: float | None = None
    """Seconds that the reset took; for `unhealthy`, seconds that it went unnoticed."""
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """A complete epoch. The catalog keeps the last hundred of each region."""

    epoch: int
    completed_at: float
    """Unix seconds."""
    seconds: float
    """Seconds from the trigger, or from the end of the sources."""


def phases_of(moments: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds of each phase of a reset: detect, decide, hosts, restart, first commit.

    `hosts` is the time until all of them were there, with the roll back at its end.

    Args:
        moments: of an outage, unix seconds, those that have come; see `PHASES`.
    """
    durations: dict[str, float] = {}
    before = moments.get("failed")
    for moment in PHASES[1:]:
        at = moments.get(moment)
        if at is not None and before is not None:
            durations[_PHASE_NAMES[moment]] = max(at - before, 0.0)
            before = max(at, before)
    return durations


@dataclass(frozen=True, slots=True)
class UnitStatus:
    """One unit of recovery: a consistent region over its PEs (`region-0`), or one autonomous PE (`pe-3`)."""

    name: str
    region: int | None
    state: UnitState
    generation: int
    completed_epoch: int
    """Last complete epoch: the cut a reset goes back to; 0 is the initial state."""
    open_epoch: int
    attempts: int
    """Resets since the last completed epoch (B5)."""
    max_attempts: int
    """Configured limit of attempts; a forced reset adds as many until an epoch is complete (B3)."""
    pes: tuple[int, ...]
    completed_at: float | None
    period: float | None
    current_epoch: int = 1
    """The sequence id of the drain that is under way or comes next; it grows with every reset, too (B4)."""
    drain_timeout: float = 0.0
    """Seconds from the trigger until an epoch must be complete (B8)."""
    reset_timeout: float = 0.0
    """Seconds until every PE must run again (B8)."""
    since: float = 0.0
    """Unix seconds at which it came into its state."""
    dirty: bool = False
    """True if it was not started as it should be, so that it waits for a reset."""
    cause: str | None = None
    """Why it is unhealthy or is being reset; the cause of the last reset until an epoch is complete."""
    asked: bool = False
    """The reset that it needs was taken up."""
    timer: Timer | None = None
    """Kind of the timer that fires at `deadline`: period, drain or reset."""
    deadline: float | None = None
    resets: int = 0
    """All of them, since the application was deployed."""
    restarts: int = 0
    """Resets of a PE outside of regions that came soon one after the other."""
    drain_times: Times = field(default_factory=Times)
    reset_times: Times = field(default_factory=Times)
    outage: dict[str, float] | None = None
    """Moments of the last reset, unix seconds: failed, detected, asked, began, done, committed."""
    events: tuple[UnitEvent, ...] = ()
    """The oldest first."""
    kind: str = ""
    """Kind of the cause: the attempts of each kind are counted apart."""
    give_up_at: float | None = None
    """Unix seconds at which resets for a cause outside of the application end."""
    tries: tuple[Tries, ...] = ()
    """Resets by kind of cause since the last complete epoch."""
    restart_pause: float = DEFAULT_RESTART.pause
    """The longest pause between two resets for a cause outside of the application, in seconds."""
    shown_epoch: int | None = None
    """The last epoch that others see while a redeploy is on trial; None when they see all complete ones."""

    @property
    def shown(self) -> int:
        """The last epoch that is visible to others."""
        return self.completed_epoch if self.shown_epoch is None else self.shown_epoch

    def tried(self, kind: str) -> int:
        """Return how many resets for a kind of cause there were since the last complete epoch."""
        return next((each.number for each in self.tries if each.kind == kind), 0)

    @property
    def waits(self) -> bool:
        """True if it stands still until it is reset."""
        return self.state == "UNHEALTHY" or (self.state == "STARTED" and self.dirty)

    @property
    def broken(self) -> bool:
        """Return True while it needs a reset, or is being reset."""
        return self.waits or self.state in ("RESETTING", "MAXIMUM_RESET_ATTEMPTS_REACHED", "FAILED")

    @property
    def works(self) -> bool:
        """True if its PEs run, or have ended."""
        return not self.waits and self.state in ("PROCESSING", "DRAINING", "COMPLETED")

    def came_back_from(self, generation: int) -> bool:
        """Return True if all its PEs have run again after it failed in this generation, whatever has happened since."""
        return any(event.kind == "reset done" and event.generation > generation for event in self.events)

    @property
    def lost(self) -> str | None:
        """Why it cannot go back to its last cut any more: a file that the cut needs is gone; None when it can."""
        kinds = ("cut lost", "cut restored")
        last = next((event for event in reversed(self.events) if event.kind in kinds), None)
        return None if last is None or last.kind == "cut restored" else last.cause

    @property
    def phases(self) -> dict[str, float]:
        """Return the seconds of each phase of the last reset; see `phases_of`."""
        return phases_of(self.outage or {})


def last_cause(unit: UnitStatus) -> str | None:
    """Why a unit was last unhealthy, or reset, as far as its events go back."""
    return next((event.cause for event in reversed(unit.events) if event.cause), None)


@dataclass(frozen=True, slots=True)
class RecentResets:
    """Resets of a unit that failed again and again within `STABLE_SECONDS`."""

    count: int
    seconds: float
    """Seconds since the first of them."""
    cause: str
    """Cause of the last one."""

    def __str__(self) -> str:
        span = f"{self.seconds / 60:.0f} min" if self.seconds >= 90 else f"{self.seconds:.0f} s"
        return f"reset {self.count} times in {span}, last cause: {self.cause}"


def recent_resets(unit: UnitStatus, now: float) -> RecentResets | None:
    """Return the last resets of a unit that is not stable; None of one that is.

    Only those count that answered a failure. The catalog keeps a hundred events of a unit, about twenty resets.

    Args:
        unit: as read from the catalog.
        now: unix seconds.
    """
    recent = [
        event
        for event in unit.events
        if event.kind == "reset began" and event.cause and now - event.at <= STABLE_SECONDS
    ]
    if len(recent) < UNSTABLE_RESETS:
        return None
    return RecentResets(len(recent), max(now - recent[0].at, 0.0), recent[-1].cause or "")
