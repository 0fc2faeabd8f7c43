"""The event time of operators that process whole batches: role, watermark, and the rule for late tuples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.operators.errors.errors import StateError
from streams_orchestration.operators.errors.faults import report, reported
from streams_orchestration.operators.event_time.clause import whole_ticks
from streams_orchestration.operators.event_time.moments import Moments, earlier
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.event_time.steps import NO_WATERMARK
from streams_orchestration.operators.event_time.times import time_type, times_and_nulls
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.states.rescaling import RescaleError
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import IDLE, Watermarks

LATE_PORT = 1
"""The output port of Aggregate and Sort for late tuples. Failed tuples go to the last port."""
_PART = "event time"
"""The name of the part of the operator's state that contains the watermark."""


class EventTimeInput:
    """The watermark before an operator's next tuple, and the rule for which tuples are too late (EV15, EV43)."""

    def __init__(self, operator: Operator, parameter: str, *, discard_age: float = 0.0) -> None:
        """Initialize for an operator that has no watermark yet.

        Args:
            operator: the operator.
            parameter: the parameter that needs event time, with its value.
            discard_age: the seconds that a tuple may be behind the watermark; further behind, it is too late.

        Raises:
            ValueError: the operator is in no event-time graph (SO0806), a stream lacks the event-time attribute, or
                `discard_age` is not a whole number of ticks (SO0801).
        """
        role = operator.context.event_time
        if role is None:
            message = (
                f"{parameter} needs event time, and no event time arrives here; name the times of the stream in the "
                "annotation eventTime of an operator upstream"
            )
            raise ValueError(message)
        self.role = role
        for port, schema in enumerate(operator.context.inputs):
            with reported(f"input port {port}: "):
                time_type(schema, role)
        self.discard_age = self.ticks("discardAge", discard_age)
        self.watermark = NO_WATERMARK
        metrics = operator.context.metrics
        self._taken = metrics.counter("late_taken", "late tuples that were processed")
        self._dropped = metrics.counter("late_dropped", "late tuples that were dropped")
        self._null = metrics.counter("null_times", "tuples without a time") if role.on_null == "ignore" else None

    def ticks(self, name: str, seconds: float) -> int:
        """Return the length of time in a parameter as ticks of the event-time attribute.

        Raises:
            ValueError: it is not finite, not a whole number of ticks (SO0801), or too large (SO0401).
        """
        if not math.isfinite(seconds):
            message = f"{name} is a number of seconds, not {seconds}"
            raise ValueError(message)
        return whole_ticks(name, Fraction(repr(seconds)), self.role.ticks)

    def moments(self, batch: TupleBatch) -> Moments:
        """Return the moments of a batch, which number its tuples and watermarks in the order of their arrival."""
        return Moments.of(batch.watermarks, len(batch), self.watermark)

    def advance(self, moments: Moments) -> None:
        """Set the operator's watermark to the one after a batch."""
        self.watermark = moments.steps.last

    def times(self, batch: TupleBatch) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the times of tuples in ticks, and a mask of the tuples without a time, which are counted.

        The mask is None if all tuples have a time.

        Raises:
            DataError: a time is null, and the annotation does not ignore that (EV54).
        """
        times, missing = times_and_nulls(batch.arrow, self.role)
        if missing is not None and self._null is not None:
            self._null.add(np.count_nonzero(missing))
        return times, missing

    def judge(self, batch: TupleBatch, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
        """Return the times of tuples in ticks, and a mask of the tuples that the operator drops.

        A tuple is late if its time is before the watermark at its arrival. It is dropped if it has no time, or if it is
        late by more than the discard age. Metrics count tuples without a time, and late tuples that are dropped or not.

        Raises:
            DataError: a time is null, and the annotation does not ignore that (EV54).
        """
        times, missing = self.times(batch)
        late = times < moments.current
        if missing is not None:
            late &= ~missing
        if count := int(np.count_nonzero(late)):
            dropped = count
            if self.discard_age:
                late &= times < earlier(moments.current, self.discard_age)
                dropped = int(np.count_nonzero(late))
            self._taken.add(count - dropped)
            self._dropped.add(dropped)
        return times, late if missing is None else late | missing

    def reached(self, age: int = 0) -> int:
        """Return the time that is the discard age and `age` ticks before the watermark.

        With `age` 0, tuples before that time are dropped as too late.
        """
        return int(earlier(np.array([self.watermark], np.int64), self.discard_age + age)[0])

    def resting(self, *, keeps: bool, later_by: int = 0) -> Watermarks:
        """Return the watermark to send when all inputs are idle (EV51, EV62).

        It is `IDLE`, or the current watermark if the operator keeps tuples.

        Args:
            keeps: True if the operator keeps tuples that it will submit.
            later_by: ticks to subtract from the watermark that is sent.
        """
        if not keeps:
            return Watermarks.of((0, IDLE))
        reached = np.array([max(self.watermark, IDLE + 1)], np.int64)
        return Watermarks(np.zeros(1, np.int64), earlier(reached, later_by))

    def dump(self) -> State:
        """Return the watermark for a checkpoint, with the name of the attribute whose ticks it counts."""
        return {_PART: {"watermark": self.watermark, "attribute": self.role.attribute, "ticks": self.role.ticks}}

    def load(self, state: State) -> None:
        """Restore a state that `dump` returned.

        Raises:
            StateError: the state counts the ticks of another attribute.
        """
        check_ticks(state[_PART], self.role)
        self.watermark = state[_PART]["watermark"]


def check_ticks(stored: Mapping[str, Any], role: EventTimeRole) -> None:
    """Raise StateError if a part of a state counts the ticks of another attribute than the role's."""
    if (stored["attribute"], stored["ticks"]) != (role.attribute, role.ticks):
        message = (
            f"its state counts time by {stored['attribute']}, with {stored['ticks']:,} ticks a second; event time now "
            f"is {role.attribute}, with {role.ticks:,} ticks a second; restore the former annotation eventTime, or "
            "start over with --fresh"
        )
        raise StateError(message)


