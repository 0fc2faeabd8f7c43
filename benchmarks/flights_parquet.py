"""The flights job as in `flights`, from Parquet, where reading costs little; without Bytewax, which cannot read it."""

from __future__ import annotations

from benchmarks import flights
from benchmarks.harness import Row


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios of `flights`, from Parquet."""
    return flights.rows(quick=quick, format="parquet")
