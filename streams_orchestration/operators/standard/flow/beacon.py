"""Beacon: generates tuples. From one offset it always generates the same tuples."""

from __future__ import annotations

import functools
from typing import Any

from pydantic import Field

from streams_orchestration import world
from streams_orchestration.operators.contract.operator import (
    Offset,
    OperatorContext,
    Parameters,
    ProducedTo,
    Punctuation,
    SourceOperator,
)
from streams_orchestration.operators.expressions.assignments import Assignments
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.expressions.spl.text import ExpressionText, SplText, call_as_name
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.logic.program import SplLogic, state_signature
from streams_orchestration.operators.logic.source_logic import SourceLogic
from streams_orchestration.operators.tuples.arrow_types import arrow_type, default_value

COUNTER = "IterationCount()"
"""The single attribute that expressions can use. Its name looks like a call."""


SPL_COUNTER = "IterationCount"
"""The SPL name of the attribute of `COUNTER`, which is a uint64."""


@functools.cache
def _counter() -> pa.Schema:
    return pa.schema([(COUNTER, pa.int64()), (SPL_COUNTER, pa.uint64())])


def _over_column(text: str) -> str:
    """Return an expression of SPL over the column of the counter. An expression in SQL is not changed."""
    if not isinstance(text, SplText):
        return text
    column = call_as_name(text.text, SPL_COUNTER)
    return text.with_text(column, {"Beacon": f"tuple<uint64 {SPL_COUNTER}>"})


class BeaconParameters(Parameters):
    """The parameters of `Beacon`."""

    iterations: int | None = Field(default=None, gt=0, description="Number of tuples; endless if omitted.")
    period: float = Field(default=0.0, ge=0, description="Seconds between tuples.")
    init_delay: float = Field(default=0.0, ge=0, alias="initDelay", description="Seconds before the first tuple.")
    trigger_count: int | None = Field(
        default=None,
        gt=0,
        alias="triggerCount",
        description="Tuples in each epoch of the region that the Beacon drives.",
    )
    output: dict[str, ExpressionText] = Field(
        default_factory=dict,
        description=(
            "Maps an attribute to an expression over IterationCount(). Other attributes are 0, false, '' or null."
        ),
    )
    spl: SplLogic | None = Field(
        default=None, description="Logic in SPL: state, which the expressions of output may read and change."
    )


