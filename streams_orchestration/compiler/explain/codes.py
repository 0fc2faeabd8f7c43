"""Explanations of diagnostic codes: cause, remedy, and where they were raised in an application."""

from __future__ import annotations

import re
from collections.abc import Iterable

from streams_orchestration.compiler.explain.explanation import Explanation, Fact, UnknownSubjectError, section
from streams_orchestration.model.diagnostics import CODES, Diagnostic
from streams_orchestration.model.names import nearest

_CODE = re.compile(r"(CDIS[A-Z]\d{4}[A-Z]?|SO\d{4})", re.IGNORECASE)


def is_code(what: str) -> bool:
    """Return True if a text has the form of a diagnostic code, or only lacks its last letter."""
    return _CODE.fullmatch(what.strip()) is not None


def code_explanation(code: str, diagnostics: Iterable[Diagnostic] | None = None) -> Explanation:
    """Explain a diagnostic code, and list the places at which an application raises it.

    Args:
        code: a code of `CODES`, in any case.
        diagnostics: all diagnostics of the application; None without an application.

    Raises:
        UnknownSubjectError: there is no such code.
    """
    code = code.strip().upper()
    if code not in CODES:
        message = f"there is no diagnostic code {code}{nearest(code, CODES)}; docs/diagnostics.md lists all"
        raise UnknownSubjectError(message)
    row = CODES[code]
    raised = [
        Fact(f"{each.operator}: {each.message}" if each.operator else each.message, location=each.location)
        for each in diagnostics or ()
        if each.code == code
    ]
    return Explanation(
        f"{code}, {'an error' if row.severity == 'error' else 'a warning'}",
        (
            section("Cause", Fact(row.cause)),
            section("Remedy", Fact(row.remedy)),
            *([] if diagnostics is None else [section("In this application", *(raised or [Fact("it is not raised")]))]),
        ),
    )
