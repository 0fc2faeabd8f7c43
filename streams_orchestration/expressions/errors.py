"""Errors of expressions, with their place in the text."""

from __future__ import annotations

import decimal
import re

ODD_ARGUMENTS = (OverflowError, decimal.InvalidOperation, re.error)
"""Errors that the implementation of a function may raise for odd arguments. They count as an EvaluationError."""


class ExpressionError(ValueError):
    """The expression cannot be parsed or typed.

    Attributes:
        offset: the offset of the first faulty character in the expression's text, from 0.
    """

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class UnknownNameError(ExpressionError):
    """The expression uses an attribute that the stream lacks.

    Attributes:
        name: the name of the attribute.
    """

    def __init__(self, message: str, offset: int, name: str) -> None:
        super().__init__(message, offset)
        self.name = name


class MisfitError(ValueError):
    """A function rejects its arguments for a reason that its signatures do not show."""


class EvaluationError(ValueError):
    """The expression has no value for a tuple, for example after an overflow or a division by zero."""


class PatternError(EvaluationError):
    """A pattern is invalid. Even functions that return null for other failures raise it."""