def least_watermark(states: Sequence[State]) -> dict[str, Any]:
    """Return the watermark part of a state, taken from the state with the least watermark (EV46)."""
    return {_PART: min((state[_PART] for state in states), key=lambda part: part["watermark"])}


def refuse_different_watermarks(states: Sequence[State]) -> None:
    """Check that replicas have the same watermark.

    With different watermarks, a late tuple of a moved key could meet a replica whose state for that time is gone.

    Raises:
        RescaleError: they differ.
    """
    if len({state[_PART]["watermark"] for state in states}) > 1:
        message = "has another watermark in each channel, since event time begins within the parallel region"
        raise RescaleError(message)


def check_late_port(context: OperatorContext, port: int, ports: int, unless: str | None) -> None:
    """Report an output port for late tuples that can never receive one, or that has other attributes than the input.

    Args:
        context: the operator's context.
        port: the number of the port for late tuples. It is missing if `ports` is not above it.
        ports: the number of output ports without the one for failed tuples.
        unless: the reason why no tuple is late; None if some may be.

    Raises:
        ValueError: the port does not fit, and faults are not being gathered.
    """
    if ports <= port:
        return
    if unless is not None:
        message = f"output port {port} gets the tuples that are too late, and {unless}; leave the port out"
        report(ValueError(message))
        return
    source = context.inputs[0]
    for field in context.outputs[port] or ():
        if field.name not in source.names or source.field(field.name).type != field.type:
            message = (
                f"output port {port} gets the tuples that are too late, so it must have the attributes of the input "
                f"stream, but it has {field.name} {type_name(field.type)}"
            )
            report(ValueError(message))


def submit_late(operator: Operator, late: TupleBatch, port: int) -> None:
    """Submit late tuples to their port, reduced and cast to its schema."""
    schema = operator.context.outputs[port]
    if schema is not None and late.schema != schema:
        late = TupleBatch(late.arrow.select(schema.names).cast(schema), watermarks=late.watermarks)
    operator.submit(late, port)
