"""Number literals: their types and values, and the formatting of numbers as literals.

>>> str(number("5ul").type), number("0xF0").value, number("2147483648", negative=True).value
('uint64', -16, -2147483648)
>>> number_text(Primitive("float32"), 1.5)
'1.5w'
"""

from __future__ import annotations

import ctypes
import decimal
import math
import re
from dataclasses import dataclass
from decimal import Decimal

from streams_orchestration.spl.types.types import DECIMALS, FLOATS, INTEGERS, SIGNED, Primitive, range_of

_NUMBER = re.compile(r"(?P<digits>[0-9.]+(?:[eE][+-]?[0-9]+)?)(?P<suffix>[sufdbhwlq]*)")
_HEXADECIMAL = re.compile(r"0x(?P<digits>[0-9A-Fa-f]+)(?P<suffix>[su]?)")
_WIDTHS = {"b": 8, "h": 16, "w": 32, "l": 64, "q": 128}
_NAMES = {"s": "int", "u": "uint", "f": "float", "d": "decimal"}
_LETTERS = {width: letter for letter, width in _WIDTHS.items()}
DECIMAL_EXPONENTS = {7: 96, 16: 384, 34: 6144}
"""Digits of a decimal type -> its largest exponent."""
_KINDS = INTEGERS.keys() | FLOATS.keys() | DECIMALS.keys()


def single(value: float) -> float:
    """Round a number to the nearest 32-bit float, which is an infinity for a number that is too large."""
    return ctypes.c_float(value).value


class LiteralError(ValueError):
    """The literal has no type, or its value is outside of its type. `code` is the message id in Streams."""

    code = "CDISP0503E"


@dataclass(frozen=True, slots=True)
class NumberLiteral:
    """The type and value of a number literal."""

    type: Primitive
    value: int | float | Decimal


def number(text: str, *, negative: bool = False) -> NumberLiteral:
    """Return the type and value of a number token; `negative` means that a minus precedes it.

    Raises:
        LiteralError: the literal's suffix means no type, the value is outside of the type, or a number of an integer
            type has a point or an exponent.
    """
    hexadecimal = _HEXADECIMAL.fullmatch(text)
    if hexadecimal:
        return _hexadecimal(text, hexadecimal["digits"], hexadecimal["suffix"] or "s", negative=negative)
    match = _NUMBER.fullmatch(text)
    assert match is not None, text
    digits, suffix = match["digits"], match["suffix"]
    kind = next((letter for letter in suffix if letter in _NAMES), "s" if digits.isdecimal() else "f")
    width = next((_WIDTHS[letter] for letter in suffix if letter in _WIDTHS), 32 if kind in "su" else 64)
    type_ = Primitive(f"{_NAMES[kind]}{width}")
    if type_ not in _KINDS:
        message = f"{text} is not a literal: there is no type {type_}"
        raise LiteralError(message)
    if type_ in INTEGERS and not digits.isdecimal():
        message = f"{text} is not a literal: a number of type {type_} must not have a point or an exponent"
        raise LiteralError(message)
    written = f"-{digits}" if negative else digits
    return NumberLiteral(type_, value_in(type_, written))


def number_text(type_: Primitive, value: float | Decimal) -> str:
    """Format a finite number as a literal of its type with its minus, if any; `number` parses it to the same value."""
    if type_ in DECIMALS:
        width = {7: 32, 16: 64, 34: 128}[DECIMALS[type_]]
        return f"{str(value).lower()}d{'' if width == 64 else _LETTERS[width]}"
    if type_ in FLOATS:
        text = repr(float(value))
        return f"{text}{'' if FLOATS[type_] == 64 else 'w'}"
    bits = INTEGERS[type_]
    return f"{value}{'' if type_ in SIGNED else 'u'}{'' if bits == 32 else _LETTERS[bits]}"


def value_in(type_: Primitive, written: str) -> int | float | Decimal:
    """Return the value of a number without a suffix, as a value of the given type.

    Raises:
        LiteralError: the value is outside of the type.
    """
    if type_ in INTEGERS:
        least, most = range_of(type_)
        if len(written.lstrip("+-0")) > len(str(most)) or not least <= int(written) <= most:
            raise _outside(type_, written)
        return int(written)
    if type_ in FLOATS:
        return _float(type_, written)
    digits = DECIMALS[type_]
    exponent = DECIMAL_EXPONENTS[digits]
    traps = [decimal.Overflow]
    context = decimal.Context(digits, decimal.ROUND_HALF_EVEN, Emin=1 - exponent, Emax=exponent, traps=traps)
    try:
        return context.create_decimal(written)
    except decimal.Overflow:
        raise _outside(type_, written) from None


def _hexadecimal(text: str, digits: str, kind: str, *, negative: bool) -> NumberLiteral:
    """Return a hexadecimal literal: its digits are the bits of a value of the narrowest type with enough bits."""
    bits = next((each for each in (8, 16, 32, 64) if 4 * len(digits) <= each), None)
    if bits is None:
        message = f"{text} has more than 64 bits"
        raise LiteralError(message)
    type_ = Primitive(f"{_NAMES[kind]}{bits}")
    value = -int(digits, 16) if negative else int(digits, 16)
    wrapped = value % 2**bits
    if type_ in SIGNED and wrapped >= 2 ** (bits - 1):
        wrapped -= 2**bits
    return NumberLiteral(type_, wrapped)


def _float(type_: Primitive, written: str) -> float:
    nearest = float(written) if FLOATS[type_] == 64 else single(float(written))
    if math.isinf(nearest):
        raise _outside(type_, written)
    return nearest


def _outside(type_: Primitive, written: str) -> LiteralError:
    limits = f"; its values are {' to '.join(map(str, range_of(type_)))}" if type_ in INTEGERS else ""
    return LiteralError(f"{written:.40}{'...' * (len(written) > 40)} is outside of {type_}{limits}")
