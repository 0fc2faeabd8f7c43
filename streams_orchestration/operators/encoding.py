"""Columns as dictionaries of their different values, computed once for all operators of a task that use a column."""

from __future__ import annotations

from collections import deque

from streams_orchestration import world
from streams_orchestration.operators.libraries import pa

REMEMBERED = 4
"""Columns."""


class _Recent(world.Local):
    """The recent encodings of one thread, which runs one task at a time. A held column keeps its memory from reuse."""

    def __init__(self) -> None:
        self.columns: deque[tuple[pa.Array, tuple, pa.DictionaryArray]] = deque(maxlen=REMEMBERED)


_RECENT = _Recent()


def encoded(column: pa.Array) -> pa.DictionaryArray:
    """Return the column as a dictionary array. Null is a value like any other, and values are distinct."""
    place = _place(column)
    for _, known, encoding in _RECENT.columns:
        if known == place:
            return encoding
    encoding = column.dictionary_encode(null_encoding="encode")
    _RECENT.columns.append((column, place, encoding))
    return encoding


def remember(column: pa.Array, indices: pa.Array, values: pa.Array) -> None:
    """Cache the dictionary of a column; its values must be distinct."""
    if len(values.unique()) == len(values):
        _RECENT.columns.append((column, _place(column), pa.DictionaryArray.from_arrays(indices, values)))


def forget() -> None:
    """Let go of all columns of this thread."""
    _RECENT.columns.clear()


def _place(column: pa.Array) -> tuple:
    """Return what identifies a column's place in memory."""
    addresses = tuple(None if buffer is None else buffer.address for buffer in column.buffers())
    return addresses, column.offset, len(column), column.type
