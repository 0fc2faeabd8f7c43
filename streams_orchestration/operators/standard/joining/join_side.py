"""One of the two windows of a Join."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from streams_orchestration.operators.contract.context import OperatorContext
from streams_orchestration.operators.keys.comparison import distinct, key_batch, key_schema
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.joining.join_parameters import SIDES
from streams_orchestration.operators.states.key_index import KeyIndex
from streams_orchestration.operators.states.rescaling import Route
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.tuple_log import FEW, TupleLog
from streams_orchestration.operators.windows.clause import ARRIVAL, Window
from streams_orchestration.operators.windows.deltas import comparable, left_by
from streams_orchestration.operators.windows.partition_eviction import PartitionEviction
from streams_orchestration.operators.windows.rescaling import divide_log


class JoinSide:
    """The window of one stream. On an outer side, matched tuples are flagged."""

    def __init__(
        self, schema: pa.Schema, window: Window, keys: list[str], partition: Sequence[str] = (), *, outer: bool
    ) -> None:
        self.policy = policy = window.eviction
        self.keys = keys
        self.partition = partition
        self.outer = outer
        value = policy.value_type(schema).to_pandas_dtype()
        self.log = TupleLog(schema, {"key": np.int64, "value": value, "partition": np.int64})
        """For each tuple, the row of its key in the index (-1 if a part is null), the value that the window's policy
        compares, and, if partitions are evicted, the number of its partition.
        """
        holds = not (policy.kind == "count" and policy.size == 0)
        types = [schema.field(name).type for name in partition]
        self.eviction = PartitionEviction(window.partitions, window, types) if window.partitions and holds else None
        self._given_up: list[int] = []
        """The numbers of the partitions that the tuples inserted last evict."""
        self.index: KeyIndex = KeyIndex(key_schema([schema.field(name).type for name in keys]))
        self.ended = False

    def clear(self) -> None:
        """Return to the initial state: without tuples and partitions, and before the end of the stream."""
        self.log.clear()
        self.index.clear()
        self.ended = False
        if self.eviction is not None:
            self.eviction.clear()

    def partners(self, keys: list[pa.Array], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs of given tuples and tuples in this window with equal keys; all pairs if there are no keys.

        Returns:
            Rows of the given tuples, and positions in the log, ordered by both.
        """
        places = self.log.places()
        if not keys:
            return np.repeat(np.arange(count), len(places)), np.tile(places, count)
        known = known_keys(keys)
        wanted = np.full(count, -1)
        wanted[known] = self.index.find(key_batch(keys, known))
        concerned = np.zeros(self.index.rows + 1, bool)
        concerned[wanted] = True
        concerned[-1] = False
        rows: np.ndarray = self.log.notes["key"][places]
        places, rows = places[concerned[rows]], rows[concerned[rows]]
        order = np.argsort(rows, kind="stable")
        first, last = (np.searchsorted(rows[order], wanted, side) for side in ("left", "right"))
        counts = last - first
        starts = np.repeat(first - (np.cumsum(counts) - counts), counts)
        return np.repeat(np.arange(count), counts), places[order[starts + np.arange(len(starts))]]

    def insert(self, batch: pa.RecordBatch) -> np.ndarray:
        """Add tuples to the window, and return their positions in the log.

        Raises:
            DataError: a value that the window's policy compares is null or NaN.
        """
        if self.index.rows > 2 * len(self.log) + FEW:
            self.index.clear()
            at = self.log.places()
            self.log.notes["key"][at] = self._index(self.log.take(at))
        return self.log.append(
            batch, key=self._index(batch), value=self.policy.values(batch), partition=self._numbers(batch)
        )

    def _numbers(self, batch: pa.RecordBatch) -> np.ndarray:
        """Return the number of each new tuple's partition, and remember the partitions that they evict.

        Without eviction of partitions, all numbers are 0.
        """
        if self.eviction is None:
            return np.zeros(batch.num_rows, np.int64)
        columns = [batch.column(name) for name in self.partition]
        heads, codes = distinct(columns, batch.num_rows)
        numbers, codes, evicted = self.eviction.arrive(key_batch(columns, heads), codes, batch)
        self._given_up = [each.number for each in evicted]
        return numbers.column(0).to_numpy()[codes]

    def evict(self, came: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evict tuples. They can still be read from the log until others are inserted.

        Args:
            came: the positions of the tuples that were inserted last.

        Returns:
            For each evicted unmatched tuple of an outer side: the index of the inserted tuple that evicted it, and its
                position.
        """
        if self.partition:
            return self._evict_partitions(came)
        places, count = self.log.places(), len(came)
        entering = np.arange(len(places) - count, len(places))
        if self.policy.kind == "count":
            lows = np.maximum(entering + 1 - int(self.policy.size), 0)
        else:
            values = comparable(self.log.notes["value"][places])
            lows = left_by(values, np.array([0, len(places)]), entering, self.policy.amount)
        left = places[: int(lows[-1])] if count else places[:0]
        self.log.remove(left)
        alone = np.flatnonzero(~self.log.flags[left]) if self.outer else np.zeros(0, np.int64)
        return np.searchsorted(lows, alone, side="right"), left[alone]

    def expired(self, now: int) -> np.ndarray:
        """Evict the tuples of a time window that are too old by the clock, at a unix time in nanoseconds.

        Return the positions of those that an outer side must submit.
        """
        places = self.log.places()
        left = places[self.leaves_at(places) <= now] if self.policy.attribute == ARRIVAL else places[:0]
        self.log.remove(left)
        if self.eviction is not None and len(left):
            self.eviction.emptied()
            self.eviction.recall(self._held())
        return left[~self.log.flags[left]] if self.outer else left[:0]

    def leaves_at(self, places: np.ndarray) -> np.ndarray:
        """Return the first unix time in nanoseconds at which the clock evicts each tuple."""
        return self.log.notes["value"][places] + int(self.policy.size) + 1

    def _evict_partitions(self, came: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evict tuples as `evict` does, from the window of each partition.

        The tuples of evicted partitions are dropped without a result, as in IBM Streams.
        """
        places, count = self.log.places(), len(came)
        if self.eviction is None:
            tuples = self.log.take(places, self.partition)
            columns = tuples.columns
        else:
            columns = [pa.array(self.log.notes["partition"][places])]
        heads, codes = distinct(columns, len(places))
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(len(heads) + 1))
        entering = np.flatnonzero(order >= len(places) - count)
        owners = codes[order[entering]]
        if self.policy.kind == "count":
            lows = np.maximum(entering + 1 - int(self.policy.size), bounds[owners])
        else:
            lows = left_by(comparable(self.log.notes["value"][places[order]]), bounds, entering, self.policy.amount)
        ends = bounds[:-1].copy()
        np.maximum.at(ends, owners, lows)
        leaving = np.flatnonzero(np.arange(len(places)) < ends[codes[order]])
        # lows ascend over all partitions, and the lows of a partition begin at its bound
        at = order[entering[np.searchsorted(lows, leaving, side="right")]] - (len(places) - count)
        in_order = np.lexsort((order[leaving], at))
        at, left = at[in_order], places[order[leaving[in_order]]]
        self.log.remove(np.sort(left))
        if self._given_up:
            places = self.log.places()
            self.log.remove(places[np.isin(self.log.notes["partition"][places], self._given_up)])
            self._given_up = []
        alone = np.flatnonzero(~self.log.flags[left]) if self.outer else np.zeros(0, np.int64)
        return at[alone], left[alone]

    def meet(self, places: np.ndarray) -> None:
        """Flag tuples as matched, if this is an outer side."""
        if self.outer:
            self.log.flag(places)

    def alone(self) -> np.ndarray:
        """Return the positions of unmatched tuples, which an outer join submits at the end; none on an inner side."""
        places = self.log.places()
        return places[~self.log.flags[places]] if self.outer else places[:0]

    def _index(self, tuples: pa.RecordBatch) -> np.ndarray:
        """Enter the keys of tuples into the index, and return the row of each; -1 if a part of the key is null."""
        keys = [tuples.column(name) for name in self.keys]
        rows = np.full(tuples.num_rows, -1)
        if keys:
            known = known_keys(keys)
            rows[known] = self.index.add(key_batch(keys, known))
        return rows

    def _held(self) -> Iterator[tuple[int, Any]]:
        """Yield the partition number of each tuple and the value that the policy compares, in order of arrival."""
        places = self.log.places()
        yield from zip(*(self.log.notes[name][places].tolist() for name in ("partition", "value")), strict=True)

    def dump(self, prefix: str) -> dict[str, Any]:
        """Return the window, for a checkpoint."""
        evicting = {} if self.eviction is None else self.eviction.dump()
        return {
            f"{prefix}.{name}": part for name, part in (evicting | {"tuples": self.log, "ended": self.ended}).items()
        }

    def load(self, state: Mapping[str, Any], prefix: str) -> None:
        """Restore a state that `dump` returned."""
        self.log, self.ended = state[f"{prefix}.tuples"], state[f"{prefix}.ended"]
        tuples = self.log.take(np.arange(self.log.size))
        numbers = np.zeros(tuples.num_rows, np.int64)
        if self.eviction is not None:
            self.eviction.load({name.removeprefix(f"{prefix}."): part for name, part in state.items()})
            columns = [tuples.column(name) for name in self.partition]
            numbers = self.eviction.numbers_of(key_batch(columns, np.arange(tuples.num_rows)))
        values = self.policy.values(tuples).copy()
        self.log.notes = {"key": self._index(tuples), "value": values, "partition": numbers}
        if self.eviction is not None:
            self.eviction.recall(self._held())

    def divided(self, states: Sequence[State], prefix: str, route: Route, port: int) -> list[dict[str, Any]]:
        """Divide the windows of several replicas among new channels, merging tuples by the policy's values.

        Tuples of one replica keep their order.
        """
        logs = [divide_log(state[f"{prefix}.tuples"], route, port) for state in states]
        divided: list[dict[str, Any]] = []
        for channel in range(route.width):
            parts = [each[channel] for each in logs if each[channel].tuples.num_rows]
            log = TupleLog(self.log.schema)
            if parts:
                tuples = pa.concat_batches([part.tuples for part in parts])
                reached = [np.maximum.accumulate(self.policy.values(part.tuples)) for part in parts]
                order = np.argsort(np.concatenate(reached), kind="stable")
                log.append(tuples.take(pa.array(order)))
                log.flag(np.flatnonzero(np.concatenate([part.flags for part in parts])[order]))
            ended = all(state[f"{prefix}.ended"] for state in states)
            divided.append({f"{prefix}.tuples": log, f"{prefix}.ended": ended})
        return divided


