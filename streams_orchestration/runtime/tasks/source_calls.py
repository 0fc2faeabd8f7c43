"""Calls to the sources of a task in one batch, and their answers."""

from __future__ import annotations

import json
from collections.abc import Callable

from streams_orchestration.compiler.pe_program import OperatorProgram, PeProgram
from streams_orchestration.operators.contract.offset import Offsets
from streams_orchestration.operators.contract.operator import Offset, ProducedTo, SourceOperator
from streams_orchestration.operators.contract.results import check_available, check_pause, check_produced
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.event_time.decision import IdleDecision
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.programs.batches import BatchPlan, TaskInput
from streams_orchestration.runtime.tasks.calls import OperatorCalls
from streams_orchestration.runtime.tasks.event_time import EventTimeCalls
from streams_orchestration.runtime.tasks.instances import OperatorInstance


class TupleOrigin:
    """The place from which the current tuples of a task were read, for errors."""

    def __init__(self) -> None:
        self.text: Callable[[], str] = str
        """Returns the place as text; an empty text if there is none."""


class SourceCalls:
    """The sources of a task in one batch: they are called one after the other, and their answers are collected.

    `changed` receives the operators that were called, and `origin` the place of the tuples that a source produces.
    """

    def __init__(
        self,
        program: PeProgram,
        plan: BatchPlan,
        calls: OperatorCalls,
        event_time: EventTimeCalls,
        instance: Callable[[int], OperatorInstance],
        changed: set[int],
        origin: TupleOrigin,
    ) -> None:
        self._plan = plan
        self._calls = calls
        self._event_time = event_time
        self._instance = instance
        self._changed = changed
        self._origin = origin
        self._programs = {each.name: each for each in program.operators.values()}
        self.offsets: Offsets = {}
        """Source -> the offset after its tuples."""
        self.bounds: Offsets = {}
        """Source -> the end of the bounded run, as the source gave it now."""
        self.exhausted: list[str] = []
        """The sources that have no more tuples."""
        self.reached: list[str] = []
        """The sources that have reached the end of the bounded run."""
        self.pauses: dict[str, float] = {}
        """Source -> seconds until it may have tuples, if it reports that."""
        self.idle: dict[str, list[IdleDecision]] = {}
        """Source -> its decisions that partitions are idle."""

    def produce(self, name: str, inputs: TaskInput) -> OperatorProgram | None:
        """Let a source produce its tuples of the batch, and note its offset, and its pause or its end.

        In a bounded run, a source that does not know its end yet only keeps its offset. Return the program of a source
        that has no more tuples for good; None otherwise, and at the end of a bounded run.

        Raises:
            OperatorError: the source raised, or an operator to which it submitted.
        """
        program = self._programs[name]
        instance = self._instance(program.index)
        source = instance.operator
        assert isinstance(source, SourceOperator)
        bounds = self._bounds(program, source, inputs)
        produced = self._produce(program, instance, source, inputs, bounds)
        self.offsets[name] = produced.offset
        if instance.idleness is not None:
            self.idle[name] = instance.idleness.decisions(self._plan.epoch)
        if produced.exhausted:
            (self.exhausted if bounds is None else self.reached).append(name)
            return program if bounds is None else None
        pause = self._calls.call(program, lambda: check_pause(source.pause()))
        if instance.idleness is not None:
            pause = instance.idleness.pause(pause)
        if pause is not None:
            self.pauses[name] = pause
        return None

    def _bounds(self, program: OperatorProgram, source: SourceOperator, inputs: TaskInput) -> Offsets | None:
        """Return the known ends of the bounded run; None for another run.

        This source is asked for its end if that is not known. If it gives one, that is noted for the commit.
        """
        if inputs.bounds is None:
            return None
        name = program.name
        if name not in inputs.bounds:
            bound = self._calls.call(program, lambda: check_available(source.available(inputs.sources[name])))
            if bound is not None:
                self.bounds[name] = bound
        return inputs.bounds | self.bounds

    def _produce(
        self,
        program: OperatorProgram,
        instance: OperatorInstance,
        source: SourceOperator,
        inputs: TaskInput,
        bounds: dict[str, Offset] | None,
    ) -> ProducedTo:
        name, offset = program.name, inputs.sources[program.name]
        source.until = None if bounds is None else bounds.get(name)
        if bounds is not None and source.until is None:
            return ProducedTo(offset, exhausted=False)
        self._changed.add(program.index)
        self._event_time.prepare_source(instance, self._plan.position.idle.get(name, []), inputs.slowest.get(name))
        submit, meter = source.context.submit, self._calls.meter
        meter.produces(program.index)
        count = last = 0

        def origin() -> str:
            return (
                source.place() or f"{name}, tuples {last - count + 1} to {last} after its offset {json.dumps(offset)}"
            )

        def counted(port: int, batch: TupleBatch) -> None:
            nonlocal count, last
            count = len(batch)
            last += count
            try:
                submit(port, batch)
            except DataError as error:
                message = f"{error}; read from {origin()}"
                raise DataError(message) from error

        self._origin.text = origin
        source.context.submit = counted
        try:
            produced = self._calls.call(program, lambda: check_produced(source.produce(offset, self._plan.limit)))
            self._event_time.produced(program, instance, moved=bool(last) or produced.offset != offset)
            return produced
        finally:
            meter.worked(program.index, source.background.taken_ns())
            source.context.submit = submit
            self._origin.text = str
