"""Growable columns written by row number: numbers and times as numpy arrays, other values as Python objects."""

from __future__ import annotations

from typing import NamedTuple

from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa


class Cells(NamedTuple):
    """Values in the internal representation of a column, ready to be written."""

    values: np.ndarray
    missing: np.ndarray | None
    """Mask of null values, for numbers and times; None if there is none."""


class StateColumn:
    """The values of one attribute, by row number."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self._plain = _plain(kind)
        self.values = np.zeros(0, object if self._plain is None else self._plain.to_pandas_dtype())
        self.missing: np.ndarray | None = None
        """A mask of null numbers and times; None if there is no null."""

    def grow(self, rows: int) -> None:
        """Make room for `rows` rows. New rows are 0, false, or null for types without these values."""
        self.values = grown(self.values, rows)
        if self.missing is not None:
            self.missing = grown(self.missing, rows)

    def cells(self, array: pa.Array) -> Cells:
        """Convert an Arrow array to the column's representation."""
        if self._plain is None:
            if pa.types.is_nested(self.kind):
                return Cells(np.fromiter(array.to_pylist(), object, len(array)), None)
            values = array.to_numpy(zero_copy_only=False)
            return Cells(values if values.dtype == object else values.astype(object), None)
        missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
        if array.type != self._plain:
            array = array.view(self._plain)
        if missing is not None:
            array = pc.fill_null(array, pa.scalar(0).cast(self._plain))
        return Cells(array.to_numpy(zero_copy_only=False), missing)

    def set(self, rows: np.ndarray, cells: Cells) -> None:
        """Write values. If a row occurs twice, the last value counts."""
        self.values[rows] = cells.values
        if cells.missing is not None:
            if self.missing is None:
                self.missing = np.zeros(len(self.values), bool)
            self.missing[rows] = cells.missing
        elif self.missing is not None:
            self.missing[rows] = False

    def take(self, rows: np.ndarray) -> pa.Array:
        """Return the values of the given rows as an Arrow array; null for negative rows."""
        known = rows >= 0
        missing = ~known
        if not known.any():
            return pa.nulls(len(rows), self.kind)
        rows = np.where(known, rows, rows[known][0])
        if self._plain is None:
            values = self.values[rows]
            values[missing] = None
            return pa.array(values.tolist() if pa.types.is_nested(self.kind) else values, self.kind)
        if self.missing is not None:
            missing |= self.missing[rows]
        array = pa.array(self.values[rows], self._plain, mask=missing if missing.any() else None)
        return array if self.kind == self._plain else array.view(self.kind)

    def same(self, rows: np.ndarray, cells: Cells, which: np.ndarray) -> np.ndarray:
        """Return a mask of the rows whose value equals the given cell; null equals null, and NaN equals NaN."""
        here, there = self.values[rows], cells.values[which]
        equal = np.asarray(here == there, bool)
        if here.dtype.kind == "f":
            equal |= np.isnan(here) & np.isnan(there)
        if self.missing is None and cells.missing is None:
            return equal
        nothing = np.zeros(len(rows), bool)
        left = nothing if self.missing is None else self.missing[rows]
        right = nothing if cells.missing is None else cells.missing[which]
        return (left == right) & (equal | left)

    def select(self, rows: np.ndarray) -> None:
        """Keep only the given rows, in the given order."""
        self.values = self.values[rows]
        if self.missing is not None:
            self.missing = self.missing[rows]


def grown(array: np.ndarray, size: int) -> np.ndarray:
    """Return the array with room for at least `size` values: itself if it has that, else a larger copy.

    New values are 0, false or None. The room at least doubles, so that repeated growth is cheap.
    """
    if len(array) >= size:
        return array
    room = max(size, 2 * len(array), 16)
    # elements of an empty object array are None
    larger = np.empty(room, object) if array.dtype == object else np.zeros(room, array.dtype)
    larger[: len(array)] = array
    return larger


def _plain(kind: pa.DataType) -> pa.DataType | None:
    """Return the numpy-compatible type that stores numbers and times; None for other types."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return kind
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return pa.int64() if kind.bit_width == 64 else pa.int32()
    return None
