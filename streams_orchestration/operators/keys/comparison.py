"""Equality and hashing of keys, independent of batch boundaries.

Null is a key, all NaN are the same key, and 0.0 equals -0.0. Texts are equal if their bytes are. Arrays are equal if
their elements are, in order; structs if their fields are; maps if their entries are, in any order. All comparisons of
keys use the form that `comparable` returns. The channel of a key is a hash of the form that `hashable` returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from streams_orchestration.operators.keys.nested import as_bytes, from_bytes, normalised_floats
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.encoding import encoded

HASHED_DECIMAL = (76, 38)
"""Precision and scale of a decimal type that represents any decimal of 38 digits exactly."""
DENSE = 4
"""Up to this many possible keys per tuple, keys are numbered by an array; beyond it, by sorting."""


def normalised(column: pa.Array) -> pa.Array:
    """Return the column with a single bit pattern for each key: 0.0 for -0.0, and one NaN.

    Only `float` and `double` need work; in other types without parts every value already has one bit pattern. Nested
    types are unchanged; see `comparable`.
    """
    kind = column.type
    if pa.types.is_dictionary(kind) and pa.types.is_floating(kind.value_type):
        column, kind = column.dictionary_decode(), kind.value_type
    if not pa.types.is_floating(kind):
        return column
    return normalised_floats(column)


def comparable(column: pa.Array) -> pa.Array:
    """Return the column with equal values for equal keys: normalised, or as bytes if its type is nested."""
    return as_bytes(column) if pa.types.is_nested(column.type) else normalised(column)


def comparable_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the column that `comparable` returns."""
    return pa.binary() if pa.types.is_nested(kind) else kind


def as_given(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return keys of a type from the column that `comparable` returned."""
    return from_bytes(column, kind) if pa.types.is_nested(kind) else column


def canonical(column: pa.Array) -> pa.Array:
    """Return the column with one value for equal keys; the entries of maps are in the order of their bytes."""
    return as_given(comparable(column), column.type)


def with_normalised(batch: pa.RecordBatch, names: Iterable[str]) -> pa.RecordBatch:
    """Return the batch with the named attributes normalised; see `normalised`."""
    for name in names:
        at = batch.schema.get_field_index(name)
        column = batch.column(at)
        if (same := normalised(column)) is not column:
            batch = batch.set_column(at, batch.schema.field(at), same)
    return batch


def hashable(column: pa.Array) -> pa.Array:
    """Return the column in a form for hashing in which equal keys of related types are equal.

    Integers become `bigint`, floats `double`, times microseconds, decimals one decimal type, and texts their bytes.
    Arrays, maps and structs are unchanged; their parts are hashed.
    """
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return column.cast(pa.int64(), safe=not pa.types.is_uint64(kind))
    if pa.types.is_floating(kind):
        return normalised(column.cast(pa.float64()))
    if pa.types.is_decimal(kind):
        return column.cast(pa.decimal256(*HASHED_DECIMAL))
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", tz=kind.tz), safe=False).cast(pa.int64())
    if pa.types.is_temporal(kind):
        return column.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(pa.int64())
    return column if pa.types.is_nested(kind) else column.cast(pa.binary())


def distinct(columns: Sequence[pa.Array], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the position of the first tuple of each distinct key, in order, and the key number of each tuple.

    Args:
        columns: the parts of the key; without any, all tuples have the same key.
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
    # the last one of several writes to an element remains, which is here the one of the first tuple
    first[codes[::-1]] = np.arange(count - 1, -1, -1)
    present = np.flatnonzero(first >= 0)
    first = first[present]
    if len(first) == size and (first[1:] > first[:-1]).all():
        return first, codes
    order = np.argsort(first)
    ranks = np.empty(size, np.int64)
    ranks[present[order]] = np.arange(len(order))
    return first[order], ranks[codes]


def mixed(numbers: np.ndarray, seed: np.uint64) -> np.ndarray:
    """Return numbers with their bits mixed, by the finaliser of SplitMix64."""
    bits = numbers + seed
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def distinct_numbers(numbers: np.ndarray) -> np.ndarray:
    """Return the distinct integers of an array, ascending.

    >>> distinct_numbers(np.array([5, 3, 5])).tolist()
    [3, 5]
    """
    if not len(numbers):
        return numbers
    least, most = int(numbers.min()), int(numbers.max())
    if most - least >= DENSE * len(numbers):
        return np.unique(numbers)
    present = np.zeros(most - least + 1, bool)
    present[numbers - least] = True
    return np.flatnonzero(present) + least


def count_keys(columns: Sequence[pa.Array]) -> int:
    """Return the number of distinct keys. For one column this avoids numpy, for which pyarrow would import pandas.

    Args:
        columns: the parts of the key, at least one.
    """
    if len(columns) == 1:
        return len(comparable(columns[0]).unique())
    return len(distinct(columns, len(columns[0]))[0])


def _numbered(column: pa.Array) -> tuple[np.ndarray, int]:
    """Return a number for each value, equal for equal values only, and an upper bound of the numbers."""
    if pa.types.is_integer(column.type) and not column.null_count:
        values = column.to_numpy(zero_copy_only=False)
        least, most = int(values.min()), int(values.max())
        if most - least < DENSE * len(values) and most < 1 << 62:
            return values.astype(np.int64, copy=False) - least, most - least + 1
    nested = pa.types.is_nested(column.type)
    encoding = as_bytes(column).dictionary_encode("encode") if nested else encoded(normalised(column))
    return encoding.indices.to_numpy(zero_copy_only=False), len(encoding.dictionary)


def key_schema(parts: Sequence[pa.DataType]) -> pa.Schema:
    """Return the schema of keys in a `KeyedState`, with numbers as names. Without parts, all keys are equal."""
    return pa.schema([(str(i), kind) for i, kind in enumerate(parts)] or [("0", pa.int8())])


def key_batch(columns: Sequence[pa.Array], rows: np.ndarray) -> pa.RecordBatch:
    """Return the keys of the given rows, normalised, in the schema of `key_schema`. Without columns all are equal."""
    if not columns:
        return pa.RecordBatch.from_arrays([pa.array(np.zeros(len(rows), np.int8))], schema=key_schema([]))
    every = len(rows) == len(columns[0]) and (rows == np.arange(len(rows))).all()
    return whole_key_batch(columns if every else [column.take(pa.array(rows)) for column in columns])


def whole_key_batch(columns: Sequence[pa.Array]) -> pa.RecordBatch:
    """Return the keys of all rows, as `key_batch` does; there is at least one column."""
    parts = [normalised(column) for column in columns]
    return pa.RecordBatch.from_arrays(parts, schema=key_schema([part.type for part in parts]))
