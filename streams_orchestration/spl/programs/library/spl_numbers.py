"""`spl.utility`: parsing of numbers as in C, and formatting of numbers.

>>> leading_integer("12x", 10), leading_integer("0x1F", 0), leading_integer("99", 8)
((12, 2, True), (31, 4, True), (0, 0, True))
>>> format_float(1234.5, 10, 2, False), format_float(1234.5)
('   1234.50', '1234.5')
"""

from __future__ import annotations

# pyright: standard
import math
import re
from collections.abc import Callable
from typing import Any

from streams_orchestration.spl.programs.library.registry import plain, typed
from streams_orchestration.spl.types.types import FLOAT64, USTRING, Type

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_WIDEST_BASE = 36
_LEAD = re.compile(r"[ \t\n\v\f\r]*(?P<sign>[-+]?)")
_FLOAT = re.compile(
    r"[ \t\n\v\f\r]*(?P<number>[-+]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|inf(?:inity)?|nan))", re.IGNORECASE
)
_HEXADECIMAL = re.compile(
    r"[ \t\n\v\f\r]*(?P<number>[-+]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[-+]?[0-9]+)?)", re.IGNORECASE
)
_GROUPED = re.compile(r"(?P<number>-?(?:[0-9][0-9,]*(?:\.[0-9]*)?|\.[0-9]+)(?:E[-+]?[0-9]+)?)")


def leading_integer(text: str, base: int) -> tuple[int, int, bool]:
    """Parse the integer at the beginning of a text.

    Return the integer, the number of characters read, and True if C allows the base. Base 0 means 16 after `0x`, 8
    after `0`, and 10 otherwise. Without digits, integer and length are 0.
    """
    if base != 0 and not 2 <= base <= _WIDEST_BASE:
        return 0, 0, False
    lead = _LEAD.match(text)
    assert lead is not None
    at, lowered = lead.end(), text.lower()
    if base in (0, 16) and lowered[at : at + 2] == "0x" and lowered[at + 2 : at + 3] in tuple(_DIGITS[:16]):
        at, base = at + 2, 16
    elif base == 0:
        base = 8 if lowered[at : at + 1] == "0" else 10
    start, value, seen = at, 0, _DIGITS[:base]
    while at < len(text) and lowered[at] in seen:
        value, at = value * base + seen.index(lowered[at]), at + 1
    if at == start:
        return 0, 0, True
    return -value if lead["sign"] == "-" else value, at, True


def _converted(text: str, base: int, *, signed: bool) -> tuple[int, int, bool]:
    """Parse the integer at the beginning of a text, as C does for 64 bits.

    Return the integer, the number of characters read, and True if the integer is out of range or the base is invalid.
    An integer out of range becomes the nearest limit of its type, or without a sign always the largest number.
    """
    value, end, valid = leading_integer(text, base)
    least, most = (-(2**63), 2**63 - 1) if signed else (1 - 2**64, 2**64 - 1)
    if not least <= value <= most:
        return (least if signed and value < 0 else most), end, True
    return value if signed else value % 2**64, end, not valid


def _integers(name: str, *, signed: bool) -> None:
    """Register a C function that parses integers, also with a last argument for the number of characters read.

    That number is -1 if the integer is out of range or the base is invalid.
    """
    plain(name, when=lambda types: len(types) == 2)(lambda text, base: _converted(text, base, signed=signed)[0])

    @plain(name, when=lambda types: len(types) == 3, assigns=(2,))
    def _with_length(text: str, base: int, _: int) -> tuple[int, int]:
        value, end, failed = _converted(text, base, signed=signed)
        return value, -1 if failed else end


_integers("strtoll", signed=True)
_integers("strtoull", signed=False)


def leading_float(text: str) -> tuple[float, int]:
    """Parse the number at the beginning of a text.

    Return it with the number of characters read, or 0 and 0 without one.
    """
    found = _HEXADECIMAL.match(text) or _FLOAT.match(text)
    if found is None:
        return 0.0, 0
    number = found["number"]
    if "x" not in number.lower():
        return float(number), found.end()
    try:
        return float.fromhex(number), found.end()
    except OverflowError:
        return -math.inf if number.startswith("-") else math.inf, found.end()


def _is_out_of_range(text: str, value: float) -> bool:
    """Return True if a parsed number was too large for a float."""
    return math.isinf(value) and "inf" not in text.lower()


plain("strtod", when=lambda types: len(types) == 1)(lambda text: leading_float(text)[0])


@plain("strtod", when=lambda types: len(types) == 2, assigns=(1,))
def _float_with_length(text: str, _: int) -> tuple[float, int]:
    value, end = leading_float(text)
    return value, -1 if _is_out_of_range(text[:end], value) else end


@typed("parseNumber", assigns=(0,))
def _parse_number(types: tuple[Type, ...], _: Type) -> Callable[..., tuple[int, Any]]:
    if types[1] == USTRING:
        return _parse_float_grouped if types[0] == FLOAT64 else _parse_integer_grouped
    return _parse_float if types[0] == FLOAT64 else _parse_integer


def _parse_integer(before: int, text: str, base: int = 10) -> tuple[int, int]:
    value, end, failed = _converted(text, base, signed=True)
    return (-1, before) if failed or end == 0 else (end, value)


def _parse_float(before: float, text: str) -> tuple[int, float]:
    value, end = leading_float(text)
    return (-1, before) if end == 0 or _is_out_of_range(text[:end], value) else (end, value)


def _parse_integer_grouped(before: int, text: str) -> tuple[int, int]:
    """Parse an integer at the beginning of a text; commas may be anywhere after its first digit, as in `1,000`.

    Return the number of characters read, and the integer; without a digit -1, and `before`.
    """
    found = re.match(r"-?[0-9][0-9,]*", text)
    return (-1, before) if found is None else (found.end(), int(found[0].replace(",", "")))


def _parse_float_grouped(before: float, text: str) -> tuple[int, float]:
    found = _GROUPED.match(text)
    return (-1, before) if found is None else (found.end(), float(found["number"].replace(",", "")))


@typed("formatNumber")
def _format_number(types: tuple[Type, ...], _: Type) -> Callable[..., str]:
    return format_float if types[0] == FLOAT64 else lambda value, width=0: str(value).rjust(width)


def format_float(value: float, width: int = 0, precision: int | None = None, scientific: bool = False) -> str:  # noqa: FBT001, FBT002
    """Format a float as C does: with `%g`, or with `precision` digits after the point, on the right of `width`.

    `scientific` adds an exponent to the latter, and has no effect without a precision, as the width.
    """
    if precision is None:
        return f"{value:g}"
    return f"{value:{width}.{precision}{'e' if scientific else 'f'}}".rjust(width)
