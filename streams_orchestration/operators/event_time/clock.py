"""The clock of an annotated operator: watermarks from the times of the tuples that it submits (EV17, EV18)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from streams_orchestration.operators.event_time.partition_time import NO_TIME, AheadGuard
from streams_orchestration.operators.event_time.partitions import WHOLE, Event, Least, Partitions, Rest
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.tuples.watermarks import END, IDLE, Watermarks, rising

_FEW = 64
"""The least number of tuples for each watermark with which watermarks are searched one by one."""


class Clock:
    """The clock of an operator that makes watermarks.

    The watermark is the least of the partitions' greatest times, minus the lag. It is emitted only when it rises by at
    least the minimum gap.

    >>> clock = Clock(lag=0, minimum_gap=5)
    >>> clock.advance(np.array([1, 3, 6, 5, 10, 11, 20]))
    Watermarks.of((1, 1), (3, 6), (6, 11), (7, 20))

    Two partitions, of which only the first one continues (EV51, EV52):

    >>> clock = Clock(lag=0, minimum_gap=1)
    >>> clock.assign(["north", "south"])
    >>> clock.advance(np.array([1, 2, 7, 9]), np.array([0, 1, 0, 0]), ["north", "south"])
    Watermarks.of((2, 1), (3, 2))
    >>> clock.rest(["south"])
    Watermarks.of((0, 9))
    """

    def __init__(self, lag: int, minimum_gap: int, guard: AheadGuard | None = None) -> None:
        """Make a clock that has not emitted a watermark.

        Args:
            lag: ticks that are subtracted from the greatest time.
            minimum_gap: the least distance of two watermarks in ticks; 0 counts as 1.
            guard: the guard against times far ahead; None for no guard.
        """
        self._lag = lag
        self._gap = max(minimum_gap, 1)
        self.partitions = Partitions(lag, guard, self._begin)
        self.emitted: int | None = None
        """The watermark emitted last, in ticks; None before the first one."""

    def advance(
        self, times: np.ndarray, codes: np.ndarray | None = None, names: Sequence[str] = (WHOLE,)
    ) -> Watermarks | None:
        """Advance by the times of tuples, and return the watermarks that follow them; None without any.

        Args:
            times: the event times in ticks; `NO_TIME` for a tuple that is ignored.
            codes: per tuple the position of its partition in `names`; None if the source names no partitions.
            names: the names of partitions.
        """
        if not len(times):
            return None
        return self._following(self.partitions.advance(times, codes, names))

    def assign(self, names: Collection[str]) -> Watermarks | None:
        """Set the partitions whose times make up the watermark (EV52); return the watermarks that result, or None."""
        return self._following(self.partitions.assign(names))

    def rest(self, names: Iterable[str]) -> Watermarks | None:
        """Declare partitions idle until their next tuples (EV51); return the watermarks that follow, or None."""
        return self._following(self.partitions.rest(names))

    def settle(self) -> Watermarks | None:
        """Apply the stored decisions from before a reset that partitions are idle, as far as the decisions are due.

        Return the resulting watermarks, or None.
        """
        return self._following(self.partitions.settle())

    def end(self) -> Watermarks | None:
        """End the stream: return the last watermark (EV25), or None if it was already returned."""
        if self.emitted == END:
            return None
        self.emitted = END
        return Watermarks.of((0, END))

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON (EV43)."""
        return {"watermark": self.emitted} | self.partitions.dump()

    def load(self, state: dict[str, Any]) -> None:
        """Restore a state that `dump` returned. If it has only a watermark, all partitions begin at that watermark."""
        self.emitted = state["watermark"]
        self.partitions.load(state)

    def _begin(self) -> int:
        """Return the time in ticks with which a new partition begins: the last watermark plus the lag, or `NO_TIME`."""
        return NO_TIME if self.emitted is None else min(self.emitted + self._lag, END)

    def _following(self, events: Iterable[Event]) -> Watermarks | None:
        """Advance by changes of the partitions, and return the resulting watermarks.

        None without any, as for all changes after the end of the stream.
        """
        places: list[np.ndarray] = []
        values: list[np.ndarray] = []
        wakes: int | None = None
        for event in events:
            if self.emitted == END:
                continue
            if isinstance(event, Least):
                before = self.emitted
                steps, marks = self._emitted(event)
                if wakes is not None and before is not None and (not len(steps) or steps[0] > wakes):
                    steps, marks = np.r_[wakes, steps], np.r_[before, marks]
                wakes = None
            elif isinstance(event, Rest):
                steps, marks = np.array([event.place]), np.array([IDLE])
            else:
                wakes = event.place
                continue
            places.append(steps)
            values.append(marks)
        if not sum(map(len, places)):
            return None
        if len(places) == 1:
            return Watermarks(places[0], values[0], rising(values[0]))
        return Watermarks(np.concatenate(places), np.concatenate(values))

    def _emitted(self, event: Least) -> tuple[np.ndarray, np.ndarray]:
        """Advance the emitted watermark as the least time of the partitions rises; return its positions and values.

        The arrays are empty if it rises by less than the minimum gap.
        """
        least = IDLE + 1
        marks = np.maximum(event.times, least + self._lag) - self._lag
        if not len(marks) or (self.emitted is not None and int(marks[-1]) < _later(self.emitted, self._gap)):
            return event.places[:0], marks[:0]
        steps = self._steps(marks)
        self.emitted = int(marks[steps[-1]])
        return event.places[steps], marks[steps]

    def _steps(self, marks: np.ndarray) -> np.ndarray:
        """Return the positions of those ascending watermarks that are emitted, given the minimum gap; at least one."""
        first = 0 if self.emitted is None else int(np.searchsorted(marks, _later(self.emitted, self._gap)))
        if int(marks[-1]) - int(marks[first]) < self._gap * len(marks) // _FEW:
            return self._few_steps(marks, first)
        rises = np.flatnonzero(marks[1:] > marks[:-1]) + 1
        rises = np.r_[first, rises[rises > first]]
        if len(rises) == 1 or int(np.diff(marks[rises]).min()) >= self._gap:
            return rises
        steps, values = [0], marks[rises].tolist()
        while True:
            following = bisect_left(values, _later(values[steps[-1]], self._gap), steps[-1])
            if following == len(values) or values[following] == values[steps[-1]]:
                return rises[steps]
            steps.append(following)

    def _few_steps(self, marks: np.ndarray, first: int) -> np.ndarray:
        """Return the same as `_steps` by one search for each watermark, which is quicker if they are few."""
        steps, before = [first], int(marks[first])
        while (following := int(marks.searchsorted(_later(before, self._gap)))) < len(marks):
            if marks[following] == before:  # the greatest watermark, which has no later one
                break
            steps.append(following)
            before = int(marks[following])
        return np.array(steps)


def _later(watermark: int, gap: int) -> int:
    """Return a watermark plus the minimum gap, both in ticks, at most the greatest watermark."""
    return min(watermark + gap, END)
