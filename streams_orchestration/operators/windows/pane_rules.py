"""The values of windows of event time: the tuples that they take, and the panes that fire at a watermark."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.tuples.watermarks import END, IDLE
from streams_orchestration.operators.windows.pane_cells import CellRanges


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


def closed_before(watermark: int, age: int) -> int:
    """Return the latest end, in ticks, of panes that are closed at a watermark (EV34)."""
    return watermark if watermark == END else int(less(np.array([watermark]), age)[0])


def less(watermarks: np.ndarray, age: int) -> np.ndarray:
    """Return watermarks that are earlier by an age, without going below the least time."""
    return np.maximum(watermarks, IDLE + age) - age
