"""Keys of tuples: which tuples have the same, wherever batches begin and end."""

from __future__ import annotations

from collections.abc import Sequence

from streams_orchestration.operators.encoding import encoded
from streams_orchestration.operators.libraries import compute as pc
from streams_orchestration.operators.libraries import np, pa

DENSE = 4
"""Possible keys for each tuple up to which they are counted off in an array rather than sorted."""


def distinct(columns: Sequence[pa.Array], count: int) -> tuple[np.ndarray, np.ndarray]:
    """The first tuple of every key, in order of appearance, and for each tuple the number of its key.

    Null and NaN are keys like any other, and 0.0 is -0.0.

    Args:
        columns: the parts of the key; none makes all tuples alike.
        count: the number of tuples.
    """
    if not columns or not count:
        return np.zeros(min(count, 1), np.int64), np.zeros(count, np.int64)
    codes, size = np.zeros(count, np.int64), 1
    for column in columns:
        numbers, different = _numbered(column)
        if different == 1:
            continue
        codes = codes * different + numbers if size > 1 else numbers.astype(np.int64, copy=False)
        size *= different
        if size > DENSE * count:
            values, codes = np.unique(codes, return_inverse=True)
            size = len(values)
    first = np.full(size, -1)
    # of several writes to one place the last one stays: that of the first tuple
    first[codes[::-1]] = np.arange(count - 1, -1, -1)
    present = np.flatnonzero(first >= 0)
    first = first[present]
    order = np.argsort(first)
    ranks = np.empty(size, np.int64)
    ranks[present[order]] = np.arange(len(order))
    return first[order], ranks[codes]


def count_keys(columns: Sequence[pa.Array]) -> int:
    """Return how many keys `distinct` finds; for one column without numpy, since pyarrow imports pandas for that.

    Args:
        columns: the parts of the key, one at least.
    """
    if len(columns) == 1:
        return len(_without_negative_zero(columns[0]).unique())
    return len(distinct(columns, len(columns[0]))[0])


def _without_negative_zero(column: pa.Array) -> pa.Array:
    return pc.add(column, pa.scalar(0, column.type)) if pa.types.is_floating(column.type) else column


def _numbered(column: pa.Array) -> tuple[np.ndarray, int]:
    """Return numbers that distinguish the values, and an upper bound of how many there are."""
    if pa.types.is_integer(column.type) and not column.null_count:
        values = column.to_numpy(zero_copy_only=False)
        least, most = int(values.min()), int(values.max())
        if most - least < DENSE * len(values) and most < 1 << 62:
            return values.astype(np.int64, copy=False) - least, most - least + 1
    encoding = encoded(_without_negative_zero(column))
    return encoding.indices.to_numpy(zero_copy_only=False), len(encoding.dictionary)


def key_schema(parts: Sequence[pa.DataType]) -> pa.Schema:
    """Return the schema of keys in a `KeyedState`, with numbers as names; without parts all keys are alike."""
    return pa.schema([(str(i), kind) for i, kind in enumerate(parts)] or [("0", pa.int8())])


def key_batch(columns: Sequence[pa.Array], rows: np.ndarray) -> pa.RecordBatch:
    """The keys of some tuples, for a `KeyedState` of `key_schema`."""
    parts = [column.take(pa.array(rows)) for column in columns] or [pa.array(np.zeros(len(rows), np.int8))]
    return pa.RecordBatch.from_arrays(parts, schema=key_schema([part.type for part in parts]))
