"""Decimals of SPL in windows by differences: texts in streams and states, numbers with their type's arithmetic here."""

from __future__ import annotations

import decimal
from collections.abc import Iterable
from decimal import Decimal

from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.spl.programs.wrapping import OrderedDecimal, context_of
from streams_orchestration.spl.types.types import DECIMALS

DECIMAL_TYPES = tuple(str(each) for each in DECIMALS)
"""The names of the decimal types."""
_CONTEXTS = {str(each): context_of(each) for each in DECIMALS}


class DecimalNumber(OrderedDecimal):
    """A decimal of SPL. Sums and differences are rounded to the digits of its type, and nothing compares with NaN.

    >>> one, other = DecimalNumber("1E+9", "decimal32"), DecimalNumber("1", "decimal32")
    >>> str(one - other), other < one
    ('1.000000E+9', True)
    """

    __slots__ = ("type",)

    def __init__(self, text: str | Decimal, type_: str) -> None:
        """Read a decimal of a type.

        Raises:
            ValueError: the text is not a decimal.
        """
        try:
            super().__init__(Decimal(text))
        except decimal.InvalidOperation:
            message = f"{text!r} is not a decimal"
            raise ValueError(message) from None
        self.type = type_

    def __str__(self) -> str:
        """Return the text in streams and states."""
        return str(self.number)

    def __repr__(self) -> str:
        """Return the text with its type."""
        return f"{self.number} ({self.type})"

    def __add__(self, other: DecimalNumber) -> DecimalNumber:
        """Return the rounded sum."""
        return DecimalNumber(_CONTEXTS[self.type].add(self.number, other.number), self.type)

    def __sub__(self, other: DecimalNumber) -> DecimalNumber:
        """Return the rounded difference."""
        return DecimalNumber(_CONTEXTS[self.type].subtract(self.number, other.number), self.type)

    def __neg__(self) -> DecimalNumber:
        """Return the number with the other sign."""
        return DecimalNumber(self.number.copy_negate(), self.type)


def decimal_numbers(texts: Iterable[str | None], type_: str) -> np.ndarray:
    """Return texts as numbers in an array of objects; None stays.

    Raises:
        ValueError: a text is not a decimal.
    """
    return np.array([None if each is None else DecimalNumber(each, type_) for each in texts], object)
