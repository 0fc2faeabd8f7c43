"""Types of SPL that columns have: strings are rstrings, arrays lists, and no value is null."""

from __future__ import annotations

from streams_orchestration.operators.libraries import pa
from streams_orchestration.spl.types.types import (
    BLOB,
    BOOLEAN,
    RSTRING,
    TIMESTAMP,
    Attribute,
    Collection,
    Primitive,
    Tuple,
    Type,
)


def tuple_type(schema: pa.Schema) -> Tuple:
    """Return the type of the tuples of a stream.

    Raises:
        ValueError: an attribute has a type that SPL does not have.
    """
    return Tuple(tuple(Attribute(field.name, spl_type(field.name, field.type)) for field in schema))


def spl_type(name: str, kind: pa.DataType) -> Type:
    """Return the type of the values of a column.

    Raises:
        ValueError: SPL has no such type.
    """
    types = pa.types
    if types.is_integer(kind):
        return Primitive(str(kind))
    if types.is_floating(kind):
        return Primitive({"float": "float32", "double": "float64"}[str(kind)])
    if types.is_list(kind):
        return Collection("list", (spl_type(name, kind.value_type),))
    if types.is_map(kind):
        return Collection("map", (spl_type(name, kind.key_type), spl_type(name, kind.item_type)))
    if types.is_struct(kind):
        return Tuple(tuple(Attribute(field.name, spl_type(name, field.type)) for field in kind))
    if types.is_timestamp(kind) and kind.unit == "ns":
        return TIMESTAMP
    simple = {pa.bool_(): BOOLEAN, pa.string(): RSTRING, pa.binary(): BLOB}
    if kind not in simple:
        message = f"{name} is {kind}, a type that SPL does not have"
        raise ValueError(message)
    return simple[kind]
