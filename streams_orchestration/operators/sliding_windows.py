"""Sliding windows: the latest tuples, looked at whenever a policy says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from streams_orchestration.operators.keys import Key, key_columns, key_values
from streams_orchestration.operators.libraries import np, pa
from streams_orchestration.operators.windows import Policy


@dataclass
class _Partition:
    rows: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    low: int = 0
    since: int = 0
    mark: Any = None


class SlidingWindows:
    """The tuples of all partitions' windows, and what is in them whenever one is triggered."""

    def __init__(self, eviction: Policy, trigger: Policy) -> None:
        self.eviction = eviction
        self.trigger = trigger
        self.clear()

    def clear(self) -> None:
        """No tuples."""
        self.tuples: pa.RecordBatch | None = None
        self.partitions: dict[Key, _Partition] = {}

    def insert(
        self, keys: list[Key], codes: np.ndarray, batch: pa.RecordBatch
    ) -> tuple[pa.RecordBatch, list[np.ndarray]]:
        """Let tuples arrive, one after another.

        Returns:
            The tuples before and these, and for every time that a window was triggered the rows of its tuples.
        """
        tuples = batch if self.tuples is None else pa.concat_batches([self.tuples, batch])
        base, fired = tuples.num_rows - batch.num_rows, []
        triggers = self.trigger.values(batch)
        for i, (code, value) in enumerate(zip(codes.tolist(), self.eviction.values(batch), strict=True)):
            key = keys[code]
            part = self.partitions.setdefault(key, _Partition())
            if self.trigger.attribute is not None:
                if part.mark is None:
                    part.mark = triggers[i]
                elif triggers[i] - part.mark > self.trigger.size:
                    fired.append((key, part.low, len(part.rows)))
                    part.mark = triggers[i]
            self._evict(part, value)
            part.rows.append(base + i)
            part.values.append(value)
            part.since += 1
            if self.trigger.kind == "count" and part.since == self.trigger.size:
                fired.append((key, part.low, len(part.rows)))
                part.since = 0
        arrays = {key: np.array(part.rows, np.int64) for key, part in self.partitions.items()}
        firings = [arrays[key][low:high] for key, low, high in fired]
        self._compact(tuples)
        return tuples, firings

    def _evict(self, part: _Partition, value: Any) -> None:
        if self.eviction.kind == "count":
            part.low = max(part.low, len(part.rows) + 1 - int(self.eviction.size))
            return
        while part.low < len(part.rows) and value - part.values[part.low] > self.eviction.size:
            part.low += 1

    def _compact(self, tuples: pa.RecordBatch) -> None:
        """Forget the tuples that are in no window any more."""
        for part in self.partitions.values():
            part.rows, part.values, part.low = part.rows[part.low :], part.values[part.low :], 0
        kept = np.sort(np.array([row for part in self.partitions.values() for row in part.rows], np.int64))
        self.tuples = tuples.take(pa.array(kept))
        for part in self.partitions.values():
            part.rows = np.searchsorted(kept, part.rows).tolist()

    def dump(self, types: Sequence[pa.DataType]) -> dict[str, Any]:
        """The tuples and where triggers stand, for a checkpoint; `types` are those of the partition."""
        if self.tuples is None:
            return {}
        parts = self.partitions.values()
        columns = key_columns(self.partitions, types)
        columns += [pa.array([part.since for part in parts], pa.int64()), pa.array([part.mark for part in parts])]
        partitions = pa.table(columns, names=[str(i) for i in range(len(columns))])
        return {"tuples": pa.Table.from_batches([self.tuples]), "partitions": partitions}

    def load(self, state: Any, partitions: Callable[[pa.RecordBatch], tuple[list[Key], np.ndarray]]) -> None:
        """Take over what `dump` gave; `partitions` tells those of tuples, as `insert` takes them."""
        self.clear()
        if "tuples" not in state:
            return
        self.tuples = state["tuples"].combine_chunks().to_batches()[0]
        keys, codes = partitions(self.tuples)
        *columns, sinces, marks = state["partitions"].columns
        names = list(zip(*map(key_values, columns), strict=True)) if columns else [()] * len(sinces)
        for name, since, mark in zip(names, sinces.to_pylist(), marks.to_pylist(), strict=True):
            self.partitions[name] = _Partition(since=since, mark=mark)
        for row, (code, value) in enumerate(zip(codes.tolist(), self.eviction.values(self.tuples), strict=True)):
            self.partitions[keys[code]].rows.append(row)
            self.partitions[keys[code]].values.append(value)
