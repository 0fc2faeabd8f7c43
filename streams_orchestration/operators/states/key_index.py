"""A hash table from keys in columns to row numbers, which looks up and adds many keys at once."""

from __future__ import annotations

from streams_orchestration.operators.expressions.evaluation import frame
from streams_orchestration.operators.keys.comparison import as_given, comparable, comparable_type, mixed
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.columns import Cells, StateColumn, grown

FULLNESS = 2
"""The table has at least this many slots per row."""


def hashes_of(keys: pa.RecordBatch) -> np.ndarray:
    """Return a 64-bit hash of every key, valid in this process.

    Integers are hashed here, since Polars wakes its threads for a single key, too.
    """
    if not all(pa.types.is_integer(kind) for kind in keys.schema.types):
        return frame(keys).hash_rows().to_numpy()
    hashes, seed = np.zeros(keys.num_rows, np.uint64), np.uint64(0x9E3779B97F4A7C15)
    for column in keys.columns:
        numbers = column.fill_null(0) if column.null_count else column
        hashes = mixed(hashes + numbers.to_numpy().astype(np.uint64), seed)
    return hashes


def comparable_keys(keys: pa.RecordBatch) -> pa.RecordBatch:
    """Return keys with all their parts converted by `comparable`."""
    return pa.RecordBatch.from_arrays([comparable(column) for column in keys.columns], keys.schema.names)


class KeyIndex:
    """Keys in order of arrival, each with a row number. A key that is removed and added again gets a new row.

    The table uses open addressing: slots hold row numbers, and a key is in the first slot from its hash on that no
    other key occupies. Keys are stored in the form that `keys.comparable` returns. Null is a key like any other.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.columns = [StateColumn(comparable_type(field.type)) for field in schema]
        self.clear()

    def clear(self) -> None:
        """Remove all keys."""
        self.rows = 0
        """The number of rows, including rows of removed keys."""
        self.count = 0
        """The number of keys, without removed ones."""
        self.hashes = np.zeros(0, np.uint64)
        self.alive = np.zeros(0, bool)
        self.table = np.full(16, -1, np.int64)
        for column in self.columns:
            column.select(np.zeros(0, np.int64))

    def find(self, keys: pa.RecordBatch) -> np.ndarray:
        """Return the rows of keys; -1 for missing keys."""
        hashes, cells = self._prepared(keys)
        rows, _ = self._probe(np.arange(len(hashes)), hashes, cells)
        return np.where(self._living(rows), rows, -1)

    def add(self, keys: pa.RecordBatch) -> np.ndarray:
        """Add missing keys after all others, in order of appearance, and return the rows of all keys."""
        hashes, cells = self._prepared(keys)
        key_rows = np.full(len(hashes), -1, np.int64)
        pending = np.arange(len(hashes))
        while len(pending):
            rows, places = self._probe(pending, hashes, cells)
            living = self._living(rows)
            key_rows[pending[living]] = rows[living]
            pending, rows, places = pending[~living], rows[~living], places[~living]
            # if several new keys have the same hash, only the first is added now; the others are looked up again
            heads = np.sort(np.unique(hashes[pending], return_index=True)[1])
            key_rows[pending[heads]] = self._append(pending[heads], places[heads], hashes, cells)
            pending = np.delete(pending, heads)
        return key_rows

    def remove(self, rows: np.ndarray) -> None:
        """Remove the keys of the given rows."""
        rows = np.unique(rows)
        self.count -= int(self.alive[rows].sum())
        self.alive[rows] = False

    def living(self) -> np.ndarray:
        """Return the row numbers of all present keys, ascending."""
        return np.flatnonzero(self.alive[: self.rows])

    def keys(self, rows: np.ndarray) -> pa.Table:
        """Return the keys of the given rows."""
        columns = [
            as_given(column.take(rows), kind) for column, kind in zip(self.columns, self.schema.types, strict=True)
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def compact(self) -> np.ndarray | None:
        """Drop the rows of removed keys, and renumber the others from 0.

        Returns:
            The old rows in their new order, or None if no row was dropped.
        """
        if self.count == self.rows:
            return None
        rows = self.living()
        self.hashes, self.rows = self.hashes[rows], len(rows)
        self.alive = np.ones(len(rows), bool)
        for column in self.columns:
            column.select(rows)
        self._rebuild()
        return rows

    def _prepared(self, keys: pa.RecordBatch) -> tuple[np.ndarray, list[Cells]]:
        keys = comparable_keys(keys)
        cells = [column.cells(keys.column(i)) for i, column in enumerate(self.columns)]
        return hashes_of(keys), cells

    def _living(self, rows: np.ndarray) -> np.ndarray:
        if not self.rows:
            return np.zeros(len(rows), bool)
        return (rows >= 0) & self.alive[rows]

    def _probe(self, which: np.ndarray, hashes: np.ndarray, cells: list[Cells]) -> tuple[np.ndarray, np.ndarray]:
        """Look up keys; return their rows (also of removed keys, -1 if none) and the slots that hold these rows."""
        key_rows, at = np.full(len(which), -1, np.int64), np.full(len(which), -1, np.int64)
        open_ = np.arange(len(which))
        places = self._home(hashes[which])
        while len(open_):
            rows = self.table[places]
            taken = rows >= 0
            open_, places, rows = open_[taken], places[taken], rows[taken]
            hit = self.hashes[rows] == hashes[which[open_]]
            for column, part in zip(self.columns, cells, strict=True):
                hit[hit] = column.same(rows[hit], part, which[open_[hit]])
            key_rows[open_[hit]], at[open_[hit]] = rows[hit], places[hit]
            open_, places = open_[~hit], (places[~hit] + 1) & (len(self.table) - 1)
        return key_rows, at

    def _append(self, which: np.ndarray, places: np.ndarray, hashes: np.ndarray, cells: list[Cells]) -> np.ndarray:
        """Give new rows to keys, in their former slots, or in free slots where `places` is -1."""
        first, self.rows = self.rows, self.rows + len(which)
        self.count += len(which)
        rows = np.arange(first, self.rows)
        self.hashes, self.alive = grown(self.hashes, self.rows), grown(self.alive, self.rows)
        self.hashes[rows], self.alive[rows] = hashes[which], True
        for column, part in zip(self.columns, cells, strict=True):
            column.grow(self.rows)
            missing = None if part.missing is None else part.missing[which]
            column.set(rows, Cells(part.values[which], missing))
        again = places >= 0
        self.table[places[again]] = rows[again]
        if self.rows * FULLNESS > len(self.table):
            self._rebuild()
        else:
            self._place(rows[~again])
        return rows

    def _rebuild(self) -> None:
        size = 16
        while size < self.rows * FULLNESS * 2:
            size *= 2
        # a removed key that was added again has two rows; the newer one is entered
        self.table = np.full(size, -1, np.int64)
        self._place(self.living() if self.count < self.rows else np.arange(self.rows))

    def _place(self, rows: np.ndarray) -> None:
        places = self._home(self.hashes[rows])
        while len(rows):
            free = self.table[places] < 0
            self.table[places[free]] = rows[free]
            # if several rows want the same slot, one gets it, and the others try the next slot
            lost = self.table[places] != rows
            rows, places = rows[lost], (places[lost] + 1) & (len(self.table) - 1)

    def _home(self, hashes: np.ndarray) -> np.ndarray:
        return (hashes & np.uint64(len(self.table) - 1)).astype(np.int64)
