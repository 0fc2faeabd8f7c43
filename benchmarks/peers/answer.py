"""The answer of a peer: its result, and its throughput after start-up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

RESULT = pa.schema(
    [
        ("carrier", pa.string()),
        ("airline", pa.string()),
        ("month", pa.int32()),
        ("flights", pa.int64()),
        ("mean_delay", pa.float64()),
        ("max_delay", pa.float64()),
        ("late_share", pa.float64()),
    ]
)
LATE = 15
"""The delay in minutes above which a flight is late."""
WARM = 0.2
"""Share of the tuples that counts as start-up where there is any."""

Point = tuple[float, int]
"""(seconds, tuples read until then)."""


def steady(points: Sequence[Point]) -> float:
    """Return the tuples a second from the first point after the start-up to the last one.

    Args:
        points: in order of time, the last one with all tuples. The start itself is a point only of what needs no
            start-up.

    Raises:
        ValueError: all tuples were read in one step, so that no rate can be told.
    """
    total = points[-1][1]
    first = next(point for point in points if point[1] >= WARM * total or (point is points[0] and point[1] == 0))
    last = next(point for point in points if point[1] == total)
    if last[0] <= first[0]:
        message = f"{total:,} tuples were read in one step; measure with more of them, without --quick"
        raise ValueError(message)
    return (last[1] - first[1]) / (last[0] - first[0])


def answer(result: pa.Table, points: Sequence[Point], file: Path) -> None:
    """Write the result and print the throughput."""
    pq.write_table(result.select(RESULT.names).cast(RESULT), file)
    print(json.dumps({"steady": steady(points), "tuples": points[-1][1]}))
