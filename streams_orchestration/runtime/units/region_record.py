"""The record of a consistent region between two events: its state, its sequence, its attempts, its timer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

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


@dataclass(frozen=True, slots=True)
class Times:
    """The last drains, or the last resets (B34)."""

    sequence: int = -1
    """Sequence id of the last completed one, -1 before the first."""
    at: float | None = None
    """Unix seconds when that was complete."""
    seconds: tuple[float, ...] = ()
    """How long the last ones took, the newest last; at most ten."""

    @property
    def average(self) -> float | None:
        """Seconds on average; None before the first."""
        return sum(self.seconds) / len(self.seconds) if self.seconds else None

    def add(self, sequence: int, at: float, seconds: float) -> Times:
        """Return the times with one more measurement."""
        return Times(sequence, at, (*self.seconds, seconds)[-AVERAGED:])


@dataclass(frozen=True, slots=True)
class RegionRecord:
    """A region between two events (B2). Times are unix seconds."""

    max_attempts: int
    """The limit; a forced reset raises it until a checkpoint is complete (B3)."""
    state: RegionState = "STARTED"
    current: int = 1
    """The sequence id that the next drain has."""
    completed: int = 0
    """The last complete one: what a reset goes back to; 0 is the initial state."""
    attempts: int = 0
    """Resets since the last complete checkpoint (B5)."""
    dirty: bool = False
    """Whether something happened before the first start that only a reset mends."""
    timer: Timer | None = None
    """Only one runs at a time."""
    deadline: float | None = None
    """When the timer fires, in unix seconds; None without a timer."""
    number: int = 0
    """Number of the timer: every new timer has a new number, so an older one that fires is recognized (B6)."""
    since: float = 0.0
    """When the region came into its state."""
    began: float = 0.0
    """When the drain or the reset attempt under way began."""
    cause: str | None = None
    """Cause for which the region is unhealthy or is being reset."""
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

    def enter(self, state: RegionState, at: float) -> RegionRecord:
        """Return the record in another state, without a timer and without reports."""
        return replace(self, state=state, since=at, timer=None, deadline=None, done=frozenset())

    def arm(self, timer: Timer, at: float, seconds: float | None) -> RegionRecord:
        """Return the record with a timer set, or unchanged when `seconds` is None."""
        if seconds is None:
            return self
        return replace(self, timer=timer, deadline=at + seconds, number=self.number + 1)
