"""The source of a PE's query, as Spark sees it.

Several short-lived Python processes of Spark load this module only to inspect the source, before the first batch. So it
imports nothing that takes time; the planner and the tasks are imported when they work.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from streams_orchestration.runtime.engine.spark.descriptor import TaskDescriptor

if TYPE_CHECKING:
    import pyarrow as pa

    from streams_orchestration.runtime.engine.spark.direct_batches import DirectBatches
    from streams_orchestration.runtime.queries.planner import Planner


class PeSource(DataSource):
    """The format `spark.readStream.format("streams_pe")`, with the options of `QueryStart.planner_options`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "streams_pe"

    def schema(self) -> str:
        """Return the columns of the rows of every level."""
        from streams_orchestration.runtime.engine.spark.rows import ROW_DDL

        return ROW_DDL

    def streamReader(self, schema: Any) -> PeReader:  # noqa: N802 (Spark's name)
        """Return a reader for one query."""
        return PeReader({key: str(value) for key, value in self.options.items()})


class PeReader(DataSourceStreamReader):
    """Plans and commits batches in a Python process of its own beside the driver; `read` runs in Spark's workers."""

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options
        self._made: Planner | None = None
        self._direct: DirectBatches | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Record that the planner is ready, and return the last committed batch; for errors see `Planner.start`."""
        return {"batch": self._planner.start()}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """Commit the batch that Spark has run, run direct batches, and return the next batch that Spark has to run.

        The result is `start` if there is nothing to do for a while. For errors see `DirectBatches.run_until_spark`.
        """
        return {"batch": self._advance(start["batch"])}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[TaskDescriptor]:
        """Record that the planned batch runs, and return one descriptor for every task of level 0.

        There are none if Spark requests an empty batch.

        Raises:
            StreamsRuntimeError: this reader has not planned the batch.
        """
        if start == end:
            return []
        return [TaskDescriptor(partition, plan) for partition, plan in self._planner.begin_batch(end["batch"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Run a task of level 0, and yield the rows for the tasks of later levels; for errors see `PeLevel`."""
        from streams_orchestration.runtime.engine.spark.rows import PLAN, record_batches
        from streams_orchestration.runtime.engine.spark.stages import PeLevel
        from streams_orchestration.runtime.queries.scratch import Scratch

        assert isinstance(partition, TaskDescriptor)
        rows = record_batches([(partition.partition, 0, PLAN, 0, 0, partition.payload)])
        yield from PeLevel(Scratch(self.options["scratch"]), 0)(rows)

    def stop(self) -> None:
        """Stop the planner with the query; do nothing if this reader has made no planner."""
        if self._made is not None:
            self._made.stop()

    def _advance(self, batch: int) -> int:
        if self._direct is None:
            from streams_orchestration.runtime.engine.spark.direct_batches import DirectBatches

            self._direct = DirectBatches(self._planner)
        return self._direct.run_until_spark(batch)

    @property
    def _planner(self) -> Planner:
        if self._made is None:
            from streams_orchestration.runtime.queries.planner import Planner

            self._made = Planner(self.options)
        return self._made
