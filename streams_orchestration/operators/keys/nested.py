"""Keys of arrays, maps and structs as bytes: one form for equal keys, the same in every process.

The bytes of an array are its length and its elements, in order. A map's bytes are its entries in the order of their
bytes, so two maps are equal whatever the order of their entries. Floats are in the form of `normalised_floats`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa

_NULL, _VALUE = b"\0", b"\1"
_WORD = 8
"""The bytes of a number, and of a length."""


def normalised_floats(column: pa.Array) -> pa.Array:
    """Return a column of floats with 0.0 for -0.0, and one NaN."""
    column = pc.add(column, pa.scalar(0, column.type))
    unordered = pc.is_nan(column)
    return pc.if_else(unordered, pa.scalar(np.nan, column.type), column) if pc.any(unordered).as_py() else column


def as_bytes(column: pa.Array) -> pa.Array:
    """Return the keys of a nested column as bytes, null for null.

    >>> maps = pa.array([[("a", 1), ("b", 2)], [("b", 2), ("a", 1)], None], pa.map_(pa.string(), pa.int32()))
    >>> first, second, third = as_bytes(maps).to_pylist()
    >>> first == second, third
    (True, None)
    """
    texts = _encoded(column)
    missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    return pa.array(texts, pa.binary(), mask=missing)


def from_bytes(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return keys of a nested type from their bytes, the inverse of `as_bytes`.

    >>> maps = pa.array([[("b", 2), ("a", 1)]], pa.map_(pa.string(), pa.int32()))
    >>> from_bytes(as_bytes(maps), maps.type).to_pylist()
    [[('a', 1), ('b', 2)]]
    """
    reader = _reader(kind)
    for text in column.to_pylist():
        if text is None:
            reader.skip()
        else:
            reader.read(text, 0)
    return reader.array()


def _encoded(column: pa.Array) -> list[bytes]:
    """Return the bytes of each value; no value's bytes are the beginning of another's."""
    if pa.types.is_struct(column.type):
        parts = [_encoded(part) for part in column.flatten()]
        texts = list(map(b"".join, zip(*parts, strict=True))) if parts else [b""] * len(column)
    elif pa.types.is_map(column.type):
        lengths, keys, values = map_entries(column)
        pairs = zip(_encoded(keys), _encoded(values), strict=True)
        texts = _joined(list(map(b"".join, pairs)), lengths.tolist(), in_order=False)
    elif pa.types.is_nested(column.type):
        lengths = pc.list_value_length(column).fill_null(0).to_pylist()
        texts = _joined(_encoded(column.flatten()), lengths, in_order=True)
    else:
        texts = _leaves(column)
    if not column.null_count:
        return [_VALUE + text for text in texts]
    missing = column.is_null().to_numpy(zero_copy_only=False).tolist()
    return [_NULL if gone else _VALUE + text for text, gone in zip(texts, missing, strict=True)]


def _joined(elements: list[bytes], lengths: list[int], *, in_order: bool) -> list[bytes]:
    texts = list[bytes]()
    start = 0
    for length in lengths:
        own = elements[start : start + length]
        texts.append(_length(length) + b"".join(own if in_order else sorted(own)))
        start += length
    return texts


def _length(number: int) -> bytes:
    return number.to_bytes(_WORD, "little")


def _leaves(column: pa.Array) -> list[bytes]:
    if pa.types.is_floating(column.type):
        column = normalised_floats(column)
    plain = _number_type(column.type)
    if plain is None:
        texts = column.cast(pa.string() if pa.types.is_decimal(column.type) else pa.binary()).cast(pa.binary())
        return [_length(len(text)) + text for text in texts.fill_null(b"").to_pylist()]
    numbers = (column.cast(plain) if pa.types.is_boolean(column.type) else column.view(plain)).fill_null(0)
    data = numbers.to_numpy(zero_copy_only=False).astype("<u8" if pa.types.is_uint64(plain) else "<i8").tobytes()
    return [data[start : start + _WORD] for start in range(0, len(data), _WORD)]


