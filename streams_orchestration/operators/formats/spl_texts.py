"""Values in SPL notation: literals in CSV rows, and whole tuples in lines of text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from streams_orchestration.operators.errors.errors import check_attributes
from streams_orchestration.operators.expressions.spl.types import spl_type
from streams_orchestration.operators.formats.spl_bounds import check_bounds
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import is_text, type_name, whole_range, with_leaves
from streams_orchestration.spl.programs.values import default_of, plain_function, unplain_function
from streams_orchestration.spl.types.columns import has_text_of_column, type_of_column
from streams_orchestration.spl.types.text import text_of, value_of
from streams_orchestration.spl.types.types import (
    Collection,
    Optional,
    Tuple,
    TupleAttribute,
    Type,
    is_string,
    parts_of_type,
)
from streams_orchestration.spl.types.written import type_of_text

SPL_TYPES = (
    "Maps attributes to their types in SPL if the values' texts depend on them, as in enum{red, green}, "
    "set<int32> and decimal64; for the formats splCsv, splTxt and bin."
)
"""The description of the parameter `types`."""
NO_TYPES: Mapping[str, str] = {}
_WHOLE = re.compile(r"[-+]?[0-9]+")
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*""", re.DOTALL)
_OPENING, _CLOSING = "[{(<", "]})>"


def spl_tuple(schema: pa.Schema, required: Sequence[str], format: str, types: Mapping[str, str]) -> Tuple:
    """Return the SPL tuple type of a schema. Attributes that may be null are optional.

    Args:
        schema: the attributes.
        required: the attributes that are never null.
        format: the name of the format, for errors.
        types: types of SPL that the columns do not show, by attribute.

    Raises:
        ValueError: an attribute has a type that SPL does not have, or one of `types` is not a type of its column.
    """
    return Tuple(tuple(TupleAttribute(field.name, _attribute_type(field, required, format, types)) for field in schema))


def _attribute_type(field: pa.Field, required: Sequence[str], format: str, types: Mapping[str, str]) -> Type:
    kind = _spl_type(field.type, format)
    if field.name in types:
        written = type_of_text(types[field.name])
        if type_of_column(written) != type_of_column(kind):
            message = f"types.{field.name}: {written} is not a type of a column {type_name(field.type)}"
            raise ValueError(message)
        kind = written.content if isinstance(written, Optional) else written
    return kind if field.name in required else Optional(kind)


def _spl_type(kind: pa.DataType, format: str) -> Type:
    """Return the SPL type that corresponds to an attribute's Arrow type; times may have another unit than in SPL."""

    def converted(leaf: pa.DataType) -> pa.DataType:
        return pa.timestamp("ns", leaf.tz) if pa.types.is_timestamp(leaf) and leaf.tz is not None else leaf

    try:
        return spl_type("", with_leaves(kind, converted))
    except ValueError:
        message = f"format {format}: SPL has no values of type {type_name(kind)}; convert it to a text or number"
        raise ValueError(message) from None


