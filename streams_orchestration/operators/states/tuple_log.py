"""A log of tuples in order of arrival, stored as additions and removals."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.columns import grown
from streams_orchestration.operators.states.incremental import Incremental, Pieces

LARGEST_CHUNK = 1 << 16
"""Chunks are not merged beyond this number of tuples."""
FEW = 4096
"""Up to this many removed tuples stay in memory, or more if they are at most half of all."""
ROOM = 4
"""The largest multiple of the places for which memory is kept when removed tuples are freed."""


class TupleLog(Incremental):
    """A log of tuples, addressed by place from 0 on. Places are stable until tuples are appended.

    Each tuple may have a flag, which is stored, and notes: numbers that the owner can compute again from the tuples.
    The Arrow chunks at least halve in size from one to the next, so appending is cheap. Each tuple has a number that is
    never reused, by which stored changes refer to it.
    """

    kind: ClassVar[str] = "tuples"

    def __init__(self, schema: pa.Schema, notes: Mapping[str, Any] | None = None) -> None:
        """Create an empty log.

        Args:
            schema: the schema of the tuples.
            notes: maps the names of notes to numpy types.
        """
        super().__init__()
        self.schema = schema
        self.notes: dict[str, np.ndarray] = {name: np.zeros(0, kind) for name, kind in (notes or {}).items()}
        """The notes by place; the arrays may be longer than the number of places."""
        self._reset()

    def _reset(self) -> None:
        self.size = 0
        """The number of places, including places of removed tuples."""
        self.count = 0
        """The number of tuples."""
        self.next = 0
        """The number that the next tuple gets."""
        self.numbers = np.zeros(0, np.int64)
        self.alive = np.zeros(0, bool)
        self.flags = np.zeros(0, bool)
        self._flagged: list[tuple[int, np.ndarray]] = []
        """Pairs of a clock and the numbers of tuples flagged then, since the last whole store."""
        self._chunks: list[pa.RecordBatch] = []
        self._removed: list[tuple[int, np.ndarray]] = []
        """Pairs of a clock and the numbers of tuples removed then, since the last whole store."""
        self._nexts: dict[int, int] = {}
        """Maps each stored version to the number of the next tuple at that time."""

    def clear(self) -> None:
        """Remove all tuples, and number further ones from 0. The next store is whole."""
        self.notes = {name: values[:0] for name, values in self.notes.items()}
        self._reset()
        self.forget_stored()

    def __len__(self) -> int:
        return self.count

    def append(self, tuples: pa.RecordBatch, **notes: np.ndarray) -> np.ndarray:
        """Append tuples with their notes, by default 0, and return their places. Earlier places may change."""
        self._compact()
        numbers = np.arange(self.next, self.next + tuples.num_rows)
        return self._append(tuples, numbers, notes)

    def _append(self, tuples: pa.RecordBatch, numbers: np.ndarray, notes: Mapping[str, np.ndarray]) -> np.ndarray:
        first, self.size = self.size, self.size + tuples.num_rows
        if not tuples.num_rows:
            return np.zeros(0, np.int64)
        self.touch()
        self.count += tuples.num_rows
        self.next = int(numbers[-1]) + 1
        self.numbers, self.alive = grown(self.numbers, self.size), grown(self.alive, self.size)
        self.flags = grown(self.flags, self.size)
        self.numbers[first : self.size], self.alive[first : self.size] = numbers, True
        self.flags[first : self.size] = False
        for name, values in self.notes.items():
            self.notes[name] = grown(values, self.size)
            self.notes[name][first : self.size] = notes.get(name, 0)
        self._chunks.append(tuples)
        while len(self._chunks) > 1:
            before, last = self._chunks[-2:]
            if before.num_rows > 2 * last.num_rows or before.num_rows + last.num_rows > LARGEST_CHUNK:
                break
            self._chunks[-2:] = [pa.concat_batches([before, last])]
        return np.arange(first, self.size)

    def places(self) -> np.ndarray:
        """Return the places of all tuples, in order."""
        return np.flatnonzero(self.alive[: self.size])

    def tested(self, names: Sequence[str], test: Callable[[pa.RecordBatch], np.ndarray]) -> np.ndarray:
        """Return a mask of all places, also of places of removed tuples.

        Args:
            names: some attributes.
            test: returns a mask of tuples with these attributes.
        """
        return np.concatenate([np.zeros(0, bool), *(test(chunk.select(names)) for chunk in self._chunks)])

    def take(self, places: np.ndarray, names: Sequence[str] | None = None) -> pa.RecordBatch:
        """Return the tuples at the given places, in the given order, with the named attributes, by default all."""
        chosen = self.schema.names if names is None else list(names)
        if not len(places):
            return pa.RecordBatch.from_pylist([], schema=self.schema).select(chosen)
        if (places[1:] > places[:-1]).all():
            parts = self._ascending(places, chosen)
            return pa.concat_batches(parts) if len(parts) > 1 else parts[0]
        begins = self._begins()
        first, last = (np.searchsorted(begins, (places.min(), places.max()), side="right") - 1).tolist()
        if first == last:
            return self._chunks[first].select(chosen).take(pa.array(places - begins[first]))
        if len(places) > self.size:
            whole = pa.concat_batches([chunk.select(chosen) for chunk in self._chunks])
            return whole.take(pa.array(places))
        chunks = np.searchsorted(begins, places, side="right") - 1
        order = np.argsort(chunks, kind="stable")
        bounds = np.searchsorted(chunks[order], np.arange(len(self._chunks) + 1))
        parts = [
            chunk.select(chosen).take(pa.array(places[order[start:end]] - begin))
            for chunk, start, end, begin in zip(self._chunks, bounds[:-1], bounds[1:], begins[:-1], strict=True)
            if start < end
        ]
        gathered = pa.concat_batches(parts)
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return gathered.take(pa.array(back))

    def _begins(self) -> np.ndarray:
        """Return the first place of each chunk, followed by the number of places."""
        return np.cumsum([0, *(chunk.num_rows for chunk in self._chunks)])

    def _ascending(self, places: np.ndarray, names: list[str]) -> list[pa.RecordBatch]:
        """Return the tuples at ascending places, with some attributes: a batch for each chunk that has some of them."""
        parts: list[pa.RecordBatch] = []
        begins = self._begins()
        bounds = np.searchsorted(places, begins).tolist()
        for chunk, begin, start, end in zip(self._chunks, begins.tolist(), bounds, bounds[1:], strict=False):
            if start < end:
                first = int(places[start]) - begin
                last = int(places[end - 1]) - begin
                tuples = chunk.select(names).slice(first, last - first + 1)
                every = tuples.num_rows == end - start
                parts.append(tuples if every else tuples.take(pa.array(places[start:end] - (begin + first))))
        return parts

    def remove(self, places: np.ndarray) -> None:
        """Remove the tuples at these positions, each of which must hold a tuple."""
        if not len(places):
            return
        self.touch()
        self.alive[places] = False
        self.count -= len(places)
        self._removed.append((self.clock, self.numbers[places]))

    def flag(self, places: np.ndarray) -> None:
        """Set the flag of the tuples at these places. Only flags that change are stored with the next state."""
        new = np.unique(places[~self.flags[places]])
        if len(new):
            self.touch()
            self.flags[new] = True
            self._flagged.append((self.clock, self.numbers[new]))

    def stored(self, name: str, version: int) -> None:
        """Record that a version was stored. Later changes count as changes since this version."""
        super().stored(name, version)
        self._nexts[version] = self.next

    def whole(self) -> Pieces:
        """Return all tuples with their numbers and flags, and forget earlier changes."""
        self._removed.clear()
        self._flagged.clear()
        self._nexts.clear()
        return self._pieces(self.places())

    def _pieces(self, places: np.ndarray) -> Pieces:
        return {
            "numbers": _ranges(self.numbers[places]),
            "flags": pa.table({"flag": self.flags[places]}),
            "tuples": pa.Table.from_batches(self._ascending(places, self.schema.names), self.schema),
        }

    def changes(self, since: int) -> Pieces:
        """Return added tuples that still exist, and the numbers of removed and newly flagged ones, since a version."""
        first = self._nexts[since]
        begin = int(np.searchsorted(self.numbers[: self.size], first))
        came = begin + np.flatnonzero(self.alive[begin : self.size])
        gone, flagged = (_numbers_since(each, since, first) for each in (self._removed, self._flagged))
        flagged = flagged[np.isin(flagged, gone, invert=True)]
        return {
            **self._pieces(came),
            "gone": _ranges(gone),
            "flagged": _ranges(flagged),
        }

    def rows_to_store(self, since: int) -> tuple[int, int]:
        """Return the number of tuples added after a version and not removed since, and the number of all tuples."""
        begin = int(np.searchsorted(self.numbers[: self.size], self._nexts[since]))
        return int(np.count_nonzero(self.alive[begin : self.size])), self.count

    @classmethod
    def load(cls, pieces: Pieces) -> TupleLog:
        """Return a log, without notes, from the pieces that `whole` returned."""
        log = cls(pieces["tuples"].schema)
        log._put(pieces)
        return log

    def apply(self, pieces: Pieces) -> None:
        """Apply the removals, flags and additions that `changes` returned."""
        for name, change in (("gone", self.remove), ("flagged", self.flag)):
            change(np.searchsorted(self.numbers[: self.size], _numbers(pieces[name])))
        self._put(pieces)

    def _put(self, pieces: Pieces) -> None:
        numbers, flags = _numbers(pieces["numbers"]), pieces["flags"].column("flag").to_numpy()
        begin, done = self.size, 0
        for batch in pieces["tuples"].to_batches():
            self._append(batch, numbers[done : done + batch.num_rows], {})
            done += batch.num_rows
        self.flag(begin + np.flatnonzero(flags))

    def _compact(self) -> None:
        """Free the memory of removed tuples if there are many."""
        if self.size - self.count > FEW:
            self._drop_chunks()
        gone = self.size - self.count
        if gone <= FEW or gone * 2 <= self.size:
            return
        kept = self.places()
        chunks, begin = [], 0
        for chunk in self._chunks:
            alive = self.alive[begin : begin + chunk.num_rows]
            begin += chunk.num_rows
            if alive.all():
                chunks.append(chunk)
            elif alive.any():
                chunks.append(chunk.filter(pa.array(alive)))
        self._chunks = chunks
        self._keep(kept, len(kept))

    def _drop_chunks(self) -> None:
        """Drop the first chunks as far as all their tuples are removed."""
        first = int(self.alive[: self.size].argmax()) if self.count else self.size
        begins = self._begins()
        dropped = int(np.searchsorted(begins, first, side="right")) - 1
        begin = int(begins[dropped])
        if not begin:
            return
        self._chunks = self._chunks[dropped:]
        self._keep(slice(begin, self.size), self.size - begin)

    def _keep(self, kept: np.ndarray | slice, count: int) -> None:
        """Keep some places, which are `count`, in the arrays that have a value for each place."""
        self.size = count
        self.numbers, self.flags = _front(self.numbers, kept, count), _front(self.flags, kept, count)
        self.notes = {name: _front(values, kept, count) for name, values in self.notes.items()}
        self.alive = _front(self.alive, kept, count)


def _front(values: np.ndarray, kept: np.ndarray | slice, count: int) -> np.ndarray:
    """Move the values at some places to the front, in place, or into a new array if much room would stay free."""
    if len(values) > ROOM * count:
        return np.array(values[kept])
    values[:count] = values[kept]
    return values


def _numbers_since(changes: Sequence[tuple[int, np.ndarray]], since: int, below: int) -> np.ndarray:
    """Return the numbers below a limit, ascending, of the changes after a clock."""
    numbers = np.concatenate([np.zeros(0, np.int64), *(numbers for clock, numbers in changes if clock > since)])
    return np.sort(numbers[numbers < below], kind="stable")  # a few ascending runs


def _ranges(numbers: np.ndarray) -> pa.Table:
    """Return ascending integers as ranges of consecutive ones; see `_numbers`."""
    count = len(numbers)
    front = numbers[: _last_range(numbers) + 1]  # the last range is often the longest, and has no other start
    starts = np.r_[0, 1 + np.flatnonzero(front[1:] != front[:-1] + 1)][:count]
    return pa.table({"first": numbers[starts], "count": np.diff(starts, append=count)})


def _last_range(numbers: np.ndarray) -> int:
    """Return the position at which the last range of consecutive ones begins among ascending integers; 0 without any.

    A number less its position never falls from one to the next, and is the same throughout a range.
    """
    count = len(numbers)
    if not count:
        return 0
    return bisect_left(range(count), int(numbers[-1]) - (count - 1), key=lambda at: int(numbers[at]) - at)


def _numbers(ranges: pa.Table) -> np.ndarray:
    """Return the integers in ranges that `_ranges` has made."""
    firsts, counts = (ranges.column(name).to_numpy() for name in ("first", "count"))
    return np.repeat(firsts - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