def _number_type(kind: pa.DataType) -> pa.DataType | None:
    """Return the integer type with the bits of a number, boolean or time; None for texts, bytes and decimals."""
    if pa.types.is_boolean(kind):
        return pa.int8()
    if pa.types.is_integer(kind):
        return kind
    if pa.types.is_floating(kind) or pa.types.is_temporal(kind):
        return {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bit_width]
    return None


def map_entries(values: pa.Array) -> tuple[np.ndarray, pa.Array, pa.Array]:
    """Return the number of entries of each map, 0 for null, and the keys and values of all entries."""
    offsets = values.offsets.to_numpy()
    lengths = np.diff(offsets)
    if values.null_count:
        lengths = np.where(values.is_null().to_numpy(zero_copy_only=False), 0, lengths)
    ends = np.cumsum(lengths)
    places = pa.array(np.arange(ends[-1] if len(ends) else 0) + np.repeat(offsets[:-1] - (ends - lengths), lengths))
    return lengths, values.keys.take(places), values.items.take(places)


class _Leaves:
    """The values of a type without parts, as they are read."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind, self._plain = kind, _number_type(kind)
        self._values: list[Any] = []

    def skip(self) -> None:
        """Add a null."""
        self._values.append(None)

    def read(self, data: bytes, at: int) -> int:
        """Add the value that begins at a position, and return the position after it."""
        if data[at : at + 1] == _NULL:
            self.skip()
            return at + 1
        first, at = data[at + 1 : at + 1 + _WORD], at + 1 + _WORD
        if self._plain is not None:
            self._values.append(int.from_bytes(first, "little", signed=not pa.types.is_uint64(self._plain)))
            return at
        length = int.from_bytes(first, "little")
        self._values.append(data[at : at + length])
        return at + length

    def array(self) -> pa.Array:
        """Return all values."""
        if self._plain is None:
            texts = pa.array(self._values, pa.binary())
            return (
                texts.cast(pa.string()).cast(self._kind) if pa.types.is_decimal(self._kind) else texts.cast(self._kind)
            )
        numbers = pa.array(self._values, self._plain)
        return numbers.cast(self._kind) if pa.types.is_boolean(self._kind) else numbers.view(self._kind)


class _Parts:
    """The values of an array, a map or a struct, as they are read."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._is_struct = pa.types.is_struct(kind)
        self._parts = [_reader(each) for each in _part_types(kind)]
        self._missing: list[bool] = []
        self._ends = [0]

    def skip(self) -> None:
        """Add a null."""
        self._missing.append(True)
        self._ends.append(self._ends[-1])
        for part in self._parts if self._is_struct else ():
            part.skip()

    def read(self, data: bytes, at: int) -> int:
        """Add the value that begins at a position, and return the position after it."""
        if data[at : at + 1] == _NULL:
            self.skip()
            return at + 1
        at, count = at + 1, 1
        if not self._is_struct:
            count = int.from_bytes(data[at : at + _WORD], "little")
            at += _WORD
        for _ in range(count):
            for part in self._parts:
                at = part.read(data, at)
        self._missing.append(False)
        self._ends.append(self._ends[-1] + count)
        return at

    def array(self) -> pa.Array:
        """Return all values."""
        parts = [part.array() for part in self._parts]
        if self._is_struct:
            mask = pa.array(self._missing, pa.bool_())
            if not parts:
                return pa.array([None if gone else {} for gone in self._missing], self._kind)
            return pa.StructArray.from_arrays(parts, fields=list(self._kind), mask=mask)
        starts = [None if gone else start for start, gone in zip(self._ends, self._missing, strict=False)]
        offsets = pa.array([*starts, self._ends[-1]], pa.int32())
        make: Callable[..., pa.Array] = pa.MapArray.from_arrays if len(parts) == 2 else pa.ListArray.from_arrays
        return make(offsets, *parts, type=self._kind)


def _part_types(kind: pa.DataType) -> list[pa.DataType]:
    if pa.types.is_struct(kind):
        return [field.type for field in kind]
    return [kind.key_type, kind.item_type] if pa.types.is_map(kind) else [kind.value_type]


def _reader(kind: pa.DataType) -> _Leaves | _Parts:
    return _Parts(kind) if pa.types.is_nested(kind) else _Leaves(kind)
