"""Calls of operators in event-time graphs, and the watermarks that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import OperatorProgram, PeProgram, Task
from streams_orchestration.operators.contract.operator import Operator, SourceOperator
from streams_orchestration.operators.event_time.calling import call_between, call_singly
from streams_orchestration.operators.event_time.decision import IdleDecision
from streams_orchestration.operators.implementations.implementation import timer_count
from streams_orchestration.operators.implementations.watermark_calls import reach_steps, uses_watermark
from streams_orchestration.operators.sinks.gathering import is_marking
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END, IDLE, Watermarks
from streams_orchestration.runtime.programs.batches import Position
from streams_orchestration.runtime.programs.counts import Counts
from streams_orchestration.runtime.tasks.calls import OperatorCalls
from streams_orchestration.runtime.tasks.collected_outputs import CollectedOutputs
from streams_orchestration.runtime.tasks.instances import OperatorInstance

Process = Callable[[OperatorProgram, Operator, int, TupleBatch], None]
Send = Callable[[OperatorProgram, int, TupleBatch], None]


class EventTimeCalls:
    """The calls of one task for operators in event-time graphs.

    Methods that call an operator raise OperatorError if that operator raises, or one that it submits to. `process`
    calls an operator with tuples that arrive at an input port, and `send` sends an item of an operator to every
    connection of an output port.
    """

    def __init__(self, program: PeProgram, calls: OperatorCalls, process: Process, send: Send) -> None:
        self._program = program
        self._calls = calls
        self._process = process
        self._send = send

    def call(self, program: OperatorProgram, instance: OperatorInstance, port: int, batch: TupleBatch) -> None:
        """Call an operator with a batch and its watermarks, and send the watermarks that follow.

        By default the operator is called for the tuples up to each watermark, then for the watermark. It gets all
        tuples in one call if it sets `keeps_places`, or if it neither uses watermarks nor has output ports in the
        graph. It gets one tuple at a time if it makes watermarks for several output ports, or if kept tuples hold its
        watermark back and tuples of the port may release them. Do nothing for a batch without tuples and watermarks.
        """
        steps, operator, watermark = batch.watermarks, instance.operator, instance.watermark
        if steps is None and not len(batch):
            return
        if watermark is not None and watermark.orders_ports:
            for place in range(len(batch)):
                self._process(program, operator, port, batch.slice(place, 1))
            return
        if operator.keeps_places:
            submitted = instance.submitted
            submitted.clear()
            self._process(program, operator, port, batch)
            if instance.keeps_tuples and watermark is not None:
                watermark.keeps(self._calls.call(program, operator.held))
            if steps is None:
                return
            count = len(steps.values)
            for output in instance.outputs:
                if (placed := submitted.get(output, 0)) < count:
                    self.submit(program, steps.rest(placed), (output,))
            return
        process = partial(self._process, program, operator, port)
        if not instance.outputs and not uses_watermark(operator):
            if len(batch):
                process(batch.without_watermarks())
            return
        reached = partial(self._reached, program, instance)
        if watermark is not None and watermark.lets_go_at(port, operator.control_ports):
            process = partial(call_singly, process, partial(reached, None), lambda: watermark.held_back)
        if steps is None or watermark is None or watermark.clock is not None:
            call_between(batch, process, reached)
        else:
            self._gather(program, instance, partial(call_between, batch, process, reached))

    def let_go(self, programs: Iterable[OperatorProgram], instance_of: Callable[[int], OperatorInstance]) -> None:
        """Send the watermarks that follow if operators have released kept tuples by the clock or at a marker (EV62).

        Do nothing for operators whose watermark does not depend on kept tuples, or that set `keeps_places`.
        """
        for program in programs:
            instance = instance_of(program.index)
            if instance.keeps_tuples and not instance.operator.keeps_places:
                self._reached(program, instance, None)

    def _gather(self, program: OperatorProgram, instance: OperatorInstance, call: Callable[[], None]) -> None:
        """Call an operator, then send all its results with their watermarks as one batch for each output port.

        If the call raises, the results are dropped.
        """
        gathered = instance.gathered = CollectedOutputs(partial(self._send, program))
        try:
            call()
        finally:
            instance.gathered = None
        gathered.flush()

    def end(self, program: OperatorProgram, instance: OperatorInstance) -> None:
        """Advance an operator's watermark to its end, call the operator for that, and send the watermarks (EV25).

        Do nothing if that was done before. In the mode `manual`, the watermark that the operator sets ends, too.
        """
        role, watermark = program.event_time, instance.watermark
        assert role is not None
        assert watermark is not None
        steps = watermark.end()
        if steps is not None and watermark.clock is not None:
            self.submit(program, steps, role.outputs)
        elif steps is not None:
            self._reach(program, instance, steps)
        if role.mode == "manual":
            self.set(program, instance, END)

    def connect(
        self, task: Task, position: Position, instance_of: Callable[[int], OperatorInstance], changed: set[int]
    ) -> None:
        """Connect operators with the watermarks of the streams that their Imports read in this batch (EV48).

        Call the operators for the changes of their watermarks, and send the watermarks that follow. If the streams have
        new readers, also send again that an operator is idle. Do nothing in a task that only forwards items. `position`
        is the position after the batch. `changed` receives the operators whose connections are others than before.
        """
        for index in () if task.forwards else task.owns:
            program = self._program.operators[index]
            if (imported := position.connected.get(program.name)) is None:
                continue
            instance = instance_of(index)
            if instance.watermark is None:
                continue
            entries = instance.watermark.entries
            if entries.imported == imported and not entries.untold:
                continue
            changed.add(index)
            if (steps := entries.connect(imported)) is not None:
                self._reach(program, instance, steps)

    def declare(self, task: Task, instance_of: Callable[[int], OperatorInstance]) -> None:
        """Send again that operators in the mode `manual` have declared themselves idle, once for new readers (EV51).

        Do nothing in a task that only forwards items.
        """
        for index in () if task.forwards else task.owns:
            program = self._program.operators[index]
            if program.event_time is not None and program.event_time.mode == "manual":
                instance = instance_of(index)
                assert instance.watermark is not None
                self.submit(program, instance.watermark.declared(), instance.outputs)

    def set(self, program: OperatorProgram, instance: OperatorInstance, watermark: int) -> None:
        """Set the watermark, in ticks, of an operator in the mode `manual`, and send it if it rises enough (EV23).

        Do nothing outside of event-time graphs.
        """
        if instance.watermark is not None:
            self._submit_to_all(program, instance, instance.watermark.set(watermark))

    def assign(self, program: OperatorProgram, instance: OperatorInstance, names: Collection[str]) -> None:
        """Set the partitions whose times make up a source's watermark, and send the resulting watermarks (EV52).

        Do nothing outside of event-time graphs.
        """
        if instance.watermark is not None:
            self.submit(program, instance.watermark.assign(names), instance.outputs)

    @staticmethod
    def prepare_source(source: OperatorInstance, decisions: list[IdleDecision], slowest: int | None) -> None:
        """Prepare a source for producing tuples: how far it may run ahead of others, and which partitions are idle.

        Do nothing outside of event-time graphs. `decisions` are those that a reset may repeat, and those before them
        (EV51). `slowest` is the least watermark of the other sources of the graph (EV65); None without any.
        """
        if source.watermark is not None:
            source.watermark.slowest = slowest
            source.operator.context.too_far_ahead = source.watermark.too_far_ahead
        if source.idleness is not None:
            source.idleness.repeat(decisions)

    def produced(self, program: OperatorProgram, instance: OperatorInstance, *, moved: bool) -> None:
        """Ask a source which partitions are at their end, and send the watermarks that follow from idle ones (EV51).

        A partition is idle if it was without tuples for long enough. While its server is away, a source is not asked,
        and no time counts. Do nothing for a source whose partitions are never idle. `moved` says that the source gave
        tuples or changed its offset in this batch.
        """
        source = instance.operator
        idleness = instance.idleness
        watermark = instance.watermark
        if idleness is None or watermark is None or watermark.clock is None:
            return
        assert isinstance(source, SourceOperator)
        at_end = None
        if not source.context.away:
            named = self._calls.call(program, source.at_end)
            everything = () if moved else watermark.clock.partitions.counts.keys()
            at_end = set(everything) if named is None else {str(each) for each in named}
        for steps in idleness.declare_idle(world.monotonic(), at_end):
            self.submit(program, steps, instance.outputs)

    @staticmethod
    def clocks(program: PeProgram, instances: Mapping[int, OperatorInstance]) -> dict[str, int]:
        """Return the watermarks of sources for which others may have to wait, as in `Position` (EV65).

        A source without a watermark so far is left out.
        """
        found: dict[str, int] = {}
        for index, instance in instances.items():
            watermark = instance.watermark
            if watermark is not None and watermark.clock is not None and watermark.role.peers:
                value = watermark.value
                if value != END and watermark.clock.partitions.rests:
                    value = IDLE
                if value is not None:
                    found[program.operators[index].name] = value
        return found

    @staticmethod
    def report(instance: OperatorInstance) -> None:
        """Set the gauges `watermark` (EV27), in unix seconds, and `timers`; count and log tuples with doubtful times.

        Do nothing outside of event-time graphs. The end of the watermark does not change its gauge.
        """
        watermark, context = instance.watermark, instance.operator.context
        if watermark is None:
            return
        for name, (about, number) in watermark.observed().items():
            context.metrics.counter(name, about).add(number)
        if warning := watermark.warning():
            context.logger.warning("%s", warning)
        if (value := watermark.value) is not None and value != END:
            gauge = context.metrics.gauge("watermark", "event time before which tuples are late")
            gauge.set(value / watermark.role.ticks)
        if (timers := timer_count(instance.operator)) is not None:
            context.metrics.gauge("timers", "timers that are set").set(timers)

    @staticmethod
    def describe(instances: Mapping[str, OperatorInstance], operators: Counts) -> None:
        """Add the watermarks of operators, and the causes that hold them back, to the counts of a batch."""
        for name, instance in instances.items():
            if instance.watermark is not None and (described := instance.watermark.describe()) is not None:
                operators.setdefault(name, {})["event_time"] = described

    @staticmethod
    def reached_by_sinks(program: PeProgram, instances: Mapping[int, OperatorInstance]) -> dict[str, dict[str, int]]:
        """Return the watermarks of operators without output ports by connection, in microseconds; see `Position`."""
        reached: dict[str, dict[str, int]] = {}
        for index, instance in instances.items():
            if instance.watermark is not None and not program.operators[index].outputs:
                microseconds = instance.watermark.microseconds(own=is_marking(instance.operator))
                if microseconds:
                    reached[program.operators[index].name] = microseconds
        return reached

    def submit(self, program: OperatorProgram, steps: Watermarks | None, ports: Iterable[int]) -> None:
        """Send watermarks without tuples to every connection of some output ports; nothing if `steps` is None."""
        if steps:
            for port in ports:
                self._send(program, port, TupleBatch.bearing(steps, arrow_schema(program.outputs[port] or "")))

    def _reach(self, program: OperatorProgram, instance: OperatorInstance, steps: Watermarks) -> None:
        """Call an operator with watermarks alone, as if at its first event-time port; do nothing if it has none."""
        assert program.event_time is not None
        if program.event_time.ports:
            port = program.event_time.ports[0]
            self.call(program, instance, port, TupleBatch.bearing(steps, arrow_schema(program.inputs[port])))

    def _reached(self, program: OperatorProgram, instance: OperatorInstance, steps: Watermarks | None) -> None:
        """Call an operator for each rise of its watermark, and send the watermarks that follow from it."""
        assert instance.watermark is not None
        send = partial(self._submit_to_all, program, instance)
        reach_steps(instance.operator, instance.watermark, steps, send, partial(self._calls.call, program))

    def _submit_to_all(self, program: OperatorProgram, instance: OperatorInstance, steps: Watermarks | None) -> None:
        if instance.gathered is None or steps is None:
            self.submit(program, steps, instance.outputs)
            return
        for port in instance.outputs:
            instance.gathered.mark(port, steps, arrow_schema(program.outputs[port] or ""))
