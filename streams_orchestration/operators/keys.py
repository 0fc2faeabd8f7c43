"""Keys of tuples as Python tuples, so that equal keys are found again across batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from streams_orchestration.operators.libraries import np, pa

Key = tuple[Any, ...]

DENSE = 4
"""Possible keys for each tuple up to which they are counted off in an array rather than sorted."""

_NAN = float("nan")
"""The one NaN of keys: NaN equals nothing, but an object is found again by its identity."""


def factorize(columns: Sequence[pa.Array], count: int) -> tuple[list[Key], np.ndarray]:
    """The different keys in order of first appearance, and for each tuple the number of its key.

    Null and NaN are keys like any other.

    Args:
        columns: the parts of the key; none makes all tuples alike.
        count: the number of tuples.
    """
    if not columns or not count:
        return [()] if count else [], np.zeros(count, np.int64)
    codes, size = np.zeros(count, np.int64), 1
    for column in columns:
        encoded = column.dictionary_encode(null_encoding="encode")
        if len(encoded.dictionary) == 1:
            continue
        codes = codes * len(encoded.dictionary) + encoded.indices.to_numpy(zero_copy_only=False)
        size *= len(encoded.dictionary)
        if size > DENSE * count:
            found, codes = np.unique(codes, return_inverse=True)
            size = len(found)
    first = np.full(size, -1)
    # of several writes to one place the last one stays: that of the first tuple
    first[codes[::-1]] = np.arange(count - 1, -1, -1)
    present = np.flatnonzero(first >= 0)
    first = first[present]
    order = np.argsort(first)
    heads = pa.array(first[order])
    keys = list(zip(*(key_values(column.take(heads)) for column in columns), strict=True))
    ranks = np.empty(size, np.int64)
    ranks[present[order]] = np.arange(len(order))
    return keys, ranks[codes]


def key_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """One part of keys as Python values."""
    values = column.to_pylist()
    return [_NAN if value != value else value for value in values] if pa.types.is_floating(column.type) else values


def key_columns(keys: Iterable[Key], types: Sequence[pa.DataType]) -> list[pa.Array]:
    """Keys as columns again."""
    listed = list(keys)
    return [pa.array([key[i] for key in listed], type=kind) for i, kind in enumerate(types)]
