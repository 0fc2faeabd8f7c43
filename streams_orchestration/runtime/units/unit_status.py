"""The status of a unit of recovery, as read from the catalog: state, epochs, cuts, resets and their durations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

from streams_orchestration.compiler.stage_results import DEFAULT_RESTART
from streams_orchestration.model.brief import plural
from streams_orchestration.runtime.catalog.states import (
    EventKind,
    Timer,
    UnitState,
    is_broken,
    visible_epoch,
    waits_for_reset,
)
from streams_orchestration.runtime.catalog.unit_columns import Moment, ResetDurations, Tries
from streams_orchestration.runtime.units.region_events import REQUESTED

LOST_REMEDY = "Restore it from a copy, or start over with --fresh"
"""The remedy for a missing file that the last cut of a unit needs."""

STABLE_SECONDS, UNSTABLE_RESETS = 600.0, 3
"""A unit is unstable after this many resets for failures (second) within this many seconds (first)."""

PHASES: tuple[Moment, ...] = get_args(Moment)
"""The moments of an outage, in their order."""
_PHASE_NAMES = {
    "detected": "detect",
    "asked": "decide",
    "began": "hosts",
    "done": "restart",
    "committed": "first commit",
}


@dataclass(frozen=True, slots=True)
class UnitEvent:
    """An event of a unit. The catalog keeps the last hundred events of each unit."""

    at: float
    """The time of the event in unix seconds."""
    kind: EventKind
    generation: int
    epoch: int
    """The last complete epoch at the time of the event."""
    attempts: int
    seconds: float | None = None
    """The seconds that the reset took, or for which the failure went unnoticed (`unhealthy`); None for other kinds."""
    cause: str | None = None
    """The cause in words; None if the event has none."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A complete epoch. The catalog keeps the last hundred epochs of each unit."""

    epoch: int
    completed_at: float
    """The time of completion in unix seconds."""
    seconds: float
    """The seconds from the trigger, or from the end of the sources, to the completion; 0 where a new plan begins."""


