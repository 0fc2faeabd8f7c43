"""The partition descriptors that Spark carries from the planner of a PE to its first level.

The module imports nothing that takes long.
"""

from __future__ import annotations

from pyspark.sql.datasource import InputPartition

MARKER = "_streams_marker"
"""The column of a view with a watermark: 1 in rows that only advance the watermark, 0 in all others."""


class TaskDescriptor(InputPartition):
    """The input of one task of level 0: its plan as text that can be sent."""

    def __init__(self, partition: int, payload: bytes) -> None:
        self.partition = partition
        self.payload = payload
