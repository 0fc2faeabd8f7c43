"""Columns that grow and are written by row: numbers and times in numpy, everything else as Python objects."""

from __future__ import annotations

from typing import NamedTuple

from streams_orchestration.operators.libraries import compute as pc
from streams_orchestration.operators.libraries import np, pa


class Cells(NamedTuple):
    """Values on their way into a column."""

    values: np.ndarray
    missing: np.ndarray | None
    """Mask of null values, for numbers and times; None if there is none."""


class StateColumn:
    """The values of one attribute by row number."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self._plain = _plain(kind)
        self.values = np.zeros(0, object if self._plain is None else self._plain.to_pandas_dtype())
        self.missing: np.ndarray | None = None
        """Null numbers and times; None where none is."""

    def grow(self, rows: int) -> None:
        """Make room. New rows are 0 or false, or null in a column without such a value."""
        self.values = grown(self.values, rows)
        if self.missing is not None:
            self.missing = grown(self.missing, rows)

    def cells(self, array: pa.Array) -> Cells:
        """Convert Arrow values to the form in which the column keeps them."""
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
        """Write values. Of a row that occurs twice the last value counts."""
        self.values[rows] = cells.values
        if cells.missing is not None:
            if self.missing is None:
                self.missing = np.zeros(len(self.values), bool)
            self.missing[rows] = cells.missing
        elif self.missing is not None:
            self.missing[rows] = False

    def take(self, rows: np.ndarray) -> pa.Array:
        """Return the values of these rows; null for a row below 0."""
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
        """Return for each row whether its value equals one of the cells; null and NaN equal themselves."""
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
        """Keep these rows only, in this order."""
        self.values = self.values[rows]
        if self.missing is not None:
            self.missing = self.missing[rows]


def grown(array: np.ndarray, size: int) -> np.ndarray:
    """Return the array with room for `size` values, and more, so that growing often costs little."""
    if len(array) >= size:
        return array
    room = max(size, 2 * len(array), 16)
    # empty objects are None
    larger = np.empty(room, object) if array.dtype == object else np.zeros(room, array.dtype)
    larger[: len(array)] = array
    return larger


def _plain(kind: pa.DataType) -> pa.DataType | None:
    """Return the type under which numpy holds the values, of numbers and times."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return kind
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return pa.int64() if kind.bit_width == 64 else pa.int32()
    return None
