"""Tumbling windows: every tuple is in exactly one window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from streams_orchestration.operators.keys.comparison import key_schema
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.windows.clause import Policy
from streams_orchestration.operators.windows.deltas import comparable, restarts


class _Arrivals(NamedTuple):
    """The tuples of a batch, partition by partition."""

    order: np.ndarray
    """The tuples' positions, ordered by partition."""
    bounds: np.ndarray
    """The start of each partition in that order, and the end."""

    @property
    def counts(self) -> np.ndarray:
        """The number of tuples of each partition."""
        return np.diff(self.bounds)

    def last(self, marks: np.ndarray) -> np.ndarray:
        """Return the greatest marked index up to each index of `order`.

        If no marked index of the same partition precedes, the result is -1 or an index of an earlier partition. So
        callers compare it with the start of the partition in `bounds`.

        Args:
            marks: True for each marked index of `order`.
        """
        return np.maximum.accumulate(np.where(marks, np.arange(len(marks)), -1))


class AssignedWindows(NamedTuple):
    """The windows of tuples, and the windows that they have closed."""

    windows: np.ndarray
    """The window number of every tuple."""
    closed: np.ndarray
    """The closed windows, in order of closing."""
    at: np.ndarray
    """For each window in `closed`, the position of the tuple that closed it."""


