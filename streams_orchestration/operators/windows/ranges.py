"""Overlapping windows as ranges of rows, so that no tuple is laid out once for every window that it is in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from streams_orchestration.operators.libraries import np


class Groups(NamedTuple):
    """The groups in windows, window by window, each in order of appearance."""

    windows: np.ndarray
    """Window of each group."""
    rows: np.ndarray
    """First row of each group in its window."""
    starts: np.ndarray
    """Start of each group among the rows in `order`."""
    ends: np.ndarray
    order: np.ndarray | None = None
    """All rows, ordered by group; None if they are in that order."""


def whole_windows(starts: np.ndarray, ends: np.ndarray) -> Groups:
    """Return one group for every window."""
    windows = np.flatnonzero(ends > starts)
    return Groups(windows, starts[windows], starts[windows], ends[windows])


def groups_of(codes: np.ndarray, starts: np.ndarray, ends: np.ndarray, rows_at_once: int) -> Groups:
    """Find the groups in windows that are ranges of rows.

    Args:
        codes: the group of every row.
        starts: the first row of every window.
        ends: the row behind the last one of every window.
        rows_at_once: rows that are laid out together to find the first ones of groups.
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
        window, row = _laid_out(starts[first:last], ends[first:last])
        new = previous[row] < starts[first:last][window]
        windows.append(window[new] + first)
        rows.append(row[new])
    of = np.concatenate([np.zeros(0, np.int64), *windows])
    firsts = np.concatenate([np.zeros(0, np.int64), *rows])
    keys = sorted_codes * (count + 1) + order
    return Groups(of, firsts, rank[firsts], np.searchsorted(keys, codes[firsts] * (count + 1) + ends[of]), order)


def reduce_ranges(operation: Any, values: np.ndarray, starts: np.ndarray, ends: np.ndarray, initial: Any) -> np.ndarray:
    """Reduce ranges that may overlap by a binary ufunc from left to right, so that sums have the same bits.

    Goes over the ranges or over the places in them, whatever are fewer.
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


def _laid_out(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    lengths = ends - starts
    window = np.repeat(np.arange(len(starts)), lengths)
    before = np.cumsum(lengths) - lengths
    return window, np.arange(len(window)) - np.repeat(before - starts, lengths)


def _chunks(lengths: np.ndarray, rows_at_once: int) -> Iterator[tuple[int, int]]:
    """Yield runs of windows with about a given number of rows."""
    first, upto = 0, np.cumsum(lengths)
    while first < len(lengths):
        done = upto[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(upto, done + rows_at_once, side="right")))
        yield first, last
        first = last
