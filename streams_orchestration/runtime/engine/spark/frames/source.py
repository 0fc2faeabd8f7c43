"""The source of one view in a PE that is a Spark query: the segments of one input port, as Spark sees them.

Like the source of other PEs, the module imports nothing that takes time until it works.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, InputPartition
from pyspark.sql.datasource_internal import _SimpleStreamReaderWrapper  # pyright: ignore[reportPrivateUsage]

from streams_orchestration.operators.tuples.arrow_types import ddl_without_unsigned
from streams_orchestration.runtime.engine.spark.descriptor import MARKER, TaskDescriptor

if TYPE_CHECKING:
    import pyarrow as pa

    from streams_orchestration.runtime.engine.spark.frames.descriptors import BatchRecord
    from streams_orchestration.runtime.engine.spark.frames.planner import FramePlanner


class PortSource(DataSource):
    """The format `spark.readStream.format("streams_port")`.

    It has the options of a planner, and operator, port, attributes, time and timezone.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "streams_port"

    def schema(self) -> str:
        """Return the tuple type of the port, with a column for markers if the port has a watermark."""
        attributes = ddl_without_unsigned(self.options["attributes"])
        return f"{attributes}, {MARKER} int" if self.options["time"] else attributes

    def streamReader(self, schema: Any) -> PortReader:  # noqa: N802 (Spark's name)
        """Return a reader for one use of the view."""
        return PortReader({key: str(value) for key, value in self.options.items()})


class PortReader(_SimpleStreamReaderWrapper):
    """A reader of a query's port.

    The first reader that Spark calls plans and commits the batches; `read` runs in Spark's workers.

    Spark takes the rows of a batch from `getCache` together with its one partition, if the rows are few. If Spark loses
    these rows, it reads the partition.
    """

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options
        self.simple_reader = None  # type: ignore[assignment]  Spark's own reader is not used
        self._rows: list[pa.RecordBatch] | None = None
        """The rows of the batch whose partitions were requested last, if they are few; else None."""
        self._made: FramePlanner | None = None
        self._kept: BatchRecord | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Return the batch after which the query begins: the last committed one.

        The first reader that is asked becomes the one that plans, reads the batch from the catalog and records it.

        Raises:
            StaleGenerationError: another generation has taken the place of this query's.
            CatalogUnavailableError: the catalog is away for too long.
            OperatorError: the checkpoint is damaged, or its event time cannot be used.
            OSError: a file of the query cannot be read.
            ImplementationError: the class of an operator cannot be imported.
        """
        planner = self._planner
        return {"batch": self._record.first() if planner is None else planner.start()}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """Return the number of the next batch, or of the last one if no batch is planned.

        The reader that plans commits the last batch first, and waits for work. For errors see
        `FramePlanner.commit_and_plan`.
        Other readers only read its plan.
        """
        batch, planner = start["batch"], self._planner
        if planner is not None:
            return {"batch": planner.commit_and_plan(batch)}
        return {"batch": batch + 1 if self._record.is_planned(batch + 1) else batch}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[TaskDescriptor]:
        """Record that the batch runs, and return a descriptor for every task that reads; none if the port gets no rows.

        If the rows are few, read them here, for `getCache`, and report their latest event time. If they cannot be read
        here, a task reads them.

        Raises:
            OSError: a file of the scratch directory cannot be read or written.
        """
        from streams_orchestration.runtime.engine.spark.frames.reading import is_small, read_share, shares
        from streams_orchestration.runtime.errors.errors import StreamsRuntimeError

        self._rows = None
        if start == end:
            return []
        operator, port = int(self.options["operator"]), int(self.options["port"])
        planned = self._record.port(end["batch"], operator, port)
        self._scratch.mark_planned(end["batch"])
        small = is_small(planned, self.options["attributes"])
        parts = shares(planned, marked=bool(self.options["time"]), whole=small)
        if small and parts:
            with contextlib.suppress(StreamsRuntimeError, ValueError):  # the task that reads them fails, with the place
                self._rows = list(read_share(parts[0], self.options))
        return [TaskDescriptor(number, part) for number, part in enumerate(parts)]

    def getCache(self, start: dict[str, int], end: dict[str, int]) -> Iterator[Any] | None:  # noqa: N802
        """Return the rows of the batch if `partitions` has read them, else None."""
        return None if self._rows is None else iter(self._rows)

    def commit(self, end: dict[str, int]) -> None:
        """Do nothing, because the catalog records the committed batches."""

    def read(self, input_partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition, and report their latest event time; for errors see `read_share`."""
        from streams_orchestration.runtime.engine.spark.frames.reading import read_share

        assert isinstance(input_partition, TaskDescriptor)
        yield from read_share(input_partition.payload, self.options)

    def stop(self) -> None:
        """Stop the planner with the query; do nothing if this reader does not plan."""
        if self._made is not None:
            self._made.stop()

    @property
    def _scratch(self) -> Any:
        from streams_orchestration.runtime.queries.scratch import Scratch

        return Scratch(self.options["scratch"])

    @property
    def _record(self) -> BatchRecord:
        if self._kept is None:
            from streams_orchestration.runtime.engine.spark.frames.descriptors import BatchRecord

            self._kept = BatchRecord(self._scratch)
        return self._kept

    @property
    def _planner(self) -> FramePlanner | None:
        """The planner of the query if this reader plans; otherwise None.

        The first access decides this for the query, and creates the planner. A reader that has read its record plans
        no more.
        """
        if self._made is None and self._kept is None and self._record.lead():
            from streams_orchestration.runtime.engine.spark.frames.planner import FramePlanner

            self._made = FramePlanner(self.options, self._record)
        return self._made
