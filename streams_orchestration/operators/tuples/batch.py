"""`TupleBatch`: the tuples of one stream that pass between operators, as Arrow columns with numpy views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from streams_orchestration.operators.errors.errors import ConstTupleError, DataError
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.arrow_types import row_layout, type_name
from streams_orchestration.operators.tuples.watermarks import Watermarks

_NOTHING: dict[str, np.ndarray] = {}
"""The initial value of `_written`, shared by all batches so that an unwritten batch needs no dictionary of its own."""


class TupleBatch:
    """An ordered batch of tuples of one stream.

    On a non-mutating port a batch is const: its numpy views are read-only and `writable` raises. On a mutating port the
    operator may change its batch. The batch is a copy if the copy plan (rules 78-91) requires one.

    Arrow memory is never written. `writable` copies a column on first use, so columns that are only read are not
    copied. Written values are converted to Arrow when the tuples are next read: by `arrow`, and by each method that
    returns tuples or checks them. All of these raise DataError if a written value does not fit its attribute.
    """

    __slots__ = (
        "_arrow",
        "_bytes",
        "_mutable",
        "_unwritten",
        "_written",
        "connection",
        "origin",
        "partitions",
        "watermarks",
    )

    def __init__(
        self,
        arrow: pa.RecordBatch,
        *,
        mutable: bool = True,
        nbytes: int | None = None,
        watermarks: Watermarks | None = None,
    ) -> None:
        self._arrow = arrow
        self._bytes = nbytes
        self._mutable = mutable
        self._written = _NOTHING
        self._unwritten: pa.RecordBatch | None = arrow
        self.origin = ""
        """The file and rows that the tuples were read from, for error messages; empty unless they came through a queue.
        """
        self.connection = ""
        """The name of the event-time connection on which the tuples come, if they came through a queue."""
        self.partitions: pa.DictionaryArray | None = None
        """The partition of each tuple, as a source names it for partition watermarks (EV52); None if the source names
        no partitions.
        """
        self.watermarks = watermarks
        """The watermarks among the tuples; None without any. A slice of the batch has the watermarks at its
        positions.
        """

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any], schema: pa.Schema) -> TupleBatch:
        """Return a batch of columns, cast to `schema` and in its order. Columns that it does not name are ignored.

        A column is an array, or an iterable that Arrow can read, other than a text, bytes, a mapping or a set.

        Raises:
            DataError: a column is missing or something else, the columns differ in length, or a value does not fit its
                type.
        """
        if missing := [name for name in schema.names if name not in columns]:
            message = (
                f"no column for the attribute {missing[0]}; the columns are {', '.join(map(str, columns)) or 'none'}"
            )
            raise DataError(message)
        arrays = [_as_attribute(columns[field.name], field) for field in schema]
        for array, field in zip(arrays, schema, strict=True):
            if len(array) != len(arrays[0]):
                message = (
                    f"attribute {field.name}: {len(array)} values, but {len(arrays[0])} of {schema.names[0]}; "
                    "columns are of one length"
                )
                raise DataError(message)
        return cls(pa.RecordBatch.from_arrays(arrays, schema=schema))

    @classmethod
    def from_table(cls, table: pa.Table) -> TupleBatch:
        """Return a batch of all rows of a table."""
        batches = table.to_batches()
        return cls(pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], schema=table.schema))

    @classmethod
    def concat(cls, batches: Iterable[TupleBatch], schema: pa.Schema) -> TupleBatch:
        """Return the tuples of all batches, one after another, without their watermarks."""
        return cls.from_table(pa.Table.from_batches([batch.arrow for batch in batches], schema=schema))

    @classmethod
    def bearing(cls, watermarks: Watermarks, schema: pa.Schema) -> TupleBatch:
        """Return a batch with the given watermarks and without tuples."""
        return cls(pa.RecordBatch.from_pylist([], schema=schema), watermarks=watermarks)

    def __len__(self) -> int:
        return self._arrow.num_rows

    @property
    def schema(self) -> pa.Schema:
        """The attribute names and Arrow types."""
        return self._arrow.schema

    @property
    def mutable(self) -> bool:
        """True if the operator that received the batch may write to it."""
        return self._mutable

    @property
    def nbytes(self) -> int:
        """The approximate size of the tuples in bytes, cached after the first use."""
        if self._bytes is None:
            bits, variable = row_layout(self._arrow.schema)
            self._bytes = len(self) * bits // 8 + sum(self._arrow.column(position).nbytes for position in variable)
        return self._bytes

    @property
    def arrow(self) -> pa.RecordBatch:
        """The tuples as an Arrow record batch. Reading this makes arrays returned by `writable` read-only.

        Raises:
            DataError: a written value does not fit the type of its attribute.
        """
        for name, values in self._written.items():
            index = self._arrow.schema.get_field_index(name)
            field = self._arrow.schema.field(index)
            self._arrow = self._arrow.set_column(index, field, _taken_back(values, self._arrow.column(index), field))
            values.flags.writeable = False
            if values.dtype.kind == "O":
                self._bytes = None
            self._unwritten = None
        self._written.clear()
        if self._unwritten is None:
            self._unwritten = self._arrow
        return self._arrow

    def column(self, name: str) -> np.ndarray:
        """Return a read-only numpy view of one attribute, with nulls as NaN or None.

        Copies only if numpy needs another layout.

        Raises:
            KeyError: there is no such attribute.
        """
        written = self._written.get(name)
        view = self._array(name).to_numpy(zero_copy_only=False) if written is None else written.view()
        view.flags.writeable = False
        return view

    def writable(self, name: str) -> np.ndarray:
        """Return a numpy array of one attribute that can be changed in place until the batch is submitted.

        Nulls appear as NaN or None, and stay null unless they are overwritten.

        Raises:
            ConstTupleError: the batch is const, since it arrived on a non-mutating port.
            KeyError: there is no such attribute.
        """
        self._check_mutable(name)
        self._unwritten = None
        if self._written is _NOTHING:
            self._written = {}
        if name not in self._written:
            values = self._array(name).to_numpy(zero_copy_only=False)
            self._written[name] = values.copy()
        return self._written[name]

    def set(self, name: str, values: Any) -> None:
        """Replace all values of one attribute; nulls are allowed.

        An array that `writable` returned for the attribute before no longer changes the batch.

        Raises:
            ConstTupleError: the batch is const.
            KeyError: there is no such attribute.
            DataError: the number of values differs from the number of tuples, or a value does not fit.
        """
        self._check_mutable(name)
        field = self._field(name)
        array = _as_attribute(values, field)
        if len(array) != len(self):
            message = f"attribute {name}: {len(array)} values for {len(self)} tuples"
            raise DataError(message)
        self._unwritten = None
        self._written.pop(name, None)
        self._bytes = None
        index = self._arrow.schema.get_field_index(name)
        self._arrow = self._arrow.set_column(index, field, array)

    @property
    def untouched(self) -> TupleBatch | None:
        """A batch with the original tuples, without watermarks and unaffected by later writes; None after a write."""
        return None if self._unwritten is None else TupleBatch(self._unwritten)

    def const(self) -> TupleBatch:
        """Return the tuples as a read-only batch, for a non-mutating port."""
        if not self._mutable and not self._written:
            return self
        return TupleBatch(self.arrow, mutable=False, nbytes=self._bytes, watermarks=self.watermarks)

    def own(self) -> TupleBatch:
        """Return the tuples as a writable batch without copying them, for a mutating port that gets the original."""
        return self if self._mutable else TupleBatch(self.arrow, nbytes=self._bytes, watermarks=self.watermarks)

    def copy(self, attributes: tuple[str, ...] | None = None) -> TupleBatch:
        """Return a writable copy.

        If the operator declares the attributes that it mutates, only these columns are copied.
        """
        source = self.arrow
        names = source.schema.names if attributes is None else [n for n in source.schema.names if n in attributes]
        copied = TupleBatch(source, nbytes=self._bytes, watermarks=self.watermarks)
        for name in names:
            array = source.column(name)
            if pa.types.is_primitive(array.type) and array.null_count == 0:
                if copied._written is _NOTHING:
                    copied._written = {}
                copied._written[name] = array.to_numpy(zero_copy_only=False).copy()
            else:
                index = source.schema.get_field_index(name)
                duplicate = pa.concat_arrays([array, array.slice(0, 0)]) if len(array) else array
                copied._arrow = copied._arrow.set_column(index, source.schema.field(index), duplicate)
        return copied

    def refuse_nulls(self, attributes: Iterable[str]) -> None:
        """Check that the given attributes contain no null.

        Raises:
            DataError: an attribute is null; the message shows the tuple.
        """
        for name in attributes:
            column = self.arrow.column(name)
            if column.null_count:
                place = pc.index(column.is_null(), True).as_py()
                values = list(self.arrow.slice(place, 1).to_pylist()[0].items())
                shown = ", ".join(f"{attribute}: {value!r:.40}" for attribute, value in values[:8])
                message = (
                    f"it submits a tuple whose {name} is null, but the stream has {name} NOT NULL: {{{shown}}}; "
                    f"give it a value, as COALESCE({name}, ...) does, or leave out NOT NULL"
                )
                raise DataError(message)

    def filter(self, mask: Any) -> TupleBatch:
        """Return the tuples where the boolean mask is true, neither false nor null."""
        chosen = _as_array(mask, pa.bool_())
        marks = None if self.watermarks is None else self.watermarks.filtered(chosen)
        return TupleBatch(self.arrow.filter(chosen), watermarks=marks)

    def take(self, indexes: Any) -> TupleBatch:
        """Return the tuples at the given positions, in the order of the positions.

        The result has the watermarks of the batch if the positions ascend, else none.
        """
        positions = _as_array(indexes, pa.int64())
        marks = self.watermarks
        if marks is not None:
            order = positions.to_numpy(zero_copy_only=False)
            marks = marks.taken(order) if (order[1:] >= order[:-1]).all() else None
        return TupleBatch(self.arrow.take(positions), watermarks=marks)

    def slice(self, start: int, length: int | None = None) -> TupleBatch:
        """Return `length` consecutive tuples from `start` on, without copying; without `length`, all the rest."""
        part = self.arrow.slice(start, length)
        marks = None if self.watermarks is None else self.watermarks.sliced(start, part.num_rows)
        return TupleBatch(part, watermarks=marks)

    def without_watermarks(self) -> TupleBatch:
        """Return the tuples without watermarks."""
        return self if self.watermarks is None else self.with_watermarks(None)

    def selected(self, schema: pa.Schema | None) -> TupleBatch:
        """Return the tuples with only the attributes of a schema.

        Return the batch itself if there is no schema, or if an attribute is missing or has another type.
        """
        if schema is None or schema == self.schema:
            return self
        if any(
            name not in self.schema.names or field.type != self.schema.field(name).type
            for name, field in zip(schema.names, schema, strict=True)
        ):
            return self
        columns = [self.arrow.column(name) for name in schema.names]
        return TupleBatch(pa.RecordBatch.from_arrays(columns, schema=schema), watermarks=self.watermarks)

    def with_watermarks(self, watermarks: Watermarks | None) -> TupleBatch:
        """Return the tuples with other watermarks. The result is writable if this batch is."""
        return TupleBatch(self.arrow, mutable=self._mutable, nbytes=self._bytes, watermarks=watermarks)

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the tuples as dictionaries."""
        return self.arrow.to_pylist()

    def __repr__(self) -> str:
        return f"TupleBatch({len(self)} tuples, {self.schema.names}, {'mutable' if self._mutable else 'const'})"

    def _check_mutable(self, name: str) -> None:
        if not self._mutable:
            message = (
                f"attribute {name}: the tuples are const, because they arrived on a port that does not mutate. "
                "Declare the input port `mutable: true` (or `mutates: [...]`), or build a new batch."
            )
            raise ConstTupleError(message)

    def _field(self, name: str) -> pa.Field:
        schema = self._arrow.schema
        if schema.get_field_index(name) < 0:  # a list of all names would make reading all attributes quadratic
            message = f"no attribute {name}; the attributes are {', '.join(schema.names)}"
            raise KeyError(message)
        return schema.field(name)

    def _array(self, name: str) -> pa.Array:
        self._field(name)
        return self._arrow.column(name)


