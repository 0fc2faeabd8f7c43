"""The partition descriptors that Spark carries from the planner of a PE to its first level. Imports nothing slow."""

from __future__ import annotations

from pyspark.sql.datasource import InputPartition

MARKER = "_streams_marker"
"""The column of a view with a watermark: 1 in rows that are there for the watermark only, 0 in others."""


class Descriptor(InputPartition):
    """The input of one task of level 0: a plan, ready to send."""

    def __init__(self, partition: int, payload: bytes) -> None:
        self.partition = partition
        self.payload = payload
