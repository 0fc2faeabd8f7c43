"""Tuple types of the spec (Spark DDL) as Arrow schemas."""

from __future__ import annotations

import functools
import re

import pyarrow as pa

from streams_orchestration.model.schema import parse_schema

_SIMPLE: dict[str, pa.DataType] = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "binary": pa.binary(),
}


@functools.lru_cache(maxsize=4096)
def arrow_schema(ddl: str) -> pa.Schema:
    """The Arrow schema of a tuple type; empty text is the type of no attributes.

    Raises:
        ValueError: the text is no tuple type.
    """
    if not ddl:
        return pa.schema([])
    schema = parse_schema(ddl)
    if schema.errors:
        message = f"{ddl!r} is no tuple type: {'; '.join(schema.errors)}"
        raise ValueError(message)
    return pa.schema([pa.field(attribute.name, arrow_type(attribute.type)) for attribute in schema.attributes])


def arrow_type(text: str) -> pa.DataType:
    """The Arrow type of one attribute, from its canonical DDL."""
    if text in _SIMPLE:
        return _SIMPLE[text]
    if match := re.fullmatch(r"decimal\((\d+), (\d+)\)", text):
        return pa.decimal128(int(match[1]), int(match[2]))
    kind, _, inner = text.removesuffix(">").partition("<")
    if kind == "array":
        return pa.list_(arrow_type(inner))
    if kind == "map":
        comma = _top_level_comma(inner)
        return pa.map_(arrow_type(inner[:comma]), arrow_type(inner[comma + 2 :]))
    return pa.struct(list(arrow_schema(inner)))


def _top_level_comma(text: str) -> int:
    depth = 0
    for position, mark in enumerate(text):
        depth += (mark in "<(") - (mark in ">)")
        if mark == "," and depth == 0:
            return position
    message = f"{text!r}: a map has a key and a value type"
    raise ValueError(message)
