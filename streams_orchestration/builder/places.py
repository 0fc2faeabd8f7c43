"""Call sites of the builder: errors refer to their lines, and streams take the names of their variables."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.model.document import LocatedList, LocatedMapping

_OWN = str(Path(__file__).parent)


@dataclass(frozen=True, slots=True)
class CallSite:
    """A place in Python code that calls the builder, and the statement around it."""

    file: str
    line: int
    """The line of the call."""
    statement: int
    """The first line of the statement."""
    targets: tuple[str, ...] = ()
    """The variables that the statement assigns, if it assigns nothing else."""


def calling_place() -> CallSite:
    """Return the innermost place on the call stack that is outside of this package; without one, line 1 of no file.

    It has no variables if several statements are in its line.
    """
    frame = inspect.currentframe()
    while frame is not None and (frame.f_code.co_filename.startswith(_OWN) or "contextlib" in frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return CallSite("", 1, 1)
    file, line = frame.f_code.co_filename, frame.f_lineno
    statements = _statements(file, len(linecache.getlines(file, frame.f_globals)))
    around = [(first, targets) for first, last, targets in statements if first <= line <= last]
    # several statements in one line cannot be told apart
    return CallSite(file, line, *around[0]) if len(around) == 1 else CallSite(file, line, line)


@functools.lru_cache(maxsize=64)
def _statements(file: str, lines: int) -> tuple[tuple[int, int, tuple[str, ...]], ...]:
    """Return first line, last line and assigned variables of every simple statement of a file.

    There are none if the file has a syntax error.

    Args:
        file: the file's name, or the name of a notebook's cell.
        lines: the number of its lines; it is part of the cache's key, so that a file that grew is parsed again.
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


def located(value: Any, place: CallSite) -> Any:
    """Return the value as a located document; parts without a line get the line of the place."""
    if isinstance(value, LocatedMapping):
        return value
    if is_mapping(value):
        mapping = LocatedMapping(place.file, place.line)
        mapping.update({key: located(part, place) for key, part in value.items()})
        mapping.lines = dict.fromkeys(mapping, place.line)
        return mapping
    if is_list(value):
        entries = LocatedList()
        entries.extend(located(part, place) for part in value)
        entries.lines = [part.line if isinstance(part, LocatedMapping) else place.line for part in entries]
        return entries
    return value
