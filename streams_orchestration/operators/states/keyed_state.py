"""Keyed state in columns: many keys are looked up and written at once, and only changes are stored."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, MutableMapping, Sequence, ValuesView
from itertools import repeat
from typing import Any, ClassVar

from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.columns import StateColumn, grown
from streams_orchestration.operators.states.incremental import Incremental, Pieces
from streams_orchestration.operators.states.key_index import KeyIndex
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.operators.tuples.batch import TupleBatch

_GONE = "gone"
"""The column in the table of changes that is true for removed keys."""


class KeyedState(Incremental, MutableMapping[Any, Any]):
    """A map from keys to values, each made of one or more attributes; a set of keys if there are no value attributes.

    Methods with `many` in their names take batches of keys: a batch of tuples, an Arrow table or record batch, a Polars
    frame or a mapping of columns, from which the key attributes are taken, or the only key column by itself. Single
    keys are used as in a dictionary; keys and values of several attributes are tuples. Each such use looks up a batch
    of one, so it suits few keys. Without batches, `DictState` is faster. A key that does not fit its type raises
    DataError.

    Keys are in order of arrival. Null and NaN are keys like any other. An attribute of a key may be an array, a struct,
    or a map, in which the order of entries does not count.

    Example:
        visits = KeyedState("user string", "count bigint, last timestamp")
        before = visits.get_many(batch)                 # a row for every tuple, null where the user is unknown
        visits.put_many(batch, {"count": counts, "last": batch.column("at")})
        rows = visits.rows_of(batch)                    # unknown users are added, with the count 0
        np.add.at(visits.column("count"), rows, 1)
    """

    kind: ClassVar[str] = "keyed"

    def __init__(self, keys: str | pa.Schema, values: str | pa.Schema = "") -> None:
        """Create an empty state.

        Args:
            keys: the attributes of a key, as Spark DDL or an Arrow schema; at least one.
            values: the attributes of a value.

        Raises:
            ValueError: the attributes cannot form keys, or a text is not a tuple type.
        """
        super().__init__()
        self.keys_schema = _schema(keys)
        self.values_schema = _schema(values)
        if not len(self.keys_schema):
            message = "keys: at least one attribute is needed"
            raise ValueError(message)
        self._index = KeyIndex(self.keys_schema)
        self._columns = {field.name: StateColumn(field.type) for field in self.values_schema}
        self._loaded: Pieces | None = None
        """Loaded keys and values that are not yet indexed, since no key was looked up; None once they are indexed."""
        self.stamps = np.zeros(0, np.int64)
        """The clock of the last change of each row."""
        self.renumbered = 0
        """The number of times that rows were renumbered."""
        self._rows_when: dict[int, int] = {}
        """Maps each version stored since the last whole store to the number of rows at that time."""

    @property
    def index(self) -> KeyIndex:
        """The index of the keys. Loaded keys are indexed on the first use."""
        self._enter_loaded()
        return self._index

    @property
    def columns(self) -> dict[str, StateColumn]:
        """The value columns, by attribute."""
        self._enter_loaded()
        return self._columns

    def has_many(self, keys: Any) -> np.ndarray:
        """Return a mask of the keys that are present."""
        return self.index.find(self.key_batch(keys)) >= 0

    def get_many(self, keys: Any) -> pa.RecordBatch:
        """Return the values of keys, in the order of the keys; nulls for missing keys."""
        rows = self.index.find(self.key_batch(keys))
        arrays = [column.take(rows) for column in self.columns.values()]
        return pa.RecordBatch.from_arrays(arrays, schema=self.values_schema)

    def put_many(self, keys: Any, values: Any) -> None:
        """Set the values of keys, and add missing keys. If a key occurs twice, the last value counts.

        Args:
            keys: keys in any form that the class takes.
            values: columns by name, or any form that keys may have. In columns by name, attributes that are missing
                keep their values, and unknown names are ignored.

        Raises:
            DataError: a key or a value does not fit its type.
            ValueError: the number of values differs from the number of keys.
        """
        schema = self.values_schema
        if isinstance(values, Mapping):
            schema = pa.schema([field for field in schema if field.name in values])
        keys, batch = self.key_batch(keys), _batch(values, schema)
        if len(schema) and batch.num_rows != keys.num_rows:
            message = f"{keys.num_rows} keys and {batch.num_rows} values"
            raise ValueError(message)
        rows = self.rows_of(keys)
        for name in schema.names:
            column = self.columns[name]
            column.set(rows, column.cells(batch.column(name)))

    def add_many(self, keys: Any) -> np.ndarray:
        """Add missing keys.

        Returns:
            A mask of the keys that were added; true only at the first of several equal keys.
        """
        before = self.index.rows
        rows = self.rows_of(keys, touch=False)
        new = np.flatnonzero(rows >= before)
        first = np.zeros(len(rows), bool)
        first[new[np.unique(rows[new], return_index=True)[1]]] = True
        return first

    def delete_many(self, keys: Any) -> None:
        """Remove keys. Missing keys are ignored."""
        rows = self.index.find(self.key_batch(keys))
        self.delete_rows(rows[rows >= 0])

    def rows_of(self, keys: Any, *, touch: bool = True) -> np.ndarray:
        """Add missing keys, with 0, false or null as values, and return the row of each key, for use with `column`.

        Args:
            keys: keys in any form that the class takes.
            touch: count the rows as changed, because their values are about to be written.
        """
        before = self.index.rows
        rows = self.index.add(self.key_batch(keys))
        self.stamps = grown(self.stamps, self.index.rows)
        self.stamps[before : self.index.rows] = self.clock
        if len(rows) and (touch or self.index.rows > before):
            self.touch()
        for column in self.columns.values():
            column.grow(self.index.rows)
        if touch:
            self.stamps[rows] = self.clock
        return rows

    def write_rows(self, rows: np.ndarray) -> None:
        """Count rows of present keys as changed, because their values are about to be written."""
        if len(rows):
            self.stamps[rows] = self.clock
            self.touch()

    def column(self, name: str) -> np.ndarray:
        """Return a value attribute as an array by row, valid until keys are added or the state is stored.

        Write to it only at rows of `rows_of`.

        Times are integers in their unit, and null numbers and times are 0.
        """
        return self.columns[name].values[: self.index.rows]

    def rows(self) -> np.ndarray:
        """Return the row numbers of all keys, ascending."""
        return self.index.living()

    def key_column(self, name: str) -> np.ndarray:
        """Return a key attribute as a read-only array by row, a nested one as bytes; see `column`."""
        return self.index.columns[self.keys_schema.get_field_index(name)].values[: self.index.rows]

    def delete_rows(self, rows: np.ndarray) -> None:
        """Remove the keys of the given rows."""
        if len(rows):
            self.index.remove(rows)
            self.stamps[rows] = self.clock
            self.touch()

    def keys_table(self) -> pa.Table:
        """Return all keys, in order."""
        return self.index.keys(self.rows()) if self._loaded is None else self._loaded["keys"]

    def table(self) -> pa.Table:
        """Return all keys with their values, in order."""
        pieces = self._pieces()
        keys, values = pieces["keys"], pieces["values"]
        for field in self.values_schema:
            keys = keys.append_column(field, values.column(field.name))
        return keys

    def clear(self) -> None:
        """Remove all keys. The next store is whole."""
        self._loaded = None
        self.index.clear()
        self.renumbered += 1
        self.stamps = np.zeros(0, np.int64)
        for column in self.columns.values():
            column.select(np.zeros(0, np.int64))
        self.forget_stored()

    def __len__(self) -> int:
        return self._index.count if self._loaded is None else self._loaded["keys"].num_rows

    def __iter__(self) -> Iterator[Any]:
        return _row_values(self.index.keys(self.rows()).columns, len(self))

    def items(self) -> ItemsView[Any, Any]:
        """Return keys with their values, all read at once."""
        return _Items(self)

    def values(self) -> ValuesView[Any]:
        """Return all values, read at once."""
        return _Values(self)

    def __contains__(self, key: object) -> bool:
        return bool(self.has_many(self._one(key))[0])

    def __getitem__(self, key: Any) -> Any:
        row = self.index.find(self._one(key))
        if row[0] < 0:
            raise KeyError(key)
        values = [column.take(row)[0].as_py() for column in self.columns.values()]
        return values[0] if len(values) == 1 else tuple(values)

    def __setitem__(self, key: Any, value: Any) -> None:
        names = self.values_schema.names
        values = [value] if len(names) == 1 else value
        self.put_many(self._one(key), {name: [part] for name, part in zip(names, values, strict=True)})

    def __delitem__(self, key: Any) -> None:
        row = self.index.find(self._one(key))
        if row[0] < 0:
            raise KeyError(key)
        self.delete_rows(row)

    def stored(self, name: str, version: int) -> None:
        """Record that a version was stored. Later changes count as changes since this version."""
        super().stored(name, version)
        self._rows_when[version] = self._index.rows if self._loaded is None else len(self)

    def whole(self) -> Pieces:
        """Return all keys and values; free the room of removed keys and forget earlier changes."""
        self._rows_when.clear()
        kept = self._index.compact()
        if kept is not None:
            self.renumbered += 1
            self.stamps = self.stamps[kept]
            for column in self._columns.values():
                column.select(kept)
        return self._pieces()

    def changes(self, since: int) -> Pieces:
        """Return the keys removed or written after a version, in order, and the values of the existing ones."""
        index = self.index
        rows = np.flatnonzero(self.stamps[: index.rows] > since)
        # keys added and removed since the version never existed for the reader of the changes
        rows = rows[(rows < self._rows_when[since]) | self.index.alive[rows]]
        alive = self.index.alive[rows]
        gone = pa.table({_GONE: pa.array(~alive)})
        return {"keys": self.index.keys(rows), "values": self._values(rows[alive]), "gone": gone}

    def rows_to_store(self, since: int) -> tuple[int, int]:
        """Return the number of existing keys that were written after a version, and the number of all keys."""
        if self._loaded is not None:
            return 0, len(self)
        changed = self.stamps[: self._index.rows] > since
        return int(np.count_nonzero(changed & self._index.alive[: self._index.rows])), len(self)

    @classmethod
    def load(cls, pieces: Pieces) -> KeyedState:
        """Return a state from the pieces that `whole` returned. Its keys must be distinct."""
        state = cls(pieces["keys"].schema, pieces["values"].schema)
        state._loaded = pieces
        state.touch()
        return state

    def apply(self, pieces: Pieces) -> None:
        """Apply the removals and writes that `changes` returned."""
        gone = pieces["gone"].column(_GONE)
        self.delete_many(pieces["keys"].filter(gone))
        self._put(pieces["keys"].filter(pc.invert(gone)), pieces["values"])

    def _pieces(self) -> Pieces:
        """Return all keys and values, in order."""
        if self._loaded is not None:
            return self._loaded
        return {"keys": self.keys_table(), "values": self._values(self.rows())}

    def _enter_loaded(self) -> None:
        """Index loaded keys, without counting them as changed."""
        if self._loaded is None:
            return
        pieces, self._loaded = self._loaded, None
        now, changed = self.clock, self._changed
        self.clock = 0
        self._put(pieces["keys"], pieces["values"])
        self.clock, self._changed = now, changed

    def _put(self, keys: pa.Table, values: pa.Table) -> None:
        if keys.num_rows:
            self.put_many(keys, values)

    def _values(self, rows: np.ndarray) -> pa.Table:
        arrays = [column.take(rows) for column in self.columns.values()]
        return pa.Table.from_arrays(arrays, schema=self.values_schema)

    def key_batch(self, keys: Any) -> pa.RecordBatch:
        """Return keys in any form that the class takes as a batch."""
        return _batch(keys, self.keys_schema)

    def _one(self, key: Any) -> pa.RecordBatch:
        parts = (key,) if len(self.keys_schema) == 1 else key
        return _batch(
            {name: [part] for name, part in zip(self.keys_schema.names, parts, strict=True)}, self.keys_schema
        )


class _Items(ItemsView[Any, Any]):
    _mapping: KeyedState

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return zip(self._mapping, self._mapping.values(), strict=True)


class _Values(ValuesView[Any]):
    _mapping: KeyedState

    def __iter__(self) -> Iterator[Any]:
        rows = self._mapping.rows()
        return _row_values([column.take(rows) for column in self._mapping.columns.values()], len(rows))


def _row_values(columns: Sequence[pa.Array | pa.ChunkedArray], count: int) -> Iterator[Any]:
    """Yield the values of a single column, or tuples of the values of several columns."""
    lists = [column.to_pylist() for column in columns]
    return iter(lists[0]) if len(lists) == 1 else zip(*lists, strict=True) if lists else repeat((), count)


def _schema(type_: str | pa.Schema) -> pa.Schema:
    """Return the schema with value types in place of dictionary types, since dictionary codes are local to an array."""
    schema = arrow_schema(type_) if isinstance(type_, str) else type_
    return pa.schema([(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in schema])


def _batch(values: Any, schema: pa.Schema) -> pa.RecordBatch:
    """Return the schema's columns from any of the accepted forms."""
    if isinstance(values, TupleBatch):
        values = values.arrow
    elif hasattr(values, "to_arrow"):
        values = values.to_arrow()
    if isinstance(values, pa.RecordBatch | pa.Table):
        if values.schema == schema and isinstance(values, pa.RecordBatch):
            return values
        columns: Mapping[str, Any] = {name: values.column(name) for name in schema.names}
    else:
        columns = values if isinstance(values, Mapping) else {schema.names[0]: values}
    return TupleBatch.from_columns(columns, schema).arrow
