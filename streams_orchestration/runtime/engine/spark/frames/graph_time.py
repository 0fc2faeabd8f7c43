"""The event time of a query: tuples wait for the watermark of their graph, and results get watermarks (EV66).

Spark's own watermark moves between batches only, and so follows the graph's one batch later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa

from streams_orchestration.compiler.pe_program import Delivery, Direct, OperatorProgram, PeProgram
from streams_orchestration.operators.contract.frame_operator import EVENT_TIME, FrameOperator
from streams_orchestration.operators.errors.errors import StateError
from streams_orchestration.operators.event_time.moments import earlier
from streams_orchestration.operators.event_time.operator_watermark import OperatorWatermark
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.standard.sorting.sort_by_time import TimeOrder
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END, IDLE, Watermarks
from streams_orchestration.runtime.engine.spark.frames.output_delays import UNKNOWN_DELAY, OutputDelay
from streams_orchestration.runtime.engine.spark.frames.programs import frame_parameters
from streams_orchestration.runtime.engine.spark.frames.reading import tuples_of
from streams_orchestration.runtime.errors.operator_errors import OperatorError
from streams_orchestration.runtime.programs.batches import BatchPlan
from streams_orchestration.runtime.programs.counts import Counts
from streams_orchestration.runtime.storage.directories import Directories
from streams_orchestration.runtime.tasks.instances import operator_context

WAITING = "waiting_tuples"
_ABOUT = "tuples that wait until the watermark of their event-time graph has passed them"
_PARTS = "waiting", "event time"
"""The parts of the state of a port."""


class OutputMarks(NamedTuple):
    """The watermarks after the results of a batch at one output port."""

    operator: int
    port: int
    watermarks: Watermarks


class _SentMarks:
    """The watermark that an output port has sent last."""

    def __init__(self) -> None:
        self.value: int | None = None
        self.idle = False
        self.told = True
        """False if an idle port is to be sent as idle again."""

    def following(self, value: int | None, *, idle: bool) -> Watermarks | None:
        """Return the watermarks to send after a batch, and note them as sent; None if nothing is new.

        Args:
            value: the watermark of the results; None without one.
            idle: True if the input is idle, and no result is missing.
        """
        rises = value is not None and (self.value is None or value > self.value)
        ticks = value if rises else self.value
        marks = [(0, ticks)] if ticks is not None and (rises or (self.idle and not idle)) else []
        marks += [(0, IDLE)] if idle and not (self.idle and self.told) else []
        self.value, self.idle, self.told = ticks, idle, True
        return Watermarks.of(*marks) if marks else None


class _OperatorTime:
    """The watermark of one operator of a query, and the tuples of its ports that wait for it."""

    def __init__(self, program: OperatorProgram, directories: Directories) -> None:
        assert program.event_time is not None
        self.program = program
        self.watermark = OperatorWatermark(program.event_time, program.entries.values())
        self.context = operator_context(program, directories)
        self.sent = {port: _SentMarks() for port in program.event_time.outputs}
        self.parameters = frame_parameters(program)
        self.orders = {
            port: self._order(port, name)
            for port, name in enumerate(program.ports)
            if self.parameters.watermarks.get(name) == EVENT_TIME
        }

    def _order(self, port: int, name: str) -> TimeOrder:
        kind = import_operator(self.program.implementation)
        assert issubclass(kind, FrameOperator)
        context = replace(self.context, inputs=(self.context.inputs[port],))
        shown = f"watermarks: {{{name}: {EVENT_TIME}}}"
        return TimeOrder(kind(context, self.parameters), None, divides=False, parameter=shown)

    @property
    def waiting(self) -> int:
        """The number of tuples that wait for the watermark."""
        return sum(len(order.waiting) for order in self.orders.values())

    def enter(self, port: int, batch: TupleBatch, connection: str) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Process a batch of an input port, and yield the tuples that may go to Spark now, with their ports."""
        timed = self.watermark.entered(batch, connection)
        if port in self.orders:
            yield from self._passed(port, timed)
        yield from self.step(timed.watermarks, but=port)

    def step(self, steps: Watermarks | None, *, but: int = -1) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Pass new watermarks to all ports except `but`; do nothing if `steps` is None.

        Yield the tuples that a watermark has now passed, with ports.
        """
        for port in self.orders:
            if steps and port != but:
                schema = arrow_schema(self.program.inputs[port])
                yield from self._passed(port, TupleBatch.bearing(steps.rest(0), schema))

    def _passed(self, port: int, batch: TupleBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        found: list[TupleBatch] = []
        self.orders[port].process(batch, found.append)
        yield from ((port, each.arrow) for each in found if len(each))

    @property
    def marker(self) -> int | None:
        """The event time of a marker row in microseconds: one tick below the watermark.

        None before the first watermark, `END` at the end.
        """
        value = self.watermark.value
        return value if value is None or value == END else value - 1

    @property
    def idle(self) -> bool:
        """True if all connections are idle, and no tuple waits."""
        return self.watermark.holder.kind == "idle" and not self.waiting

    def tell_again(self) -> None:
        """Let the watermark, and the ports that were sent as idle, be given as idle again."""
        self.watermark.tell_again()
        for each in self.sent.values():
            each.told = not each.idle

    def dump(self) -> State:
        """Return the state by name; each name begins with the name of the operator."""
        name = self.program.name
        sent = {str(port): [each.value, each.idle] for port, each in self.sent.items()}
        state: dict[str, Any] = {name: {"watermark": self.watermark.dump(), "sent": sent}}
        for port, order in self.orders.items():
            state |= {f"{name}:{port}.{part}": value for part, value in order.checkpoint().items()}
        return state

    def load(self, state: State) -> None:
        """Restore a state that `dump` returned; do nothing if the state has no part for the operator.

        If another plan has other connections, each of them begins with the operator's watermark, except connections
        that have ended (EV45).
        """
        name = self.program.name
        if name not in state:
            return
        stored = dict(state[name]["watermark"])
        entries, declared = stored["entries"], {*self.program.entries.values()}
        known = {*entries} if self.watermark.role.imports else {*entries} & declared
        if known != {*entries} or not declared <= known:
            kept = {each: value for each, value in entries.items() if value == END}
            stored = {"watermark": stored["watermark"], "entries": kept}
        self.watermark.load(stored)
        for port, (value, idle) in state[name]["sent"].items():
            if (each := self.sent.get(int(port))) is not None:
                each.value, each.idle = value, idle
        for port, order in self.orders.items():
            if f"{name}:{port}.{_PARTS[0]}" in state:
                order.restore({part: state[f"{name}:{port}.{part}"] for part in _PARTS})


def _uses_watermarks(program: OperatorProgram) -> bool:
    """Return True if an operator takes the watermark of an event-time graph, or its results have a watermark."""
    role = program.event_time
    return role is not None and (bool(role.outputs) or EVENT_TIME in frame_parameters(program).watermarks.values())


class QueryTime:
    """The event time of a query's operators, from batch to batch.

    It reads the streams that bring watermarks, in the process that plans the batches.
    """

    def __init__(self, program: PeProgram, directories: Directories) -> None:
        """Begin without watermarks.

        Raises:
            ImplementationError: the class of an operator cannot be imported.
        """
        self._program = program
        self._directories = directories
        self._operators = {
            index: _OperatorTime(program.operators[index], directories)
            for index in program.tasks[0].operators
            if _uses_watermarks(program.operators[index])
        }
        """The operators that take or give watermarks, producers first."""
        self._inner: dict[int, list[tuple[str, Watermarks]]] = {}
        """Receiving operator -> the watermarks that others of the query sent it in the batch, with the connections."""
        self._watermark: int | None = None
        """Spark's watermark in the planned batch, in microseconds; None before the first one."""
        self._ended = False
        """True if the planned batch is the last one."""
        self._readership = 0
        """The number of changes of the streams' readers in the planned batch, as in `BatchPlan`."""
        self.rises = False
        """True if the planned batch has rows that advance Spark's watermark, so that the next batch has a higher one.
        """

    def enter(
        self, plan: BatchPlan, watermark: int | None, delays: Mapping[str, OutputDelay], *, ended: bool
    ) -> tuple[dict[str, list[pa.RecordBatch]], list[OutputMarks]]:
        """Read the input of a batch, and advance the watermarks of the operators by it.

        If the readers of the streams have changed since the last batch, ports that are idle are sent as idle again.

        Args:
            plan: the planned batch.
            watermark: Spark's watermark in the batch, in microseconds; None before the first one.
            delays: the delay of each output port, by its key `operator:port`.
            ended: True if nothing follows the input of the batch.

        Returns:
            The tuples for each port with `eventTime`, by its key `operator:port`, and the watermarks after the batch.

        Raises:
            OperatorError: a tuple has no event time, or the filter of an Import cannot be evaluated for it.
            SegmentError: a segment is gone or altered, or has other attributes.
        """
        self._watermark = watermark
        self._ended = plan.final
        self._inner = {}
        if plan.readership != self._readership:
            self._readership = plan.readership
            for each in self._operators.values():
                each.tell_again()
        passed: dict[str, list[pa.RecordBatch]] = {}
        marks: list[OutputMarks] = []
        former = self.markers
        for index, each in self._operators.items():
            passed |= {f"{index}:{port}": [] for port in each.orders}
            try:
                for port, tuples in self._input(plan, each, ended=ended):
                    passed[f"{index}:{port}"].append(tuples)
            except ValueError as error:
                raise OperatorError(each.program.name, str(error)) from error
            for port, sent in each.sent.items():
                delay = delays.get(f"{index}:{port}", UNKNOWN_DELAY)
                pending = delay.waits and any(former.get(key) != value for key, value in self.markers.items())
                found = sent.following(self._reached(each, delay), idle=each.idle and not pending)
                if found is not None:
                    marks.append(OutputMarks(index, port, found))
                    self._pass_on(each.program.deliveries[port], found)
        self.rises = self.markers != former
        return passed, marks

    def _pass_on(self, deliveries: Sequence[Delivery], marks: Watermarks) -> None:
        """Note watermarks for operators of the query downstream of an output port."""
        for way in deliveries:
            if isinstance(way, Direct):
                name = self._program.operators[way.operator].entries.get(way.connection)
                if name is not None:
                    self._inner.setdefault(way.operator, []).append((name, marks))

    @property
    def uses_watermarks(self) -> bool:
        """True if some operator takes or gives watermarks."""
        return bool(self._operators)

    @property
    def markers(self) -> dict[str, int]:
        """The event time of a marker row for each port with `eventTime`, in microseconds, or `END`.

        It is one tick below the watermark. Ports before their first watermark are left out.
        """
        found = {f"{index}:{port}": each.marker for index, each in self._operators.items() for port in each.orders}
        return {key: marker for key, marker in found.items() if marker is not None}

    def _input(self, plan: BatchPlan, each: _OperatorTime, *, ended: bool) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Process the input of one operator; yield the tuples that its watermark has now passed, with their ports.

        With `ended`, the watermark then reaches its end.
        """
        entries = each.watermark.entries
        connected = plan.position.connected.get(each.program.name)
        if connected is not None and (connected != entries.imported or entries.untold):
            yield from each.step(entries.connect(connected))
        for name, marks in self._inner.get(each.program.index, ()):
            yield from each.step(entries.enter(name, marks, 0))
        (task,) = plan.inputs
        for operator, port, segment in task.segments:
            if operator == each.program.index and (port in each.orders or segment.stream in entries):
                condition, ddl = task.filters.get(segment.stream), each.program.inputs[port]
                for batch in tuples_of(self._directories.store, segment, ddl, condition, each.program.time_zone):
                    yield from each.enter(port, batch, segment.stream)
        if ended:
            yield from each.step(each.watermark.end())

    def _reached(self, each: _OperatorTime, delay: OutputDelay) -> int | None:
        """Return the watermark after a batch's results in microseconds, `END` after the last, or None if unknown."""
        value = END if self._ended else each.watermark.value
        if value in (None, END):
            return value if self._ended or not delay.waits else None
        if delay.microseconds is None or (delay.waits and self._watermark is None):
            return None
        if delay.waits and self._watermark is not None:
            value = min(value, self._watermark + 1)
        return int(earlier(np.array([value], np.int64), delay.microseconds)[0])

    def counts(self) -> Counts:
        """Take the metrics of the operators; return them with the watermarks and their holders, by operator."""
        found: Counts = {}
        for each in self._operators.values():
            metrics = each.context.metrics
            if each.orders:
                metrics.gauge(WAITING, _ABOUT).set(each.waiting)
            described = each.watermark.describe()
            found[each.program.name] = metrics.take() | ({} if described is None else {"event_time": described})
        return found

    def dump(self) -> State:
        """Return the state of all operators; empty outside of event-time graphs."""
        return {name: part for each in self._operators.values() for name, part in each.dump().items()}

    def load(self, state: State) -> None:
        """Restore a state that `dump` returned; an operator without a part of the state begins without a watermark.

        Raises:
            OperatorError: the state counts the ticks of another attribute.
        """
        for each in self._operators.values():
            try:
                each.load(state)
            except StateError as error:
                raise OperatorError(each.program.name, f"its state cannot be used: {error}") from error
