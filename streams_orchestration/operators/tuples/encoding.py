"""Dictionary encodings of columns, cached so that all operators of a task that use a column share one."""

from __future__ import annotations

from collections import deque

from streams_orchestration import world
from streams_orchestration.operators.loading.libraries import pa

MAX_CACHED_ENCODINGS = 4
"""The number of column encodings cached per thread."""


class _Recent(world.Local):
    """The recent encodings of one thread, which runs one task at a time.

    The cache holds each column itself, since its memory address is the key and must not be reused.
    """

    def __init__(self) -> None:
        self.columns: deque[tuple[pa.Array, tuple, pa.DictionaryArray]] = deque(maxlen=MAX_CACHED_ENCODINGS)


_RECENT = _Recent()


def encoded(column: pa.Array) -> pa.DictionaryArray:
    """Dictionary-encode a column and cache the result for this thread, or return the cached one.

    The dictionary has distinct values, one of which may be null.
    """
    place = _place(column)
    for _, known, encoding in _RECENT.columns:
        if known == place:
            return encoding
    encoding = column.dictionary_encode(null_encoding="encode")
    _RECENT.columns.append((column, place, encoding))
    return encoding


def remember(column: pa.Array, indices: pa.Array, values: pa.Array) -> None:
    """Cache a known dictionary encoding of a column, unless `values` contains duplicates."""
    if len(values.unique()) == len(values):
        _RECENT.columns.append((column, _place(column), pa.DictionaryArray.from_arrays(indices, values)))


def forget_encodings() -> None:
    """Drop all cached encodings of this thread."""
    _RECENT.columns.clear()


def _place(column: pa.Array) -> tuple:
    """Return a cache key for a column: the addresses of its memory, its range and its type."""
    addresses = tuple(None if buffer is None else buffer.address for buffer in column.buffers())
    return addresses, column.offset, len(column), column.type
