"""A hash table over columns from keys to rows, which finds and adds many keys at once."""

from __future__ import annotations

from streams_orchestration.operators.expressions import frame
from streams_orchestration.operators.libraries import np, pa
from streams_orchestration.operators.states.columns import Cells, StateColumn, grown
from streams_orchestration.operators.states.keys import with_normalised

FULLNESS = 2
"""The table has at least so many places for every row."""


def hashes_of(keys: pa.RecordBatch) -> np.ndarray:
    """Return a number of 64 bits for every key; equal for equal keys, in this process."""
    return frame(keys).hash_rows().to_numpy()


class KeyIndex:
    """Keys in the order in which they came; each has a row. A key that is removed and comes again has a new one.

    Open addressing: `table` holds rows, and a key is at the first place from its hash on that is not another one's.
    Keys are held as `keys.normalised` returns their parts, and are the same when all parts are; null is a value.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.columns = [StateColumn(field.type) for field in schema]
        self.clear()

    def clear(self) -> None:
        """Remove all keys."""
        self.rows = 0
        """The number of rows, including those of removed keys."""
        self.count = 0
        """The number of keys."""
        self.hashes = np.zeros(0, np.uint64)
        self.alive = np.zeros(0, bool)
        self.table = np.full(16, -1, np.int64)
        for column in self.columns:
            column.select(np.zeros(0, np.int64))

    def find(self, keys: pa.RecordBatch) -> np.ndarray:
        """Return the rows of keys; -1 for those that are not there."""
        hashes, cells = self._prepared(keys)
        rows, _ = self._probe(np.arange(len(hashes)), hashes, cells)
        return np.where(self._living(rows), rows, -1)

    def add(self, keys: pa.RecordBatch) -> np.ndarray:
        """Return the rows of keys; those that are not there yet come behind all others, in order of appearance."""
        hashes, cells = self._prepared(keys)
        key_rows = np.full(len(hashes), -1, np.int64)
        pending = np.arange(len(hashes))
        while len(pending):
            rows, places = self._probe(pending, hashes, cells)
            living = self._living(rows)
            key_rows[pending[living]] = rows[living]
            pending, rows, places = pending[~living], rows[~living], places[~living]
            # of keys with the same hash the first is added; the others are looked up again
            heads = np.sort(np.unique(hashes[pending], return_index=True)[1])
            key_rows[pending[heads]] = self._append(pending[heads], places[heads], hashes, cells)
            pending = np.delete(pending, heads)
        return key_rows

    def remove(self, rows: np.ndarray) -> None:
        """Forget the keys of these rows."""
        rows = np.unique(rows)
        self.count -= int(self.alive[rows].sum())
        self.alive[rows] = False

    def living(self) -> np.ndarray:
        """Return the rows of all keys, in order."""
        return np.flatnonzero(self.alive[: self.rows])

    def keys(self, rows: np.ndarray) -> pa.Table:
        """Return the keys of these rows."""
        return pa.Table.from_arrays([column.take(rows) for column in self.columns], schema=self.schema)

    def compact(self) -> np.ndarray | None:
        """Drop the rows of removed keys.

        Returns:
            The rows that stayed, which now have the numbers from 0 on; None if all stay as they are.
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
        keys = with_normalised(keys, self.schema.names)
        cells = [column.cells(keys.column(i)) for i, column in enumerate(self.columns)]
        return hashes_of(keys), cells

    def _living(self, rows: np.ndarray) -> np.ndarray:
        if not self.rows:
            return np.zeros(len(rows), bool)
        return (rows >= 0) & self.alive[rows]

    def _probe(self, which: np.ndarray, hashes: np.ndarray, cells: list[Cells]) -> tuple[np.ndarray, np.ndarray]:
        """Return the present or former rows of some keys, or -1, and the places of these rows in the table."""
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
        """Give keys new rows; at the place of the row that they had before, or a free one where that is -1."""
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
        # a removed key that came again has two rows; the newer one stands for it
        self.table = np.full(size, -1, np.int64)
        self._place(self.living() if self.count < self.rows else np.arange(self.rows))

    def _place(self, rows: np.ndarray) -> None:
        places = self._home(self.hashes[rows])
        while len(rows):
            free = self.table[places] < 0
            self.table[places[free]] = rows[free]
            # of several that want the same place one has got it
            lost = self.table[places] != rows
            rows, places = rows[lost], (places[lost] + 1) & (len(self.table) - 1)

    def _home(self, hashes: np.ndarray) -> np.ndarray:
        return (hashes & np.uint64(len(self.table) - 1)).astype(np.int64)
