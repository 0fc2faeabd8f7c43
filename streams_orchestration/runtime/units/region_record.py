"""The record of a consistent region between two events: its state, sequence ids, attempts and timer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from streams_orchestration.compiler.stage_results import DEFAULT_RESTART, RestartPolicy
from streams_orchestration.runtime.catalog.cause_kinds import NO_KIND, CauseKind, FilesKind
from streams_orchestration.runtime.catalog.states import RegionState, Timer
from streams_orchestration.runtime.catalog.unit_columns import FORGIVEN, NO_CAUSE, ResetDurations, Tries
from streams_orchestration.runtime.units.region_events import FailureCause

LATELY_SECONDS = 600.0
"""The least seconds from the first reset after which a checkpoint ends the count of recent resets."""


@dataclass(frozen=True, slots=True)
class RegionSettings:
    """The settings of a region from its `consistent` annotation. Times are in seconds."""

    members: frozenset[int]
    """The numbers of its PEs."""
    period: float | None
    """The period; None for an operator-driven region."""
    drain_timeout: float = 180.0
    reset_timeout: float = 180.0
    attempts: int = 5
    """The value of `maxConsecutiveResetAttempts`."""
    restart: RestartPolicy = DEFAULT_RESTART
    """The pauses and the time limit of resets for a cause outside of the application."""


def fires(timer: Timer | None, deadline: float | None, at: float, *, taken_up: bool) -> bool:
    """Return True if a timer fires: its deadline has passed and, unless it ends a period, its reset was taken up.

    Args:
        timer: the kind of the timer; None if no timer runs.
        deadline: its unix seconds; None without a timer.
        at: the present time in unix seconds.
        taken_up: True if a process has taken up the reset that follows if a drain or a reset is late.
    """
    return deadline is not None and at >= deadline and (timer == "period" or taken_up)


@dataclass(frozen=True, slots=True)
class RegionRecord:
    """A region between two events (B2). Times are in unix seconds."""

    max_attempts: int
    """The limit for `attempts`.

    A forced reset raises it until a checkpoint is complete (B3). A cause of another kind raises it, too, since the
    attempts of every kind are counted separately. So does each reset for a cause outside of the application.
    """
    state: RegionState = "STARTED"
    current_epoch: int = 1
    """The sequence id of the next drain, or of the current one."""
    completed_epoch: int = 0
    """The last complete sequence id, to which a reset goes back; 0 is the initial state."""
    attempts: int = 0
    """The number of resets since the last complete checkpoint (B5)."""
    dirty: bool = False
    """True if the unit cannot start without a reset."""
    timer: Timer | None = None
    """The kind of the current timer; None if no timer runs. There is at most one timer."""
    deadline: float | None = None
    """Unix seconds at which the timer fires; None without a timer."""
    timer_number: int = 0
    """Number of the timer: every new timer has a new number, so an older timer that fires is recognized (B6)."""
    since: float = 0.0
    """The time at which the region entered its state."""
    began_at: float = 0.0
    """The time at which the current drain or reset attempt began."""
    cause: str | None = None
    """The reason why the region is unhealthy or was last reset; None again once a checkpoint is complete."""
    kind: CauseKind = NO_KIND
    """The kind of the cause, which does not depend on its text."""
    give_up_at: float | None = None
    """The time at which resets for a cause outside of the application end, whatever their number; None for other
    causes."""
    tries: tuple[Tries, ...] = ()
    """The resets for each kind of cause since the last complete checkpoint, and the counts of recent resets.

    A forced reset of a region that has given up clears them.
    """
    drains: ResetDurations = field(default_factory=ResetDurations)
    resets: ResetDurations = field(default_factory=ResetDurations)
    done: frozenset[int] = frozenset()
    """The PEs that have finished the current drain or reset attempt."""

    @classmethod
    def first(cls, attempts: int, at: float = 0.0, completed: int = 0) -> RegionRecord:
        """Return the record of a region that was never started (B2).

        Args:
            attempts: the configured number of attempts.
            at: the time at which the region is entered, in unix seconds.
            completed: the sequence id of its cut; 0 is the initial state.
        """
        return cls(max_attempts=attempts, current_epoch=completed + 1, completed_epoch=completed, since=at)

    @property
    def attempt(self) -> int:
        """The number of the current reset attempt: the resets before it since the last complete checkpoint."""
        return self.attempts - 1

    def gives_up(self, at: float) -> bool:
        """Return True if no reset may begin at this time, except a forced one (B3).

        For a cause outside of the application no time is left then, for any other cause no attempt.
        """
        return self.attempts >= self.max_attempts if self.give_up_at is None else at >= self.give_up_at

    def tried(self, kind: CauseKind, at: float, *, lately: bool = False) -> Tries:
        """Return the resets for a kind of cause, or the recent ones; without any, a new count that begins at `at`."""
        mine = (each for each in self.tries if (each.kind, each.lately) == (kind, lately))
        return next(mine, Tries(kind, 0, at, lately))

    def blame(self, settings: RegionSettings, at: float, failure: FailureCause) -> RegionRecord:
        """Return the record with a cause and the limit of its resets.

        The limit is a time for a cause outside of the application, and a number of attempts for any other cause.
        """
        tried = self.tried(failure.kind, at)
        limit_at = tried.since + settings.restart.limit
        record = replace(self, cause=failure.reason, kind=failure.kind, give_up_at=limit_at)
        if failure.outside:
            return record
        known = failure.kind == self.kind and self.give_up_at is None
        limit = self.max_attempts if known else self.attempts + max(settings.attempts - tried.number, 0)
        return replace(record, give_up_at=None, max_attempts=limit)

    def count(self, at: float) -> RegionRecord:
        """Return the record with one more reset for its cause.

        A reset for a cause outside of the application uses up no attempt.
        """
        tried = [self.tried(self.kind, at)]
        if isinstance(self.kind, FilesKind):
            tried.append(self.tried(self.kind, at, lately=True))
        others = (each for each in self.tries if each.kind != self.kind)
        return replace(
            self,
            attempts=self.attempts + 1,
            max_attempts=self.max_attempts + (self.give_up_at is not None),
            tries=(*others, *(each._replace(number=each.number + 1) for each in tried)),
        )

    def lately(self, at: float) -> tuple[Tries, ...]:
        """Return the counts of recent resets that a checkpoint keeps if it is complete at this time."""
        return tuple(each for each in self.tries if each.lately and at - each.since < LATELY_SECONDS)

    def forgive(self, attempts: int, at: float) -> RegionRecord:
        """Return the record with all attempts, and without a cause; the counts of recent resets stay for a while.

        Args:
            attempts: the configured number of attempts.
            at: unix seconds.
        """
        return replace(self, **FORGIVEN, max_attempts=attempts, tries=self.lately(at))

    def without_cause(self) -> RegionRecord:
        """Return the record without a cause and its time limit; the resets before still count."""
        return replace(self, **NO_CAUSE)

    def allow(self, settings: RegionSettings, at: float) -> RegionRecord:
        """Return the record with new attempts, new time for an outside cause, and no counted resets by kind (B3)."""
        return replace(
            self,
            max_attempts=self.attempts + settings.attempts,
            give_up_at=None if self.give_up_at is None else at + settings.restart.limit,
            tries=(),
        )

    def enter(self, state: RegionState, at: float) -> RegionRecord:
        """Return the record in another state, without a timer and without finished PEs."""
        return replace(self, state=state, since=at, timer=None, deadline=None, done=frozenset())

    def arm(self, timer: Timer, at: float, seconds: float | None) -> RegionRecord:
        """Return the record with a timer set, or unchanged if `seconds` is None."""
        if seconds is None:
            return self
        return replace(self, timer=timer, deadline=at + seconds, timer_number=self.timer_number + 1)