def reader_of(kind: pa.DataType, own: Type, *, quoted: bool) -> Callable[[str], Any]:
    """Return the function that parses one value of a row. It raises ValueError for an invalid text.

    An empty text is null or, if the attribute is never null, the default of the type. In an attribute of texts it is
    the empty text, and `null` is null unless the attribute is never null.

    Args:
        kind: the type of the attribute's column.
        own: the type of the attribute in SPL.
        quoted: True if quotes around a text are removed.
    """
    required = not isinstance(own, Optional)
    read = _value_reader(kind, own, quoted=quoted)
    absent = plain_function(own)(default_of(own))

    def read_or_default(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            if text.strip():
                raise
            return absent

    return read if required and is_text(kind) and is_string(own) else read_or_default


def _value_reader(kind: pa.DataType, own: Type, *, quoted: bool) -> Callable[[str], Any]:
    required = not isinstance(own, Optional)
    if is_string(own.content if isinstance(own, Optional) else own):
        from streams_orchestration.spl.language.tokens import string_value

        def read_text(text: str) -> Any:
            text = text.lstrip(" \t")  # blanks behind a text without quotes belong to it
            bare = text.rstrip(" \t")
            if not required and bare == "null":
                return None
            return string_value(bare.strip()) if quoted and _QUOTED.fullmatch(bare) else text

        return read_text
    if pa.types.is_integer(kind):
        least, most = whole_range(kind)

        def read_whole(text: str) -> Any:
            if _WHOLE.fullmatch(text) and least <= (number := int(text)) <= most:
                return number
            return value_of(text, own)

        return read_whole
    settle = settling(own)
    return lambda text: settle(value_of(text, own))


def settling(type_: Type) -> Callable[[Any], Any]:
    """Return the function that converts a value read from a text to a value of its column: a set loses duplicates."""
    if has_text_of_column(type_) and not any(
        isinstance(each, Collection) and each.kind == "map" for each in parts_of_type(type_)
    ):
        return lambda value: value
    plain, unplain = plain_function(type_), unplain_function(type_)
    return lambda value: plain(unplain(value))


def cells(line: str, separator: str, texts: Sequence[bool] = ()) -> list[str]:
    """Split a row into its values. A separator within quotes or brackets is part of a value.

    Args:
        line: the row.
        separator: the character between two values.
        texts: for each value, True if it is a text, in which brackets mean nothing; other values follow.

    >>> cells('1, "a,b", [2,3],', ",")
    ['1', ' "a,b"', ' [2,3]', '']
    >>> cells("[2,3], [a,b]", ",", [False, True, True])
    ['[2,3]', ' [a', 'b]']
    """
    if not any(mark in line for mark in "\"'[{("):
        return line.split(separator)
    parts: list[str] = []
    begin, at, depth = 0, 0, 0
    while at < len(line):
        mark = line[at]
        if mark in "\"'" and (depth or not line[begin:at].strip()) and (quoted := _QUOTED.match(line, at)):
            at = quoted.end()
            continue
        if mark == separator and not depth:
            parts.append(line[begin:at])
            begin = at + 1
        elif mark in _OPENING and (depth or not (any(texts[len(parts) : len(parts) + 1]) or line[begin:at].strip())):
            depth += 1
        elif mark in _CLOSING and depth:
            depth -= 1
        at += 1
    return [*parts, line[begin:]]


def column_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return a column of type `kind` from values as SPL programs hold them, with timestamps as integers of nanoseconds.

    Nanoseconds are cut off if the column counts microseconds.
    """
    plain = _with_times(kind, as_integers=True)
    precise = _with_times(kind, as_integers=False)
    column = pa.array(values, plain)
    return column if plain == kind else column.cast(precise).cast(kind, safe=False)


def _with_times(kind: pa.DataType, *, as_integers: bool) -> pa.DataType:
    """Return a type in which times are replaced by integers, or by times in nanoseconds."""

    def converted(leaf: pa.DataType) -> pa.DataType:
        if not pa.types.is_timestamp(leaf):
            return leaf
        return pa.int64() if as_integers else pa.timestamp("ns", leaf.tz)

    return with_leaves(kind, converted)


def texts_of(column: pa.Array, type_: Type, *, quoted: bool) -> list[str]:
    """Return the values of a column as literals of SPL; null as `null`.

    Args:
        column: the values.
        type_: their type in SPL.
        quoted: True to write quotes around texts.

    Raises:
        DataError: a value is not one of the type; see `check_bounds`.
    """
    check_bounds(column, type_)
    kind, inner = column.type, type_.content if isinstance(type_, Optional) else type_
    if is_string(inner) and not quoted:
        return ["null" if value is None else value for value in column.to_pylist()]
    if (plain := _with_times(kind, as_integers=True)) != kind:
        column = column.cast(_with_times(kind, as_integers=False)).cast(plain)
    if is_string(inner):  # a text by itself has no quotes, one in a list has
        several = Collection("list", (inner,))
        return ["null" if value is None else text_of([value], several)[1:-1] for value in column.to_pylist()]
    return ["null" if value is None else text_of(value, inner) for value in column.to_pylist()]


def tuples_of(batch: pa.RecordBatch, type_: Tuple) -> list[str]:
    """Return each tuple as a literal of SPL. Raise DataError if a value does not fit its type."""
    parts = [
        [f"{attribute.name}={text}" for text in texts_of(column, attribute.type, quoted=True)]
        for attribute, column in zip(type_.attributes, batch.columns, strict=True)
    ]
    return [f"{{{','.join(row)}}}" for row in zip(*parts, strict=True)]


def read_tuple(line: str, type_: Tuple) -> dict[str, Any]:
    """Return the values of a line with a whole tuple, such as `{a=1,b="x"}`.

    Raises:
        ValueError: the line is not a whole tuple.
    """
    return settling(type_)(value_of(line.strip(), type_))


def check_types(types: Mapping[str, str], names: Sequence[str]) -> None:
    """Raise UnknownAttributeError if `types` names an attribute that the stream does not have."""
    check_attributes("types", types, names, "the stream")
