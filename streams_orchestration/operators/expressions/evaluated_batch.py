"""Tuples together with already computed values of expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams_orchestration.operators.expressions.evaluation import Expression, evaluate
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.batch import TupleBatch


class Evaluated:
    """A batch together with already computed values of some expressions."""

    def __init__(self, batch: TupleBatch, values: Mapping[Expression, pa.Array] | None = None) -> None:
        self.batch = batch
        self._values = values or {}

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def arrow(self) -> pa.RecordBatch:
        """The tuples as an Arrow record batch."""
        return self.batch.arrow

    def value(self, expression: Expression) -> pa.Array:
        """Return the value of an expression for every tuple, computing it if it is not known.

        Raises:
            DataError: the expression has no value for a tuple; the message shows the tuple.
        """
        known = self._values.get(expression)
        return evaluate(expression, self.arrow) if known is None else known

    def filter(self, mask: Any) -> Evaluated:
        """Return the tuples where the boolean mask is true, with their known values."""
        return Evaluated(self.batch.filter(mask), {each: array.filter(mask) for each, array in self._values.items()})

    def take(self, places: Any) -> Evaluated:
        """Return the tuples at the given positions, with their known values."""
        chosen = pa.array(places)
        return Evaluated(self.batch.take(chosen), {each: array.take(chosen) for each, array in self._values.items()})

    def slice(self, start: int, length: int) -> Evaluated:
        """Return consecutive tuples, with their known values."""
        values = {each: array.slice(start, length) for each, array in self._values.items()}
        return Evaluated(self.batch.slice(start, length), values)

    def only(self, names: Sequence[str]) -> Evaluated:
        """Return the tuples with some of their attributes and without watermarks, with their known values."""
        return Evaluated(TupleBatch(self.arrow.select(names)), self._values)

    def without_watermarks(self) -> Evaluated:
        """Return the tuples without watermarks, with their known values."""
        return self if self.batch.watermarks is None else Evaluated(self.batch.without_watermarks(), self._values)
