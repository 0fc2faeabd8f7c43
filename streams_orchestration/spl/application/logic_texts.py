"""Texts of logic and functions in the document, with the source lines of their statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streams_orchestration.spl.typing.canonical import Lined, lined_function, lined_text
from streams_orchestration.spl.typing.spans import Span
from streams_orchestration.spl.typing.typed import Function, Logic, Statement


def logic_texts(logic: Logic) -> dict[str, Any]:
    """Return the texts of the statements and state of an operator's logic.

    Raises:
        ValueError: the type of a part is unknown.
    """
    return {
        "state": _statements(logic.state),
        "onTuple": {str(port): _statements([statement]) for port, statement in logic.on_tuple},
        "onPunct": {str(port): _statements([statement]) for port, statement in logic.on_mark},
        "onProcess": None if logic.process is None else _statements([logic.process]),
    }


def function_text(function: Function) -> str | dict[str, Any]:
    """Return the text of a function that logic calls, with its place; raise ValueError if it has a mistake."""
    return _entry(lined_function(function), function.span)


def _statements(statements: Sequence[Statement]) -> str | dict[str, Any]:
    return _entry(lined_text(statements), statements[0].span) if statements else ""


def _entry(lined: Lined, span: Span) -> str | dict[str, Any]:
    """Return a text; with its place and its lines if its errors would have another line without them."""
    text, lines = lined
    return {"spl": text, "at": str(span), "lines": list(lines)} if len(lines) > 1 else text
