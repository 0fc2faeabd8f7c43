"""Windows of invocations as the texts of a document: `sliding, count(10), count(1), partitioned`."""

from __future__ import annotations

from streams_orchestration.spl.application.values import Reader, Unclear
from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.definitions import Labelled
from streams_orchestration.spl.language.printing import text_of


def window_text(window: Labelled, reader: Reader) -> str:
    """Return the text of a window; arguments that are known are worked out.

    Formals and constants become numbers, attributes their names.
    """
    return ", ".join(_part(each, reader) for each in window.values)


def _part(written: tree.Expression, reader: Reader) -> str:
    if isinstance(written, tree.Call) and isinstance(written.function, tree.Name):
        return f"{written.function.name}({', '.join(_argument(each, reader) for each in written.arguments)})"
    return text_of(written)


def _argument(written: tree.Expression, reader: Reader) -> str:
    if isinstance(written, tree.Name) and not written.name.startswith("$"):
        return written.name
    try:
        value = reader.value(written)
    except Unclear:
        return text_of(written)
    return repr(value) if isinstance(value, float) else str(value)
