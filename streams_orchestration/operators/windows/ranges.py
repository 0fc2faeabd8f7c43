"""Overlapping windows represented as ranges of rows, so that tuples are not copied once per window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.windows.pane_cells import expanded


class Groups(NamedTuple):
    """The groups within windows, ordered by window. The groups of a window are in order of appearance."""

    windows: np.ndarray
    """The window of each group."""
    rows: np.ndarray
    """The first row of each group in its window."""
    starts: np.ndarray
    """The start of each group within `order`."""
    ends: np.ndarray
    order: np.ndarray | None = None
    """All rows ordered by group; None if they already are."""


def whole_windows(starts: np.ndarray, ends: np.ndarray) -> Groups:
    """Return one group for every window that is not empty."""
    windows = np.flatnonzero(ends > starts)
    return Groups(windows, starts[windows], starts[windows], ends[windows])


def groups_of(codes: np.ndarray, starts: np.ndarray, ends: np.ndarray, rows_at_once: int) -> Groups:
    """Find the groups within windows.

    Args:
        codes: the group of every row.
        starts: the first row of every window.
        ends: the row after the last one of every window.
        rows_at_once: about how many rows are expanded at once, to limit memory.
    """
    count = len(codes)
    order = np.argsort(codes, kind="stable")
    rank = np.empty(count, np.int64)
    rank[order] = np.arange(count)
    sorted_codes = codes[order]
    previous = np.full(count, -1, np.int64)
    follows = sorted_codes[1:] == sorted_codes[:-1]
    previous[order[1:][follows]] = order[:-1][follows]
    windows: list[np.ndarray] = []
    rows: list[np.ndarray] = []
    for first, last in _chunks(ends - starts, rows_at_once):
        window, row = expanded(starts[first:last], ends[first:last])
        new = previous[row] < starts[first:last][window]
        windows.append(window[new] + first)
        rows.append(row[new])
    of = np.concatenate([np.zeros(0, np.int64), *windows])
    firsts = np.concatenate([np.zeros(0, np.int64), *rows])
    keys = sorted_codes * (count + 1) + order
    return Groups(of, firsts, rank[firsts], np.searchsorted(keys, codes[firsts] * (count + 1) + ends[of]), order)


def reduce_ranges(operation: Any, values: np.ndarray, starts: np.ndarray, ends: np.ndarray, initial: Any) -> np.ndarray:
    """Reduce ranges that may overlap with a binary ufunc, left to right, so that sums have the same bits in any batch.

    Every range begins with `initial`, the neutral element of the ufunc, so an empty range gives `initial`. It loops
    over the ranges, or over the positions within them, whichever is fewer.
    """
    result = np.full(len(starts), initial, values.dtype)
    lengths = ends - starts
    longest = int(lengths.max(initial=0))
    if len(starts) < longest:
        for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            if end > start:
                result[i] = operation(initial, operation.accumulate(values[start:end])[-1])
        return result
    longest_first = np.argsort(-lengths, kind="stable")
    begins, reached = starts[longest_first], result[longest_first]
    active = np.searchsorted(-lengths[longest_first], -np.arange(longest), side="left")
    for place, some in enumerate(active.tolist()):
        operation(reached[:some], values[begins[:some] + place], out=reached[:some])
    result[longest_first] = reached
    return result


def _chunks(lengths: np.ndarray, rows_at_once: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of consecutive windows with about `rows_at_once` rows."""
    first, upto = 0, np.cumsum(lengths)
    while first < len(lengths):
        done = upto[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(upto, done + rows_at_once, side="right")))
        yield first, last
        first = last