class Beacon(SourceOperator):
    """Submits generated tuples; the offset is the number of tuples so far.

    The values of a tuple depend only on its number, and on the variables of logic in SPL, which the offset then holds.
    The clock decides only when it is submitted. A window marker follows the last tuple. In an operator-driven region an
    epoch ends after `triggerCount` tuples.
    """

    Parameters = BeaconParameters
    naming_parameters = NamingParameters(expressions=("output",))

    @classmethod
    def keeps_state(cls, before: BeaconParameters, after: BeaconParameters) -> bool:
        """Return True unless the new number of iterations may be before the current position, or variables differ."""
        if state_signature(before.spl) != state_signature(after.spl):
            return False
        return after.iterations is None or (before.iterations is not None and before.iterations <= after.iterations)

    @classmethod
    def initial_offset(cls) -> Offset:
        """Return an offset of 0 tuples."""
        return {"iteration": 0}

    @classmethod
    def check(cls, context: OperatorContext, parameters: BeaconParameters) -> None:
        """Raise ValueError if an expression does not fit its attribute, or the logic has mistakes."""
        if parameters.spl is None:
            cls._compile(context, parameters)
        else:
            cls._logic(context, parameters, parameters.spl)

    @staticmethod
    def _logic(context: OperatorContext, parameters: BeaconParameters, logic: SplLogic) -> SourceLogic:
        written = {name: _over_column(text) for name, text in parameters.output.items()}
        source = pa.schema([*_counter(), *_left_out(context, parameters)])
        return SourceLogic(context, logic, written, source, "Beacon")

    @staticmethod
    def _compile(context: OperatorContext, parameters: BeaconParameters) -> Assignments:
        target = context.output_schema()
        standing = _standing(context, parameters).names
        known = {*parameters.output, *standing}
        defaults = {field.name: _default(field.type) for field in target if field.name not in known}
        written = {name: _over_column(text) for name, text in parameters.output.items()}
        source = pa.schema([*_counter(), *_standing(context, parameters)])
        return Assignments(written | defaults, source, target, context.zone)

    @classmethod
    def endless(cls, parameters: BeaconParameters) -> str | None:
        """Return a reason if `iterations` is missing, else None."""
        return "a Beacon without iterations has no end" if parameters.iterations is None else None

    def available(self, offset: Offset) -> Offset:
        """Return the offset after all `iterations`."""
        return {"iteration": self.parameters.iterations}

    def setup(self) -> None:
        """Compile the expressions, or the logic that computes them."""
        logic = self.parameters.spl
        self.logic = None if logic is None else self._logic(self.context, self.parameters, logic)
        if self.logic is None:
            self.assignments = self._compile(self.context, self.parameters)
            self.standing = _standing(self.context, self.parameters)
        else:
            self.standing = _left_out(self.context, self.parameters)
        self.began: tuple[float, int] | None = None
        self.following = 0

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit the tuples that are due, at most `limit`, and a window marker after the last one of all.

        End the epoch after each `triggerCount` tuples. The last tuple exhausts the source.
        """
        if self.logic is not None:
            self.logic.begin(offset)
        start = offset["iteration"]
        last = self.parameters.iterations
        every = self.parameters.trigger_count
        left = limit if last is None else last - start
        in_epoch = limit if every is None else every - start % every
        count = min(self._due(start, limit), limit, left, in_epoch)
        if count > 0:
            self._make(pa.array(np.arange(start, start + count)))
        self.following = start + count
        exhausted = self.following == last
        if exhausted:
            self.punctuate(Punctuation.WINDOW)
        if count > 0 and every is not None and count == every - start % every:
            self.context.make_consistent()
        reached: dict[str, Any] = {"iteration": self.following}
        return ProducedTo(reached if self.logic is None else self.logic.offset(reached), exhausted)

    def _make(self, numbers: pa.Array) -> None:
        """Submit the tuples with these numbers. Raises DataError or TupleError if an expression has no value."""
        columns = [numbers, numbers.cast(pa.uint64())]
        columns += [_repeated(field.type, len(numbers)) for field in self.standing]
        source = pa.RecordBatch.from_arrays(columns, schema=pa.schema([*_counter(), *self.standing]))
        self.submit(self.assignments.apply(source) if self.logic is None else self.logic.apply(source))

    def pause(self) -> float:
        """Return the seconds until the next tuple is due; 0 if one is due, or before the first call of `produce`."""
        began, first = self.began or (0.0, 0)
        return max(began + self.parameters.period * (self.following - first) - world.monotonic(), 0.0)

    def _due(self, start: int, limit: int) -> int:
        """Return how many further tuples are due by now: 0 until `initDelay` has passed, then `limit` without a period.

        The first call starts the clock. `initDelay` applies only if it starts from tuple 0.
        """
        period, now = self.parameters.period, world.monotonic()
        if self.began is None:
            self.began = now + (self.parameters.init_delay if start == 0 else 0.0), start
        began, first = self.began
        if now < began:
            return 0
        return first + int((now - began) / period) + 1 - start if period else limit


def _left_out(context: OperatorContext, parameters: BeaconParameters) -> pa.Schema:
    """Return the output attributes without an expression in `output`."""
    return pa.schema([field for field in context.output_schema() if field.name not in parameters.output])


def _standing(context: OperatorContext, parameters: BeaconParameters) -> pa.Schema:
    """Return the NOT NULL attributes that `output` leaves out and whose default value no expression can express."""
    return pa.schema(
        [
            field
            for field in context.output_schema()
            if field.name in context.required_at()
            and field.name not in parameters.output
            and _default(field.type) == "NULL"
        ]
    )


def _repeated(kind: Any, count: int) -> pa.Array:
    """Return an array that repeats the default value of a type."""
    return pa.array([default_value(kind)] * count, kind)


def _default(kind: Any) -> str:
    types = pa.types
    if types.is_integer(kind):
        return "0"
    if types.is_floating(kind):
        return "0.0"
    if types.is_boolean(kind):
        return "FALSE"
    return "''" if kind == arrow_type("string") else "NULL"
