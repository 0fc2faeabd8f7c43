"""SPL arithmetic on Python numbers: integers wrapped to their bits, truncating division, float32; the order of values.

>>> from streams_orchestration.spl.types.types import INT32, Primitive
>>> wrapper(INT32)(2**31), quotient(-7, 2), remainder(-7, 2)
(-2147483648, -3, -1)
"""

from __future__ import annotations

# pyright: standard
import decimal
import functools
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.values import same
from streams_orchestration.spl.types.literals import DECIMAL_EXPONENTS, single
from streams_orchestration.spl.types.types import (
    DECIMALS,
    FLOATS,
    INTEGERS,
    SIGNED,
    Collection,
    Enumeration,
    Optional,
    Primitive,
    Type,
)


@functools.lru_cache(maxsize=64)
def wrapper(type_: Type) -> Callable[[Any], Any]:
    """Return the function that wraps or rounds a number to the range of its type; `same` for all other types."""
    if not isinstance(type_, Primitive):
        return same
    if type_ in FLOATS:
        return single if FLOATS[type_] == 32 else same
    if type_ in DECIMALS:
        return context_of(type_).plus
    if type_ not in INTEGERS:
        return same
    bits = INTEGERS[type_]
    mask = 2**bits - 1
    if type_ not in SIGNED:
        return lambda value: value & mask
    half = 2 ** (bits - 1)
    return lambda value: ((value + half) & mask) - half


@functools.lru_cache(maxsize=8)
def context_of(type_: Type) -> decimal.Context:
    """Return the decimal context of a decimal type: its digits and exponents, rounding half to even, no exceptions."""
    assert isinstance(type_, Primitive)
    digits, greatest = DECIMALS[type_], DECIMAL_EXPONENTS[DECIMALS[type_]]
    return decimal.Context(digits, decimal.ROUND_HALF_EVEN, Emin=1 - greatest, Emax=greatest, traps=[])


def decimal_of(type_: Type) -> Callable[[Any], Decimal]:
    """Return the function that converts a number to a decimal type.

    A float is converted through its shortest decimal text.
    """
    create = context_of(type_).create_decimal
    return lambda value: create(repr(value) if isinstance(value, float) else value)


def quotient(dividend: int, divisor: int) -> int:
    """Return the integer quotient, truncated towards zero; raise RunError for the divisor 0."""
    if divisor == 0:
        message = f"{dividend} is divided by 0"
        raise RunError(message)
    return dividend // divisor if (dividend >= 0) == (divisor > 0) else -(-dividend // divisor)


def remainder(dividend: int, divisor: int) -> int:
    """Return the remainder, with the sign of the dividend; raise RunError for the divisor 0."""
    if divisor == 0:
        message = f"{dividend} % 0 is undefined"
        raise RunError(message)
    return dividend % divisor if divisor > 0 <= dividend else dividend - divisor * quotient(dividend, divisor)


def float_quotient(dividend: float, divisor: float) -> float:
    """Return the quotient of floats as IEEE 754 defines it, also for the divisor 0."""
    if divisor:
        return dividend / divisor
    if math.isnan(dividend) or math.isnan(divisor) or dividend == 0:
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def whole(value: Decimal) -> int:
    """Convert a decimal to an integer, truncated towards zero.

    NaN and infinities, for which a cast has no value, give 0.
    """
    return int(value) if value.is_finite() else 0


def truncated(value: float, limit: float = 2.0**63) -> int:
    """Return a float truncated towards zero. Outside of 64-bit integers, where C leaves the cast undefined, return 0.

    Args:
        value: the float.
        limit: the smallest positive number that is out of range.
    """
    return int(value) if -9223372036854775808.0 <= value < limit else 0


class OrderedDecimal:
    """A decimal as a sort key. NaN is neither less nor greater than any number; Python's own comparison would raise.

    >>> one, two, nan = map(OrderedDecimal, (Decimal(1), Decimal(2), Decimal("NaN")))
    >>> one < two, nan < two, nan >= two
    (True, False, False)
    """

    __slots__ = ("number",)

    def __init__(self, number: Decimal) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        """Return True if the numbers are equal."""
        return isinstance(other, OrderedDecimal) and self.number == other.number

    def __hash__(self) -> int:
        """Return the hash of the number."""
        return hash(self.number)

    def __lt__(self, other: OrderedDecimal) -> bool:
        """Return True if the number is less than another one."""
        return not self._unordered(other) and self.number < other.number

    def __le__(self, other: OrderedDecimal) -> bool:
        """Return True if the number is less than another one, or equal to it."""
        return not self._unordered(other) and self.number <= other.number

    def __gt__(self, other: OrderedDecimal) -> bool:
        """Return True if the number is greater than another one."""
        return other < self

    def __ge__(self, other: OrderedDecimal) -> bool:
        """Return True if the number is greater than another one, or equal to it."""
        return other <= self

    def _unordered(self, other: OrderedDecimal) -> bool:
        return self.number.is_nan() or other.number.is_nan()


@functools.lru_cache(maxsize=256)
def ordering(type_: Type) -> Callable[[Any], Any] | None:
    """Return the sort key for values of a type; None if Python's own order is right.

    Strings are ordered by bytes. That is the order of Python, too, since UTF-8 keeps the order of characters.
    """
    if type_ in DECIMALS:
        return OrderedDecimal
    match type_:
        case Enumeration(words=words):
            return {word: at for at, word in enumerate(words)}.__getitem__
        case Optional(content=content):
            return ordering(content)
        case Collection(kind="list", elements=(element,)):
            key = ordering(element)
            return None if key is None else lambda values: [key(value) for value in values]
        case _:
            return None


def preferring(better: Callable[[Any, Any], bool], type_: Type) -> Callable[[Any, Any], Any]:
    """Return the function that returns the better one of two values of a type, the first of equal ones or with NaN."""
    key = ordering(type_) or same
    return lambda one, other: other if better(key(other), key(one)) else one
