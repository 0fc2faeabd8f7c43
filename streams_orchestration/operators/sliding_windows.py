"""Sliding windows: the latest tuples, looked at whenever a policy says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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


class Firings(NamedTuple):
    """What is in windows whenever one is triggered: a range of tuples each, partition by partition."""

    tuples: pa.RecordBatch
    starts: np.ndarray
    ends: np.ndarray


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

    def insert(self, keys: list[Key], codes: np.ndarray, batch: pa.RecordBatch) -> Firings:
        """Let tuples arrive, one after another."""
        tuples = batch if self.tuples is None else pa.concat_batches([self.tuples, batch])
        base = tuples.num_rows - batch.num_rows
        for key in keys:
            self.partitions.setdefault(key, _Partition())
        counted = self.eviction.attribute is None and self.trigger.attribute is None
        fired = (self._count if counted else self._visit)(keys, codes, batch, base)
        places, rows, begin = {}, [np.zeros(0, np.int64)], 0
        for key, part in self.partitions.items():
            places[key] = begin
            begin += len(part.rows)
            rows.append(np.array(part.rows, np.int64))
        offsets = np.array([places[key] for key in keys], np.int64)[fired[:, 0]]
        self._compact(tuples)
        return Firings(tuples.take(pa.array(np.concatenate(rows))), offsets + fired[:, 1], offsets + fired[:, 2])

    def _count(self, keys: list[Key], codes: np.ndarray, _batch: pa.RecordBatch, base: int) -> np.ndarray:
        """All windows by count: where they begin and end is plain, without looking at one tuple after another."""
        size, step = int(self.eviction.size), int(self.trigger.size)
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(len(keys) + 1)).tolist()
        fired = [np.zeros((0, 4), np.int64)]
        for code, key in enumerate(keys):
            part, arrived = self.partitions[key], order[bounds[code] : bounds[code + 1]]
            before, count = len(part.rows), len(arrived)
            at = np.arange(step - part.since, count + 1, step)  # 1 for the first one that arrived
            ends = before + at
            fired.append(
                np.column_stack([np.full(len(at), code), np.maximum(ends - size, part.low), ends, arrived[at - 1]])
            )
            part.rows += (base + arrived).tolist()
            part.values += [0] * count
            part.since = (part.since + count) % step
            part.low = max(part.low, len(part.rows) - size)
        found = np.concatenate(fired)
        return found[np.argsort(found[:, 3], kind="stable"), :3]

    def _visit(self, keys: list[Key], codes: np.ndarray, batch: pa.RecordBatch, base: int) -> np.ndarray:
        fired: list[tuple[int, int, int]] = []
        triggers = self.trigger.values(batch)
        for i, (code, value) in enumerate(zip(codes.tolist(), self.eviction.values(batch), strict=True)):
            part = self.partitions[keys[code]]
            if self.trigger.attribute is not None:
                if part.mark is None:
                    part.mark = triggers[i]
                elif triggers[i] - part.mark > self.trigger.size:
                    fired.append((code, part.low, len(part.rows)))
                    part.mark = triggers[i]
            self._evict(part, value)
            part.rows.append(base + i)
            part.values.append(value)
            part.since += 1
            if self.trigger.kind == "count" and part.since == self.trigger.size:
                fired.append((code, part.low, len(part.rows)))
                part.since = 0
        return np.array(fired, np.int64).reshape(-1, 3)

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
