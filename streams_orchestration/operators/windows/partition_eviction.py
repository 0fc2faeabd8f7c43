"""Eviction of window partitions, least recently used first.

A partition that is evicted and appears again counts as a new one. So each partition has a number, and the window of a
number depends only on its own tuples, independent of batch boundaries.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from streams_orchestration.operators.keys.comparison import distinct, key_batch, key_schema
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.windows.clause import Policy, Window


class Evicted(NamedTuple):
    """The eviction of a partition: the number of the partition, and when it was evicted."""

    number: int
    at: float
    """The position of the tuple that caused the eviction, minus 0.25 if evicted before it, plus 0.25 if after it."""


class _Use(NamedTuple):
    """The last use of a partition."""

    number: int
    used: int
    """The number of tuples of all partitions before the partition's last one."""
    time: int
    """The largest time of any tuple up to the partition's last tuple, in the unit of the policy's size."""


class _Held:
    """The values of the tuples in the windows of each partition, to limit their total number."""

    def __init__(self, window: Window) -> None:
        self.tumbling, self.policy = window.tumbling, window.eviction
        self.clear()

    def clear(self) -> None:
        """Remove all tuples."""
        self.values: dict[int, deque[Any]] = {}
        self.total = 0

    def arrive(self, number: int, value: Any) -> None:
        """Add a tuple to a partition, and remove the tuples that leave its window."""
        held = self.values.setdefault(number, deque())
        before, size = len(held), self.policy.amount
        if self.policy.kind in ("delta", "time"):
            if self.tumbling and held and value - held[0] > size:
                held.clear()
            while not self.tumbling and held and value - held[0] > size:
                held.popleft()
        elif self.policy.kind == "count" and not self.tumbling and len(held) == size:
            held.popleft()
        held.append(value)
        if self.tumbling and self.policy.kind == "count" and len(held) == size:
            held.clear()
        self.total += len(held) - before

    def leave(self, number: int) -> None:
        """Remove an evicted partition."""
        self.total -= len(self.values.pop(number, ()))


