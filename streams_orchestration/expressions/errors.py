"""Errors of expressions, with their place in the text."""

from __future__ import annotations


class ExpressionError(ValueError):
    """An expression that cannot be read or typed.

    Attributes:
        offset: of the character in the expression's text at which the fault begins, from 0.
    """

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class UnknownNameError(ExpressionError):
    """An expression that uses an attribute which the stream does not have.

    Attributes:
        name: of the attribute.
    """

    def __init__(self, message: str, offset: int, name: str) -> None:
        super().__init__(message, offset)
        self.name = name


class MisfitError(ValueError):
    """Error: a function does not take its arguments, for a reason that its signatures do not show."""


class EvaluationError(ValueError):
    """An expression without a value for a tuple: an overflow, a division by zero, a text that is no number."""


class PatternError(EvaluationError):
    """A pattern that has no meaning; also the functions that give null for other failures fail then."""
