"""The numbers of partitions and groups in the states of panes."""

from __future__ import annotations

from typing import NamedTuple

from streams_orchestration.operators.loading.libraries import np, pa


class Renumbered(NamedTuple):
    """The numbers of keys and partitions in another state, and their numbers in this state."""

    keys_before: np.ndarray
    keys: np.ndarray
    partitions_before: np.ndarray
    partitions: np.ndarray


def number_schema(*names: str) -> pa.Schema:
    """Return a schema of int64 columns with the given names."""
    return pa.schema([(name, pa.int64()) for name in names])


def number_batch(**columns: np.ndarray) -> pa.RecordBatch:
    """Return a batch of int64 columns, given by name."""
    return pa.RecordBatch.from_arrays([pa.array(each) for each in columns.values()], schema=number_schema(*columns))


def places_of(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the positions of values in `known`; -1 for a value that `known` does not have."""
    if not len(known):
        return np.full(len(values), -1)
    order = np.arange(len(known)) if (known[1:] >= known[:-1]).all() else np.argsort(known, kind="stable")
    at = order[np.minimum(np.searchsorted(known, values, sorter=order), len(known) - 1)]
    return np.where(known[at] == values, at, -1)


def state_values(column: pa.ChunkedArray) -> np.ndarray:
    """Return values as a `KeyedState` stores them: Python objects if they are nested."""
    if pa.types.is_nested(column.type):
        return np.fromiter(column.to_pylist(), object, len(column))
    return column.to_numpy()
