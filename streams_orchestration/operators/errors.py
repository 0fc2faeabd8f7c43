"""Errors of operators that the runtime distinguishes."""

from __future__ import annotations

_SHOWN = 80
"""Characters that are shown of a value."""


class DataError(ValueError):
    """The data is wrong, and would be wrong again after a reset: the application stops instead of trying once more."""


class OutsideError(Exception):
    """The cause is outside of the application and passes by itself, such as a service that is away.

    The region is reset, after a growing pause, for as long as that lasts; such resets are not counted.
    """


class RefusedError(ValueError):
    """A counterpart's refusal for good, for example of a missing right or table; the application stops at once.

    Neither a retry nor a reset helps. When a person has mended the cause, it goes on where it stood.
    """


class ResultError(DataError):
    """An operator returned, yielded or submitted what it may not; its code would do so again."""


class UnknownAttributeError(ValueError):
    """A parameter names an attribute that the stream does not have; wrong wherever the application is to run."""


class FaultyExpressionError(ValueError):
    """An expression that cannot be read, or does not fit its stream or its parameter.

    Attributes:
        parameter: the name of the parameter that contains it.
        text: the text of the parameter.
        offset: the offset of the faulty character in the text, from 0; None where the whole expression is meant.
    """

    def __init__(self, message: str, parameter: str = "", text: str = "", offset: int | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.text = text
        self.offset = offset

    @property
    def reason(self) -> str:
        """The message without the number of the character."""
        return str(self.args[0])

    def __str__(self) -> str:
        """Return the message with the number of the character, for a reader who has no file with lines."""
        return self.reason if self.offset is None else f"{self.reason}, at character {self.offset + 1}"


class UnknownInExpressionError(FaultyExpressionError, UnknownAttributeError):
    """An expression that uses an attribute which the stream does not have."""


def behind(prefix: str, error: ValueError) -> ValueError:
    """Return the same error with words in front of its message."""
    if isinstance(error, FaultyExpressionError):
        return type(error)(prefix + error.reason, error.parameter, error.text, error.offset)
    return type(error)(f"{prefix}{error}")


class TupleError(Exception):
    """A function raised at one tuple of its batch; the error itself is the cause."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class ConstTupleError(DataError):
    """An operator wrote to tuples that arrived on a port that its model calls non-mutating; it would do so again."""


def shortened(text: str) -> str:
    """Return the beginning of a text that is long."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
