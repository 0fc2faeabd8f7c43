"""The watermarks of an operator under test, handled as the tasks of a PE handle them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from streams_orchestration.operators.contract.context import OperatorContext
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.event_time.calling import call_between, call_singly
from streams_orchestration.operators.event_time.operator_watermark import OperatorWatermark
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.event_time.times import time_type
from streams_orchestration.operators.implementations.watermark_calls import reach_steps
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END, Watermarks


class HarnessWatermarks:
    """The watermark of one operator, whose input ports have a connection each; does nothing without event time."""

    def __init__(self, context: OperatorContext, send: Callable[[int, Watermarks], None]) -> None:
        """Initialize for an operator that has no watermark yet.

        Args:
            context: the context of the operator.
            send: called with an output port and the watermarks that it sends, without tuples.
        """
        self._context = context
        self._send = send
        self._stored: dict[int, dict[str, Any]] = {}
        """Maps the version of a stored state to the watermark at that time."""
        self._placed: dict[int, int] = {}
        """The number of watermarks that the operator submitted to each port in the present call."""
        self.clear()

    @property
    def _role(self) -> EventTimeRole | None:
        return self._context.event_time

    @property
    def ports(self) -> tuple[int, ...]:
        """The input ports that are in the event-time graph; none without event time."""
        return () if self._role is None else self._role.ports

    def clear(self) -> None:
        """Forget the watermark."""
        role = self._role
        self._own = None if role is None else OperatorWatermark(role, map(str, role.ports))

    def store(self, version: int) -> None:
        """Remember the watermark with the version of a state that is stored now."""
        if self._own is not None:
            self._stored[version] = self._own.dump()

    def restore(self, version: int) -> None:
        """Restore the watermark stored with this version of the state; if there is none, start without a watermark."""
        self.clear()
        if self._own is not None and version in self._stored:
            self._own.load(self._stored[version])
        self._context.watermark = None if self._own is None else self._own.seen

    def submitted(self, port: int, batch: TupleBatch) -> TupleBatch:
        """Advance the watermark by a submitted batch, and return the batch with the watermarks among its tuples.

        If the operator makes watermarks of its tuples, its other output ports are sent them. Without event time, return
        the batch as it is.

        Raises:
            DataError: the time of a tuple is null, and the annotation does not ignore nulls (EV54).
        """
        own = self._own
        if own is None:
            return batch
        batch = own.submitted(port, batch)
        steps = batch.watermarks
        if own.clock is not None:
            self._context.watermark = own.seen
            for output in own.role.outputs:
                if output != port and steps is not None:
                    self._send(output, steps.rest(0))
        if steps is not None:
            self._placed[port] = self._placed.get(port, 0) + len(steps.values)
        return batch

    def set(self, watermark: int) -> None:
        """Send the watermark that an operator in the mode `manual` sets."""
        if self._own is not None:
            self._sent(self._own.set(watermark))

    def assign(self, names: Collection[str]) -> None:
        """Set the partitions whose times make up a source's watermark, and send the resulting watermarks."""
        if self._own is not None:
            self._sent(self._own.assign(names))

    def too_far_ahead(self, names: Collection[str]) -> frozenset[str]:
        """Return the partitions of a source that it must not read now (EV65)."""
        return frozenset() if self._own is None else self._own.too_far_ahead(names)

    def call(self, operator: Operator, process: Callable[[TupleBatch], None], batch: TupleBatch, port: int) -> None:
        """Call an operator with tuples and watermarks that arrive at a port, and send its results and watermarks on."""
        own = self._own
        if own is None:
            process(batch)
            return
        batch = own.entered(batch, str(port))
        if own.orders_ports:
            for place in range(len(batch)):
                process(batch.slice(place, 1))
            return
        if operator.keeps_places:
            placed = self._placed
            placed.clear()
            process(batch)
            if (steps := batch.watermarks) is None:
                return
            count = len(steps.values)
            for output in own.role.outputs:
                if placed.get(output, 0) < count:
                    self._send(output, steps.rest(placed.get(output, 0)))
            return
        if own.lets_go_at(port, operator.control_ports):
            process = partial(call_singly, process, lambda: self.let_go(operator), lambda: own.held_back)
        call_between(batch, process, lambda steps: reach_steps(operator, own, steps, self._sent, lambda call: call()))

    def let_go(self, operator: Operator) -> None:
        """Send the watermarks that follow when the operator has submitted tuples that it kept (EV62)."""
        own = self._own
        if own is not None and own.role.mode == "heldInput" and not operator.keeps_places:
            reach_steps(operator, own, None, self._sent, lambda call: call())

    def _sent(self, steps: Watermarks | None) -> None:
        assert self._own is not None
        for output in self._own.role.outputs if steps else ():
            assert steps is not None
            self._send(output, steps)

    def shown(self, value: int) -> Any:
        """Return a watermark as a value of the event-time attribute's type; `END`, or without such a type, in ticks."""
        if self._role is None or value == END:
            return value
        for schema in (*self._context.inputs, *self._context.outputs):
            if schema is not None and _has(schema, self._role):
                return pa.scalar(value, pa.int64()).cast(time_type(schema, self._role)).as_py()
        return value


def declared_role(context: OperatorContext, attribute: str) -> EventTimeRole:
    """Return the role of an operator in a graph that contains all of its ports with the given attribute.

    Raises:
        ValueError: no port has the attribute, or its type is not a time.
    """
    unknown = EventTimeRole(attribute, 1, "inputWatermark", 0, 0)
    inputs = tuple(port for port, schema in enumerate(context.inputs) if _has(schema, unknown))
    outputs = tuple(port for port, schema in enumerate(context.outputs) if schema is not None and _has(schema, unknown))
    first = context.inputs[inputs[0]] if inputs else context.outputs[outputs[0]] if outputs else None
    if first is None:
        message = f"event_time: no port has a time attribute {attribute}"
        raise ValueError(message)
    ticks = 1_000 if time_type(first, unknown) == pa.int64() else 1_000_000
    return EventTimeRole(attribute, ticks, "inputWatermark" if inputs else "outputEventTime", 0, 0, inputs, outputs)


def in_ticks(value: Any) -> int:
    """Return a time in ticks: the given ticks, or the microseconds since 1970 of a datetime."""
    return value if isinstance(value, int) else pa.scalar(value).cast(pa.timestamp("us")).cast(pa.int64()).as_py()


def _has(schema: pa.Schema, role: EventTimeRole) -> bool:
    try:
        time_type(schema, role)
    except ValueError:
        return False
    return True
