"""`ApproxCountDistinct`: estimates the number of distinct values with a sketch of bounded size (HyperLogLog)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.loading.packages import require_package
from streams_orchestration.operators.standard.aggregation.value_functions import ORDERED
from streams_orchestration.operators.standard.aggregation.value_measures import ValueFunction

NAME = "ApproxCountDistinct"
LEAST_RSD, MOST_RSD = 0.001, 0.39
_LEAST_SIZE, _MOST_SIZE = 4, 21
"""The range of the base-2 logarithm of the number of registers, which take one byte each."""


class Sketch(Sequence[bytes]):
    """The sketch of a group.

    It is a sequence with its bytes as the only element, since states are stored as lists.
    """

    def __init__(self, size: int, stored: Sequence[bytes] | None = None) -> None:
        """Create an empty sketch, or restore one from its stored list."""
        import datasketches

        self._size = size
        self._kind = datasketches.tgt_hll_type.HLL_8
        if stored is None:
            self._sketch = datasketches.hll_sketch(size, self._kind)
        else:
            self._sketch = datasketches.hll_sketch.deserialize(stored[0])

    def __len__(self) -> int:
        return 1

    def __getitem__(self, place: Any) -> Any:
        return [self._sketch.serialize_compact()][place]

    def add(self, value: Any) -> None:
        """Add a value. Equal values of a column count once."""
        plain = int(value) if isinstance(value, bool) else value
        # the sketch would ignore an empty text
        self._sketch.update(plain if isinstance(plain, int | float) else f"={plain}")

    def merged(self, other: Sketch) -> Sketch:
        """Return the union of two sketches."""
        merged = Sketch(self._size)
        merged._sketch = self._union(other).get_result(self._kind)
        return merged

    def estimate(self) -> int:
        """Return the estimated number of distinct values, which does not depend on their order."""
        return round(self._union(self).get_estimate())  # alone it would depend on their order, too

    def _union(self, other: Sketch) -> Any:
        import datasketches

        union = datasketches.hll_union(self._size)
        union.update(self._sketch)
        union.update(other._sketch)
        return union


def approx_count_distinct(deviation: str = "0.05") -> ValueFunction:
    """Return `ApproxCountDistinct` with a given relative standard deviation of its estimates.

    Raises:
        ValueError: the sketch package is not installed, or the deviation is not a number within its range.
    """
    rsd = float(deviation) if re.fullmatch(r"[0-9.]+(e-?[0-9]+)?", deviation, re.IGNORECASE) else math.nan
    if not LEAST_RSD <= rsd <= MOST_RSD:
        message = f"{NAME}(e, rsd): rsd must be a number from {LEAST_RSD} to {MOST_RSD}, not {deviation!r}"
        raise ValueError(message)
    require_package(NAME, "datasketches", "sketches", "datasketches")
    # Spark's formula, so that both use the same number of registers
    size = min(max(math.ceil(2 * math.log2(1.106 / rsd)), _LEAST_SIZE), _MOST_SIZE)

    def read(state: Any) -> Sketch:
        return state if isinstance(state, Sketch) else Sketch(size, state)

    def step(state: Any, row: Sequence[Any]) -> Sketch:
        sketch = read(state)
        sketch.add(row[0])
        return sketch

    return ValueFunction(
        ORDERED,
        lambda _: pa.list_(pa.binary()),
        lambda _: pa.int64(),
        step,
        lambda one, other: read(one).merged(read(other)),
        lambda state, _: read(state).estimate(),
        empty=0,
    )
