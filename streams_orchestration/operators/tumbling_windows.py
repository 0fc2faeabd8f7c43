"""Tumbling windows: every tuple is in exactly one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streams_orchestration.operators.keys import Key, key_columns, key_values
from streams_orchestration.operators.libraries import np, pa
from streams_orchestration.operators.windows import Policy


class TumblingWindows:
    """Which window every tuple belongs to, and which windows are closed; the tuples themselves are not kept."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.clear()

    def clear(self) -> None:
        """No window is open."""
        self.next = 0
        self.open: dict[Key, tuple[int, int, Any]] = {}
        """Partition -> number of its window, tuples in it, value of the first one."""

    def assign(self, keys: list[Key], codes: np.ndarray, batch: pa.RecordBatch) -> tuple[np.ndarray, list[int]]:
        """The window of every tuple, and the windows that were closed, in this order.

        Args:
            keys: the partitions.
            codes: for every tuple the position of its partition in `keys`.
            batch: the tuples.
        """
        if self.policy.attribute is not None:
            return self._by_delta(keys, codes, self.policy.values(batch))
        size = int(self.policy.size) if self.policy.kind == "count" else 0
        return self._by_count(keys, codes, size) if size else (self._by_mark(keys, codes), [])

    def _by_mark(self, keys: list[Key], codes: np.ndarray) -> np.ndarray:
        """Windows that a marker closes: all tuples of a partition go into the one that is open."""
        counts = np.bincount(codes, minlength=len(keys)).tolist()
        numbers = np.empty(len(keys), np.int64)
        for i, key in enumerate(keys):
            number, count, first = self.open.get(key, (self.next, 0, 0))
            self.next = max(self.next, number + 1)
            numbers[i] = number
            self.open[key] = number, count + counts[i], first
        return numbers[codes]

    def _by_count(self, keys: list[Key], codes: np.ndarray, size: int) -> tuple[np.ndarray, list[int]]:
        """Windows of `size` tuples: a tuple's place in its partition says what it opens and closes."""
        found = [self.open.get(key, (-1, 0, 0)) for key in keys]
        order = np.argsort(codes, kind="stable")
        counts = np.bincount(codes, minlength=len(keys))
        starts = np.cumsum(counts) - counts
        ranks = np.arange(len(codes)) - np.repeat(starts, counts)
        places = (ranks + np.repeat([count for _, count, _ in found], counts).astype(np.int64)) % size
        opens, closes = np.zeros(len(codes), bool), np.zeros(len(codes), bool)
        opens[order], closes[order] = places == 0, places == size - 1
        opened = self.next - 1 + np.cumsum(opens)
        self.next += int(opens.sum())
        # in the order of partitions a tuple is in the window that was opened last, or in the one that was open before
        before = np.repeat([number for number, _, _ in found], counts).astype(np.int64)
        last = np.maximum.accumulate(np.where(places == 0, np.arange(len(codes)), -1))
        inside = last >= np.repeat(starts, counts)
        numbers = np.empty(len(codes), np.int64)
        numbers[order] = np.where(inside, opened[order][last], before)
        for i, (key, start, count) in enumerate(zip(keys, starts.tolist(), counts.tolist(), strict=True)):
            held = (found[i][1] + count) % size
            if held:
                self.open[key] = int(numbers[order[start + count - 1]]), held, 0
            else:
                self.open.pop(key, None)
        return numbers, numbers[closes].tolist()

    def _by_delta(self, keys: list[Key], codes: np.ndarray, values: Sequence[Any]) -> tuple[np.ndarray, list[int]]:
        """Windows that a tuple closes which is too far from the first one."""
        numbers, closed = np.zeros(len(codes), np.int64), []
        for i, (code, value) in enumerate(zip(codes.tolist(), values, strict=True)):
            number, count, first = self.open.get(keys[code], (-1, 0, value))
            if count and value - first > self.policy.size:
                closed.append(number)
                count, first = 0, value
            if not count:
                number, self.next = self.next, self.next + 1
            numbers[i] = number
            self.open[keys[code]] = number, count + 1, first
        return numbers, closed

    def close(self) -> list[int]:
        """Close all windows, in the order in which they were opened."""
        closed = sorted(number for number, _, _ in self.open.values())
        self.open.clear()
        return closed

    def dump(self, types: Sequence[pa.DataType]) -> dict[str, Any]:
        """The open windows, for a checkpoint; `types` are those of the partition."""
        facts = zip(*self.open.values(), strict=True) if self.open else ([], [], [])
        columns = [*key_columns(self.open, types), *(pa.array(list(fact)) for fact in facts)]
        return {"windows": pa.table(columns, names=[str(i) for i in range(len(columns))]), "next": self.next}

    def load(self, state: Any) -> None:
        """Take over what `dump` gave."""
        *keys, numbers, counts, firsts = state["windows"].columns
        facts = list(zip(numbers.to_pylist(), counts.to_pylist(), firsts.to_pylist(), strict=True))
        partitions = list(zip(*map(key_values, keys), strict=True)) if keys else [()] * len(facts)
        self.open, self.next = dict(zip(partitions, facts, strict=True)), state["next"]
