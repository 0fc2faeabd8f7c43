"""Errors of SPL programs, and the numbers with which functions about Imports and Exports tell theirs."""

from __future__ import annotations

from typing import Any

DONE, NO_PORT, WRONG = 0, 1, 2
"""Done, no such Import or Export at the port, and a wrong value."""


class RunError(Exception):
    """The SPL operation has no result for its operands, so processing of the tuple fails."""


class AbortError(RunError):
    """The program ends its PE. It may go another way after a reset, for example by its relaunch count."""


class ProgramError(ValueError):
    """The program cannot be run here, for example because a function has no implementation.

    Attributes:
        span: the part of the program that cannot be run.
    """

    def __init__(self, message: str, span: Any) -> None:
        super().__init__(f"{span}: {message}" if str(span) else message)
        self.span = span
