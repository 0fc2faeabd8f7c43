"""The order of arrivals and of steps of the watermark within one batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from streams_orchestration.operators.event_time.steps import Steps, places_before
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END, IDLE, Watermarks

NEVER = 2**62
"""The moment of an event that does not happen within the batch."""


@dataclass(frozen=True, eq=False)
class Moments:
    """A numbering of the events of one batch, arrivals of tuples and watermarks, in the order in which they happen.

    Tuples between the same two watermarks arrive at the same moment, which is even. The moments of watermarks are odd.

    >>> moments = Moments.of(Watermarks.of((1, 10), (3, 25)), count=4, before=IDLE)
    >>> moments.arrivals, moments.passing(np.array([5, 10, 25])) < NEVER
    (array([0, 2, 2, 4]), array([ True,  True, False]))
    >>> moments.placed(np.array([0, 2, 3]))
    Watermarks.of((1, 10), (3, 25))
    """

    watermarks: Watermarks | None
    steps: Steps
    count: int
    """The number of tuples."""

    @classmethod
    def of(cls, watermarks: Watermarks | None, count: int, before: int) -> Moments:
        """Return the moments of a batch of `count` tuples; `before` is the watermark before the batch."""
        return cls(watermarks, Steps.of(watermarks, before), count)

    @cached_property
    def arrivals(self) -> np.ndarray:
        """The moment of each tuple's arrival."""
        if self.watermarks is None:
            return np.zeros(self.count, np.int64)
        return 2 * places_before(self.watermarks.places, self.count)

    @cached_property
    def current(self) -> np.ndarray:
        """The watermark before each tuple."""
        return self.steps.current(self.count)

    def arrivals_of(self, tuples: np.ndarray) -> np.ndarray:
        """Return the moments at which some of the tuples arrive.

        >>> Moments.of(Watermarks.of((1, 10), (3, 25)), count=4, before=IDLE).arrivals_of(np.array([0, 3])).tolist()
        [0, 4]
        """
        if self.watermarks is None:
            return np.zeros(len(tuples), np.int64)
        return 2 * np.searchsorted(self.watermarks.places, tuples, side="right")

    def passing(self, bounds: np.ndarray) -> np.ndarray:
        """Return the moment of the first step whose watermark is above a bound, by bound; `NEVER` without one.

        `END` is above all bounds.
        """
        values = self.steps.values
        at = np.searchsorted(values, bounds, side="right")
        if len(values) and values[-1] == END:
            at = np.minimum(at, len(values) - 1)
        return np.append(2 * self.steps.marks + 1, NEVER)[at]

    def passed(self, bounds: np.ndarray) -> np.ndarray:
        """Return a mask of the bounds that are below the watermark after the batch; `END` is above all bounds."""
        last = self.steps.last
        return bounds < last if last < END else np.ones(len(bounds), bool)

    def outlived(self, times: np.ndarray, by: int) -> np.ndarray:
        """Return a mask of the times that, moved by a number of ticks, are below the watermark after the batch.

        >>> Moments.of(Watermarks.of((0, 10)), count=1, before=IDLE).outlived(np.array([4, 5]), 5).tolist()
        [True, False]
        """
        limit = self.least_left(by)
        if limit == IDLE:
            return np.zeros(len(times), bool)
        return np.ones(len(times), bool) if limit > END else times < limit

    def least_left(self, by: int) -> int:
        """Return the least time that is not outlived if it is moved by a number of ticks; `END + 1` if all are."""
        last = self.steps.last
        if last in (IDLE, END):
            return IDLE if last == IDLE else END + 1
        return max(last - by, IDLE)

    def leaving(self, bounds: np.ndarray) -> np.ndarray:
        """Return the first moment from a tuple's arrival on at which the watermark is above its bound, by tuple."""
        return np.where(self.current > bounds, self.arrivals, self.passing(bounds))

    def least_kept(self, times: np.ndarray, arrived: np.ndarray, gone: np.ndarray) -> np.ndarray:
        """Return the least time of a tuple kept after a watermark of the batch, by watermark; `END` without any.

        >>> moments = Moments.of(Watermarks.of((1, 10), (3, 25)), count=3, before=IDLE)
        >>> moments.least_kept(np.array([8, 20, 30]), np.array([0, 2, 2]), np.array([3, NEVER, NEVER])).tolist()
        [8, 20]

        Args:
            times: the times of tuples, ascending.
            arrived: the moment of each tuple's arrival; negative for tuples of earlier batches.
            gone: the moment at which each tuple is submitted or dropped, ascending.
        """
        own = 2 * np.arange(0 if self.watermarks is None else len(self.watermarks)) + 1
        least = np.full(len(own), END)
        for mark, first in enumerate(np.searchsorted(gone, own, side="right").tolist()):
            kept = np.flatnonzero(arrived[first:] < own[mark])
            if len(kept):
                least[mark] = times[first + kept[0]]
        return least

    def placed(self, moments: np.ndarray, later_by: int = 0) -> Watermarks | None:
        """Return the watermarks of the batch with their positions among the results; None without any.

        Args:
            moments: the moments of the results, ascending. A watermark comes after the results of its own moment.
            later_by: ticks to subtract from the watermarks.
        """
        if self.watermarks is None:
            return None
        own = 2 * np.arange(len(self.watermarks)) + 1
        values = earlier(self.watermarks.values, later_by)
        return Watermarks(np.searchsorted(moments, own, side="right").astype(np.int64), values)


def held_back(watermarks: Watermarks, held: np.ndarray) -> Watermarks:
    """Return watermarks limited by `held`, which has for each the least time of a tuple kept after it (EV62).

    No watermark is below the one before it, even if `held` is.
    """
    return Watermarks(watermarks.places, np.maximum.accumulate(np.minimum(watermarks.values, held)))


def earlier(watermarks: np.ndarray, by: int) -> np.ndarray:
    """Subtract a number of ticks from watermarks.

    `IDLE` and `END` stay unchanged, and no other value becomes one of them.

    >>> earlier(np.array([IDLE, IDLE + 2, 100, END]), 5).tolist() == [IDLE, IDLE + 1, 95, END]
    True
    """
    if not by:
        return watermarks
    moved = np.maximum(watermarks, IDLE + 1 + by) - by
    return np.where((watermarks == IDLE) | (watermarks == END), watermarks, moved)


def shifted(times: np.ndarray, by: int) -> np.ndarray:
    """Add a number of ticks, which may be negative, to times; limit the results to the range of 64 bits.

    >>> shifted(np.array([-5, END - 1]), 3).tolist() == [-2, END]
    True
    """
    return np.minimum(times, END - by) + by if by >= 0 else np.maximum(times, IDLE - by) + by


def between_idle(batch: TupleBatch) -> Iterator[tuple[TupleBatch, bool]]:
    """Split a batch at each `IDLE`. Yield each part with True if the operator becomes idle after it (EV51)."""
    marks = batch.watermarks
    rests = np.zeros(0, np.int64) if marks is None else np.flatnonzero(marks.values == IDLE)
    if marks is None or not len(rests):
        yield batch, False
        return
    tuples = batch.without_watermarks()
    done = 0
    first = 0
    for at in rests.tolist():
        place = int(marks.places[at])
        yield tuples.slice(done, place - done).with_watermarks(marks.part(first, at, done)), True
        done, first = place, at + 1
    yield tuples.slice(done).with_watermarks(marks.part(first, len(marks), done)), False
