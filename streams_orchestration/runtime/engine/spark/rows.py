"""The rows that pass through the levels of a PE's query, all of one kind.

A row is for the task at (level, partition): a descriptor or header (operator -1) with a plan as JSON, or items for an
operator's port as Arrow IPC.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

ROW_DDL = "partition int, level int, operator int, port int, origin bigint, payload binary"
ROW = pa.schema(
    [
        ("partition", pa.int32()),
        ("level", pa.int32()),
        ("operator", pa.int32()),
        ("port", pa.int32()),
        ("origin", pa.int64()),
        ("payload", pa.binary()),
    ]
)
PLAN = -1
"""Operator number of a row that holds a plan."""

Row = tuple[int, int, int, int, int, bytes]


def record_batches(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """Every row as an Arrow batch of its own: they are few, and may be large."""
    for row in rows:
        yield pa.RecordBatch.from_arrays(
            [pa.array([value], field.type) for value, field in zip(row, ROW, strict=True)], schema=ROW
        )
