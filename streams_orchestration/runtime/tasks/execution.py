"""Runs one task of a micro-batch: operators by direct calls over Arrow batches, copies as planned."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from streams_orchestration.operators.arrow_types import arrow_schema, required_attributes
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, Punctuation, SourceOperator
from streams_orchestration.operators.encoding import forget
from streams_orchestration.operators.errors import DataError, TupleError
from streams_orchestration.runtime.directories import Directories
from streams_orchestration.runtime.errors import OperatorError
from streams_orchestration.runtime.tasks.batches import BatchPlan, SinkFile, StoredState, TaskInput, TaskResult
from streams_orchestration.runtime.tasks.counts import Counts
from streams_orchestration.runtime.tasks.instances import SPLITTERS, Instance, InstanceCache, make_instance
from streams_orchestration.runtime.tasks.meter import Meter, NoMeter
from streams_orchestration.runtime.tasks.outbox import Outbox, frozen
from streams_orchestration.runtime.tasks.places import Place
from streams_orchestration.runtime.tasks.program import (
    Delivery,
    Direct,
    Exchange,
    OperatorProgram,
    PeProgram,
    Split,
    Task,
)
from streams_orchestration.runtime.tasks.routing import hash_channels, round_robin_channels, split
from streams_orchestration.runtime.tasks.selection import selected
from streams_orchestration.runtime.tasks.state_files import state_data, write_state_file
from streams_orchestration.runtime.transport.segments import Item, Segment, SegmentError, read_segment

T = TypeVar("T")


class TaskRun:
    """One task of one micro-batch."""

    def __init__(
        self, program: PeProgram, task: Task, plan: BatchPlan, directories: Directories, exchange: str,
        cache: InstanceCache, *, measured: bool = True,
    ) -> None:  # fmt: skip
        self.meter = Meter(program) if measured else NoMeter(program)
        self.program = program
        self.task = task
        self.plan = plan
        self.directories = directories
        self.instances = {} if task.forwards else cache.of(program, task, plan)
        self.outbox = Outbox(program, directories, exchange, self.meter)
        self.prepared: set[int] = set()
        """Operators whose objects hold the state that the plan names."""
        self.changed: set[int] = set()
        """Operators that were called, so that their state may have changed."""
        self.arrived: Counter[tuple[int, int]] = Counter()
        """(operator, port) -> tuples so far."""
        self.origin: Callable[[], str] = str
        """Where the tuples under way were read."""
        self.consistent = False
        """The region is to be made consistent (B26)."""
        self.made = False
        """An operator object was made."""
        self.rows_in = 0
        self.bytes_in = 0
        self.began = time.monotonic()
        self.setup_seconds = 0.0

    def run(self, given: TaskInput | None, received: Iterator[tuple[int, int, Item]]) -> TaskResult:
        """Run the task on its sources and streams (level 0) or on what exchanges brought, in order.

        Args:
            given: sources and segments of a level-0 task.
            received: (operator, input port, item) of a task of a later level.

        Raises:
            OperatorError: an operator raised.
        """
        sources: dict[str, dict] = {}
        exhausted: list[str] = []
        if given is not None:
            for name, offset in given.sources.items():
                produced = self._produce(name, offset)
                sources[name] = produced.offset
                if produced.exhausted:
                    exhausted.append(name)
            for operator, port, segment in given.segments:
                self.bytes_in += segment.size
                self._read(operator, port, segment, given.filters.get(segment.stream))
            self.origin = str
        for operator, port, item in received:
            self.meter.dequeues(operator, port)
            self.origin = (lambda origin=item.origin: origin) if isinstance(item, TupleBatch) else str
            self._enter(operator, port, item)
        self.origin = str
        if not self.task.forwards:
            self._close()
        forget()
        segments = tuple(self.outbox.segments())
        states, files = self._checkpoint()
        written = sum(segment.rows for segment in segments) + sum(file.rows for file in files)
        return TaskResult(
            self.task.level, self.task.partition, self.rows_in, written, self.bytes_in, 0.0, sources, tuple(exhausted),
            segments, states, files, dict(self.outbox.copies), dict(self.outbox.enqueued), self.consistent,
        )  # fmt: skip

    def _read(self, operator: int, port: int, segment: Segment, condition: str | None) -> None:
        wanted, done = arrow_schema(self.program.operators[operator].inputs[port]), 0
        for item in self.meter.reading(segment, read_segment(segment)):
            if isinstance(item, TupleBatch):
                if item.schema != wanted:
                    name = self.program.operators[operator].name
                    message = (
                        f"stream {segment.stream}: the segment {segment.path} has tuples of {_types(item.schema)}, "
                        f"input port {port} of {name} takes {_types(wanted)}; start anew with --fresh"
                    )
                    raise SegmentError(message)
                rows = f"rows {done + 1} to {done + len(item)}"
                self.origin = lambda rows=rows: f"stream {segment.stream}, segment {segment.path}, {rows}"
                done += len(item)
                self.rows_in += len(item)
                if condition is not None:
                    item = selected(item, condition, self.program.operators[operator].inputs[port])
                    if not len(item):
                        continue
            self._enter(operator, port, item)

    def _produce(self, name: str, offset: dict):
        program = next(p for p in self.program.operators.values() if p.name == name)
        source = self._instance(program.index).operator
        assert isinstance(source, SourceOperator)
        self.changed.add(program.index)
        submit = source.context.submit
        self.meter.produces(program.index)
        before = self.rows_in
        count = 0

        def origin() -> str:
            last = self.rows_in - before
            return (
                source.place() or f"{name}, tuples {last - count + 1} to {last} behind its offset {json.dumps(offset)}"
            )

        def counted(port: int, batch: TupleBatch) -> None:
            nonlocal count
            count = len(batch)
            self.rows_in += count
            self.bytes_in += batch.nbytes
            try:
                submit(port, batch)
            except DataError as error:
                message = f"{error}; read from {origin()}"
                raise DataError(message) from error

        self.origin = origin
        source.context.submit = counted
        try:
            return self._guard(program, lambda: source.produce(offset, self.plan.limit))
        finally:
            self.meter.worked(program.index, source.background.taken_ns())
            source.context.submit = submit
            self.origin = str

    def _enter(self, operator: int, port: int, item: Item) -> None:
        """An item arrives at the task: it is the task's own, so a mutating operator may write to it (rules 86, 87)."""
        if self.task.forwards:
            self.outbox.forward(operator, port, item, self.origin())
        elif self.program.operators[operator].mutable[port]:
            self._call(operator, port, item)
        else:
            self._call(operator, port, frozen(item))

    def _close(self) -> None:
        """After the last tuple: final punctuation, then drain, in topological order."""
        for index in self.task.owns:
            program = self.program.operators[index]
            if self.plan.final and not program.source:
                for port in range(len(program.inputs)):
                    self._call(index, port, Punctuation.FINAL)
            if self.plan.boundary:
                operator = self._instance(index).operator
                if type(operator).drain is not Operator.drain:
                    self.changed.add(index)
                    self._guard(program, operator.drain)

    def _call(self, index: int, port: int, item: Item) -> None:
        program = self.program.operators[index]
        operator = self._instance(index).operator
        self.changed.add(index)
        self.meter.arrives(index, port, item)
        if isinstance(item, Punctuation):
            marker = f"at the {item.value} marker on input port {port}"
            self._guard(program, lambda: operator.on_punctuation(port, item), lambda _: marker)
            if item is Punctuation.WINDOW:
                for output in (number for number, preserves in enumerate(program.preserves) if preserves):
                    self._punctuate(program, output, item)
        else:
            tuples, before = item.untouched, self.arrived[index, port]
            self.arrived[index, port] += len(item)

            def at(error: Exception) -> str:
                if tuples is None:
                    return f"at one of {len(item)} tuples behind tuple {before} of this batch on input port {port}"
                return Place(self.plan.batch, port, before, tuples, self.origin()).at(operator, error)

            self._guard(program, lambda: operator.process(port, item), at)

    def _guard(
        self, program: OperatorProgram, call: Callable[[], T], at: Callable[[Exception], str] | None = None
    ) -> T:
        """Call into an operator; what it raises is named after the innermost operator, and the place in its stream."""
        paying = self.meter.enter(program.index)
        try:
            return call()
        except OperatorError:
            raise
        except Exception as error:
            raised = error.__cause__ if isinstance(error, TupleError) and error.__cause__ else error
            text = str(raised) if isinstance(raised, DataError) else f"{type(raised).__name__}: {raised}"
            raise OperatorError(program.name, f"{text}; {at(error)}" if at else text) from raised
        finally:
            self.meter.switch(paying)

    def _instance(self, index: int) -> Instance:
        """The operator object, with the state that the plan names."""
        program = self.program.operators[index]
        wanted = self.plan.states.get(program.name)
        instance = self.instances.get(index)
        if instance is not None and index in self.prepared:
            return instance
        if instance is None or instance.dirty or (program.stateful and instance.state != wanted):
            began = time.monotonic()
            instance = self._guard(program, lambda: make_instance(program, wanted, self.directories))
            self.setup_seconds += time.monotonic() - began
            self.instances[index] = instance
            self.made = True
        instance.dirty = True
        context = instance.operator.context
        context.epoch, context.batch, context.generation = self.plan.epoch, self.plan.batch, self.plan.generation
        context.submit = lambda port, batch: self._submit(program, port, batch)
        context.punctuate = lambda port, mark: self._punctuate(program, port, mark)
        if program.region is not None and program.region.trigger:
            context.make_consistent = self._make_consistent
        self.prepared.add(index)
        return instance

    def _make_consistent(self) -> None:
        self.consistent = True

    def _submit(self, program: OperatorProgram, port: int, batch: TupleBatch) -> None:
        ddl = program.outputs[port]
        if ddl is not None and batch.schema != arrow_schema(ddl):
            message = f"it submits tuples of {_types(batch.schema)}, output port {port} has {_types(arrow_schema(ddl))}"
            raise DataError(message)
        if ddl is not None and (required := required_attributes(ddl)):
            batch.refuse_nulls(required)
        self.meter.submits(program.index, port, batch)
        for delivery in program.deliveries[port]:
            self._deliver(program, port, delivery, batch)

    def _punctuate(self, program: OperatorProgram, port: int, mark: Punctuation) -> None:
        self.meter.submits(program.index, port, mark)
        for delivery in program.deliveries[port]:
            self._deliver(program, port, delivery, mark)

    def _deliver(self, program: OperatorProgram, port: int, delivery: Delivery, item: Item) -> None:
        match delivery:
            case Direct():
                self._call(delivery.operator, delivery.port, self.outbox.passed(delivery, item))
            case Exchange():
                self.outbox.enqueue(delivery, item, self.origin())
            case Split():
                self._split(program, port, delivery, item)
            case _:
                self.outbox.send(delivery, program.outputs[port], item)

    def _split(self, program: OperatorProgram, port: int, splitter: Split, item: Item) -> None:
        width = len(splitter.channels)
        if isinstance(item, Punctuation):
            parts: list[Item | None] = [None if splitter.drops_window_punctuation else item] * width
        else:
            batch = item.arrow
            if splitter.policy == "hash":
                channels = hash_channels(batch, splitter.attributes, width)
            else:
                positions = self._instance(program.index).round_robin
                position = positions.get(splitter.id, splitter.start)
                channels = round_robin_channels(len(item), position, width)
                positions[splitter.id] = (position + len(item)) % width
            parts = [None if part is None else TupleBatch(part) for part in split(batch, channels, width)]
        for part, deliveries in zip(parts, splitter.channels, strict=True):
            if part is not None:
                for delivery in deliveries:
                    self._deliver(program, port, delivery, part)

    def _checkpoint(self) -> tuple[tuple[StoredState, ...], tuple[SinkFile, ...]]:
        """Store the state of the operators that the batch changed, and finish the files of sinks."""
        states: list[StoredState] = []
        files: list[SinkFile] = []
        for index in sorted(self.prepared):
            program, instance = self.program.operators[index], self.instances[index]
            if type(instance.operator).prepare_commit is not Operator.prepare_commit:
                for file in self._guard(program, instance.operator.prepare_commit):
                    final = None if file.final is None else str(file.final)
                    files.append(SinkFile(program.name, str(file.pending), final, file.rows, file.size))
            if program.stateful and index in self.changed:
                state = dict(self._guard(program, instance.operator.checkpoint))
                if instance.round_robin:
                    state[SPLITTERS] = dict(instance.round_robin)
                if state or instance.state is not None:
                    store = partial(self._store, program, state, instance)
                    stored = self.meter.charge(self.meter.operators[index], store)
                    if stored is not None:
                        states.append(stored)
            instance.dirty = False
        return tuple(states), tuple(files)

    @property
    def seconds(self) -> float:
        """Up to now, without making operators."""
        return time.monotonic() - self.began - self.setup_seconds

    def counts(self) -> Counts:
        """What was measured of the task up to now."""
        objects = {index: instance.operator for index, instance in self.instances.items() if index in self.prepared}
        return self.meter.counts(self.outbox.copies, self.outbox.enqueued, objects)

    def _store(self, program: OperatorProgram, state: dict[str, Any], instance: Instance) -> StoredState | None:
        """The state as it is stored now; None if it is the one that was stored."""
        former = instance.state
        dump = self._guard(program, lambda: state_data(state, self.plan.batch, former, instance.plain))
        if not dump.data:
            return None
        directory = Path(self.directories.states) / f"pe-{self.program.pe}"
        file = write_state_file(directory, self.plan.generation, self.plan.batch, program.index, dump.data)
        before = () if former is None else former.files[: dump.kept]
        instance.state, instance.plain = StoredState(program.name, (*before, file)), dump.plain
        return instance.state


def _types(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
