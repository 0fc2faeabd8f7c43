"""The record of a consistent region between two events: its state, its sequence, its attempts, its timer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from streams_orchestration.compiler.stage_results import DEFAULT_RESTART, RestartPolicy
from streams_orchestration.runtime.catalog.states import RegionState, Timer

AVERAGED = 10
"""Drains and resets over which averages are taken (B34)."""


@dataclass(frozen=True, slots=True)
class RegionSettings:
    """The settings of a region by its `consistent` annotation. Times in seconds."""

    members: frozenset[int]
    """Numbers of its PEs."""
    period: float | None
    """None: operator-driven."""
    drain_timeout: float = 180.0
    reset_timeout: float = 180.0
    attempts: int = 5
    """`maxConsecutiveResetAttempts`."""
    restart: RestartPolicy = DEFAULT_RESTART
    """The pace and the duration of resets for a cause outside of the application."""


@dataclass(frozen=True, slots=True)
class Times:
    """The last drains, or the last resets (B34)."""

    sequence: int = -1
    """Sequence id of the last completed one, -1 before the first."""
    at: float | None = None
    """Unix seconds when that was complete."""
    seconds: tuple[float, ...] = ()
    """Seconds that the last ones took, the newest last; at most ten."""

    @property
    def average(self) -> float | None:
        """Seconds on average; None before the first."""
        return sum(self.seconds) / len(self.seconds) if self.seconds else None

    def add(self, sequence: int, at: float, seconds: float) -> Times:
        """Return the times with one more measurement."""
        return Times(sequence, at, (*self.seconds, seconds)[-AVERAGED:])


class Tries(NamedTuple):
    """Resets for causes of one kind since the last complete checkpoint."""

    kind: str
    number: int
    since: float
    """Unix seconds of the first one."""


@dataclass(frozen=True, slots=True)
class RegionRecord:
    """A region between two events (B2). Times are unix seconds."""

    max_attempts: int
    """The limit for `attempts`. A forced reset raises it until a checkpoint is complete (B3), and so does a cause of
    another kind, whose attempts are counted from its own first one."""
    state: RegionState = "STARTED"
    current: int = 1
    """The sequence id that the next drain has."""
    completed: int = 0
    """The last complete one: what a reset goes back to; 0 is the initial state."""
    attempts: int = 0
    """Resets since the last complete checkpoint (B5)."""
    dirty: bool = False
    """True if something happened before the first start that only a reset mends."""
    timer: Timer | None = None
    """Only one runs at a time."""
    deadline: float | None = None
    """Unix seconds at which the timer fires; None without a timer."""
    number: int = 0
    """Number of the timer: every new timer has a new number, so an older one that fires is recognized (B6)."""
    since: float = 0.0
    """Unix seconds at which the region came into its state."""
    began: float = 0.0
    """Unix seconds at which the drain or the reset attempt under way began."""
    cause: str | None = None
    """Cause for which the region is unhealthy or is being reset."""
    kind: str = ""
    """Identifies causes that are alike."""
    give_up_at: float | None = None
    """Unix seconds at which resets for a cause outside of the application end, whatever their number."""
    tries: tuple[Tries, ...] = ()
    """Resets by kind of cause."""
    drains: Times = field(default_factory=Times)
    resets: Times = field(default_factory=Times)
    done: frozenset[int] = frozenset()
    """PEs that have finished the drain, or the reset attempt, under way."""

    @classmethod
    def first(cls, settings: RegionSettings) -> RegionRecord:
        """Return the record of a region that was never started."""
        return cls(max_attempts=settings.attempts)

    @property
    def attempt(self) -> int:
        """The number of the reset attempt under way: the count before it began."""
        return self.attempts - 1

    @property
    def used_up(self) -> bool:
        """No attempt is left for a cause within the application."""
        return self.give_up_at is None and self.attempts >= self.max_attempts

    def gives_up(self, at: float) -> bool:
        """Return True if no reset may begin at this time, except a forced one (B3)."""
        return self.used_up if self.give_up_at is None else at >= self.give_up_at

    def tried(self, kind: str, at: float) -> Tries:
        """Return the resets for a kind of cause; the first one would be at this time."""
        return next((each for each in self.tries if each.kind == kind), Tries(kind, 0, at))

    def blame(
        self, settings: RegionSettings, at: float, cause: str, kind: str, *, outside: bool = False
    ) -> RegionRecord:
        """Return the record with this cause, and the attempts that are left for its kind."""
        tried = self.tried(kind, at)
        record = replace(self, cause=cause, kind=kind, give_up_at=tried.since + settings.restart.limit)
        if outside:
            return record
        known = kind == self.kind and self.give_up_at is None
        limit = self.max_attempts if known else self.attempts + max(settings.attempts - tried.number, 0)
        return replace(record, give_up_at=None, max_attempts=limit)

    def count(self, at: float) -> RegionRecord:
        """Return the record with one more reset for its cause. One for a cause outside takes no attempt away."""
        tried = self.tried(self.kind, at)
        return replace(
            self,
            attempts=self.attempts + 1,
            max_attempts=self.max_attempts + (self.give_up_at is not None),
            tries=(*(each for each in self.tries if each != tried), tried._replace(number=tried.number + 1)),
        )

    def allow(self, settings: RegionSettings, at: float) -> RegionRecord:
        """Return the record with as many attempts more as are configured, and time for a cause outside (B3)."""
        return replace(
            self,
            max_attempts=self.attempts + settings.attempts,
            give_up_at=None if self.give_up_at is None else at + settings.restart.limit,
            tries=(),
        )

    def enter(self, state: RegionState, at: float) -> RegionRecord:
        """Return the record in another state, without a timer and without reports."""
        return replace(self, state=state, since=at, timer=None, deadline=None, done=frozenset())

    def arm(self, timer: Timer, at: float, seconds: float | None) -> RegionRecord:
        """Return the record with a timer set, or unchanged when `seconds` is None."""
        if seconds is None:
            return self
        return replace(self, timer=timer, deadline=at + seconds, number=self.number + 1)
