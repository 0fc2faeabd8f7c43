"""What a diagnostic code stands for: one row of the table of codes."""

from __future__ import annotations

from typing import Literal, NamedTuple

Severity = Literal["error", "warning"]


class Code(NamedTuple):
    """One row of the table: the general cause and remedy behind a code."""

    severity: Severity
    cause: str
    remedy: str


def error(cause: str, remedy: str) -> Code:
    """A code that stops the compilation."""
    return Code("error", cause, remedy)


def warning(cause: str, remedy: str) -> Code:
    """A code that is reported and nothing else."""
    return Code("warning", cause, remedy)
