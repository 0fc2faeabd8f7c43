"""Tumbling windows: every tuple is in exactly one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from streams_orchestration.operators.keys import Key, key_columns, key_values
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
        limit = self.policy.size if self.policy.kind == "count" else None
        delta = self.policy.size if self.policy.attribute is not None else None
        numbers, closed = np.zeros(len(codes), np.int64), []
        for i, (code, value) in enumerate(zip(codes.tolist(), self.policy.values(batch), strict=True)):
            number, count, first = self.open.get(keys[code], (-1, 0, value))
            if count and delta is not None and value - first > delta:
                closed.append(number)
                count, first = 0, value
            if not count:
                number, self.next = self.next, self.next + 1
            numbers[i], count = number, count + 1
            self.open[keys[code]] = number, count, first
            if count == limit:
                closed.append(number)
                del self.open[keys[code]]
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
