"""Types of SPL as column types of a tuple type, in Spark DDL with the words for unsigned integers and nanoseconds.

A column knows less than a type: enumerations, ustrings and XML are strings in it, sets are arrays.

>>> from streams_orchestration.spl.types.written import type_of_text
>>> ddl_of(type_of_text("tuple<int32 n, list<rstring> words>"))
'n int NOT NULL, words array<string> NOT NULL'
"""

from __future__ import annotations

from streams_orchestration.spl.types.types import (
    COMPLEX,
    DECIMALS,
    FLOATS,
    RSTRING,
    BoundedString,
    Collection,
    Enumeration,
    Optional,
    Primitive,
    Tuple,
    TupleAttribute,
    Type,
    parts_of_type,
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
    """Return a tuple type in DDL, in which only optional attributes are nullable.

    Raises:
        NoColumnError: no column can hold values of an attribute.
    """
    return ", ".join(
        f"{_quoted(each.name)} {column_of(each.type)}{'' if isinstance(each.type, Optional) else ' NOT NULL'}"
        for each in type_.attributes
    )


def column_of(type_: Type) -> str:
    """Return the type of a column that holds the values of an SPL type.

    >>> from streams_orchestration.spl.types.written import type_of_text
    >>> column_of(type_of_text("optional<tuple<timestamp at, uint64 id>>"))
    'struct<at: timestamp_ns, id: ubigint>'

    Raises:
        NoColumnError: no column can hold values of the type.
    """
    if isinstance(type_, Optional):
        return column_of(type_.content)
    if isinstance(type_, BoundedString | Enumeration) or type_ in DECIMALS:
        return "string"
    if isinstance(type_, Collection):
        return f"{_COLLECTIONS[type_.kind]}<{', '.join(map(column_of, type_.elements))}>"
    if isinstance(type_, Tuple):
        inner = ", ".join(f"{_quoted(each.name)}: {column_of(each.type)}" for each in type_.attributes)
        return f"struct<{inner}>"
    if isinstance(type_, Primitive):
        if type_ in COMPLEX:
            word = "float" if type_.name == "complex32" else "double"
            return f"struct<real: {word}, imaginary: {word}>"
        if type_.name in _WORDS:
            return _WORDS[type_.name]
    message = f"no column can hold values of type {type_}"
    raise NoColumnError(message)


def type_of_column(type_: Type) -> Type:
    """Return the SPL type that is assumed for a column if only the column's type is known.

    >>> from streams_orchestration.spl.types.written import type_of_text
    >>> str(type_of_column(type_of_text("tuple<optional<int32> n, set<enum{red, green}> colours>")))
    'tuple<int32 n, list<rstring> colours>'
    """
    match type_:
        case Optional(content=content):
            return type_of_column(content)
        case Tuple(attributes=attributes):
            return Tuple(tuple(TupleAttribute(each.name, type_of_column(each.type)) for each in attributes))
        case Collection(kind="map", elements=elements):
            return Collection("map", tuple(map(type_of_column, elements)))
        case Collection(elements=elements):
            return Collection("list", tuple(map(type_of_column, elements)))
        case BoundedString() | Enumeration() | Primitive(name="ustring" | "xml"):
            return RSTRING
        case _:
            return RSTRING if type_ in DECIMALS else type_


def beyond_column(type_: Tuple) -> Tuple:
    """Return the attributes of a tuple type whose SPL types cannot be derived from their columns.

    >>> from streams_orchestration.spl.types.written import type_of_text
    >>> str(beyond_column(type_of_text("tuple<int32 n, set<int32> numbers>")))
    'tuple<set<int32> numbers>'
    """
    return Tuple(tuple(each for each in type_.attributes if type_of_column(each.type) != each.type))


def has_text_of_column(type_: Type) -> bool:
    """Return True if values of a type have the same texts as values of its column's type.

    Words of enumerations, sets and decimals have other texts than the strings and lists in their columns. A column does
    not tell if parts of its values may be null.
    """
    return not any(
        isinstance(each, Enumeration | Optional)
        or each in DECIMALS
        or (isinstance(each, Collection) and each.kind == "set")
        for each in parts_of_type(type_.content if isinstance(type_, Optional) else type_)
    )


def has_canonical_column(type_: Type) -> bool:
    """Return True if equal values of a type are equal in their columns, as are all but sets and decimals.

    >>> from streams_orchestration.spl.types.written import type_of_text
    >>> [has_canonical_column(type_of_text(text)) for text in ("list<int32>", "tuple<set<int32> numbers>", "decimal32")]
    [True, False, False]
    """
    return not any(
        each in DECIMALS or (isinstance(each, Collection) and each.kind == "set") for each in parts_of_type(type_)
    )


def may_hold_nan(type_: Type) -> bool:
    """Return True if values of a type may be NaN or hold NaN, so that they equal no value, not even themselves.

    >>> from streams_orchestration.spl.types.written import type_of_text
    >>> [may_hold_nan(type_of_text(text)) for text in ("list<int32>", "tuple<set<float32> numbers>", "decimal32")]
    [False, True, True]
    """
    return any(each in FLOATS or each in DECIMALS for each in parts_of_type(type_))


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


class NoColumnError(ValueError):
    """No column can hold values of the type."""
