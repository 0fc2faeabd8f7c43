"""Tuple types: a parser for flat and nested Spark DDL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from streams_orchestration.model.names import nearest

_ALIASES = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
}
_COMPOUND = ("array", "map", "struct")
_SIMPLE = frozenset(
    (
        *("string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp"),
        *("timestamp_ntz", "timestamp_ns", "binary", "utinyint", "usmallint", "uint", "ubigint"),
    )
)
_TOKEN = re.compile(r"\s*(?:(?P<quoted>`(?:[^`]|``)+`)|(?P<word>\w+)|(?P<text>'[^']*')|(?P<mark>[<>(),:])|(?P<bad>\S))")
_MAX_DEPTH = 50


class Attribute(NamedTuple):
    """One attribute of a tuple type, with its type in canonical DDL."""

    name: str
    type: str
    required: bool = False
    """True for an attribute that is never null."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A parsed tuple type, with the errors that were found in its text."""

    attributes: tuple[Attribute, ...]
    errors: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def ddl(self) -> str:
        """The tuple type in canonical DDL; empty without attributes."""
        return ", ".join(
            f"{quoted(name)} {type_}{' NOT NULL' if required else ''}" for name, type_, required in self.attributes
        )

    @property
    def nullable(self) -> Schema:
        """The tuple type with every attribute nullable."""
        return Schema(tuple(attribute._replace(required=False) for attribute in self.attributes), self.errors)


def quoted(name: str) -> str:
    """Return an attribute's name as DDL writes it: in backticks unless it is a plain word."""
    return name if re.fullmatch(r"\w+", name) else "`" + name.replace("`", "``") + "`"


class _SchemaError(Exception):
    """The tuple type cannot be parsed beyond an error."""


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str, int]] = []
        self.errors: list[str] = []
        self.position = 0
        for match in _TOKEN.finditer(text):
            kind = match.lastgroup or "bad"
            if kind == "bad":
                self.fail(f"unexpected {match.group('bad')!r} at character {match.start(kind) + 1}")
            self.tokens.append((kind, match.group(kind), match.start(kind) + 1))

    def fail(self, message: str) -> NoReturn:
        raise _SchemaError(message)

    def peek(self) -> str:
        return self.tokens[self.position][1] if self.position < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        if self.position >= len(self.tokens):
            self.fail(f"{expected or 'more'} expected at the end")
        kind, text, place = self.tokens[self.position]
        if expected and text != expected:
            self.fail(f"{expected!r} expected at character {place}, found {text!r}")
        self.position += 1
        if not expected and kind == "mark":
            self.fail(f"a name expected at character {place}, found {text!r}")
        return text

    def attributes(self, end: str, depth: int) -> list[Attribute]:
        attributes: list[Attribute] = []
        while True:
            name = self.take()
            name = name[1:-1].replace("``", "`") if name.startswith("`") else name
            if self.peek() == ":":
                self.take(":")
            if not self.peek() or self.peek() in ",>":
                self.fail(f"the attribute {name} has no type")
            if name in (attribute.name for attribute in attributes):
                self.errors.append(f"the schema has the attribute {name} twice")
            kind = self.type(depth)
            required = self.options()
            if required and depth:
                self.errors.append(f"{name} within a struct is NOT NULL, which only the attributes of a tuple may be")
            attributes.append(Attribute(name, kind, required))
            if self.peek() != ",":
                break
            self.take(",")
        if end or self.position < len(self.tokens):
            self.take(end or ",")
        return attributes

    def options(self) -> bool:
        """Read the options after a type; return True for NOT NULL."""
        required = self.peek().lower() == "not"
        if required:
            self.take()
            if self.take().lower() != "null":
                self.fail("NOT is followed by NULL")
        if self.peek().lower() == "comment":
            self.take()
            self.take()
        return required

    def type(self, depth: int) -> str:
        if depth > _MAX_DEPTH:
            self.fail("the type is nested too deeply")
        word = self.take()
        name = _ALIASES.get(word.lower(), word.lower())
        if name in _SIMPLE:
            return name
        if name == "decimal":
            return self.decimal()
        if name in _COMPOUND:
            self.take("<")
            if name == "struct":
                inner = ", ".join(f"{quoted(field)}: {type_}" for field, type_, _ in self.attributes(">", depth + 1))
                return f"struct<{inner}>"
            parts = [self.type(depth + 1)]
            if name == "map":
                self.take(",")
                parts.append(self.type(depth + 1))
            self.take(">")
            return f"{name}<{', '.join(parts)}>"
        kinds = (*_SIMPLE, *_ALIASES, *_COMPOUND, "decimal")
        return self.fail(f"there is no type {word}{nearest(word.lower(), kinds)}")

    def decimal(self) -> str:
        precision, scale = "10", "0"
        if self.peek() == "(":
            self.take("(")
            precision = self.take()
            if self.peek() == ",":
                self.take(",")
                scale = self.take()
            self.take(")")
        if not (precision.isdecimal() and scale.isdecimal() and 0 < int(precision[:4]) <= 38):
            self.fail(f"decimal({precision}, {scale}) is not possible: a precision of 1 to 38 is needed")
        if int(scale[:4]) > int(precision):
            self.fail(f"decimal({precision}, {scale}) is not possible: the scale exceeds the precision")
        return f"decimal({int(precision)}, {int(scale)})"


def parse_schema(text: str) -> Schema:
    """Parse a tuple type. `errors` has the faults; a text that cannot be read to its end has no attributes."""
    try:
        parser = _Parser(text)
        if not parser.tokens:
            return Schema((), ("a tuple type has at least one attribute",))
        attributes = parser.attributes("", 0)
    except _SchemaError as error:
        return Schema((), (str(error),))
    return Schema(tuple(attributes), tuple(parser.errors))
