"""The last tasks of a query, which write its rows as segments of the transport and name the segments in an answer."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from streams_orchestration.compiler.pe_program import Delivery, OperatorProgram, PeProgram, Remote, SplitDelivery
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.tuples.arrow_types import arrow_schema, required_attributes
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.engine.spark.frames.descriptors import WRITTEN
from streams_orchestration.runtime.engine.spark.frames.graph_time import OutputMarks
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.programs.batches import Segment, TaskResult
from streams_orchestration.runtime.queries.scratch import Scratch
from streams_orchestration.runtime.storage.directories import Directories
from streams_orchestration.runtime.tasks.meter import Meter, NoMeter
from streams_orchestration.runtime.tasks.outbox import Outbox, Sender
from streams_orchestration.runtime.tasks.routing import split_by
from streams_orchestration.runtime.tasks.task_results import give_answer

PORT = "_streams_port"
ANSWER_DDL = "rows bigint"


@dataclass(frozen=True)
class QueryOutlet:
    """An output port whose rows leave the query."""

    operator: int
    port: int

    @property
    def column(self) -> str:
        """The column with the port's rows, if the rows of several ports leave the query."""
        return f"_{self.operator}_{self.port}"


@dataclass(frozen=True)
class FrameWriter:
    """The function for `mapInArrow` that writes the rows of a partition to segments."""

    scratch: Scratch
    outlets: tuple[QueryOutlet, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write one segment for each stream that gets rows, report the segments to the planner, and yield nothing.

        Raises:
            StreamsRuntimeError: Spark has run a batch with rows that was not planned.
            DataError: an attribute that may not be null is null.
            ValueError: a number does not fit an unsigned attribute.
            OSError: a segment or the report cannot be written.
        """
        from pyspark import TaskContext

        began = time.monotonic()
        launched = self.scratch.launched
        program = launched.program
        meter = (Meter if launched.measured else NoMeter)(program)
        outbox = Outbox(program, launched.directories, _no_sender, meter)
        rows = 0
        for batch in batches:
            for outlet, part in self._parted(batch):
                operator = program.operators[outlet.operator]
                tuples = typed(part, operator, outlet.port)
                rows += len(tuples)
                meter.submits(outlet.operator, outlet.port, tuples)
                for delivery in operator.deliveries[outlet.port]:
                    _deliver(outbox, delivery, operator.outputs[outlet.port], tuples)
        context = TaskContext.get()
        assert context is not None
        segments = tuple(outbox.segments())
        result = TaskResult(
            WRITTEN,
            context.partitionId(),
            0,
            rows,
            0,
            time.monotonic() - began,
            segments=segments,
            metrics=meter.counts({}, {}, {}),
        )
        number = self.scratch.planned
        if number is not None:
            give_answer(self.scratch.answers, number, result)
        elif rows:  # a batch without rows is Spark's first one, which it runs before any input
            message = "Spark has run a batch that was not planned; reset its unit"
            raise StreamsRuntimeError(message)
        yield from ()

    def _parted(self, batch: pa.RecordBatch) -> Iterator[tuple[QueryOutlet, pa.RecordBatch]]:
        """Yield the rows of each port that has any in a batch; of a single port the whole batch, even if empty."""
        if len(self.outlets) == 1:
            yield self.outlets[0], batch
            return
        ports = batch.column(PORT)
        for number, outlet in enumerate(self.outlets):
            column = batch.column(outlet.column).filter(pc.equal(ports, number))
            if len(column):
                yield outlet, pa.RecordBatch.from_struct_array(column)


def typed(batch: pa.RecordBatch, operator: OperatorProgram, port: int) -> TupleBatch:
    """Return rows of a query as tuples of an output port, with Spark's types cast to the declared ones.

    Raises:
        DataError: an attribute that may not be null is null.
        ValueError: a number does not fit an unsigned attribute; the error is Arrow's.
    """
    ddl = operator.outputs[port] or ""
    schema = arrow_schema(ddl)
    columns = [batch.column(field.name).cast(field.type) for field in schema]
    tuples = TupleBatch(pa.RecordBatch.from_arrays(columns, schema=schema))
    if required := required_attributes(ddl):
        tuples.refuse_nulls(required)
    return tuples


def _deliver(outbox: Outbox, delivery: Delivery, ddl: str | None, tuples: TupleBatch) -> None:
    if isinstance(delivery, Remote) and len(tuples):
        outbox.send(delivery, ddl, tuples)
    elif isinstance(delivery, SplitDelivery):
        for part, deliveries in zip(split_by(delivery, tuples, {}), delivery.channels, strict=True):
            if part is not None:
                for each in deliveries:
                    _deliver(outbox, each, ddl, part)


def mark_segments(program: PeProgram, directories: Directories, marks: Iterable[OutputMarks]) -> tuple[Segment, ...]:
    """Write the watermarks after a batch, a segment for each stream that gets any, and return the segments (EV26).

    All channels of a stream get them. The contents of the segments are durable when this returns.

    Raises:
        OSError: a segment cannot be written.
    """
    outbox = Outbox(program, directories, _no_sender, NoMeter(program))
    for operator, port, watermarks in marks:
        source = program.operators[operator]
        batch = TupleBatch.bearing(watermarks, arrow_schema(source.outputs[port] or ""))
        for delivery in _remotes(source.deliveries[port]):
            outbox.send(delivery, source.outputs[port], batch)
    segments = tuple(outbox.segments())
    directories.store.sync_contents(segment.path for segment in segments)
    return segments


def _remotes(deliveries: Iterable[Delivery]) -> Iterator[Remote]:
    for delivery in deliveries:
        if isinstance(delivery, Remote):
            yield delivery
        elif isinstance(delivery, SplitDelivery):
            yield from (remote for channel in delivery.channels for remote in _remotes(channel))


def _no_sender(schema: pa.Schema) -> Sender:
    raise AssertionError(schema)
