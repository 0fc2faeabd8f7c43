"""The event time of one partition of a source: its greatest time, guarded against times far ahead (EV52, EV53)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.tuples.watermarks import END, IDLE

NO_TIME = IDLE
"""The number for "no time": of a tuple that does not raise the greatest time, or of a partition without tuples."""
_FIRST_WINDOW = 32
"""The number of tuples in the first search for a time that is far ahead. Each search without one doubles the number."""


@dataclass(frozen=True, slots=True)
class AheadGuard:
    """The limits of the guard against times that are far ahead, and thus suspect (EV53)."""

    max_ahead: int
    """Times up to this many ticks beyond the watermark are trusted."""
    confirmations: int
    """The number of consecutive suspect times after which the least of them is trusted, and becomes the
    greatest time.
    """


@dataclass(slots=True)
class PartitionTime:
    """The greatest event time of one partition, with the suspect times that follow it; all in ticks."""

    greatest: int = NO_TIME
    """The greatest trusted time."""
    count: int = 0
    """The number of tuples so far. A replay repeats the decision that the partition is idle after the same number."""
    idle: bool = False
    """True if the partition is idle, so it does not hold back the source's watermark (EV51)."""
    suspects: int = 0
    """The number of consecutive suspect times up to now."""
    least: int = END
    """The least of the consecutive suspect times that `suspects` counts."""

    def enter(self, times: np.ndarray, lag: int, guard: AheadGuard | None) -> tuple[np.ndarray, int]:
        """Add the times of tuples.

        Return the greatest trusted time after each tuple, and the number of times that were too far ahead.

        Args:
            times: the times of the next tuples; `NO_TIME` for a tuple that is ignored.
            lag: the ticks by which the partition's watermark is behind its greatest time.
            guard: the guard against times far ahead; None trusts all times.
        """
        self.count += len(times)
        if guard is not None:
            return self._enter_guarded(times, lag, guard)
        reached = np.maximum.accumulate(times)
        if reached[0] < self.greatest:
            reached[: np.searchsorted(reached, self.greatest)] = self.greatest
        self.greatest = int(reached[-1])
        return reached, 0

    def dump(self) -> list[Any]:
        """Return the times of the partition as JSON."""
        return [None if self.greatest == NO_TIME else self.greatest, self.count, self.idle, self.suspects, self.least]

    @classmethod
    def loaded(cls, state: list[Any]) -> PartitionTime:
        """Return a partition's time from a state that `dump` returned."""
        greatest, *others = state
        return cls(NO_TIME if greatest is None else greatest, *others)

    def _enter_guarded(self, times: np.ndarray, lag: int, guard: AheadGuard) -> tuple[np.ndarray, int]:
        reached = np.empty(len(times), np.int64)
        done = 0
        window = _FIRST_WINDOW
        found = 0
        while done < len(times):
            if not self.suspects:
                part = times[done : done + window]
                greatest = np.maximum(np.maximum.accumulate(part), self.greatest)
                before = np.r_[self.greatest, greatest[:-1]]
                suspect = part > _trusted(before, guard.max_ahead - lag)
                trusted = int(suspect.argmax()) if suspect.any() else len(part)
                if trusted:
                    reached[done : done + trusted] = greatest[:trusted]
                    self.greatest = int(greatest[trusted - 1])
                    done += trusted
                window = window * 2 if trusted == len(part) else _FIRST_WINDOW
                if trusted == len(part):
                    continue
            found += self._enter_suspect(int(times[done]), lag, guard)
            reached[done] = self.greatest
            done += 1
        return reached, found

    def _enter_suspect(self, time: int, lag: int, guard: AheadGuard) -> bool:
        """Add one time, and return True if it is too far ahead of the partition.

        After enough consecutive times that are too far ahead, the least of them becomes the greatest time. Before the
        partition has a trusted time, the result is False, but the time counts towards the confirmations.
        """
        if time == NO_TIME:
            return False
        begun = self.greatest != NO_TIME
        if begun and time - (self.greatest - lag) <= guard.max_ahead:
            self.greatest = max(self.greatest, time)
            self.suspects, self.least = 0, END
            return False
        self.suspects, self.least = self.suspects + 1, min(self.least, time)
        if self.suspects >= guard.confirmations:
            self.greatest = max(self.greatest, self.least)
            self.suspects, self.least = 0, END
        return begun


def _trusted(before: np.ndarray, ahead: int) -> np.ndarray:
    """Return the largest time trusted next, for each greatest time; `NO_TIME` before a partition's first time."""
    if ahead >= 0:
        trusted = np.where(before > END - ahead, END, before + ahead)
    else:
        trusted = np.where(before < NO_TIME - ahead, NO_TIME, before + ahead)
    return np.where(before == NO_TIME, NO_TIME, trusted)


def least_steps(olds: np.ndarray, places: np.ndarray, bound: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places at which the minimum of several rising values rises, and the minimum from each place on.

    Each rise increases one of the values, at a place. The minimum reaches v at the last place at which a value below v
    rises, since no value is below v afterwards.

    >>> least_steps(np.array([1, 2, 4]), np.array([1, 2, 3]), bound=5)
    (array([1, 2, 3]), array([2, 4, 5]))

    Args:
        olds: the values before the rises.
        places: the places after the rises.
        bound: the minimum after all rises.
    """
    below = olds < bound
    olds, places = olds[below], places[below]
    if not len(olds):
        return places, olds
    order = np.argsort(olds, kind="stable")
    olds, last = olds[order], np.maximum.accumulate(places[order])
    distinct = np.r_[olds[1:] > olds[:-1], True]
    olds, last = olds[distinct], last[distinct]
    final = np.r_[last[1:] > last[:-1], True]
    return last[final], np.r_[olds[1:], bound][final]
