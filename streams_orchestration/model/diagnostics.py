"""Diagnostics: what is wrong with an application, where, and what to do about it.

One table, `CODES`, holds every code the product can raise; `Diagnostic.of` refuses a code that is not in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from streams_orchestration.model.codes import Code, Severity
from streams_orchestration.model.own_codes import OWN_CODES
from streams_orchestration.model.secrets import masked
from streams_orchestration.model.streams_codes import STREAMS_CODES

__all__ = ["CODES", "ApplicationError", "Code", "Diagnostic", "Severity", "in_order"]

CODES: dict[str, Code] = {**STREAMS_CODES, **OWN_CODES}
"""Every code, with its cause and remedy."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding about one application, as it stands in the plan's `diagnostics`."""

    code: str
    severity: Severity
    message: str
    operator: str = ""
    location: str = ""
    """`file:line`, empty when the application was built in Python."""
    column: int | None = None
    """Number of the character in the line, from 1, or None if the whole line is meant."""
    path: tuple[str | int, ...] | None = field(default=None, compare=False, repr=False)
    """The keys that lead to a part of the spec that could not be read and is left out; None for every other finding."""
    stage: str = field(default="", compare=False, repr=False)
    """Name of the stage of the compiler that reports it; empty when it is about the text, names or declarations."""

    @classmethod
    def of(
        cls,
        code: str,
        message: str,
        *,
        operator: str = "",
        location: object = "",
        column: int | None = None,
        path: tuple[str | int, ...] | None = None,
    ) -> Diagnostic:
        """A diagnostic with the severity that the table gives the code; secrets in addresses of the message are hidden.

        Raises:
            KeyError: the code is not in `CODES`.
        """
        return cls(code, CODES[code].severity, masked(message), operator, str(location or ""), column, path)

    @property
    def remedy(self) -> str:
        """What to do, from the table."""
        return CODES[self.code].remedy

    def document(self) -> dict[str, Any]:
        """As the plan holds it; `column` is there only if it is known."""
        known = {key: getattr(self, key) for key in ("code", "severity", "operator", "message", "location")}
        return known if self.column is None else known | {"column": self.column}

    @property
    def place(self) -> str:
        """`file:line` or `file:line:column`."""
        return self.location if self.column is None else f"{self.location}:{self.column}"

    def __str__(self) -> str:
        place = " ".join(": ".join(part for part in (self.place, self.operator) if part).splitlines())
        return f"{place + ': ' if place else ''}{self.severity} {self.code}: {self.message}"


def errors_of(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Those that are errors."""
    return [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics by their place in the spec, those without a place last.

    Each is there once: what one line makes wrong for several operators is reported for the first of them.
    """

    def place(diagnostic: Diagnostic) -> tuple[bool, str, int, int]:
        file, _, line = diagnostic.location.rpartition(":")
        return not line.isdecimal(), file, int(line) if line.isdecimal() else 0, diagnostic.column or 0

    unique: dict[tuple[str, ...], Diagnostic] = {}
    for each in diagnostics:
        unique.setdefault((each.code, each.message, each.place or each.operator), each)
    return tuple(sorted(unique.values(), key=place))


class ApplicationError(Exception):
    """The application has errors; `diagnostics` holds all that were found, warnings too."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(d) for d in self.diagnostics if d.severity == "error"))
