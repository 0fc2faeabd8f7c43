"""Conversion of Python's classes and Arrow's schemas to the DDL of a spec."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import types
import typing
from collections.abc import Mapping
from typing import Any, cast

from streams_orchestration.operators.tuples.arrow_types import schema_ddl

SchemaLike = str | type | Any
"""DDL, the name of a declared schema, a `TypedDict`, `NamedTuple` or dataclass, or an Arrow schema."""

_TYPES: dict[Any, str] = {
    str: "string",
    int: "bigint",
    float: "double",
    bool: "boolean",
    bytes: "binary",
    datetime.date: "date",
    datetime.datetime: "timestamp",
    decimal.Decimal: "decimal(38, 18)",
}


def ddl_of(schema: SchemaLike) -> str:
    """Return the tuple type of a class or an Arrow schema in DDL.

    A field whose type includes None becomes a nullable attribute; any other field is `NOT NULL`. A text is returned
    unchanged.

    Raises:
        TypeError: the schema is not a tuple type, or a field has a type that attributes cannot have.
        ValueError: a field of an Arrow schema has a type that attributes cannot have.
    """
    if isinstance(schema, str):
        return schema
    if isinstance(schema, type):
        return ", ".join(f"{name} {_attribute(schema, name, hint)}" for name, hint in _fields(schema).items())
    names = getattr(schema, "names", None)
    if names is not None and hasattr(schema, "field"):
        return schema_ddl(schema)
    message = f"{schema!r} is not a tuple type: DDL, a TypedDict, a NamedTuple, a dataclass or a schema of Arrow is one"
    raise TypeError(message)


def _fields(schema: type) -> Mapping[str, Any]:
    hints, name = typing.get_type_hints(schema, include_extras=True), schema.__qualname__
    if dataclasses.is_dataclass(schema):
        return {each.name: hints[each.name] for each in dataclasses.fields(schema)}
    if not hints:
        message = f"{name} has no fields with types, so it is not a tuple type"
        raise TypeError(message)
    return hints


def _attribute(schema: type, name: str, hint: Any, *, inner: bool = False) -> str:
    options = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    wanted = [option for option in options if option is not type(None)]
    if len(wanted) != 1:
        message = f"{schema.__qualname__}.{name}: {hint} is not a type of an attribute"
        raise TypeError(message)
    return _type(schema, name, wanted[0]) + ("" if len(options) > 1 or inner else " NOT NULL")


def _type(schema: type, name: str, hint: Any) -> str:
    if hint in _TYPES:
        return _TYPES[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated and isinstance(arguments[1], str):  # Annotated[int, "smallint"]
        return arguments[1]
    if origin is list:
        return f"array<{_type(schema, name, arguments[0])}>"
    if origin is dict:
        return f"map<{_type(schema, name, arguments[0])}, {_type(schema, name, arguments[1])}>"
    if isinstance(hint, type) and not issubclass(hint, str | int | float):
        nested = cast("type[object]", hint)
        fields = ", ".join(
            f"{part}: {_attribute(nested, part, each, inner=True)}" for part, each in _fields(nested).items()
        )
        return f"struct<{fields}>"
    message = f"{schema.__qualname__}.{name}: {hint} is not a type of an attribute"
    raise TypeError(message)