def _as_attribute(values: Any, field: pa.Field) -> pa.Array:
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping | Set):
        message = f"attribute {field.name}: {values!r:.60} is {type(values).__name__}, not a column of values"
        raise DataError(message)
    try:
        return _as_array(values, field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        message = f"attribute {field.name}: a value does not fit {type_name(field.type)}: {error}"
        raise DataError(message) from error


def _taken_back(values: np.ndarray, before: pa.Array, field: pa.Field) -> pa.Array:
    """Convert written values back to Arrow. Unchanged values keep their nulls, and large integers their exact value."""
    if before.null_count == 0 or values.dtype.kind != "f":
        return _as_attribute(values, field)
    old = before.to_numpy(zero_copy_only=False)
    kept = (values == old) | (np.isnan(values) & np.isnan(old))
    written = _as_attribute(pa.array(values, mask=kept), field)
    return pc.if_else(pa.array(kept), before, written)


def _as_array(values: Any, kind: pa.DataType) -> pa.Array:
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if not isinstance(array, pa.Array):
        from_pandas = isinstance(array, np.ndarray) and array.dtype == object
        # Arrow cannot infer every nested type from Python values, and takes whole numbers as signed
        given = pa.types.is_nested(kind) or (pa.types.is_uint64(kind) and not isinstance(array, np.ndarray))
        array = pa.array(array, kind if given else None, from_pandas=from_pandas)
    return array if array.type == kind else pc.cast(array, kind)
