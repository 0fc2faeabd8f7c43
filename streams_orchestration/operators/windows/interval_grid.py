"""Panes of equal length at equal distances, numbered in order of time, and the slices that they share (EV28, EV29).

Pane n begins at `n * period + offset`. Panes that overlap are made of slices, so that a tuple is added once: a period
is one slice, or two of them where the duration is not a multiple of the period.

    >>> grid = IntervalGrid(duration=10, period=4, offset=0)
    >>> grid.slices(np.array([0, 1, 2, 3, 4, 6])).tolist()
    [0, 0, 1, 1, 2, 3]
    >>> grid.span(np.array([0]))
    (array([0]), array([4]))
    >>> grid.first_pane(np.array([4])).tolist(), grid.last_pane(np.array([4])).tolist()
    ([0], [2])
"""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.tuples.watermarks import END, IDLE

LEAST, GREATEST = IDLE, END
"""The range of times in ticks."""


@dataclass(frozen=True, slots=True)
class IntervalGrid:
    """The panes of an interval window; lengths are in ticks."""

    duration: int
    period: int
    offset: int
    """The start of a pane, at least 0 and below the period."""

    @property
    def overlapping(self) -> bool:
        """True if a time may be in several panes."""
        return self.duration > self.period

    @property
    def _halved(self) -> int:
        """The ticks of the first of two slices of a period; 0 if a period is one slice."""
        return self.duration % self.period if self.overlapping else 0

    @property
    def _least(self) -> int:
        """The least time, in ticks, whose panes all begin within the range of times."""
        return LEAST + self.duration + self.period + self.offset

    def _since(self, times: np.ndarray) -> np.ndarray:
        """Return the ticks since the start of pane 0. Times before the least time count as the least time."""
        return np.maximum(times, self._least) - self.offset

    def slices(self, times: np.ndarray) -> np.ndarray:
        """Return the slice of every time."""
        since = self._since(times)
        periods = since // self.period
        if not self._halved:
            return periods
        return 2 * periods + (since - periods * self.period >= self._halved)

    def inside(self, times: np.ndarray) -> np.ndarray | None:
        """Return a mask of the times that are in a pane; None if panes leave no gaps, so that every time is in one."""
        if self.duration >= self.period:
            return None
        return self._since(times) % self.period < self.duration

    def outside_range(self, times: np.ndarray) -> np.ndarray | None:
        """Return a mask of the times whose panes begin or end beyond the range of times; None if there is none."""
        if not len(times) or (times.min() >= self._least and times.max() <= GREATEST - self.duration):
            return None
        periods = self._since(times) // self.period
        beyond = (times < self._least) | (self.start(periods) > GREATEST - self.duration)
        return beyond if beyond.any() else None

    def first_pane(self, slices: np.ndarray) -> np.ndarray:
        """Return the earliest pane that each slice is part of."""
        depth = self.duration // self.period
        if self._halved:
            return (slices - 2 * depth + 1) // 2
        return slices - max(depth - 1, 0)

    def last_pane(self, slices: np.ndarray) -> np.ndarray:
        """Return the latest pane that each slice is part of."""
        return slices // 2 if self._halved else slices

    def span(self, panes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first and the last slice of every pane."""
        depth = self.duration // self.period
        if self._halved:
            return 2 * panes, 2 * (panes + depth)
        return panes, panes + max(depth - 1, 0)

    def start(self, panes: np.ndarray) -> np.ndarray:
        """Return the first tick of every pane."""
        return panes * self.period + self.offset

    def end(self, panes: np.ndarray) -> np.ndarray:
        """Return the end of each pane, which is the first tick after the pane."""
        return self.start(panes) + self.duration

    def complete(self, watermarks: np.ndarray) -> np.ndarray:
        """Return the number of the last pane whose end each watermark has reached (EV31)."""
        return (self._since(watermarks) - self.duration) // self.period
