"""The clock of an annotated operator: watermarks from the times of the tuples that it submits (EV17, EV18)."""

from __future__ import annotations

from typing import Any

from streams_orchestration.operators.libraries import np
from streams_orchestration.operators.watermarks import END, IDLE, Watermarks


class Clock:
    """The greatest time submitted so far, less the lag, in steps of at least the minimum gap.

    >>> clock = Clock(lag=0, minimum_gap=5)
    >>> clock.advance(np.array([1, 3, 6, 5, 10, 11, 20]))
    Watermarks.of((1, 1), (3, 6), (6, 11), (7, 20))
    """

    def __init__(self, lag: int, minimum_gap: int) -> None:
        """Begin without a watermark.

        Args:
            lag: ticks by which the watermark is behind the greatest time.
            minimum_gap: the least distance of two watermarks in ticks.
        """
        self._lag = lag
        self._gap = max(minimum_gap, 1)
        self.greatest: int | None = None
        """The greatest time so far."""
        self.emitted: int | None = None
        """The watermark emitted last."""

    def advance(self, times: np.ndarray) -> Watermarks | None:
        """Return the watermarks behind tuples with these times; None if there are none."""
        if not len(times) or self.emitted == END:
            return None
        reached = np.maximum.accumulate(times)
        if self.greatest is not None:
            reached = np.maximum(reached, self.greatest)
        self.greatest = int(reached[-1])
        least = IDLE + 1
        marks = np.where(reached < least + self._lag, least, reached - self._lag)
        last = int(marks[-1])
        if self.emitted is not None and last < _later(self.emitted, self._gap):
            return None
        places = self._steps(marks)
        self.emitted = int(marks[places[-1]])
        return Watermarks(places + 1, marks[places])

    def end(self) -> Watermarks | None:
        """Return the watermark at the end of the stream (EV25), behind all tuples; None if it was returned before."""
        if self.emitted == END:
            return None
        self.emitted = END
        return Watermarks.of((0, END))

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON (EV43)."""
        return {"watermark": self.emitted, "greatest": self.greatest}

    def load(self, state: dict[str, Any]) -> None:
        """Restore a state that `dump` returned; one of an operator without annotation has no greatest time."""
        self.emitted, self.greatest = state["watermark"], state.get("greatest")

    def _steps(self, marks: np.ndarray) -> np.ndarray:
        """Return the positions in ascending watermarks where one is emitted; there is at least one."""
        first = 0 if self.emitted is None else int(np.searchsorted(marks, _later(self.emitted, self._gap)))
        rises = np.flatnonzero(marks[1:] > marks[:-1]) + 1
        rises = np.r_[first, rises[rises > first]]
        if len(rises) == 1 or int(np.diff(marks[rises]).min()) >= self._gap:
            return rises
        steps, values = [0], marks[rises]
        while True:
            following = int(np.searchsorted(values, _later(int(values[steps[-1]]), self._gap)))
            if following == len(values):
                return rises[steps]
            steps.append(following)


def _later(watermark: int, gap: int) -> int:
    """Return the least watermark that is a gap later, at most the greatest one."""
    return min(watermark + gap, END)
