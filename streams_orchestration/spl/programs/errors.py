"""Errors of programs."""

from __future__ import annotations

from typing import Any


class RunError(Exception):
    """An operation of SPL has no value for its operands, so the tuple fails."""


class ProgramError(ValueError):
    """A program cannot be run here, for example because a function has no implementation.

    Attributes:
        span: the place in the program.
    """

    def __init__(self, message: str, span: Any) -> None:
        super().__init__(f"{span}: {message}" if str(span) else message)
        self.span = span