def known_keys(keys: list[pa.Array]) -> np.ndarray:
    """Return the rows in which no key part is null."""
    valid = [column.is_valid().to_numpy(zero_copy_only=False) for column in keys if column.null_count]
    return np.flatnonzero(np.logical_and.reduce(valid)) if valid else np.arange(len(keys[0]))


def joined_schema(context: OperatorContext, variables: Sequence[str]) -> pa.Schema:
    """Return the schema of a pair. Attributes that both streams have get the prefix `lhs_` or `rhs_`.

    Args:
        context: the context of the Join.
        variables: the variables of SPL logic that are columns of both streams. A pair has them at its end.
    """
    left, right = context.inputs
    shared = set(left.names) & set(right.names)
    fields = [
        field.with_name(f"{side.lower()}_{field.name}") if field.name in shared else field
        for side, schema in zip(SIDES, (left, right), strict=True)
        for field in schema
    ]
    return pa.schema([*fields, *map(left.field, variables)])


def taken_with(log: TupleLog, places: np.ndarray, absent: pa.RecordBatch) -> pa.RecordBatch:
    """Return the tuples at places of a log, with the tuple `absent` for -1."""
    there = places >= 0
    tuples = log.take(places[there])
    if there.all():
        return tuples
    both = pa.concat_batches([tuples, absent])
    return both.take(pa.array(np.where(there, np.cumsum(there) - 1, tuples.num_rows)))
