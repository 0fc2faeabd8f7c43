"""Conversion between values of expressions and Arrow arrays."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from streams_orchestration.expressions.maps import map_from
from streams_orchestration.expressions.types import MAX_PRECISION, Type, array_of, map_of, struct_of

SIMPLE: dict[str, pa.DataType] = {
    "void": pa.null(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "timestamp_ns": pa.timestamp("ns", "UTC"),
    "utinyint": pa.uint8(),
    "usmallint": pa.uint16(),
    "uint": pa.uint32(),
    "ubigint": pa.uint64(),
    "interval day": pa.int64(),
    "interval day to second": pa.int64(),
    "interval year to month": pa.int32(),
}
"""Name of a type that is not nested -> its Arrow type."""
_AS_NUMBERS = dict.fromkeys(("timestamp", "timestamp_ntz", "timestamp_ns"), pa.int64()) | {"date": pa.int32()}


@functools.lru_cache(maxsize=4096)
def arrow_type(kind: Type) -> pa.DataType:
    """Return the Arrow type that represents a type. Intervals are integers, and keys of the type `void` booleans."""
    if kind.is_decimal:
        wide = kind.precision > MAX_PRECISION
        return (pa.decimal256 if wide else pa.decimal128)(kind.precision, kind.scale)
    if kind.name == "array":
        return pa.list_(arrow_type(kind.parts[0]))
    if kind.name == "map":
        key, value = map(arrow_type, kind.parts)
        return pa.map_(pa.bool_() if pa.types.is_null(key) else key, value)
    if kind.name == "struct":
        return pa.struct([pa.field(name, arrow_type(part)) for name, part in zip(kind.fields, kind.parts, strict=True)])
    return SIMPLE[kind.name]


_NAMES = {arrow: name for name, arrow in SIMPLE.items() if not name.startswith("interval")}


@functools.lru_cache(maxsize=4096)
def type_of(arrow: pa.DataType) -> Type:
    """Return the type that an Arrow type represents.

    Raises:
        ValueError: an attribute cannot have this type.
    """
    types = pa.types
    if arrow in _NAMES:
        return Type(_NAMES[arrow])
    if types.is_decimal(arrow):
        return Type("decimal", arrow.precision, arrow.scale)
    if types.is_large_string(arrow) or types.is_string_view(arrow):
        return Type("string")
    if types.is_large_binary(arrow) or types.is_binary_view(arrow):
        return Type("binary")
    if types.is_timestamp(arrow):
        return Type("timestamp" if arrow.tz else "timestamp_ntz")
    if types.is_dictionary(arrow):
        return type_of(arrow.value_type)
    if types.is_list(arrow) or types.is_large_list(arrow):
        return array_of(type_of(arrow.value_type))
    if types.is_map(arrow):
        return map_of(type_of(arrow.key_type), type_of(arrow.item_type))
    if types.is_struct(arrow):
        return struct_of(tuple(field.name for field in arrow), tuple(type_of(field.type) for field in arrow))
    message = f"{arrow} is not a type of an attribute"
    raise ValueError(message)


def as_kind(array: pa.Array, arrow: pa.DataType) -> pa.Array:
    """Return an array cast to the Arrow type in which an expression reads the attribute; nanoseconds are cut off.

    Raises ArrowInvalid if a value does not fit the type.
    """
    return array if array.type == arrow else array.cast(arrow, safe=not _holds_nanoseconds(array.type))


@functools.lru_cache(maxsize=4096)
def _holds_nanoseconds(kind: pa.DataType) -> bool:
    parts = [kind.field(place).type for place in range(kind.num_fields)]
    return any(map(_holds_nanoseconds, parts)) or (pa.types.is_timestamp(kind) and kind.unit == "ns")


def values_of(array: pa.Array, kind: Type) -> list[Any]:
    """Return the Python values of an array; the module `conversion` describes their types.

    Raises ArrowInvalid if a value does not fit the type.
    """
    if kind.name == "void":
        return [None] * len(array)
    array = as_kind(array, arrow_type(kind))
    if kind.name in _AS_NUMBERS:
        return array.cast(_AS_NUMBERS[kind.name]).to_pylist()
    if not kind.is_nested:
        return array.to_pylist()
    valid = array.is_valid().to_pylist()
    if kind.name == "struct":
        parts = [values_of(array.field(place), part) for place, part in enumerate(kind.parts)]
        return [row if there else None for row, there in zip(zip(*parts, strict=True), valid, strict=True)]
    offsets = array.offsets.to_pylist()
    if kind.name == "array":
        values: Sequence[Any] = values_of(array.values, kind.parts[0])
        return [tuple(values[offsets[i] : offsets[i + 1]]) if valid[i] else None for i in range(len(array))]
    pairs = list(zip(values_of(array.keys, kind.parts[0]), values_of(array.items, kind.parts[1]), strict=True))
    return [map_from(pairs[offsets[i] : offsets[i + 1]]) if valid[i] else None for i in range(len(array))]


def array_from(values: Sequence[Any], kind: Type) -> pa.Array:
    """Return an Arrow array of Python values of a type.

    Raises ArrowInvalid or OverflowError if a value does not fit the type.
    """
    arrow = arrow_type(kind)
    if kind.name in _AS_NUMBERS:
        return pa.array(values, _AS_NUMBERS[kind.name]).cast(arrow)
    if not kind.is_nested:
        return pa.array(values, arrow)
    missing = pa.array([value is None for value in values], pa.bool_())
    if kind.name == "struct":
        parts = [
            array_from([None if value is None else value[place] for value in values], part)
            for place, part in enumerate(kind.parts)
        ]
        return pa.StructArray.from_arrays(parts, fields=list(arrow), mask=missing)
    lengths = [0 if value is None else len(value) for value in values]
    offsets = pa.array(np.r_[0, np.cumsum(lengths)].astype(np.int32))
    if kind.name == "array":
        flat = array_from([each for value in values if value is not None for each in value], kind.parts[0])
        return pa.ListArray.from_arrays(offsets, flat, type=arrow, mask=missing)
    keys = array_from([each for value in values if value is not None for each in value], kind.parts[0])
    keys = keys if keys.type == arrow.key_type else keys.cast(arrow.key_type)
    items = array_from([each for value in values if value is not None for each in value.values()], kind.parts[1])
    return pa.MapArray.from_arrays(offsets, keys, items, type=arrow, mask=missing)


def scalar_from(value: Any, kind: Type) -> pa.Scalar:
    """Return one value as an Arrow scalar. Raises ArrowInvalid or OverflowError if it does not fit the type."""
    return array_from([value], kind)[0]
