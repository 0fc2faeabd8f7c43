"""Timers of event time: stores a time for each key, and finds the timers that are due."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from streams_orchestration.operators.errors.errors import DataError, ResultError
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.incremental import Incremental, Pieces
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END

_TIME, _ORDER = "@time", "@order"
MOST_AT_END = 100_000
"""The most timers that may be set and fire while the stream ends. More count as an endless loop."""


@dataclass(frozen=True, slots=True)
class DueTimers:
    """Timers that fire together, in order of time, then of setting."""

    keys: TupleBatch
    """The keys, with the attributes that `Timers` was made with."""
    times: np.ndarray
    """The time of each timer in ticks; int64."""

    def __len__(self) -> int:
        return len(self.times)


class _Run(NamedTuple):
    """Timers sorted by time, then by order of setting.

    Timers that were set again or deleted later stay in it as stale entries.
    """

    times: np.ndarray
    orders: np.ndarray
    rows: np.ndarray

    def part(self, chosen: Any) -> _Run:
        return _Run(self.times[chosen], self.orders[chosen], self.rows[chosen])


class Timers(Incremental):
    """The timers of an operator: one time for each key (EV60). A part of the operator's state.

    Times are ticks of the event-time attribute. A timer fires with the first step of the watermark that reaches its
    time. If a key is set again, the former time does not count. A key that does not fit its type raises DataError.

    Example:
        self.timers = Timers("user string")
        self.timers.set_many(batch, self.event_time.times(batch) + 10_000)
    """

    kind: ClassVar[str] = "timers"

    def __init__(self, keys: str | pa.Schema) -> None:
        """Create timers without any set.

        Args:
            keys: the attributes of a key, as Spark DDL or an Arrow schema; at least one, none nested.

        Raises:
            ValueError: the attributes cannot form keys.
        """
        schema = arrow_schema(keys) if isinstance(keys, str) else keys
        super().__init__()
        self._enter(KeyedState(schema, pa.schema({_TIME: pa.int64(), _ORDER: pa.int64()})))

    def _enter(self, entries: KeyedState) -> None:
        self.entries = entries
        """The time and the order of setting of each key."""
        self._runs: list[_Run] | None = None
        """The timers sorted by time; None until needed. They are not stored, but computed from `entries`."""
        self._renumbered = entries.renumbered
        self._next = 0
        self._left_at_end: int | None = None

    @classmethod
    def of(cls, entries: KeyedState) -> Timers:
        """Return timers with the given entries of a state."""
        timers = cls(entries.keys_schema)
        timers._enter(entries)
        return timers

    def set_many(self, keys: Any, times: Any) -> None:
        """Set the timers of keys, in order. If a key occurs twice, its last time counts.

        Args:
            keys: keys in any form that `KeyedState` takes, such as the batch of tuples.
            times: the time of each key in ticks.

        Raises:
            DataError: a key does not fit its type, or a time is not a whole number.
            ValueError: the number of times differs from the number of keys.
        """
        times = _ticks(times)
        keys = self.entries.key_batch(keys)
        if len(times) != keys.num_rows:
            message = f"{keys.num_rows} keys and {len(times)} times"
            raise ValueError(message)
        runs = self._index()
        rows = self.entries.rows_of(keys)
        orders = np.arange(self._next, self._next + len(rows))
        self._next += len(rows)
        self.entries.column(_TIME)[rows] = times
        self.entries.column(_ORDER)[rows] = orders
        if len(rows):
            runs.append(_sorted(_Run(times, orders, rows)))
        while len(runs) > 1 and len(runs[-2].times) < 2 * len(runs[-1].times):
            merged = self._merged(runs[-2:])
            runs[-2:] = [merged] if len(merged.times) else []

    def delete_many(self, keys: Any) -> None:
        """Delete the timers of keys. Keys without a timer are ignored."""
        self.entries.delete_many(keys)

    def set(self, key: Any, time: int) -> None:
        """Set the timer of one key; a key of several attributes is a tuple.

        Raises:
            DataError: the key does not fit its type, or the time is not a whole number.
            ValueError: the key has another number of parts than the timers' keys.
        """
        self.set_many(self._one(key), [time])

    def delete(self, key: Any) -> None:
        """Delete the timer of one key, if it has one."""
        self.delete_many(self._one(key))

    def get(self, key: Any) -> int | None:
        """Return the time of one key's timer in ticks; None if it has none."""
        entry = self.entries.get(key)
        return None if entry is None else entry[0]

    def __len__(self) -> int:
        return len(self.entries)

    def take_due(self, watermark: int) -> DueTimers | None:
        """Remove all timers that a watermark reaches, and return them; None without any.

        Raises:
            ResultError: timers that fire at the end of the stream set timers without end.
        """
        due = self._reached(watermark)
        if not len(due.times):
            return None
        self._count(watermark, len(due.times))
        keys = self.entries.index.keys(due.rows)
        self.entries.delete_rows(due.rows)
        return DueTimers(TupleBatch.from_table(keys).const(), due.times)

    def expire(self, watermark: int) -> Iterator[tuple[Any, int]]:
        """Remove the timers that a watermark reaches one by one, and yield each key with its time.

        The caller may set and delete timers during the iteration, with effect at once.

        Raises:
            ResultError: timers that fire at the end of the stream set timers without end.
        """
        pending: list[tuple[int, int, int, Any]] = []
        while True:
            due = self._reached(watermark)
            if len(due.times):
                keys = (tuple(row.values()) for row in self.entries.index.keys(due.rows).to_pylist())
                for item in zip(*(part.tolist() for part in due), keys, strict=True):
                    heapq.heappush(pending, item)
            while pending and not self._valid(pending[0][1], pending[0][2]):
                heapq.heappop(pending)
            if not pending:
                return
            time, _, row, key = heapq.heappop(pending)
            self._count(watermark, 1)
            self.entries.delete_rows(np.array([row]))
            yield (key if len(key) > 1 else key[0]), time

    def has_changed(self, since: int) -> bool:
        """Return True if a timer was set, deleted or has fired after a version."""
        return self.entries.has_changed(since)

    def stored(self, name: str, version: int) -> None:
        """Record that a version was stored. Later changes count as changes since this version."""
        super().stored(name, version)
        self.entries.stored(name, version)

    def whole(self) -> Pieces:
        """Return all timers."""
        return self.entries.whole()

    def changes(self, since: int) -> Pieces:
        """Return the timers that were removed or set after a version."""
        return self.entries.changes(since)

    def rows_to_store(self, since: int) -> tuple[int, int]:
        """Return the number of timers set after a version, and the number of all timers."""
        return self.entries.rows_to_store(since)

    @classmethod
    def load(cls, pieces: Pieces) -> Timers:
        """Return timers from the pieces that `whole` returned."""
        return cls.of(KeyedState.load(pieces))

    def apply(self, pieces: Pieces) -> None:
        """Apply the removals and settings that `changes` returned."""
        self._runs = None
        self.entries.apply(pieces)

    def _index(self) -> list[_Run]:
        """Return the sorted runs. They are computed from the entries after a restore, or after rows were renumbered."""
        entries = self.entries
        if self._runs is None or self._renumbered != entries.renumbered:
            rows = entries.rows()
            whole = _Run(entries.column(_TIME)[rows], entries.column(_ORDER)[rows], rows)
            self._runs = [_sorted(whole)] if len(rows) else []
            self._renumbered = entries.renumbered
            self._next = int(whole.orders.max()) + 1 if len(rows) else 0
        return self._runs

    def _reached(self, watermark: int) -> _Run:
        """Remove from the runs the timers that a watermark reaches, and return them."""
        runs, taken = self._index(), []
        for number, run in enumerate(runs):
            if run.times[0] <= watermark:
                count = int(np.searchsorted(run.times, watermark, side="right"))
                taken.append(run.part(slice(0, count)))
                runs[number] = run.part(slice(count, None))
        if not taken:
            nothing = np.zeros(0, np.int64)
            return _Run(nothing, nothing, nothing)
        runs[:] = [run for run in runs if len(run.times)]
        return self._merged(taken)

    def _merged(self, runs: list[_Run]) -> _Run:
        """Return one run of several, without stale timers."""
        times, orders, rows = (np.concatenate(parts) for parts in zip(*runs, strict=True))
        whole = _Run(times, orders, rows)
        return _sorted(whole.part(self._valid(orders, rows)))

    def _valid(self, orders: Any, rows: Any) -> Any:
        """Return a mask of the entries that were neither set again nor deleted; True if that holds for all."""
        return self.entries.index.alive[rows] & (self.entries.column(_ORDER)[rows] == orders)

    def _count(self, watermark: int, fired: int) -> None:
        """Count the timers that fire at the end of the stream, and raise ResultError if there are too many."""
        if watermark != END:
            return
        if self._left_at_end is None:
            self._left_at_end = len(self) + MOST_AT_END
        self._left_at_end -= fired
        if self._left_at_end < 0:
            message = (
                f"more than {MOST_AT_END:,} timers were set while the stream ended, and fired at once; a timer that "
                f"sets itself again must stop when the watermark is {END}, the greatest one"
            )
            raise ResultError(message)

    def _one(self, key: Any) -> dict[str, list[Any]]:
        names = self.entries.keys_schema.names
        return {name: [part] for name, part in zip(names, (key,) if len(names) == 1 else key, strict=True)}


def _sorted(run: _Run) -> _Run:
    return run.part(np.lexsort((run.rows, run.orders, run.times)))


def _ticks(times: Any) -> np.ndarray:
    """Return times as int64."""
    values = times.to_numpy(zero_copy_only=False) if isinstance(times, pa.Array) else np.asarray(times)
    if len(values) and values.dtype.kind != "i":
        message = f"a timer's time is a whole number of ticks, not {values[0]!r}; use self.event_time.times(batch)"
        raise DataError(message)
    return values.astype(np.int64)
