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
    """The destination of a sink refuses for good, such as for a missing right or place: a retry does not help."""


class ResultError(DataError):
    """An operator returned, yielded or submitted what it may not; its code would do so again."""


class UnknownAttributeError(ValueError):
    """A parameter names an attribute that the stream does not have; wrong wherever the application is to run."""


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
