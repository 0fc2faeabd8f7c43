"""Diagnostics: findings about an application, with their places and remedies.

One table, `CODES`, holds every code the product can raise; `Diagnostic.of` refuses a code that is not in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from streams_orchestration.model.codes import Code, Severity
from streams_orchestration.model.own_codes import OWN_CODES
from streams_orchestration.model.secrets import masked
from streams_orchestration.model.spl_codes import SPL_CODES
from streams_orchestration.model.streams_codes import STREAMS_CODES

__all__ = ["CODES", "ApplicationError", "Code", "Diagnostic", "Severity", "in_order"]

_PLACE = re.compile(r"(?P<file>.*?):(?P<line>\d+)(:(?P<column>\d+))?", re.DOTALL)
CODES: dict[str, Code] = {**STREAMS_CODES, **SPL_CODES, **OWN_CODES}
"""Every code, with its cause and remedy."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding about an application; an entry of the plan's `diagnostics`."""

    code: str
    severity: Severity
    message: str
    operator: str = ""
    location: str = ""
    """`file:line`, followed by a column in SPL; empty when the application was built in Python."""
    column: int | None = None
    """The character in the line, counted from 1; None if the finding is about the whole line."""
    path: tuple[str | int, ...] | None = field(default=None, compare=False, repr=False)
    """The keys that lead to a part of the spec that was unreadable and left out; None for any other finding."""
    stage: str = field(default="", compare=False, repr=False)
    """The compiler stage that reports the finding; empty for findings about the text, names or declarations."""

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
        """Return a diagnostic with the severity of its code. Secrets in the message's addresses are hidden.

        Raises:
            KeyError: the code is not in `CODES`.
        """
        return cls(code, CODES[code].severity, masked(message), operator, str(location or ""), column, path)

    @property
    def remedy(self) -> str:
        """The remedy of the diagnostic's code."""
        return CODES[self.code].remedy

    def document(self) -> dict[str, Any]:
        """Return the diagnostic as an entry of a plan; `column` is left out if unknown."""
        known = {key: getattr(self, key) for key in ("code", "severity", "operator", "message", "location")}
        return known if self.column is None else known | {"column": self.column}

    @property
    def place(self) -> str:
        """The location as `file:line`, or as `file:line:column` if the column is known."""
        return self.location if self.column is None else f"{self.location}:{self.column}"

    def __str__(self) -> str:
        place = " ".join(": ".join(part for part in (self.place, self.operator) if part).splitlines())
        return f"{place + ': ' if place else ''}{self.severity} {self.code}: {self.message}"


def errors_of(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the errors among some diagnostics."""
    return [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics sorted by place, those without a place last.

    Duplicates are removed: a line that is wrong for several operators is reported for the first of them.
    """

    def place(diagnostic: Diagnostic) -> tuple[bool, str, int, int]:
        match = _PLACE.fullmatch(diagnostic.location)
        if match is None:
            return True, diagnostic.location, 0, 0
        return False, match["file"], int(match["line"]), int(match["column"] or diagnostic.column or 0)

    unique: dict[tuple[str, ...], Diagnostic] = {}
    for each in diagnostics:
        unique.setdefault((each.code, each.message, each.place or each.operator), each)
    return tuple(sorted(unique.values(), key=place))


class ApplicationError(Exception):
    """The application has errors. `diagnostics` holds all findings, including warnings."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(d) for d in self.diagnostics if d.severity == "error"))
