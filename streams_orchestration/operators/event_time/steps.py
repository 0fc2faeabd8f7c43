"""The steps in which the watermark of an operator advances within one batch (EV19, EV20)."""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.tuples.watermarks import IDLE, Watermarks

NO_WATERMARK = IDLE
"""The watermark before the first one: no tuple is late, and no pane is complete."""


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The watermarks of a batch that raise the operator's watermark, in order.

    >>> Steps.of(Watermarks.of((1, 10), (2, IDLE), (3, 10), (3, 25)), NO_WATERMARK).values
    array([10, 25])
    """

    before: int
    """The watermark before the batch, in ticks."""
    places: np.ndarray
    """For each step, the number of tuples before it."""
    values: np.ndarray
    """For each step, its watermark; strictly ascending."""
    marks: np.ndarray
    """For each step, its position among the watermarks of the batch."""

    @classmethod
    def of(cls, watermarks: Watermarks | None, before: int) -> Steps:
        """Return the steps among a batch's watermarks: those that are greater than all earlier ones."""
        if watermarks is None or not len(watermarks):
            nothing = np.zeros(0, np.int64)
            return cls(before, nothing, nothing, nothing)
        reached = np.maximum.accumulate(np.r_[before, watermarks.values])
        marks = np.flatnonzero(reached[1:] > reached[:-1])
        return cls(before, watermarks.places[marks], watermarks.values[marks], marks)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def levels(self) -> np.ndarray:
        """The watermark before the batch, followed by the watermark of each step."""
        return np.r_[self.before, self.values]

    @property
    def last(self) -> int:
        """The watermark after the batch, in ticks."""
        return int(self.values[-1]) if len(self.values) else self.before

    def seen(self, count: int) -> np.ndarray:
        """Return the number of steps before each tuple, for `count` tuples."""
        return places_before(self.places, count)

    def current(self, count: int) -> np.ndarray:
        """Return the watermark before each tuple, for `count` tuples."""
        return np.repeat(self.levels, _lengths(self.places, count))

    def part(self, first: int, last: int) -> Steps:
        """Return the steps from number `first` up to, but not including, number `last`."""
        before = int(self.levels[first])
        return Steps(before, self.places[first:last], self.values[first:last], self.marks[first:last])


def places_before(places: np.ndarray, count: int) -> np.ndarray:
    """Return the number of places before each of `count` tuples; `places` ascend, and place n is before tuple n.

    >>> places_before(np.array([0, 2, 2, 4]), 4).tolist()
    [1, 1, 3, 3]
    """
    lengths = _lengths(places, count)
    return np.repeat(np.arange(len(lengths)), lengths)


def _lengths(places: np.ndarray, count: int) -> np.ndarray:
    """Return the number of tuples in front of the first place, between each two places, and behind the last one."""
    return np.diff(np.concatenate(([0], places, [count])))
