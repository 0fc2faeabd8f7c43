"""Types of SPL as column types of a tuple type, in Spark DDL with the words for unsigned integers and nanoseconds.

>>> from streams_orchestration.spl.types.written import type_of_text
>>> ddl_of(type_of_text("tuple<int32 n, list<rstring> words>"))
'n int NOT NULL, words array<string> NOT NULL'
"""

from __future__ import annotations

from streams_orchestration.spl.types.types import (
    COMPLEX,
    DECIMALS,
    BoundedString,
    Collection,
    Enumeration,
    Optional,
    Primitive,
    Tuple,
    Type,
)

_WORDS = {
    "boolean": "boolean",
    "blob": "binary",
    "xml": "string",
    "timestamp": "timestamp_ns",
    "rstring": "string",
    "ustring": "string",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint8": "utinyint",
    "uint16": "usmallint",
    "uint32": "uint",
    "uint64": "ubigint",
    "float32": "float",
    "float64": "double",
}
_COLLECTIONS = {"list": "array", "set": "array", "map": "map"}


def ddl_of(type_: Tuple) -> str:
    """Return the tuple type in DDL; only optional attributes may be null.

    Raises:
        NoColumnError: an attribute has a type that no column has.
    """
    return ", ".join(
        f"{_quoted(each.name)} {column_of(each.type)}{'' if isinstance(each.type, Optional) else ' NOT NULL'}"
        for each in type_.attributes
    )


def column_of(type_: Type) -> str:
    """Return the type of a column that holds the values of a type.

    >>> from streams_orchestration.spl.types.written import type_of_text
    >>> column_of(type_of_text("optional<tuple<timestamp at, uint64 id>>"))
    'struct<at: timestamp_ns, id: ubigint>'

    Raises:
        NoColumnError: the type is none of a value.
    """
    if isinstance(type_, Optional):
        return column_of(type_.content)
    if isinstance(type_, BoundedString | Enumeration):
        return "string"
    if isinstance(type_, Collection):
        return f"{_COLLECTIONS[type_.kind]}<{', '.join(map(column_of, type_.elements))}>"
    if isinstance(type_, Tuple):
        inner = ", ".join(f"{_quoted(each.name)}: {column_of(each.type)}" for each in type_.attributes)
        return f"struct<{inner}>"
    if isinstance(type_, Primitive):
        if type_ in DECIMALS:
            return f"decfloat({DECIMALS[type_]})"
        if type_ in COMPLEX:
            word = "float" if type_.name == "complex32" else "double"
            return f"struct<real: {word}, imaginary: {word}>"
        if type_.name in _WORDS:
            return _WORDS[type_.name]
    message = f"no column holds values of type {type_}"
    raise NoColumnError(message)


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


class NoColumnError(ValueError):
    """Error: no column holds values of the type."""
