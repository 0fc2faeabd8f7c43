"""Errors of operators that the runtime treats differently."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from streams_orchestration.model.names import nearest

LOGGED = 5
"""The number of faults of one kind that an operator logs individually; further faults are only counted."""


class DataError(ValueError):
    """The data is wrong and would be wrong again after a reset, so the application stops without a retry."""


class AbortedError(DataError):
    """The logic of an operator ends its PE. A reset may help, since the logic can read the relaunch count."""


class StateError(ValueError):
    """A stored state is damaged, or a state contains something that cannot be stored."""


class OutsideError(Exception):
    """The cause is outside of the application and temporary, such as an unavailable service.

    The region is reset after a growing pause until the cause is gone. These resets do not count against the limit.
    """


class RefusedError(ValueError):
    """An external system refuses permanently, such as for a missing right or table, so the application stops.

    Neither a retry nor a reset helps. Once a person has mended the cause, the application continues where it stopped.
    """


class ResultError(DataError):
    """An operator returned, yielded or submitted something not allowed. A repetition would fail in the same way."""


class UnknownAttributeError(ValueError):
    """A parameter names an attribute that the stream does not have."""


class FaultyExpressionError(ValueError):
    """An expression has a syntax or type error, or does not suit its parameter.

    Attributes:
        parameter: the name of the parameter that contains it.
        text: the text of the parameter.
        offset: the offset of the faulty character in the text, from 0; None if the whole expression is at fault.
    """

    def __init__(self, message: str, parameter: str = "", text: str = "", offset: int | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.text = text
        self.offset = offset

    @property
    def reason(self) -> str:
        """The message without the position in the text."""
        return str(self.args[0])

    def __str__(self) -> str:
        """Return the message with the character position, counted from 1."""
        return self.reason if self.offset is None else f"{self.reason}, at character {self.offset + 1}"


class UnknownInExpressionError(FaultyExpressionError, UnknownAttributeError):
    """An expression uses an attribute that the stream does not have."""


def behind(prefix: str, error: ValueError) -> ValueError:
    """Return an error of the same class with a prefix before its message."""
    if isinstance(error, FaultyExpressionError):
        return type(error)(prefix + error.reason, error.parameter, error.text, error.offset)
    return type(error)(f"{prefix}{error}")


class TupleError(Exception):
    """A user's function raised an error at one tuple of its batch. The cause of this error is the user's error."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class ConstTupleError(DataError):
    """An operator wrote to tuples of a port that its model declares non-mutating.

    A repetition would fail in the same way.
    """


def unknown_attribute(
    parameter: str, name: str, known: Collection[str], stream: str = "the input stream"
) -> UnknownAttributeError:
    """Return the error that a parameter names an attribute which a stream does not have."""
    return UnknownAttributeError(f"{parameter}: {stream} has no attribute {name}{nearest(name, known)}")


def check_attributes(
    parameter: str, names: Iterable[str], known: Collection[str], stream: str = "the input stream"
) -> None:
    """Check that a stream has the attributes that a parameter names.

    Args:
        parameter: the parameter, as the message names it.
        names: the attributes that it names.
        known: the attributes of the stream.
        stream: the stream, as the message names it.

    Raises:
        UnknownAttributeError: it lacks one of them.
    """
    for name in names:
        if name not in known:
            raise unknown_attribute(parameter, name, known, stream)
