"""Conversion of SPL values to text, as a cast to rstring does it, and back.

Values are Python's: bool, int, float, Decimal, complex, str and bytes; a timestamp is its nanoseconds since 1970, a set
the list of its elements in their order, a map a list of pairs, a tuple a dictionary, null None.

>>> text_of(1e20, FLOAT64), text_of(["a", "b"], Collection("list", (Primitive("rstring"),)))
('1e+20', '["a","b"]')
>>> value_of("[ 1.5 , 2 ]", Collection("list", (FLOAT64,)))
[1.5, 2.0]
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any, NoReturn

from streams_orchestration.spl.language.tokens import string_text, string_value
from streams_orchestration.spl.types.literals import LiteralError, value_in
from streams_orchestration.spl.types.types import (
    BLOB,
    BOOLEAN,
    COMPLEX,
    DECIMALS,
    FLOAT64,
    FLOATS,
    INTEGERS,
    REALS,
    TIMESTAMP,
    XML,
    BoundedString,
    Collection,
    Enumeration,
    Optional,
    Primitive,
    Tuple,
    Type,
    is_string,
)

_SECOND = 10**9
_BLANKS = re.compile(r"\s*")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?(?:inf|nan)")
_DECIMAL_WORDS = {"Infinity": "inf", "-Infinity": "-inf", "NaN": "nan", "-NaN": "-nan"}
"""The texts of decimals in columns that are not numbers -> their texts in SPL."""
_STRING = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BYTES = re.compile(r"(?:[0-9A-Fa-f]{2})*")


class ValueTextError(ValueError):
    """The text is not a value of the type."""


def text_of(value: Any, type_: Type) -> str:
    """Return the text of a value; a string is its own text, but is quoted inside of other values."""
    if isinstance(type_, Optional) and value is not None:
        return text_of(value, type_.content)
    return str(value) if is_string(type_) or type_ == XML else _inner_text(value, type_)


def value_of(text: str, type_: Type) -> Any:
    """Parse a text as a value of a type.

    Raises:
        ValueTextError: the whole text is not a value of the type.
    """
    if is_string(type_) or type_ == XML:
        return _within_bound(text, type_)
    return _TextReader(text, type_).whole()


def _inner_text(value: Any, type_: Type) -> str:
    if value is None:
        return "null"
    match type_:
        case Optional(content=content):
            return _inner_text(value, content)
        case Tuple():
            parts = (f"{each.name}={_inner_text(value[each.name], each.type)}" for each in type_.attributes)
            return f"{{{','.join(parts)}}}"
        case Collection(kind="map", elements=(key, content)):
            parts = (f"{_inner_text(one, key)}:{_inner_text(other, content)}" for one, other in value)
            return f"{{{','.join(parts)}}}"
        case Collection(kind=kind, elements=(element,)):
            inner = ",".join(_inner_text(each, element) for each in value)
            return f"[{inner}]" if kind == "list" else f"{{{inner}}}"
        case _ if is_string(type_):
            return string_text(value)
        case _:
            return _simple_text(value, type_)


def _simple_text(value: Any, type_: Type) -> str:
    if type_ == BOOLEAN:
        return "true" if value else "false"
    if isinstance(type_, Primitive) and type_ in FLOATS:
        return _float_text(value, 15 if FLOATS[type_] == 64 else 6)
    if type_ in COMPLEX:
        digits = 15 if str(type_) == "complex64" else 6
        return f"({_float_text(value.real, digits)},{_float_text(value.imag, digits)})"
    if type_ == TIMESTAMP:
        seconds, nanoseconds = divmod(value, _SECOND)
        return f"({seconds},{nanoseconds},0)"
    if type_ == BLOB:
        return value.hex()
    if type_ in DECIMALS:
        return _DECIMAL_WORDS.get(str(value), str(value))
    return f"{string_text(value)}x" if type_ == XML else str(value)


def _float_text(value: float, digits: int) -> str:
    if math.isnan(value):
        return "-nan" if math.copysign(1, value) < 0 else "nan"
    return f"{value:.{digits}g}"


def _within_bound(text: str, type_: Type) -> str:
    if isinstance(type_, BoundedString) and len(text.encode("utf-8", "surrogatepass")) > type_.bound:
        message = f"{text!r:.60} has more than {type_.bound} bytes"
        raise ValueTextError(message)
    return text


class _TextReader:
    def __init__(self, text: str, type_: Type) -> None:
        self.text = text
        self.type = type_
        self.at = 0

    def whole(self) -> Any:
        value = self._value(self.type)
        self._skip_blanks()
        if self.at < len(self.text):
            self._refuse("nothing more")
        return value

    def _value(self, type_: Type) -> Any:
        match type_:
            case Optional(content=content):
                self._skip_blanks()
                if self.text.startswith("null", self.at):
                    self.at += 4
                    return None
                return self._value(content)
            case Tuple():
                return self._tuple(type_)
            case Collection():
                return self._collection(type_)
            case Enumeration(words=words):
                word = self._matched(_WORD, str(type_))
                return word if word in words else self._refuse(f"one of {', '.join(words)}", len(word))
            case _ if is_string(type_):
                return _within_bound(string_value(self._matched(_STRING, "a string in quotes")), type_)
            case _:
                return self._simple(type_)

    def _simple(self, type_: Type) -> Any:
        if type_ == BOOLEAN:
            word = self._matched(_WORD, "true or false")
            return word == "true" if word in ("true", "false") else self._refuse("true or false", len(word))
        if isinstance(type_, Primitive) and type_ in REALS:
            return self._number(type_)
        if type_ in COMPLEX:
            self._expect("(")
            real = self._number(FLOAT64)
            self._expect(",")
            imaginary = self._number(FLOAT64)
            self._expect(")")
            return complex(real, imaginary)
        if type_ == TIMESTAMP:
            return self._timestamp()
        if type_ == BLOB:
            return bytes.fromhex(self._matched(_BYTES, "hexadecimal digits"))
        if type_ == XML:
            document = string_value(self._matched(_STRING, "a string in quotes"))
            self._expect("x")
            return document
        return self._refuse(f"a value, but {type_} has none")

    def _number(self, type_: Primitive) -> int | float | Decimal:
        written = self._matched(_NUMBER, f"a value of type {type_}")
        if written[-1] in "fn":  # inf and nan
            if type_ in INTEGERS:
                self._refuse(f"a value of type {type_}", len(written))
            return Decimal(written) if type_ in DECIMALS else float(written)
        if type_ in INTEGERS and not written.lstrip("+-").isdecimal():
            self._refuse(f"a value of type {type_}", len(written))
        try:
            return value_in(type_, written)
        except LiteralError as error:
            raise ValueTextError(str(error)) from None

    def _timestamp(self) -> int:
        self._expect("(")
        seconds = self._number(Primitive("int64"))
        self._expect(",")
        nanoseconds = self._number(Primitive("uint32"))
        if self._accept(","):
            self._number(Primitive("int32"))
        self._expect(")")
        return int(seconds) * _SECOND + int(nanoseconds)

    def _tuple(self, type_: Tuple) -> dict[str, Any]:
        values: dict[str, Any] = {}
        self._expect("{")
        for index, attribute in enumerate(type_.attributes):
            if index:
                self._expect(",")
            name = self._matched(_WORD, f"the attribute {attribute.name}")
            if name != attribute.name:
                self._refuse(f"the attribute {attribute.name}", len(name))
            self._expect("=")
            values[name] = self._value(attribute.type)
        self._expect("}")
        return values

    def _collection(self, type_: Collection) -> list[Any]:
        opening, closing = "[]" if type_.kind == "list" else "{}"
        values: list[Any] = []
        self._expect(opening)
        while not self._accept(closing):
            if values:
                self._expect(",")
            value = self._value(type_.elements[0])
            if type_.kind == "map":
                self._expect(":")
                value = (value, self._value(type_.elements[1]))
            values.append(value)
        if type_.bound is not None and len(values) > type_.bound:
            message = f"{self.text!r:.60} has more than {type_.bound} elements"
            raise ValueTextError(message)
        return values

    def _skip_blanks(self) -> None:
        blanks = _BLANKS.match(self.text, self.at)
        assert blanks is not None
        self.at = blanks.end()

    def _matched(self, pattern: re.Pattern[str], what: str) -> str:
        self._skip_blanks()
        match = pattern.match(self.text, self.at)
        if match is None:
            self._refuse(what)
        self.at = match.end()
        return match[0]

    def _accept(self, mark: str) -> bool:
        self._skip_blanks()
        found = self.text.startswith(mark, self.at)
        self.at += len(mark) * found
        return found

    def _expect(self, mark: str) -> None:
        if not self._accept(mark):
            self._refuse(f"'{mark}'")

    def _refuse(self, expected: str, back: int = 0) -> NoReturn:
        place = self.at - back + 1
        message = f"{self.text!r:.60} is not a value of type {self.type}: expected {expected} at character {place}"
        raise ValueTextError(message)
