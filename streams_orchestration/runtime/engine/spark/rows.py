"""The rows that pass through the levels of a PE's query.

All have the same columns. A row is for the task at (level, partition). It holds either the task's plan as JSON, with
operator -1, or items for an operator's port as Arrow IPC. A request is a task with all its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from streams_orchestration.runtime.queries.scratch import Scratch

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
"""The operator number of a row that holds a plan."""

Row = tuple[int, int, int, int, int, bytes]


@dataclass(frozen=True)
class TaskRequest:
    """A task to run, in the form that is sent to its owner."""

    scratch: Scratch
    level: int
    partition: int
    plan: bytes
    items: list[Row]


def requests(scratch: Scratch, level: int, rows: Iterable[Row]) -> list[TaskRequest]:
    """Return the requests of a level by partition: the tasks whose plans are among the rows, each with its items.

    Items are in the order of operator, port and origin. Items of a task without a plan are left out.
    """
    rows = list(rows)
    items = sorted((row for row in rows if row[2] != PLAN), key=lambda row: (row[2], row[3], row[4]))
    plans = sorted(row for row in rows if row[2] == PLAN)
    return [TaskRequest(scratch, level, row[0], row[5], [item for item in items if item[0] == row[0]]) for row in plans]


def record_batches(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """Yield every row as an Arrow batch of its own, since rows are few and may be large."""
    for row in rows:
        yield pa.RecordBatch.from_arrays(
            [pa.array([value], field.type) for value, field in zip(row, ROW, strict=True)], schema=ROW
        )
