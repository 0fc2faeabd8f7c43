"""Types of expressions: the types of attributes, intervals, and the type of NULL."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

from streams_orchestration.model.schema import parse_schema, quoted


@dataclass(frozen=True, slots=True)
class Type:
    """A type of Spark SQL.

    Attributes:
        name: the name in canonical DDL without parameters: `int`, `decimal`, `array`.
        precision: the digits of a decimal in total.
        scale: the digits of a decimal after its point.
        parts: the types of an array's elements, of a map's keys and values, or of a struct's fields.
        fields: the names of a struct's fields.
    """

    name: str
    precision: int = 0
    scale: int = 0
    parts: tuple[Type, ...] = ()
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the type in canonical DDL."""
        if self.name == "decimal":
            return f"decimal({self.precision}, {self.scale})"
        if self.name == "struct":
            inner = ", ".join(f"{quoted(name)}: {part}" for name, part in zip(self.fields, self.parts, strict=True))
            return f"struct<{inner}>"
        return f"{self.name}<{', '.join(map(str, self.parts))}>" if self.parts else self.name

    @property
    def is_integral(self) -> bool:
        """True for whole numbers of 8 to 64 bits."""
        return self.name in INTEGRAL_RANGES

    @property
    def is_fractional(self) -> bool:
        """True for `float` and `double`."""
        return self.name in ("float", "double")

    @property
    def is_decimal(self) -> bool:
        """True for decimals of any precision."""
        return self.name == "decimal"

    @property
    def is_numeric(self) -> bool:
        """True for all numbers."""
        return self.is_integral or self.is_fractional or self.is_decimal

    @property
    def is_datetime(self) -> bool:
        """True for dates and timestamps, except `timestamp_ns`, which Spark lacks."""
        return self.name in ("date", "timestamp", "timestamp_ntz")

    @property
    def is_interval(self) -> bool:
        """True for all intervals."""
        return self.name.startswith("interval")

    @property
    def is_nested(self) -> bool:
        """True for arrays, maps and structs."""
        return self.name in ("array", "map", "struct")

    def holds(self, name: str) -> bool:
        """Return True if the type is, or contains, a type of this name."""
        return self.name == name or any(part.holds(name) for part in self.parts)

    @property
    def is_ordered(self) -> bool:
        """True if values can be compared by `<`: all types except maps and types that contain maps."""
        return self.name != "map" and all(part.is_ordered for part in self.parts)

    @property
    def is_attribute(self) -> bool:
        """True if an attribute can have this type: all but intervals and NULL."""
        return self != VOID and not self.is_interval and all(part.is_attribute for part in self.parts)


VOID = Type("void")
BOOLEAN = Type("boolean")
TINYINT = Type("tinyint")
SMALLINT = Type("smallint")
INT = Type("int")
BIGINT = Type("bigint")
FLOAT = Type("float")
DOUBLE = Type("double")
STRING = Type("string")
BINARY = Type("binary")
DATE = Type("date")
TIMESTAMP = Type("timestamp")
TIMESTAMP_NTZ = Type("timestamp_ntz")
DAY = Type("interval day")
DAY_TIME = Type("interval day to second")
YEAR_MONTH = Type("interval year to month")

INTEGRAL_RANGES = {
    "tinyint": (-(2**7), 2**7 - 1),
    "smallint": (-(2**15), 2**15 - 1),
    "int": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
    "utinyint": (0, 2**8 - 1),
    "usmallint": (0, 2**16 - 1),
    "uint": (0, 2**32 - 1),
    "ubigint": (0, 2**64 - 1),
}
"""The smallest and the largest value of each type of whole numbers."""

INTEGRAL_DIGITS = {
    "tinyint": 3,
    "smallint": 5,
    "int": 10,
    "bigint": 20,
    "utinyint": 3,
    "usmallint": 5,
    "uint": 10,
    "ubigint": 20,
}
"""Type of whole numbers -> the precision of the decimal type that holds its values (Spark's `DecimalType.forType`)."""

MAX_PRECISION = 38


_WIDER = {
    "utinyint": Type("smallint"),
    "usmallint": Type("int"),
    "uint": Type("bigint"),
    "ubigint": Type("decimal", 20),
    "timestamp_ns": Type("timestamp"),
}
"""Type of an attribute that Spark lacks -> the wider type of Spark in which expressions read the attribute."""


@functools.lru_cache(maxsize=4096)
def in_spark(kind: Type) -> Type:
    """Return the Spark type that holds the values of a type; an unsigned type becomes the next wider signed one.

    Nanoseconds are cut off.

    >>> str(in_spark(parse_type("array<ubigint>")))
    'array<decimal(20, 0)>'
    """
    if kind.parts:
        return replace(kind, parts=tuple(map(in_spark, kind.parts)))
    return _WIDER.get(kind.name, kind)


@functools.lru_cache(maxsize=4096)
def without_nanoseconds(kind: Type) -> Type:
    """Return a type with `timestamp` in place of `timestamp_ns`."""
    if kind.parts:
        return replace(kind, parts=tuple(map(without_nanoseconds, kind.parts)))
    return TIMESTAMP if kind.name == "timestamp_ns" else kind


def decimal_type(precision: int, scale: int) -> Type:
    """Return a decimal type with precision and scale limited to 38 (Spark's `bounded`)."""
    return Type("decimal", min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))


def adjusted_decimal(precision: int, scale: int) -> Type:
    """Return the decimal type of a result; if it needs more than 38 digits, the scale is reduced.

    The scale is not reduced below six, so whole digits may be lost (Spark's `adjustPrecisionScale`).
    """
    if precision <= MAX_PRECISION:
        return Type("decimal", precision, scale)
    whole = precision - scale
    return Type("decimal", MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, 6)))


def array_of(part: Type) -> Type:
    """Return the type of arrays whose elements have this type."""
    return Type("array", parts=(part,))


def map_of(key: Type, value: Type) -> Type:
    """Return the type of maps whose keys and values have these types."""
    return Type("map", parts=(key, value))


def struct_of(names: tuple[str, ...], parts: tuple[Type, ...]) -> Type:
    """Return the type of structs whose fields have these names and types."""
    return Type("struct", parts=parts, fields=names)


@functools.lru_cache(maxsize=4096)
def parse_type(text: str) -> Type:
    """Parse a type in DDL.

    Raises:
        ValueError: the text is not a type.
    """
    schema = parse_schema(f"`it` {text}")
    if schema.errors or len(schema.attributes) != 1 or schema.attributes[0].required:
        message = "; ".join(schema.errors) or f"{text} is not a type"
        raise ValueError(message)
    return _canonical(schema.attributes[0].type)


def _canonical(text: str) -> Type:
    kind, _, inner = text.removesuffix(">").partition("<")
    if kind.startswith("decimal"):
        precision, scale = kind[8:-1].split(", ")
        return Type("decimal", int(precision), int(scale))
    if kind == "struct":
        attributes = parse_schema(inner).attributes
        return struct_of(tuple(each.name for each in attributes), tuple(_canonical(each.type) for each in attributes))
    if kind in ("array", "map"):
        return Type(kind, parts=tuple(_canonical(part) for part in outer_parts(inner)))
    return Type(kind)


def outer_parts(text: str) -> list[str]:
    """Split a text such as `int, map<int, int>` at its outermost commas, each of which a blank follows."""
    depth = 0
    start = 0
    parts = list[str]()
    for position, mark in enumerate(text):
        depth += (mark in "<(") - (mark in ">)")
        if mark == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 2
    return [*parts, text[start:]]
