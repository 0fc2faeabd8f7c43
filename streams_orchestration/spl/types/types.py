"""Types of SPL, compared by structure; names that a program defines for types are replaced by the types.

>>> str(Tuple((TupleAttribute("n", INT32), TupleAttribute("names", Collection("list", (RSTRING,))))))
'tuple<int32 n, list<rstring> names>'
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type of one word."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class BoundedString:
    """An rstring of at most `bound` bytes. It is a type of its own: a `rstring` must be cast to it."""

    bound: int

    def __str__(self) -> str:
        return f"rstring[{self.bound}]"


@dataclass(frozen=True, slots=True)
class Enumeration:
    """An enumeration, whose words are ordered as they are declared."""

    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"enum{{{', '.join(self.words)}}}"


@dataclass(frozen=True, slots=True)
class TupleAttribute:
    """An attribute of a tuple type."""

    name: str
    type: Type

    def __str__(self) -> str:
        return f"{self.type} {self.name}"


@dataclass(frozen=True, slots=True)
class Tuple:
    """A tuple type; its attributes have different names."""

    attributes: tuple[TupleAttribute, ...]

    def __str__(self) -> str:
        return f"tuple<{', '.join(map(str, self.attributes))}>"

    def type_of(self, name: str) -> Type | None:
        """Return the type of an attribute, or None if the tuple has no attribute of this name."""
        return next((each.type for each in self.attributes if each.name == name), None)


@dataclass(frozen=True, slots=True)
class Collection:
    """A `list`, `set` or `map` of at most `bound` elements; collections with and without a bound are different types.

    Attributes:
        elements: the type of the elements; for a map, the types of keys and values.
    """

    kind: str
    elements: tuple[Type, ...]
    bound: int | None = None

    def __str__(self) -> str:
        bound = "" if self.bound is None else f"[{self.bound}]"
        return f"{self.kind}<{', '.join(map(str, self.elements))}>{bound}"


@dataclass(frozen=True, slots=True)
class Optional:
    """A type whose values may be null; its content is never optional itself."""

    content: Type

    def __str__(self) -> str:
        return f"optional<{self.content}>"


@dataclass(frozen=True, slots=True)
class Special:
    """A type that cannot be written in a program."""

    name: str

    def __str__(self) -> str:
        return self.name


Type = Primitive | BoundedString | Enumeration | Tuple | Collection | Optional | Special

UNKNOWN = Special("unknown")
"""The type of an expression with a mistake. It fits every other type, so one mistake is reported once."""
VOID = Special("void")
NULL = Special("null")
"""The type of the literal `null`."""
EMPTY_BRACES = Special("{}")
"""The type of the literal `{}`, which is a tuple, set or map depending on its context."""
BOOLEAN, BLOB, XML, TIMESTAMP = Primitive("boolean"), Primitive("blob"), Primitive("xml"), Primitive("timestamp")
RSTRING, USTRING = Primitive("rstring"), Primitive("ustring")
INT32, INT64, UINT8, FLOAT64 = Primitive("int32"), Primitive("int64"), Primitive("uint8"), Primitive("float64")
SIGNED = {Primitive(f"int{width}"): width for width in (8, 16, 32, 64)}
UNSIGNED = {Primitive(f"uint{width}"): width for width in (8, 16, 32, 64)}
INTEGERS = SIGNED | UNSIGNED
"""Integer type -> its number of bits."""
FLOATS = {Primitive(f"float{width}"): width for width in (32, 64)}
DECIMALS = {Primitive("decimal32"): 7, Primitive("decimal64"): 16, Primitive("decimal128"): 34}
"""Decimal type -> its number of digits."""
REALS = INTEGERS.keys() | FLOATS.keys() | DECIMALS.keys()
"""The numeric types except complex ones."""
COMPLEX = frozenset({Primitive("complex32"), Primitive("complex64")})
COMPILED_ONLY = COMPLEX | {Primitive("xml")}
"""Types of which no values exist here, so that an application with them only compiles."""
EMPTY_LIST = Collection("list", (UNKNOWN,))
"""The type of the literal `[]`."""


def is_string(type_: Type) -> bool:
    """Return True for rstring, with a bound or without, and ustring."""
    return isinstance(type_, BoundedString) or type_ in (RSTRING, USTRING)


def is_primitive(type_: Type) -> bool:
    """Return True if values of the type are not composed of other values."""
    return isinstance(type_, Primitive | BoundedString | Enumeration)


def is_settled(type_: Type) -> bool:
    """Return True if a type is completely known, and is a type that values can have.

    >>> is_settled(Collection("list", (INT32,))), is_settled(Collection("list", (UNKNOWN,)))
    (True, False)
    """
    return not any(isinstance(each, Special) for each in parts_of_type(type_))


def parts_of_type(type_: Type) -> Iterator[Type]:
    """Yield a type and all types that it contains.

    >>> [str(each) for each in parts_of_type(Collection("list", (Optional(INT32),)))]
    ['list<optional<int32>>', 'optional<int32>', 'int32']
    """
    yield type_
    inner: tuple[Type, ...] = ()
    if isinstance(type_, Collection):
        inner = type_.elements
    elif isinstance(type_, Tuple):
        inner = tuple(each.type for each in type_.attributes)
    elif isinstance(type_, Optional):
        inner = (type_.content,)
    for each in inner:
        yield from parts_of_type(each)


def range_of(integer: Primitive) -> tuple[int, int]:
    """Return the smallest and the largest value of an integer type.

    >>> range_of(UINT8)
    (0, 255)
    """
    bits = INTEGERS[integer]
    return (0, 2**bits - 1) if integer in UNSIGNED else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