class PartitionEviction:
    """Numbers the partition of every tuple, and determines the partitions that a policy evicts.

    The current time is the largest time of any tuple.
    """

    def __init__(self, policy: Policy, window: Window, partition: Sequence[pa.DataType]) -> None:
        """Start with no partitions.

        Args:
            policy: the policy that evicts partitions.
            window: the window of each partition.
            partition: the types of a partition's key.
        """
        self.policy, self._window = policy, window.eviction
        self.known = KeyedState(key_schema(partition), "number bigint, used bigint, time bigint")
        """Maps each partition to its `_Use`."""
        self._held = _Held(window)
        self.clear()

    def clear(self) -> None:
        """Remove all partitions."""
        self.known.clear()
        self.next, self.clock = 0, 0
        self.now: int | None = None
        self.emptied()
        self._read()

    def emptied(self) -> None:
        """Record that all windows are empty. The partitions stay."""
        self._held.clear()

    def _read(self) -> None:
        """Read the last use of each partition, least recently used first."""
        rows = self.known.rows()
        columns = [self.known.column(name)[rows].tolist() for name in ("number", "used", "time")]
        uses = sorted(zip(*columns, rows.tolist(), strict=True), key=lambda use: use[1])
        self._uses = OrderedDict((row, _Use(*use)) for *use, row in uses)
        self._renumbered = self.known.renumbered

    def arrive(
        self, keys: pa.RecordBatch, codes: np.ndarray, tuples: pa.RecordBatch
    ) -> tuple[pa.RecordBatch, np.ndarray, list[Evicted]]:
        """Record the use of partitions, and evict some.

        Args:
            keys: the distinct partitions.
            codes: for every tuple, the index of its partition in `keys`.
            tuples: the tuples.

        Returns:
            The distinct numbers of partitions as keys, each tuple's index in them, and the evicted partitions.

        Raises:
            DataError: a value that a policy compares is null, NaN or out of range.
        """
        times = None if self.policy.attribute is None else self.policy.values(tuples)
        numbers, evicted = self.assign(keys, codes, self._window.values(tuples), times)
        heads, codes = distinct([pa.array(numbers)], len(numbers))
        return number_keys(numbers[heads]), codes, evicted

    def assign(
        self, keys: pa.RecordBatch, codes: np.ndarray, values: np.ndarray, times: np.ndarray | None
    ) -> tuple[np.ndarray, list[Evicted]]:
        """Record the use of partitions, and evict some; return each tuple's partition number, and the evicted in order.

        Args:
            keys: the distinct partitions.
            codes: for every tuple, the index of its partition in `keys`.
            values: the value of every tuple that the window's policy compares.
            times: the times of the tuples, if partitions are evicted by age.
        """
        if self._renumbered != self.known.renumbered:
            self._read()
        rows = self.known.rows_of(keys)
        uses = self._uses
        gone = list[int]()
        evicted: list[Evicted] = []
        numbers = np.empty(len(codes), np.int64)
        kind, size = self.policy.kind, self.policy.size

        def give_up(at: float) -> None:
            row, use = uses.popitem(last=False)
            gone.append(row)
            evicted.append(Evicted(use.number, at))
            self._held.leave(use.number)

        moments = [0] * len(codes) if times is None else times.tolist()
        for i, (row, value, time) in enumerate(zip(rows[codes].tolist(), values.tolist(), moments, strict=True)):
            self.now = now = time if self.now is None else max(self.now, time)
            if kind == "partitionAge":
                while uses and now - next(iter(uses.values())).time > size:
                    give_up(i - 0.25)
            former = uses.get(row)
            if former is None:
                while kind == "partitionCount" and len(uses) >= size:
                    give_up(i - 0.25)
                number, self.next = self.next, self.next + 1
            else:
                number = former.number
            numbers[i] = number
            uses[row] = _Use(number, self.clock, now)
            uses.move_to_end(row)
            self.clock += 1
            if kind == "tupleCount":
                self._held.arrive(number, value)
                while self._held.total > size:
                    give_up(i + 0.25)
        self._write(rows, gone)
        return numbers, evicted

    def expire(self, time: int) -> np.ndarray:
        """Evict the partitions that are too old at a time in ticks; return their numbers, least recently used first.

        Without `partitionAge` there are none.
        """
        if self.policy.attribute is None:
            return np.zeros(0, np.int64)
        if self._renumbered != self.known.renumbered:
            self._read()
        uses = self._uses
        gone = list[int]()
        numbers = list[int]()
        while uses and time - next(iter(uses.values())).time > self.policy.size:
            row, use = uses.popitem(last=False)
            gone.append(row)
            numbers.append(use.number)
            self._held.leave(use.number)
        self.known.delete_rows(np.array(sorted(gone), np.int64))
        return np.array(numbers, np.int64)

    def _write(self, touched: np.ndarray, gone: Iterable[int]) -> None:
        living = [row for row in touched.tolist() if row in self._uses]
        for name, values in zip(_Use._fields, zip(*(self._uses[row] for row in living), strict=True), strict=False):
            self.known.column(name)[living] = values
        self.known.delete_rows(np.array(sorted({row for row in gone if row not in self._uses}), np.int64))

    def numbers_of(self, keys: pa.RecordBatch) -> np.ndarray:
        """Return the numbers of partitions; -1 for unknown partitions."""
        rows = self.known.index.find(keys)
        return np.where(rows >= 0, self.known.column("number")[rows], -1) if len(self.known) else rows

    def dump(self) -> dict[str, Any]:
        """Return the partitions, for a checkpoint."""
        return {"known": self.known, "known.next": self.next, "known.clock": self.clock, "known.now": self.now}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore a state that `dump` returned; `recall` restores the tuples of windows, which it lacks."""
        self.known, self.next = state["known"], state["known.next"]
        self.clock, self.now = state["known.clock"], state["known.now"]
        self._read()

    def recall(self, tuples: Iterable[tuple[int, Any]]) -> None:
        """Add the tuples of restored windows, given as partition number and value, in order of arrival.

        Only the policy `tupleCount` needs them; with other policies they are ignored.
        """
        if self.policy.kind == "tupleCount":
            for number, value in tuples:
                self._held.values.setdefault(number, deque()).append(value)
                self._held.total += 1


def number_keys(numbers: np.ndarray) -> pa.RecordBatch:
    """Return the keys of partitions that have numbers."""
    return key_batch([pa.array(numbers)], np.arange(len(numbers)))