class TumblingWindows:
    """Assigns tuples to windows and determines closed windows. The tuples themselves are not stored.

    Windows are numbered in the order in which they are opened.
    """

    def __init__(self, policy: Policy, partition: Sequence[pa.DataType], kind: pa.DataType) -> None:
        """Start with no open windows.

        Args:
            policy: the policy by which windows are closed.
            partition: the types of a partition's key; none if there is only one partition.
            kind: the type of the values that the policy compares.
        """
        self.policy = policy
        values = pa.schema([("number", pa.int64()), ("count", pa.int64()), ("first", kind)])
        self.open = KeyedState(key_schema(partition), values)
        """Maps each partition to its open window's number, number of tuples, and value of the first tuple."""
        self.next = 0

    def clear(self) -> None:
        """Forget all open windows."""
        self.open.clear()
        self.next = 0

    def assign(self, keys: pa.RecordBatch, codes: np.ndarray, batch: pa.RecordBatch) -> AssignedWindows:
        """Assign tuples to windows, which opens and closes windows; return each tuple's window, and the closed windows.

        Args:
            keys: the distinct partitions.
            codes: for every tuple, the index of its partition in `keys`.
            batch: the tuples. A value that the policy compares and that is null or NaN raises DataError.
        """
        if not len(codes):
            return AssignedWindows(codes, codes, codes)
        values = self.policy.values(batch)
        rows = self.open.rows_of(keys)
        if self.policy.closes_all:
            return AssignedWindows(self._by_mark(rows, codes), codes[:0], codes[:0])
        order = np.argsort(codes, kind="stable")
        arrivals = _Arrivals(order, np.searchsorted(codes[order], np.arange(len(rows) + 1)))
        if self.policy.kind == "count":
            return self._by_count(rows, arrivals, int(self.policy.size))
        return self._by_delta(rows, arrivals, values)

    def _by_mark(self, rows: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Assign all tuples of a partition to its open window, since only a marker or the clock closes it."""
        numbers, counts = self.open.column("number"), self.open.column("count")
        new = rows[counts[rows] == 0]
        numbers[new] = self.next + np.arange(len(new))
        self.next += len(new)
        counts[rows] += np.bincount(codes, minlength=len(rows))
        return numbers[rows][codes]

    def _by_count(self, rows: np.ndarray, arrivals: _Arrivals, size: int) -> AssignedWindows:
        """Assign tuples to windows of `size` tuples, by their rank within their partition."""
        held = self.open.column("count")[rows]
        counts = arrivals.counts
        starts = arrivals.bounds[:-1]
        ranks = np.arange(len(arrivals.order)) - np.repeat(starts, counts)
        places = (ranks + np.repeat(held, counts)) % size
        numbers = self._numbers(rows, arrivals, places == 0)
        closes = np.zeros(len(numbers), bool)
        closes[arrivals.order] = places == size - 1
        held = (held + counts) % size
        self.open.column("count")[rows] = held
        self.open.delete_rows(rows[held == 0])
        return AssignedWindows(numbers, numbers[closes], np.flatnonzero(closes))

    def _by_delta(self, rows: np.ndarray, arrivals: _Arrivals, values: np.ndarray) -> AssignedWindows:
        """Assign tuples to windows. A tuple more than the delta beyond the first tuple of its window closes it."""
        before, counts, firsts = (self.open.column(name)[rows] for name in ("number", "count", "first"))
        firsts = self.policy.read(firsts)
        starts = arrivals.bounds[:-1]
        mixed = comparable(np.concatenate([firsts[counts > 0], values[arrivals.order]]))
        ordered = mixed[len(mixed) - len(values) :]
        closes = restarts(ordered, arrivals.bounds, counts > 0, firsts.astype(ordered.dtype), self.policy.amount)
        opens = closes.copy()
        opens[starts[counts == 0]] = True
        numbers = self._numbers(rows, arrivals, opens)
        follows = np.flatnonzero(closes)
        inside = np.ones(len(values), bool)
        inside[starts] = False
        partition = np.searchsorted(arrivals.bounds, follows, side="right") - 1
        closed = np.where(inside[follows], numbers[arrivals.order[follows - 1]], before[partition])
        last = arrivals.last(opens)[arrivals.bounds[1:] - 1]
        anew = last >= starts
        self.open.column("first")[rows[anew]] = self.policy.stored(values[arrivals.order[last[anew]]])
        self.open.column("count")[rows] = np.where(anew, arrivals.bounds[1:] - last, counts + arrivals.counts)
        closers = arrivals.order[follows]
        in_order = np.argsort(closers)
        return AssignedWindows(numbers, closed[in_order], closers[in_order])

    def _numbers(self, rows: np.ndarray, arrivals: _Arrivals, opens: np.ndarray) -> np.ndarray:
        """Return the window number of every tuple, and update the window numbers of partitions.

        `opens` marks the tuples, sorted by partition, that open a window.
        """
        column, order = self.open.column("number"), arrivals.order
        opening = np.zeros(len(order), bool)
        opening[order] = opens
        opened = self.next - 1 + np.cumsum(opening)
        self.next += int(opens.sum())
        # a tuple is in the window that its partition opened last, or else in the one that was open before
        last = arrivals.last(opens)
        inside = last >= np.repeat(arrivals.bounds[:-1], arrivals.counts)
        numbers = np.empty(len(order), np.int64)
        numbers[order] = np.where(inside, opened[order[last]], np.repeat(column[rows], arrivals.counts))
        column[rows] = numbers[order[arrivals.bounds[1:] - 1]]
        return numbers

    def close(self) -> np.ndarray:
        """Close all windows, and return their numbers in the order in which they were opened."""
        closed = np.sort(self.open.column("number")[self.open.rows()])
        self.open.clear()
        return closed

    def give_up(self, keys: pa.RecordBatch) -> np.ndarray:
        """Remove evicted partitions, and return the open window of each; -1 if none is open."""
        rows = self.open.index.find(keys)
        windows = np.where(rows >= 0, self.open.column("number")[rows], -1) if len(self.open) else rows
        self.open.delete_rows(rows[rows >= 0])
        return windows

    def held(self) -> Iterator[tuple[int, Any]]:
        """Yield for every tuple in an open window its partition number and the value of the window's first tuple."""
        rows = self.open.rows()
        firsts = self.policy.read(self.open.column("first")[rows])
        columns = (self.open.column("count")[rows], self.open.key_column("0")[rows], firsts)
        for count, number, first in zip(*(column.tolist() for column in columns), strict=True):
            yield from [(number, first)] * count

    def dump(self) -> dict[str, Any]:
        """Return the open windows, for a checkpoint."""
        return {"windows": self.open, "next": self.next}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore a state that `dump` returned."""
        self.open, self.next = state["windows"], state["next"]
