"""Types of SPL, compared by structure: the names that a program gives to types are gone.

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
    """An rstring of at most `bound` bytes; another type than `rstring`, into which it must be cast."""

    bound: int

    def __str__(self) -> str:
        return f"rstring[{self.bound}]"


@dataclass(frozen=True, slots=True)
class Enumeration:
    """An enumeration, ordered as its words are declared."""

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
    """A `list`, `set` or `map` of at most `bound` elements; a bounded one is another type than one without bound.

    Attributes:
        elements: the type of the elements, or those of keys and values.
    """

    kind: str
    elements: tuple[Type, ...]
    bound: int | None = None

    def __str__(self) -> str:
        bound = "" if self.bound is None else f"[{self.bound}]"
        return f"{self.kind}<{', '.join(map(str, self.elements))}>{bound}"


@dataclass(frozen=True, slots=True)
class Optional:
    """A type whose values may be null; its content is not optional."""

    content: Type

    def __str__(self) -> str:
        return f"optional<{self.content}>"


@dataclass(frozen=True, slots=True)
class Special:
    """A type that no program can write."""

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
"""The type of the literal `{}`, which is a tuple, set or map by its context."""
BOOLEAN, BLOB, XML, TIMESTAMP = Primitive("boolean"), Primitive("blob"), Primitive("xml"), Primitive("timestamp")
RSTRING, USTRING = Primitive("rstring"), Primitive("ustring")
INT32, INT64, UINT8, FLOAT64 = Primitive("int32"), Primitive("int64"), Primitive("uint8"), Primitive("float64")
SIGNED = {Primitive(f"int{width}"): width for width in (8, 16, 32, 64)}
UNSIGNED = {Primitive(f"uint{width}"): width for width in (8, 16, 32, 64)}
INTEGERS = SIGNED | UNSIGNED
"""The integer types, with their bits."""
FLOATS = {Primitive(f"float{width}"): width for width in (32, 64)}
DECIMALS = {Primitive("decimal32"): 7, Primitive("decimal64"): 16, Primitive("decimal128"): 34}
"""The decimal types, with their digits."""
REALS = INTEGERS.keys() | FLOATS.keys() | DECIMALS.keys()
"""The numeric types but the complex ones."""
COMPLEX = frozenset({Primitive("complex32"), Primitive("complex64")})
EMPTY_LIST = Collection("list", (UNKNOWN,))
"""The type of the literal `[]`."""


def is_string(type_: Type) -> bool:
    """Return True for rstring, with a bound or without, and ustring."""
    return isinstance(type_, BoundedString) or type_ in (RSTRING, USTRING)


def is_primitive(type_: Type) -> bool:
    """Return True if values of the type have no parts."""
    return isinstance(type_, Primitive | BoundedString | Enumeration)


def is_settled(type_: Type) -> bool:
    """Return True for a type of values, without a part that is unknown.

    >>> is_settled(Collection("list", (INT32,))), is_settled(Collection("list", (UNKNOWN,)))
    (True, False)
    """
    return not any(isinstance(each, Special) for each in parts_of_type(type_))


def parts_of_type(type_: Type) -> Iterator[Type]:
    """Yield a type, and the types of its elements, attributes and content.

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
