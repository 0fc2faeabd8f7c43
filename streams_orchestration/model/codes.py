"""Rows of the table of diagnostic codes."""

from __future__ import annotations

from typing import Literal, NamedTuple

Severity = Literal["error", "warning"]


class Code(NamedTuple):
    """A diagnostic code with its general cause and remedy."""

    severity: Severity
    cause: str
    remedy: str


def error(cause: str, remedy: str) -> Code:
    """Return a code that stops the compilation."""
    return Code("error", cause, remedy)


def warning(cause: str, remedy: str) -> Code:
    """Return a code that is reported without stopping the compilation."""
    return Code("warning", cause, remedy)
