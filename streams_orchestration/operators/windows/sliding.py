"""Sliding windows: the latest tuples, evaluated whenever a policy triggers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from streams_orchestration.operators.keys.comparison import key_schema
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration.operators.windows.clause import ARRIVAL, Policy
from streams_orchestration.operators.windows.deltas import comparable, left_by, restarts

Partitions = Callable[["pa.RecordBatch"], tuple["pa.RecordBatch", "np.ndarray"]]
"""Returns the distinct partitions of tuples, and for each tuple the index of its partition."""


class Firings(NamedTuple):
    """The windows at each trigger: ranges of tuples."""

    tuples: pa.RecordBatch
    starts: np.ndarray
    ends: np.ndarray
    at: np.ndarray
    """For each trigger, the position of the new tuple that caused it."""


class _Arrivals(NamedTuple):
    """The partitions that received tuples, with all tuples in their windows, partition by partition."""

    places: np.ndarray
    """The places of the tuples in the log, partition by partition."""
    bounds: np.ndarray
    """The start of each partition in `places`, and the end of the last one."""
    new: np.ndarray
    """The indexes of the new tuples in `places`."""
    owners: np.ndarray
    """For each new tuple, the index of its partition in `bounds`."""
    new_bounds: np.ndarray
    """The start of each partition in `new`, and the end of the last one."""


class SlidingWindows:
    """The tuples in the windows of all partitions, and the triggers of these windows."""

    def __init__(
        self,
        eviction: Policy,
        trigger: Policy,
        schema: pa.Schema,
        partition: Sequence[pa.DataType],
        partitions: Partitions,
        *,
        full_only: bool = False,
    ) -> None:
        """Start with no tuples.

        Args:
            eviction: the policy by which tuples leave.
            trigger: the policy by which windows are evaluated.
            schema: the schema of the tuples.
            partition: the types of a partition's key; none if there is only one partition.
            partitions: returns the partitions of tuples that are already in windows.
            full_only: ignore triggers until the partition's window has been full: it has held as many tuples as its
                count, or has evicted a tuple by its delta.
        """
        self.eviction = eviction
        self.trigger = trigger
        self._partitions_of = partitions
        self.log = TupleLog(schema, {"partition": np.int64, "value": eviction.value_type(schema).to_pandas_dtype()})
        """Notes of each tuple: its partition's row, and the value that the eviction policy compares."""
        self._full_only, self._keyed = full_only, bool(partition)
        values = [("since", pa.int64()), ("mark", trigger.value_type(schema)), ("marked", pa.bool_())]
        if full_only:
            values.append(("full", pa.bool_()))
        self.partitions = KeyedState(key_schema(partition), pa.schema(values))
        """For each partition: the tuples since its last trigger, and the value of the last trigger by delta, if any."""
        self._renumbered = 0

    def clear(self) -> None:
        """Remove all tuples."""
        self.log.clear()
        self.partitions.clear()

    def insert(self, keys: pa.RecordBatch, codes: np.ndarray, batch: pa.RecordBatch) -> Firings:
        """Add tuples one after another, remove those that leave their windows, and return the windows at each trigger.

        A trigger by the clock fires elsewhere, so it gives none here. With `full_only`, windows that have never been
        full are left out.

        Args:
            keys: the distinct partitions.
            codes: for every tuple, the index of its partition in `keys`.
            batch: the tuples. A value that a policy compares and that is null or NaN raises DataError.
        """
        if not batch.num_rows:
            return Firings(batch, *(np.zeros(0, np.int64),) * 3)
        self.note_renumbered()
        rows = self.partitions.rows_of(keys)
        came = self.log.append(batch, partition=rows[codes], value=self.eviction.values(batch))
        arrivals = self._arrivals(rows, int(came[0]))
        lows = self._lows(arrivals)
        if self.trigger.kind == "clock":
            fires = starts = ends = np.zeros(0, np.int64)
        elif self.trigger.attribute is None:
            fires, starts, ends = self._counted(rows, arrivals, lows)
        else:
            fires, starts, ends = self._moved(rows, arrivals, lows, self.trigger.values(batch), int(came[0]))
        if self._full_only:
            kept = self._after_full(rows, arrivals, lows)[fires]
            fires, starts, ends = fires[kept], starts[kept], ends[kept]
        left = np.arange(len(arrivals.places)) < np.repeat(lows[arrivals.new_bounds[1:] - 1], np.diff(arrivals.bounds))
        at = arrivals.places[arrivals.new[fires]] - came[0]
        in_order = np.argsort(at)
        firings = self._firings(arrivals.places, starts[in_order], ends[in_order], at[in_order])
        self.log.remove(arrivals.places[left])
        return firings

    def _arrivals(self, rows: np.ndarray, first: int) -> _Arrivals:
        """Return the tuples of the partitions in these rows; `first` is the place of the first new tuple."""
        position = np.full(self.partitions.index.rows, -1)
        position[rows] = np.arange(len(rows))
        alive = self.log.places()
        positions = position[self.log.notes["partition"][alive]]
        concerned = np.flatnonzero(positions >= 0)
        order = concerned[np.argsort(positions[concerned], kind="stable")]
        places = alive[order]
        bounds = np.searchsorted(positions[order], np.arange(len(rows) + 1))
        new = np.flatnonzero(places >= first)
        owners = positions[order[new]]
        return _Arrivals(places, bounds, new, owners, np.searchsorted(owners, np.arange(len(rows) + 1)))

    def _lows(self, arrivals: _Arrivals) -> np.ndarray:
        """Return the oldest tuple that is still in the window when a new one arrives, by new tuple."""
        if self.eviction.attribute is None:
            return np.maximum(arrivals.bounds[arrivals.owners], arrivals.new + 1 - int(self.eviction.size))
        values = comparable(self.log.notes["value"][arrivals.places])
        return left_by(values, arrivals.bounds, arrivals.new, self.eviction.amount)

    def _after_full(self, rows: np.ndarray, arrivals: _Arrivals, lows: np.ndarray) -> np.ndarray:
        """Return a mask of the new tuples at which a trigger counts, and note the partitions that have been full.

        A trigger by count comes after the tuple is inserted, and one by delta before.
        """
        column = self.partitions.column("full")
        if self.eviction.attribute == ARRIVAL:  # IBM Streams counts a window of a time as full from its first tuple on
            full = np.ones(len(lows), bool)
        elif self.eviction.attribute is None:
            full = arrivals.new + 1 - lows >= self.eviction.size
        else:
            full = lows > arrivals.bounds[arrivals.owners]
        # once full is always full
        ever = np.maximum.accumulate(np.where(full, np.arange(len(full)), -1)) >= arrivals.new_bounds[arrivals.owners]
        ever |= column[rows][arrivals.owners]
        before = np.r_[False, ever[:-1]]
        before[arrivals.new_bounds[:-1]] = column[rows]
        column[rows] = ever[arrivals.new_bounds[1:] - 1]
        return ever if self.trigger.attribute is None else before

    def _counted(self, rows: np.ndarray, arrivals: _Arrivals, lows: np.ndarray) -> tuple[np.ndarray, ...]:
        """Count the new tuples; return those that trigger, and the ranges of their windows, which include them."""
        step = int(self.trigger.size)
        column = self.partitions.column("since")
        counts = np.diff(arrivals.new_bounds)
        ranks = np.arange(len(arrivals.new)) - arrivals.new_bounds[arrivals.owners] + 1
        fires = np.flatnonzero((column[rows][arrivals.owners] + ranks) % step == 0)
        column[rows] = (column[rows] + counts) % step
        return fires, lows[fires], arrivals.new[fires] + 1

    def _moved(
        self, rows: np.ndarray, arrivals: _Arrivals, lows: np.ndarray, triggers: np.ndarray, first: int
    ) -> tuple[np.ndarray, ...]:
        """Move the marks of triggers by delta; return the tuples that trigger, and the ranges of the windows before."""
        marks, marked = self.partitions.column("mark"), self.partitions.column("marked")
        held, values = marked[rows], triggers[arrivals.places[arrivals.new] - first]
        reached = self.trigger.read(marks[rows])
        mixed = comparable(np.concatenate([reached[held], values]))
        mixed = mixed[len(mixed) - len(values) :]
        fires = restarts(mixed, arrivals.new_bounds, held, reached.astype(mixed.dtype), self.trigger.amount)
        before = np.r_[0, lows[:-1]]
        before[arrivals.new_bounds[:-1]] = arrivals.bounds[:-1]
        moves = fires.copy()
        moves[arrivals.new_bounds[:-1][~held]] = True
        last = np.maximum.accumulate(np.where(moves, np.arange(len(moves)), -1))[arrivals.new_bounds[1:] - 1]
        anew = last >= arrivals.new_bounds[:-1]
        marks[rows[anew]], marked[rows] = self.trigger.stored(values[last[anew]]), True
        positions = np.flatnonzero(fires)
        return positions, before[positions], arrivals.new[positions]

    def fire(self) -> Firings:
        """Return the windows of all partitions that have tuples, in the order of their oldest tuples; the tuples stay.

        With `full_only`, the windows of partitions that were never full are left out.
        """
        self.note_renumbered()
        places = self.log.places()
        rows = self.log.notes["partition"][places]
        if self._full_only:
            kept = self.partitions.column("full")[rows]
            places, rows = places[kept], rows[kept]
        firsts, codes = np.unique(rows, return_index=True, return_inverse=True)[1:]
        codes = np.argsort(np.argsort(firsts))[codes]
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(len(firsts) + 1))
        return self._firings(places[order], bounds[:-1], bounds[1:], np.zeros(len(firsts), np.int64))

    @property
    def fires_empty(self) -> bool:
        """True if a trigger would evaluate an empty window, because no tuple is kept.

        With `full_only`, the window must also have been full once, and the value is False for windows with partitions.
        """
        if len(self.log) or not self._full_only:
            return not len(self.log)
        return not self._keyed and bool(self.partitions.column("full")[self.partitions.rows()].any())

    def expire(self, limit: float) -> bool:
        """Evict the tuples whose compared value is less than a limit; return True if there were any.

        A partition without tuples is forgotten unless its next trigger depends on its past.
        """
        self.note_renumbered()
        places = self.log.places()
        gone = self.log.notes["value"][places] < limit
        if not gone.any():
            return False
        self.log.remove(places[gone])
        if self._keyed:
            occupied = np.zeros(self.partitions.index.rows, bool)
            occupied[self.log.notes["partition"][places[~gone]]] = True
            rows = self.partitions.rows()
            kept = occupied[rows] | self.partitions.column("marked")[rows] | (self.partitions.column("since")[rows] > 0)
            self.partitions.delete_rows(rows[~kept])
        return True

    def _firings(self, places: np.ndarray, starts: np.ndarray, ends: np.ndarray, at: np.ndarray) -> Firings:
        """Read the tuples that are in any of these windows; return them with the range of each window among them."""
        steps = np.bincount(starts, minlength=len(places) + 1) - np.bincount(ends, minlength=len(places) + 1)
        seen = np.cumsum(steps[:-1]) > 0
        moved = np.r_[0, np.cumsum(seen)]
        return Firings(self.log.take(places[seen]), moved[starts], moved[ends], at)

    def note_renumbered(self) -> None:
        """Note the partitions of the logged tuples again if a stored state has renumbered them.

        Call it before partitions get other numbers: a partition that is evicted and comes again has a new one.
        """
        if self._renumbered != self.partitions.renumbered:
            self._note()

    def _note(self) -> None:
        """Compute the partition and the eviction value of every logged tuple, after a restore or a renumbering."""
        tuples = self.log.take(np.arange(self.log.size))
        keys, codes = self._partitions_of(tuples)
        rows = self.partitions.index.find(keys)
        self.log.notes = {"partition": rows[codes], "value": self.eviction.values(tuples).copy()}
        self._renumbered = self.partitions.renumbered

    def give_up(self, keys: pa.RecordBatch) -> None:
        """Remove evicted partitions with their tuples."""
        rows = self.partitions.index.find(keys)
        rows = rows[rows >= 0]
        gone = np.zeros(self.partitions.index.rows, bool)
        gone[rows] = True
        places = self.log.places()
        self.log.remove(places[gone[self.log.notes["partition"][places]]])
        self.partitions.delete_rows(rows)

    def held(self) -> Iterator[tuple[int, Any]]:
        """Yield the partition number and the compared value of every tuple in a window, in order of arrival."""
        places = self.log.places()
        numbers = self.partitions.key_column("0")[self.log.notes["partition"][places]]
        return zip(numbers.tolist(), self.log.notes["value"][places].tolist(), strict=True)

    def dump(self) -> dict[str, Any]:
        """Return the tuples and the states of triggers, for a checkpoint."""
        return {"tuples": self.log, "partitions": self.partitions}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore a state that `dump` returned."""
        self.log, self.partitions = state["tuples"], state["partitions"]
        self._note()
