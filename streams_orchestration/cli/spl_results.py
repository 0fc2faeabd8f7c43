"""Rows of sinks that write SPL's formats: numbers, texts and lists as JSON has them, other values as SPL's text.

>>> rows = pl.DataFrame({"n": [1], "t": [{"a": 1, "b": "x"}], "m": [[{"key": "k", "value": [1, 2]}]], "s": [[2, 3]]})
>>> spl_rows(rows, {"s": "set<int32>"})
[{'n': 1, 't': '{a=1,b="x"}', 'm': '{"k":[1,2]}', 's': '{2,3}'}]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from streams_orchestration.operators.formats.texts import plain
from streams_orchestration.spl.types.text import text_of
from streams_orchestration.spl.types.types import (
    BLOB,
    RSTRING,
    TIMESTAMP,
    Collection,
    Optional,
    Primitive,
    Tuple,
    TupleAttribute,
)
from streams_orchestration.spl.types.types import Type as SplType
from streams_orchestration.spl.types.written import type_of_text

FORMATS = ("splCsv", "splTxt")
"""The formats whose values are SPL's literals."""
_NAMES: Mapping[type[pl.DataType], str] = {
    pl.Boolean: "boolean",
    pl.Float32: "float32",
    pl.Float64: "float64",
    **{kind: str(kind).lower() for kind in (pl.Int8, pl.Int16, pl.Int32, pl.Int64)},
    **{kind: str(kind).lower() for kind in (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)},
}
_ENTRY = ["key", "value"]


def spl_rows(rows: pl.DataFrame, types: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return rows as JSON has them; sets, maps, tuples, timestamps and blobs are texts.

    Args:
        rows: the rows.
        types: types of SPL that the columns do not show, by attribute.

    Raises:
        WrittenTypeError: one of `types` is not a type.
    """
    columns = {
        name: _values(rows[name], type_of_text(types[name]) if name in types else _type(kind))
        for name, kind in rows.schema.items()
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _values(column: pl.Series, type_: SplType | None) -> list[Any]:
    precise = column.cast(_with_times(column.dtype, pl.Datetime("ns", "UTC")))
    whole = precise.cast(_with_times(column.dtype, pl.Int64()))
    convert = plain if type_ is None else _converter(type_, column.dtype)
    return [None if value is None else convert(value) for value in whole.to_list()]


def _with_times(kind: pl.DataType, time: pl.DataType) -> pl.DataType:
    """Return a type with another type in place of each timestamp.

    Python's own type of timestamps has only microseconds, so timestamps are read as integers: nanoseconds since 1970.
    """
    match kind:
        case pl.Datetime():
            return time
        case pl.List():
            return pl.List(_with_times(_inner(kind), time))
        case pl.Struct(fields=fields):
            return pl.Struct({each.name: _with_times(_instance(each.dtype), time) for each in fields})
        case _:
            return kind


def _converter(type_: SplType, kind: pl.DataType) -> Callable[[Any], Any]:
    """Return the function that makes a value that is not null a value of JSON."""
    if isinstance(type_, Optional):
        return _converter(type_.content, kind)
    if isinstance(type_, Collection) and type_.kind == "list" and isinstance(kind, pl.List):
        inner = _converter(type_.elements[0], _inner(kind))
        return lambda value: [None if each is None else inner(each) for each in value]
    if isinstance(type_, Collection | Tuple) or type_ in (BLOB, TIMESTAMP):
        return lambda value: text_of(_spl(value, kind), type_)
    return plain


def _inner(kind: pl.List) -> pl.DataType:
    inner = kind.inner
    return inner() if isinstance(inner, type) else inner


def _is_map(kind: pl.DataType) -> bool:
    """Return True if the values of a column are lists of entries, in which form a map is stored."""
    if not isinstance(kind, pl.List):
        return False
    inner = _inner(kind)
    return isinstance(inner, pl.Struct) and [field.name for field in inner.fields] == _ENTRY


def _type(kind: pl.DataType) -> SplType | None:
    """Return the type in SPL of the values of a column, or None if SPL has none."""
    if name := _NAMES.get(type(kind)):
        return Primitive(name)
    match kind:
        case pl.String():
            return RSTRING
        case pl.Datetime():
            return TIMESTAMP
        case pl.Binary():
            return BLOB
        case pl.List():
            inner = _type(_inner(kind))
            if _is_map(kind) and isinstance(inner, Tuple):
                return Collection("map", tuple(each.type for each in inner.attributes))
            return None if inner is None else Collection("list", (inner,))
        case pl.Struct(fields=fields):
            found = [(field.name, _type(_instance(field.dtype))) for field in fields]
            attributes = tuple(TupleAttribute(name, each) for name, each in found if each is not None)
            return Tuple(attributes) if len(attributes) == len(found) else None
        case _:
            return None


def _instance(kind: Any) -> pl.DataType:
    return kind() if isinstance(kind, type) else kind


def _spl(value: Any, kind: pl.DataType) -> Any:
    """Return a value in the form that `text_of` takes."""
    if value is None:
        return None
    if isinstance(kind, pl.List):
        inner = _inner(kind)
        if isinstance(inner, pl.Struct) and _is_map(kind):
            fields = {field.name: _instance(field.dtype) for field in inner.fields}
            return [tuple(_spl(entry[name], fields[name]) for name in _ENTRY) for entry in value]
        return [_spl(each, inner) for each in value]
    if isinstance(kind, pl.Struct):
        return {field.name: _spl(value[field.name], _instance(field.dtype)) for field in kind.fields}
    return value
