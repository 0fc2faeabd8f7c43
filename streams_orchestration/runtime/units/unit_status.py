"""The status of a unit of recovery, as read from the catalog: state, epochs, cuts, resets and their durations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from streams_orchestration.model.brief import plural
from streams_orchestration.runtime.catalog.rows import UnitEventRow, UnitRow
from streams_orchestration.runtime.catalog.states import UnitState
from streams_orchestration.runtime.catalog.unit_columns import Moment
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

    row: UnitRow
    pes: tuple[int, ...]
    open_epoch: int
    """The lowest open epoch of its PEs."""
    events: tuple[UnitEventRow, ...] = ()
    """The events, the oldest first."""

    @property
    def name(self) -> str:
        """The name of the unit: `region-0`, or `pe-3` for a PE in no region."""
        return self.row.name

    @property
    def state(self) -> UnitState:
        """The state in its row; `UnitsStatus.state_of_unit` returns the current one."""
        return self.row.state

    @property
    def generation(self) -> int:
        """The number of the run of the unit, which each reset raises."""
        return self.row.generation

    @property
    def completed_epoch(self) -> int:
        """The last complete epoch: the cut that a reset goes back to; 0 is the initial state."""
        return self.row.completed_epoch

    @property
    def works(self) -> bool:
        """True if the unit's PEs run or have ended."""
        return self.state in ("PROCESSING", "DRAINING", "COMPLETED")

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
        return phases_of(self.row.outage or {})


def find_last_cause(unit: UnitStatus) -> str | None:
    """Return why a unit is unhealthy or was last reset; None if neither its row nor its events show a cause."""
    return unit.row.cause or next((event.cause for event in reversed(unit.events) if event.cause), None)


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