def phases_of(moments: Mapping[Moment, float]) -> dict[str, float]:
    """Return the seconds of each phase of a reset: detect, decide, hosts, restart, first commit.

    The phase `hosts` lasts until all hosts are present, and includes the roll back at its end. Phases whose end was not
    reached are left out.

    Args:
        moments: moment -> its unix seconds, for those reached so far; see `PHASES`.
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
    """One unit of recovery: a consistent region over its PEs (`region-0`), or one PE in no region (`pe-3`)."""

    name: str
    region: int | None
    """The least number of its regions; None for a PE in no region."""
    state: UnitState
    generation: int
    completed_epoch: int
    """The last complete epoch: the cut that a reset goes back to; 0 is the initial state."""
    open_epoch: int
    attempts: int
    """The number of resets since the last complete epoch (B5)."""
    max_attempts: int
    """The limit of attempts; a forced reset adds the configured number until an epoch is complete (B3)."""
    pes: tuple[int, ...]
    completed_at: float | None
    """The time of the last complete epoch in unix seconds; None before the first one."""
    period: float | None
    """The seconds between drains; None for an operator-driven region and for a PE in no region."""
    current_epoch: int = 1
    """The sequence id of the current or the next drain; it also grows with every reset (B4)."""
    drain_timeout: float = 0.0
    """The seconds from the trigger until an epoch must be complete (B8)."""
    reset_timeout: float = 0.0
    """The seconds until every PE must run again (B8)."""
    since: float = 0.0
    """The time at which the unit entered its state, in unix seconds."""
    dirty: bool = False
    """True if the unit cannot start without a reset."""
    cause: str | None = None
    """The reason why the unit is unhealthy or is being reset, kept until it completes an epoch; None without one."""
    asked: bool = False
    """True if a process has taken up the reset that the unit needs."""
    timer: Timer | None = None
    """Kind of the timer that fires at `deadline`: period, drain or reset; None while no timer is set."""
    deadline: float | None = None
    """Unix seconds; None without a timer."""
    resets: int = 0
    """The number of all resets since the application was deployed."""
    restarts: int = 0
    """The number of resets of a PE outside of regions that followed one another closely."""
    drain_times: ResetDurations = field(default_factory=ResetDurations)
    reset_times: ResetDurations = field(default_factory=ResetDurations)
    outage: dict[Moment, float] | None = None
    """Moment of the last outage -> its unix seconds, as in `PHASES`; None if there was none."""
    events: tuple[UnitEvent, ...] = ()
    """The events, the oldest first."""
    kind: str = ""
    """The kind of the cause; the attempts of each kind are counted separately."""
    give_up_at: float | None = None
    """The unix time at which resets for a cause outside of the application end; None for other causes."""
    tries: tuple[Tries, ...] = ()
    """The resets for each kind of cause since the last complete epoch."""
    restart_pause: float = DEFAULT_RESTART.pause
    """The longest pause between two resets for a cause outside of the application, in seconds."""
    shown_epoch: int | None = None
    """The last epoch visible outside of the application while a redeploy is on trial.

    None if all complete epochs are visible.
    """

    @property
    def shown(self) -> int:
        """The last epoch whose results are visible outside of the application."""
        return visible_epoch(self.completed_epoch, self.shown_epoch)

    def tried(self, kind: str) -> int:
        """Return how many resets for a kind of cause there were since the last complete epoch."""
        return next((each.number for each in self.tries if each.kind == kind and not each.lately), 0)

    @property
    def waits(self) -> bool:
        """True if the unit waits for a reset."""
        return waits_for_reset(self.state, dirty=self.dirty)

    @property
    def broken(self) -> bool:
        """True if the unit needs a reset or is being reset."""
        return is_broken(self.state, dirty=self.dirty)

    @property
    def works(self) -> bool:
        """True if the unit's PEs run or have ended."""
        return not self.waits and self.state in ("PROCESSING", "DRAINING", "COMPLETED")

    def came_back_from(self, generation: int) -> bool:
        """Return True if all its PEs have run again since it failed in this generation, whatever has happened later."""
        return any(event.kind == "reset done" and event.generation > generation for event in self.events)

    @property
    def lost(self) -> str | None:
        """A description of the missing file that prevents a return to the last cut; None if no file is missing."""
        kinds = ("cut lost", "cut restored")
        last = next((event for event in reversed(self.events) if event.kind in kinds), None)
        return None if last is None or last.kind == "cut restored" else last.cause

    @property
    def stays(self) -> str | None:
        """The reason why a host stays on a machine whose files it cannot use, with the remedy; None if none does.

        It holds until an epoch is complete.
        """
        kinds = ("host leaves", "host stays")
        last = next((event for event in reversed(self.events) if event.kind in kinds), None)
        stays = last is not None and last.kind == "host stays" and last.epoch == self.completed_epoch
        return last.cause if last is not None and stays else None

    @property
    def phases(self) -> dict[str, float]:
        """The seconds of each phase of the last reset; see `phases_of`."""
        return phases_of(self.outage or {})


def find_last_cause(unit: UnitStatus) -> str | None:
    """Return why a unit was last unhealthy or reset, from its events; None if they do not show a cause."""
    return next((event.cause for event in reversed(unit.events) if event.cause), None)


@dataclass(frozen=True, slots=True)
class RecentResets:
    """The resets of a unit that has failed repeatedly within `STABLE_SECONDS`."""

    count: int
    seconds: float
    """The seconds since the first of the resets."""
    cause: str
    """The cause of the last reset."""

    @property
    def frequency(self) -> str:
        """The number of the resets and their time span, in words."""
        span = f"{self.seconds / 60:.0f} min" if self.seconds >= 90 else f"{self.seconds:.0f} s"
        return f"reset {plural(self.count, 'time')} in {span}"

    def __str__(self) -> str:
        return f"{self.frequency}, last cause: {self.cause}"


def find_recent_resets(unit: UnitStatus, now: float) -> RecentResets | None:
    """Return the last resets of an unstable unit; None for a stable unit.

    A unit with at least `UNSTABLE_RESETS` resets within `STABLE_SECONDS` is unstable. Only resets for failures count,
    and not those that were requested. The catalog keeps a hundred events of a unit, about twenty resets.

    Args:
        unit: the status of the unit as read from the catalog.
        now: unix seconds.
    """
    recent = [
        event
        for event in unit.events
        if event.kind == "reset began" and event.cause not in (None, "", REQUESTED) and now - event.at <= STABLE_SECONDS
    ]
    if len(recent) < UNSTABLE_RESETS:
        return None
    return RecentResets(len(recent), max(now - recent[0].at, 0.0), recent[-1].cause or "")
