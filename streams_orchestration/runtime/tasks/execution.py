"""Runs one task of a batch: calls operators directly with Arrow batches, and copies tuples as planned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import (
    Delivery,
    Direct,
    Exchange,
    OperatorProgram,
    PeProgram,
    SplitDelivery,
    Task,
)
from streams_orchestration.operators.contract.operator import Operator, Punctuation
from streams_orchestration.operators.contract.results import (
    check_nothing,
    type_text,
)
from streams_orchestration.operators.tuples.arrow_types import arrow_schema, required_attributes
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.encoding import forget_encodings
from streams_orchestration.runtime.errors.operator_errors import OperatorFailure
from streams_orchestration.runtime.programs.batches import BatchPlan, LinkChange, Segment, TaskInput, TaskResult
from streams_orchestration.runtime.programs.counts import Counts
from streams_orchestration.runtime.storage.directories import Directories
from streams_orchestration.runtime.tasks.calls import OperatorCalls, allow_calls, at_mark
from streams_orchestration.runtime.tasks.checkpoint import Checkpoint
from streams_orchestration.runtime.tasks.clock_calls import ClockCalls
from streams_orchestration.runtime.tasks.event_time import EventTimeCalls
from streams_orchestration.runtime.tasks.failing_tuples import ArrivedTuples
from streams_orchestration.runtime.tasks.instances import InstanceCache, OperatorInstance, make_instance
from streams_orchestration.runtime.tasks.meter import Meter, NoMeter
from streams_orchestration.runtime.tasks.outbox import NewSender, Outbox, frozen
from streams_orchestration.runtime.tasks.port_links import ChangeableLinks
from streams_orchestration.runtime.tasks.routing import split_by
from streams_orchestration.runtime.tasks.selection import selected
from streams_orchestration.runtime.tasks.source_calls import SourceCalls, TupleOrigin
from streams_orchestration.runtime.tasks.unheeded_marks import UnheededMarks
from streams_orchestration.runtime.transport.segments import Item, SegmentError, read_segment


class TaskRun:
    """One task of one batch.

    Methods that call an operator raise OperatorError if that operator raises, or one that it submits to. The creation
    increases Python's recursion limit for a long chain of operators. It raises OperatorError if an operator's class
    cannot be imported.
    """

    def __init__(
        self,
        program: PeProgram,
        task: Task,
        plan: BatchPlan,
        directories: Directories,
        new_sender: NewSender,
        cache: InstanceCache,
        *,
        measured: bool = True,
    ) -> None:
        allow_calls(len(program.operators))
        self.meter = Meter(program) if measured else NoMeter(program)
        self.program = program
        self.task = task
        self.plan = plan
        self.directories = directories
        self.instances = {} if task.forwards else cache.of(program, task, plan)
        self._calls = OperatorCalls(self.meter, self.instances, plan.batch)
        self._event_time = EventTimeCalls(program, self._calls, self._process, self._send)
        self._clock = ClockCalls(program, task, plan, self._calls, lambda index: self._instance(index).operator)
        self.outbox = Outbox(program, directories, new_sender, self.meter)
        self._unheeded = UnheededMarks(program, self._instance, self.meter)
        self.prepared: set[int] = set()
        """Operators whose objects hold the state that the plan names."""
        self.changed: set[int] = set()
        """Operators that were called, so that their state may have changed."""
        self.arrived: Counter[tuple[int, int]] = Counter()
        """The number of tuples so far by (operator, port)."""
        self._origin = TupleOrigin()
        self._sources = SourceCalls(
            program, plan, self._calls, self._event_time, self._instance, self.changed, self._origin
        )
        self.consistent = False
        """True if an operator has asked that the region be made consistent (B26)."""
        self.made = False
        """True if an operator object was made."""
        self.rows_in = 0
        """The number of tuples that came into the PE: from streams of other PEs, and from outside by its operators."""
        self.bytes_in = 0
        self.began = world.monotonic()
        self.setup_seconds = 0.0

    def run(self, inputs: TaskInput | None, received: Iterator[tuple[int, int, Item]]) -> TaskResult:
        """Run the task on its sources and streams (level 0), or on the items from exchanges; return its result.

        First call the operators that use the clock. At the end of an epoch drain the operators; in the last batch also
        send final punctuation. Then write the segments, the sink files and the changed states, and flush their contents
        to disk. Items for later levels stay in `outbox`. The result has neither seconds nor metrics.

        Args:
            inputs: the sources and segments of a task of level 0.
            received: the (operator, input port, item) of a task of a later level.

        Raises:
            OperatorError: an operator raised.
            SegmentError: a segment is gone or altered, or has tuples of another type.
            DataError: the filter of an Import cannot be evaluated for a tuple.
            OSError: a file cannot be read or written.
        """
        self._clock.tell(self.changed)
        self._event_time.let_go(self._clock.programs, self._instance)
        self._event_time.connect(self.task, self.plan.position, self._instance, self.changed)
        self._event_time.declare(self.task, self._instance)
        if inputs is not None:
            for name in inputs.sources:
                ended = self._sources.produce(name, inputs)
                if ended is not None:
                    self._end_watermark(ended)
            for operator, port, segment in inputs.segments:
                self.bytes_in += segment.size
                self._read(operator, port, segment, inputs.filters.get(segment.stream))
            self._origin.text = str
        for operator, port, item in received:
            self.meter.dequeues(operator, port)
            self._origin.text = (lambda origin=item.origin: origin) if isinstance(item, TupleBatch) else str
            self._enter(operator, port, item)
        self._origin.text = str
        if not self.task.forwards:
            self._close()
        forget_encodings()
        return self._result()

    def _result(self) -> TaskResult:
        """Write the segments, take the checkpoint of the operators, sync the files, and return the task's result.

        Before that, set the gauges of the operators; see `EventTimeCalls.report`.
        """
        segments = tuple(self.outbox.segments())
        checkpoint = Checkpoint(self.program, self.plan, self.directories, self._calls)
        for index in sorted(self.prepared):
            self._event_time.report(self.instances[index])
            checkpoint.take(self.program.operators[index], self.instances[index], changed=index in self.changed)
        self.directories.store.sync_contents([*(segment.path for segment in segments), *checkpoint.written])
        written = sum(segment.rows for segment in segments) + sum(file.rows for file in checkpoint.files)
        prepared, sources = {index: self.instances[index] for index in self.prepared}, self._sources
        return TaskResult(
            level=self.task.level,
            partition=self.task.partition,
            rows_in=self.rows_in,
            rows_out=written,
            bytes_in=self.bytes_in,
            sources=sources.offsets,
            exhausted=tuple(sources.exhausted),
            pauses=sources.pauses,
            idle=sources.idle,
            bounds=sources.bounds,
            reached=tuple(sources.reached),
            segments=segments,
            states=tuple(checkpoint.states),
            files=tuple(checkpoint.files),
            watermarks=self._event_time.reached_by_sinks(self.program, self.instances),
            clocks=self._event_time.clocks(self.program, prepared),
            copies=dict(self.outbox.copies),
            enqueued=dict(self.outbox.enqueued),
            links=self._links(),
            consistent=self.consistent,
            wake=self._clock.wakes(),
        )

    def _links(self) -> dict[str, list[LinkChange]]:
        """Return the changes of all batches for each operator that has changed an Import or Export in this batch."""
        changed: dict[str, list[LinkChange]] = {}
        for index in self.prepared:
            links = self.instances[index].operator.context.links
            if isinstance(links, ChangeableLinks) and links.is_changed:
                changed[self.program.operators[index].name] = links.changes()
        return changed

    def _read(self, operator: int, port: int, segment: Segment, condition: str | None) -> None:
        wanted, done = arrow_schema(self.program.operators[operator].inputs[port]), 0
        for read in self.meter.reading(segment, read_segment(self.directories.store, segment)):
            item = read
            if isinstance(item, TupleBatch):
                if item.schema != wanted:
                    name = self.program.operators[operator].name
                    message = (
                        f"stream {segment.stream}: the segment {segment.path} has tuples of {type_text(item.schema)}, "
                        f"input port {port} of {name} takes {type_text(wanted)}; start over with --fresh"
                    )
                    raise SegmentError(message)
                rows = f"rows {done + 1} to {done + len(item)}"
                self._origin.text = lambda rows=rows: f"stream {segment.stream}, segment {segment.path}, {rows}"
                done += len(item)
                self.rows_in += len(item)
                if condition is not None:
                    reader = self.program.operators[operator]
                    item = selected(item, condition, reader.inputs[port], reader.time_zone)
                    if not len(item) and item.watermarks is None:
                        continue
                if self.program.operators[operator].event_time is not None:
                    item.connection = segment.stream
            self._enter(operator, port, item)

    def _enter(self, operator: int, port: int, item: Item) -> None:
        """Process an item, or forward it in a task that only forwards.

        The item belongs to the task, so a mutating operator may write to it; others cannot (rules 86, 87).
        """
        connection = item.connection if isinstance(item, TupleBatch) else ""
        if self.task.forwards:
            self.outbox.forward(operator, port, item, self._origin.text(), connection)
        elif self.program.operators[operator].mutable[port]:
            self._call(operator, port, item, connection)
        else:
            self._call(operator, port, frozen(item), connection)

    def _close(self) -> None:
        """End watermarks and send final punctuation in the final batch, and drain operators at the end of an epoch.

        This is done for one operator after the other, in topological order.
        """
        for index in self.task.owns:
            program = self.program.operators[index]
            if self.plan.final:
                self._end_watermark(program)
                for port in () if program.source else range(len(program.inputs)):
                    self._call(index, port, Punctuation.FINAL, "")
            if self.plan.boundary:
                operator = self._instance(index).operator
                if type(operator).drain is not Operator.drain:
                    self.changed.add(index)
                    self._calls.call(program, lambda run=operator.drain: check_nothing(run(), "drain"))

    def _call(self, index: int, port: int, item: Item, connection: str) -> None:
        """Count an item from a connection, call an operator with it, and pass a window mark on if the operator does.

        A mark goes to the ports that preserve marks. The operator is made if needed. Only watermarks need the name of
        the connection. Outside of event time, an empty batch is counted and causes no call.
        """
        program = self.program.operators[index]
        instance = self._instance(index)
        operator = instance.operator
        self.changed.add(index)
        self.meter.arrives(index, port, item)
        if isinstance(item, Punctuation):
            marked = partial(operator.on_punctuation, port, item)
            self._calls.call(program, lambda: check_nothing(marked(), "on_punctuation"), at_mark(port, item.value))
            if item is Punctuation.WINDOW and operator.passes_marks:
                for output in (number for number, preserves in enumerate(program.preserves) if preserves):
                    self._punctuate(program, output, item)
            self._event_time.let_go((program,), self._instance)
        elif instance.watermark is not None:
            self._event_time.call(program, instance, port, instance.watermark.entered(item, connection))
        elif len(item):
            self._process(program, operator, port, item.without_watermarks())

    def _process(self, program: OperatorProgram, operator: Operator, port: int, batch: TupleBatch) -> None:
        before, tuples = self.arrived[program.index, port], batch.untouched
        self.arrived[program.index, port] += len(batch)

        def at(failure: OperatorFailure, error: BaseException) -> OperatorFailure:
            arrived = ArrivedTuples(port, before, len(batch), tuples, self._origin.text())
            return arrived.located(failure, operator, error)

        self._calls.call(program, lambda: check_nothing(operator.process(port, batch), "process"), at)

    def _end_watermark(self, program: OperatorProgram) -> None:
        """Advance the watermark of an operator to its end (EV25); do nothing outside of event-time graphs."""
        if program.event_time is not None:
            self.changed.add(program.index)
            self._event_time.end(program, self._instance(program.index))

    def _instance(self, index: int) -> OperatorInstance:
        """Return the operator object with the state that the plan names, prepared for this batch.

        A new object is made if there is none, if it holds another state, or if a batch that used it did not end.
        """
        program = self.program.operators[index]
        wanted = self.plan.states.get(program.name)
        instance = self.instances.get(index)
        if instance is not None and index in self.prepared:
            return instance
        if instance is None or instance.dirty or (program.stateful and instance.state != wanted):
            began, resets = world.monotonic(), self.plan.resets
            instance = self._calls.call(program, lambda: make_instance(program, wanted, self.directories, resets))
            self.setup_seconds += world.monotonic() - began
            self.instances[index] = instance
            self.made = True
        instance.dirty = True
        if instance.readership != self.plan.readership:
            instance.readership = self.plan.readership
            if instance.watermark is not None:
                instance.watermark.tell_again()
        context = instance.operator.context
        context.epoch, context.batch, context.generation = self.plan.epoch, self.plan.batch, self.plan.generation
        context.now = max(context.now, self._clock.now)
        if isinstance(context.links, ChangeableLinks):
            context.links.load(self.plan.position.links.get(program.name, ()))
        if program.event_time is not None and program.event_time.mode == "manual":
            context.set_watermark = lambda watermark: self._event_time.set(program, instance, watermark)
        context.assign = lambda names: self._event_time.assign(program, instance, names)
        context.submit = lambda port, batch: self._submit(program, port, batch)
        self._unheeded.serve(context, index)
        context.punctuate = lambda port, mark: self._punctuate(program, port, mark)
        if program.region is not None and program.region.trigger:
            context.make_consistent = self._make_consistent
        self.prepared.add(index)
        return instance

    def _make_consistent(self) -> None:
        self.consistent = True

    def _submit(self, program: OperatorProgram, port: int, batch: TupleBatch) -> None:
        instance = self.instances[program.index]
        if instance.watermark is not None:
            batch = instance.watermark.submitted(port, batch)
        elif batch.watermarks is not None:
            batch = batch.without_watermarks()
        steps = batch.watermarks
        if steps is not None:
            instance.submitted[port] = instance.submitted.get(port, 0) + len(steps.values)
        elif not len(batch):
            return
        ddl = program.outputs[port]
        if ddl is not None and (required := required_attributes(ddl)):
            batch.refuse_nulls(required)
        if instance.operator.brings(port):
            self.rows_in += len(batch)
            self.bytes_in += batch.nbytes
        self.meter.submits(program.index, port, batch)
        if instance.gathered is not None:
            instance.gathered.add(port, batch)
            return
        self._send(program, port, batch)
        if steps is not None and instance.watermark is not None and instance.watermark.clock is not None:
            instance.operator.context.watermark = instance.watermark.seen
            self._event_time.submit(program, steps.rest(0), [each for each in instance.outputs if each != port])

    def _punctuate(self, program: OperatorProgram, port: int, mark: Punctuation) -> None:
        self.meter.submits(program.index, port, mark)
        if (gathered := self.instances[program.index].gathered) is not None:
            gathered.flush()
        self._send(program, port, mark)

    def _send(self, program: OperatorProgram, port: int, item: Item) -> None:
        for delivery in program.deliveries[port]:
            self._deliver(program, port, delivery, item)

    def _deliver(self, program: OperatorProgram, port: int, delivery: Delivery, item: Item) -> None:
        match delivery:
            case Direct():
                entry = self.program.operators[delivery.operator].entries.get(delivery.connection, "")
                self._call(delivery.operator, delivery.port, self.outbox.passed(delivery, item), entry)
            case Exchange():
                entry = self.program.operators[delivery.operator].entries.get(delivery.connection, "")
                self.outbox.enqueue(delivery, item, self._origin.text(), entry)
            case SplitDelivery():
                self._split(program, port, delivery, item)
            case _:
                self.outbox.send(delivery, program.outputs[port], item)

    def _split(self, program: OperatorProgram, port: int, splitter: SplitDelivery, item: Item) -> None:
        width = len(splitter.channels)
        if isinstance(item, Punctuation):
            parts: list[Item | None] = [None if splitter.drops_window_punctuation else item] * width
        else:
            parts = [*split_by(splitter, item, self._instance(program.index).round_robin)]
        for part, deliveries in zip(parts, splitter.channels, strict=True):
            if part is not None:
                for delivery in deliveries:
                    self._deliver(program, port, delivery, part)

    @property
    def seconds(self) -> float:
        """The seconds since this object was created, without the seconds for making operators."""
        return world.monotonic() - self.began - self.setup_seconds

    def counts(self) -> Counts:
        """Return the counts of the task up to now, with the watermarks of operators; empty if measuring is off.

        The custom metrics of the operators are taken, so the next call does not return them again.
        """
        used = {index: instance for index, instance in self.instances.items() if index in self.prepared}
        objects = {index: instance.operator for index, instance in used.items()}
        if counts := self.meter.counts(self.outbox.copies, self.outbox.enqueued, objects):
            named = {self.program.operators[index].name: instance for index, instance in used.items()}
            self._event_time.describe(named, counts["operators"])
        return counts
