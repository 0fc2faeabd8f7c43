"""The interface of windows of event time: which tuples they take, and which panes fire at which watermark."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

from streams_orchestration.operators.event_time.steps import Steps
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.tuples.watermarks import END, IDLE
from streams_orchestration.operators.windows.pane_cells import CellRanges, PaneCells


class Timing(IntEnum):
    """The time of a firing relative to the completion of its pane (EV33, EV64)."""

    paneEarly = 0  # noqa: N815  the values of IBM Streams
    paneOnComplete = 1  # noqa: N815
    paneLate = 2  # noqa: N815


class Piece(NamedTuple):
    """Consecutive tuples and steps of a batch, whose tuples are all added before any of its panes fires."""

    start: int
    stop: int
    """The first tuple in the batch, and the one after the last tuple."""
    first_step: int
    stop_step: int
    """The first step in the batch, and the one after the last step."""


class Judged(NamedTuple):
    """The result of looking for late tuples in a batch."""

    late: int
    """The number of late tuples (EV15)."""
    dropped: np.ndarray | None
    """A mask of the tuples that are too late (EV30, EV50); None if none is."""


class Arrivals(NamedTuple):
    """The tuples of a batch that are not too late."""

    times: np.ndarray
    partitions: np.ndarray
    """The number of each tuple's partition."""
    seen: np.ndarray
    """The number of steps before each tuple."""


class PaneEntries(NamedTuple):
    """The entries of the tuples of a piece, one for each cell that a tuple is in, in order of arrival."""

    places: np.ndarray | None
    """For each entry, the position of its tuple in the piece; None if each tuple has one entry, in this order."""
    slices: np.ndarray
    pairs: tuple[np.ndarray, np.ndarray] | None = None
    """The distinct pairs of partition and slice, as `distinct` returns them, or None if they are unknown. The first
    array has the first entry of each pair, the second one the pair of each entry.
    """


class Due(NamedTuple):
    """The panes that fire within a piece, in the order of their firings (EV36)."""

    steps: np.ndarray
    """The step of the piece at which each pane fires."""
    panes: np.ndarray
    """The number of each pane; two panes of one partition have different numbers."""
    starts: np.ndarray
    ends: np.ndarray
    ranges: CellRanges
    """The slices of each pane."""
    last_panes: np.ndarray
    """The highest number of the panes that were merged into each pane, as when sessions grow together."""


class Fired(NamedTuple):
    """The properties of firings, one for each partition in a pane (EV33)."""

    nth: np.ndarray
    """The number of firings of the partition in the pane before this one."""
    timing: np.ndarray


class Panes(Protocol):
    """The open panes of windows by event time, which are panes of a grid or sessions."""

    def judge(self, times: np.ndarray, current: np.ndarray) -> Judged:
        """Find the tuples that are too late, given the watermark before each."""
        ...

    def outside_range(self, times: np.ndarray) -> np.ndarray | None:
        """Return a mask of the times whose panes exceed the range of event time; None if there are none."""
        ...

    def pieces(self, tuples: Arrivals, steps: Steps) -> list[Piece]:
        """Cut a batch into pieces, so that no tuple joins a pane that has fired before it in the same piece."""
        ...

    def take(self, tuples: Arrivals, steps: Steps) -> PaneEntries:
        """Add a piece's tuples to their panes, which it may open or extend, and return the tuples' cells.

        In `tuples`, `seen` counts steps from the beginning of the piece.
        """
        ...

    def due(self, steps: Steps, cells: PaneCells) -> Due | None:
        """Return the panes that fire at the steps of a piece; None if none does."""
        ...

    def fired(self, due: Due, ranges: np.ndarray, partitions: np.ndarray, steps: Steps) -> Fired:
        """Record that partitions fire in panes, and return the properties of these firings.

        `due` is the result of the last call of `due`, and `ranges` are positions in it.
        """
        ...

    def close(self, steps: Steps, cells: PaneCells) -> CellRanges | None:
        """Forget the panes that the last step closes (EV34), and their cells; return ranges of their numbers.

        None if no cells are forgotten.
        """
        ...

    def last_ends(self, times: np.ndarray, partitions: np.ndarray) -> np.ndarray:
        """Return the end of the last pane of each tuple that `take` processed, unless `close` has forgotten the pane.

        For a forgotten pane, return a time that is at most `closed_before` of the watermark that closed it.
        """
        ...

    def closed_before(self, watermark: int) -> int:
        """Return the latest end, in ticks, of panes that are closed at this watermark."""
        ...

    def open_panes(self, watermark: int) -> int:
        """Return the number of panes that have tuples and are not closed at a watermark.

        A pane that `close` has not forgotten may count whatever the watermark.
        """
        ...

    def clear(self) -> None:
        """Forget all panes."""
        ...

    def dump(self) -> dict[str, Any]:
        """Return the panes as parts of the operator's state."""
        ...

    def load(self, state: Mapping[str, Any], cells: PaneCells) -> None:
        """Restore a state that `dump` returned; the cells are restored already."""
        ...

    def absorb(self, state: Mapping[str, Any], before: np.ndarray, after: np.ndarray) -> None:
        """Add the panes of some partitions of another state.

        Args:
            state: the other state, as `dump` returned it.
            before: the numbers of these partitions in the other state.
            after: the numbers that they get here.
        """
        ...


def closed_before(watermark: int, age: int) -> int:
    """Return the latest end, in ticks, of panes that are closed at a watermark (EV34)."""
    return watermark if watermark == END else int(less(np.array([watermark]), age)[0])


def less(watermarks: np.ndarray, age: int) -> np.ndarray:
    """Return watermarks that are earlier by an age, without going below the least time."""
    return np.maximum(watermarks, IDLE + age) - age
