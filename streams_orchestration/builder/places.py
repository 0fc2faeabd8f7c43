"""The lines of a Python file that build an application: where errors are, and what the streams are called there."""

from __future__ import annotations

import ast
import functools
import linecache
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams_orchestration.model.document import LocatedList, LocatedMapping

_OWN = str(Path(__file__).parent)


@dataclass(frozen=True, slots=True)
class Place:
    """The statement that calls the builder."""

    file: str
    line: int
    """Of the call."""
    statement: int
    """First line of the statement that the call is part of."""
    targets: tuple[str, ...] = ()
    """The variables that the statement assigns, if it assigns nothing else."""


def calling_place() -> Place:
    """Where the nearest code outside of this package calls it."""
    frame: Any = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename.startswith(_OWN) or "contextlib" in frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return Place("", 1, 1)
    file, line = frame.f_code.co_filename, frame.f_lineno
    statements = _statements(file, len(linecache.getlines(file, frame.f_globals)))
    around = [(first, targets) for first, last, targets in statements if first <= line <= last]
    # several statements in one line cannot be told apart
    return Place(file, line, *around[0]) if len(around) == 1 else Place(file, line, line)


@functools.lru_cache(maxsize=64)
def _statements(file: str, lines: int) -> tuple[tuple[int, int, tuple[str, ...]], ...]:
    """First and last line of every simple statement of a file, and the variables that it assigns.

    Args:
        file: its name, or that of a cell of a notebook.
        lines: how many it has, so that a longer version of it is read again.
    """
    del lines
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ()
    return tuple(
        (node.lineno, node.end_lineno or node.lineno, _targets(node))
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and not hasattr(node, "body")
    )


def _targets(node: ast.stmt) -> tuple[str, ...]:
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    if isinstance(node, ast.AnnAssign):
        target = node.target
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    return tuple(names) if len(names) == len(parts) else ()


def located(value: Any, place: Place) -> Any:
    """The same value as a document has it; what has no line yet is in the line of the place."""
    if isinstance(value, LocatedMapping):
        return value
    if isinstance(value, dict):
        mapping = LocatedMapping(place.file, place.line)
        mapping.update({key: located(part, place) for key, part in value.items()})
        mapping.lines = dict.fromkeys(mapping, place.line)
        return mapping
    if isinstance(value, list | tuple):
        entries = LocatedList()
        entries.extend(located(part, place) for part in value)
        entries.lines = [part.line if isinstance(part, LocatedMapping) else place.line for part in entries]
        return entries
    return value
