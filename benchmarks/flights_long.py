"""`flights` for longer: a hundred copies of the year, 34 million tuples, against the bare loop."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import flights
from benchmarks.harness import Row


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios of throughput, after start-up and of the whole job."""
    with TemporaryDirectory(prefix="flights-") as directory:
        data = flights.Data(Path(directory), copies=flights.COPIES * (3 if quick else 10), divided=False)
        return flights.compared(data, 1 if quick else flights.ROUNDS)
