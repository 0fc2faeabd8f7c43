"""DeDuplicate: drops tuples whose key was seen before."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from typing import Any

from pydantic import Field, model_validator

from streams_orchestration.expressions.naming import attribute_of
from streams_orchestration.expressions.tokens import name_token
from streams_orchestration.model.names import nearest
from streams_orchestration.operators.arrow_types import per_second, type_name
from streams_orchestration.operators.assignments import Assignments
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, Punctuation
from streams_orchestration.operators.errors import DataError, UnknownAttributeError
from streams_orchestration.operators.event_time_input import (
    EventTimeInput,
    check_late_port,
    least_watermark,
    refuse_different_watermarks,
)
from streams_orchestration.operators.expressions import parse_expression
from streams_orchestration.operators.failed_tuples import ExpressionParameters, Sieve, check_failure_port, own_outputs
from streams_orchestration.operators.libraries import compute as pc
from streams_orchestration.operators.libraries import np, pa
from streams_orchestration.operators.mentions import Mentions
from streams_orchestration.operators.spl.text import ExpressionText
from streams_orchestration.operators.standard.deduplicate_within import PassedTimes
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.rescaling import PortKeys, Route, Sharding, divide_keyed, names_in, renamed
from streams_orchestration.operators.states.state import State

_PER_SECOND = 1_000_000
LATE_PORT = 2
"""The output port for tuples too late to tell if they are duplicates. Failed tuples go to the last port."""


class DeDuplicateParameters(ExpressionParameters):
    """The parameters of `DeDuplicate`. Without `count`, `delta` and `within`, keys are remembered forever."""

    key: ExpressionText | list[ExpressionText] = Field(
        default_factory=list, description="List of expressions that form the key; all attributes by default."
    )
    count: int | None = Field(default=None, gt=0, description="Number of further tuples for which a key is remembered.")
    delta: float | None = Field(
        default=None, ge=0, description="A key is forgotten once deltaAttribute has grown by more than this."
    )
    delta_attribute: str | None = Field(
        default=None,
        alias="deltaAttribute",
        description="Number attribute, or a timestamp, for which delta is in seconds.",
    )
    time_out: float | None = Field(
        default=None,
        ge=0,
        alias="timeOut",
        allow_inf_nan=False,
        description="Seconds by the clock for which a key is remembered; after a reset other tuples may pass.",
    )
    within: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="Seconds of event time before and after a tuple, within which tuples of its key are duplicates.",
    )
    discard_age: float = Field(
        default=0.0,
        ge=0,
        alias="discardAge",
        allow_inf_nan=False,
        description="Seconds behind the watermark from which on a tuple is too late to be judged; needs within.",
    )
    reset_on_duplicate: bool = Field(
        default=True,
        alias="resetOnDuplicate",
        description="Remember a key from its last duplicate on, instead of from its first tuple.",
    )
    flush_on_punctuation: bool = Field(
        default=False, alias="flushOnPunctuation", description="Forget all keys at a window marker."
    )
    output: dict[str, ExpressionText] = Field(
        default_factory=dict,
        description="Maps an attribute of output port 0 to an expression. Other attributes keep their values.",
    )

    @property
    def keys(self) -> list[ExpressionText]:
        """The expressions that form the key; empty for all attributes."""
        return self.key if isinstance(self.key, list) else [self.key]

    @model_validator(mode="after")
    def _go_together(self) -> DeDuplicateParameters:
        given = [name for name in ("count", "delta", "within") if getattr(self, name) is not None]
        given += [] if self.time_out is None else ["timeOut"]
        if len(given) > 1:
            message = f"{' and '.join(given)} exclude each other"
            raise ValueError(message)
        if self.within is None and "discard_age" in self.model_fields_set:
            message = "discardAge needs the parameter within, which judges tuples by event time"
            raise ValueError(message)
        if self.within is not None and "reset_on_duplicate" in self.model_fields_set:
            message = "resetOnDuplicate cannot be combined with within, by which only tuples that passed are remembered"
            raise ValueError(message)
        if (self.delta is None) != (self.delta_attribute is None):
            message = "delta and deltaAttribute are given together, or neither"
            raise ValueError(message)
        return self


class DeDuplicate(Operator):
    """Passes a tuple to output port 0 if its key is not remembered, otherwise to port 1 if that is connected.

    A key is forgotten once the largest `deltaAttribute` so far is more than `delta` beyond its own. So a replay drops
    the same tuples. Only with `timeOut`, keys are forgotten by the clock, at the times of batches.

    With `within`, a tuple is a duplicate if a tuple with its key has passed whose event time is at most `within`
    earlier or later. A passed tuple is forgotten when the watermark excludes further duplicates. A tuple behind the
    watermark by more than `discardAge` comes too late for this decision, and goes to output port 2 if that is
    connected.
    """

    Parameters = DeDuplicateParameters
    stateful = True
    keeps_places = True
    free_parameters = frozenset(
        (
            *("count", "delta", "time_out", "discard_age", "reset_on_duplicate", "flush_on_punctuation", "on_error"),
            "output",
        )
    )

    @classmethod
    def keeps_state(cls, before: DeDuplicateParameters, after: DeDuplicateParameters) -> bool:
        """Return True if old and new parameters store the same kind of value with each key: none, position or value."""
        alike = (before.count is None) == (after.count is None) and (before.delta is None) == (after.delta is None)
        alike = alike and (before.time_out is None) == (after.time_out is None)
        return alike and super().keeps_state(before, after)

    @classmethod
    def state_attributes(cls, parameters: DeDuplicateParameters) -> Collection[str] | None:
        """Return the attributes of the key and of the delta."""
        attribute = [] if parameters.delta_attribute is None else [name_token(parameters.delta_attribute)]
        return names_in(*parameters.keys, *attribute) if parameters.keys else None

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: DeDuplicateParameters) -> Sharding:
        """Return how the state is divided: by the parts of the key, unless `count` is used."""
        if parameters.count is not None:
            return Sharding(refusal="is positions in one channel, since count goes by them; delta goes by values")
        return Sharding(keys=(tuple(cls._attributes(context, parameters)),))

    @staticmethod
    def _attributes(context: OperatorContext, parameters: DeDuplicateParameters) -> list[str]:
        """Return the parts of the key. Attributes are spelled as in the stream."""
        texts = parameters.keys
        if not texts:
            return context.inputs[0].names
        known = {name.lower(): name for name in context.inputs[0].names}
        written = [attribute_of(text) for text in texts]
        names = [text if name is None else name for text, name in zip(texts, written, strict=True)]
        return [name if name in context.inputs[0].names else known.get(name.lower(), name) for name in names]

    @classmethod
    def mentions(cls, parameters: DeDuplicateParameters) -> Mentions:
        """Return the attributes of the keys and of the delta."""
        attribute = () if parameters.delta_attribute is None else (parameters.delta_attribute,)
        found = Mentions.of(output=parameters.output)
        return found._replace(inputs=attribute, expressions=[*found.expressions, *parameters.keys])

    @classmethod
    def check(cls, context: OperatorContext, parameters: DeDuplicateParameters) -> None:
        """Raise ValueError if a key, `deltaAttribute` or an output does not fit."""
        cls._compile(context, parameters)
        cls._outputs(context, parameters)

    @staticmethod
    def _outputs(context: OperatorContext, parameters: DeDuplicateParameters) -> Assignments | None:
        """Return the assignments of output port 0; None if it passes the input's tuples on."""
        source = context.inputs[0]
        if not parameters.output:
            return None
        return Assignments(parameters.output, source, context.outputs[0] or source, context.zone, context.required_at())

    @staticmethod
    def _compile(context: OperatorContext, parameters: DeDuplicateParameters) -> tuple[list[Any], list[pa.DataType]]:
        source = context.inputs[0]
        check_failure_port(context, parameters, source)
        unless = None if parameters.within is not None else "only within finds any"
        check_late_port(context, LATE_PORT, len(own_outputs(context, parameters)), unless)
        texts = parameters.keys
        zone = context.zone
        keys = [parse_expression(text, source, "key", zone) for text in texts or map(name_token, source.names)]
        types = [key.arrow_type for key in keys]
        for text, key in zip(texts or source.names, keys, strict=True):
            if pa.types.is_nested(key.arrow_type):
                message = f"{text} is {type_name(key.arrow_type)}, which cannot be compared"
                key.refuse(message)
        attribute = parameters.delta_attribute
        if attribute is not None:
            if attribute not in source.names:
                message = f"deltaAttribute: the stream has no attribute {attribute}{nearest(attribute, source.names)}"
                raise UnknownAttributeError(message)
            kind = source.field(attribute).type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_timestamp(kind)):
                message = f"deltaAttribute: {attribute} is {type_name(kind)}, a number or a timestamp is expected"
                raise ValueError(message)
        return keys, types

    def setup(self) -> None:
        """Parse the keys."""
        self.keys, self.types = self._compile(self.context, self.parameters)
        self.assignments = self._outputs(self.context, self.parameters)
        self.sieve = Sieve(self, [*self.keys, *([] if self.assignments is None else self.assignments.expressions)])
        self.ports = len(own_outputs(self.context, self.parameters))
        self.timed: EventTimeInput | None = None
        """The event time of `within`; None without it."""
        if self.parameters.within is not None:
            self.timed = EventTimeInput(self, "within", discard_age=self.parameters.discard_age)
            self.times = PassedTimes(self.types, self.timed.ticks("within", self.parameters.within))
        limit, scale = self.parameters.count, 1
        if self.parameters.delta_attribute is not None:
            kind = self.context.inputs[0].field(self.parameters.delta_attribute).type
            scale = per_second(kind)
            limit = self.parameters.delta * scale
        if self.parameters.time_out is not None:
            limit = self.parameters.time_out * _PER_SECOND
        floating = self._is_floating()
        # differences of integers are integers, so they can be compared exactly
        self.limit: float | None = limit if limit is None or floating else math.floor(limit)
        parts = pa.schema([(str(i), kind) for i, kind in enumerate(self.types)])
        mark = pa.float64() if floating else pa.int64()
        self.seen = KeyedState(parts, "" if limit is None else pa.schema([("mark", mark)]))
        """The remembered keys, each with the position, the value or, with `timeOut`, the arrival time of its tuple.

        Keys that are remembered forever have none of these."""
        self.reset_to_initial_state()

    def _is_floating(self) -> bool:
        attribute = self.parameters.delta_attribute
        return attribute is not None and pa.types.is_floating(self.context.inputs[0].field(attribute).type)

    def reset_to_initial_state(self) -> None:
        """Forget all keys."""
        if self.timed is not None:
            self.timed.clear()
            self.times.passed.clear()
        self.seen.clear()
        self.position = 0
        self.largest: float | None = None

    def process(self, port: int, batch: TupleBatch) -> None:
        """Separate new tuples from duplicates and submit both."""
        if self.timed is not None:
            self._judge_in_time(batch, self.timed)
            return
        tuples, failures = self.sieve.sift(batch)
        keys = {str(i): tuples.value(key) for i, key in enumerate(self.keys)}
        unfit = self.sieve.unfit(tuples.arrow, 0)
        bounds = sorted({0, len(tuples), *unfit, *(place + 1 for place in unfit)})
        fresh = np.ones(len(tuples), bool)
        for begin, end in itertools.pairwise(bounds):
            part = {name: values.slice(begin, end - begin) for name, values in keys.items()}
            marks = None if self.limit is None else self._marks(tuples.batch.slice(begin, end - begin))
            if begin in unfit and self._is_new(part, marks):  # the tuple fails, so its key is not remembered
                continue
            fresh[begin:end] = self.seen.add_many(part) if marks is None else self._judge(part, marks)
            self.position += end - begin
        self.sieve.distribute(batch, [fresh, ~fresh][: self.ports], (tuples, failures), self.assignments)

    def _judge_in_time(self, batch: TupleBatch, timed: EventTimeInput) -> None:
        """Submit new tuples and duplicates, as determined by event time (EV59)."""
        tuples, failures = self.sieve.sift(batch)
        moments = timed.moments(tuples.batch)
        times, late = timed.judge(tuples.batch, moments)
        timed.advance(moments)
        fresh, judged = np.zeros(len(tuples), bool), np.flatnonzero(~late)
        keys = {str(i): tuples.value(key).take(pa.array(judged)) for i, key in enumerate(self.keys)}
        times = times[judged]
        unfit = np.flatnonzero(np.isin(judged, list(self.sieve.unfit(tuples.arrow, 0)))).tolist()
        bounds = sorted({0, len(judged), *unfit, *(place + 1 for place in unfit)})
        for begin, end in itertools.pairwise(bounds):
            part = {name: values.slice(begin, end - begin) for name, values in keys.items()}
            # a tuple that fails does not pass, so it is not remembered
            new = (
                ~self.times.known(part, times[begin:end])
                if begin in unfit
                else self.times.judge(part, times[begin:end])
            )
            fresh[judged[begin:end]] = new
        if len(moments.steps):
            self.times.forget(timed.reached(self.times.within))
        self.sieve.distribute(batch, [fresh, ~fresh & ~late, late][: self.ports], (tuples, failures), self.assignments)

    def _is_new(self, keys: dict[str, pa.Array], marks: list[Any] | None) -> bool:
        """Return True if the key of a single tuple is not remembered. This does not change the state."""
        if not self.seen.has_many(keys)[0]:
            return True
        if marks is None or self.limit is None:
            return False
        since = self.seen.column("mark")[self.seen.rows_of(keys, touch=False)[0]].item()
        return max(marks[0], since if self.largest is None else self.largest) - since > self.limit

    def _marks(self, batch: TupleBatch) -> list[Any]:
        """Return for each tuple the value that the limit applies to: position, `deltaAttribute`, or time of arrival."""
        attribute = self.parameters.delta_attribute
        if self.parameters.time_out is not None:
            return [int(self.context.now * _PER_SECOND)] * len(batch)
        if attribute is None:
            return list(range(self.position, self.position + len(batch)))
        column = batch.arrow.column(attribute)
        values = (pc.cast(column, pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
        if any(value is None or value != value for value in values):  # noqa: PLR0124  NaN
            message = f"deltaAttribute: {attribute} is null or NaN"
            raise DataError(message)
        return values

    def _judge(self, keys: dict[str, pa.Array], marks: list[Any]) -> np.ndarray:
        assert self.limit is not None
        known = self.seen.has_many(keys)
        rows = self.seen.rows_of(keys)
        remembered = dict(zip(rows[known].tolist(), self.seen.column("mark")[rows[known]].tolist(), strict=True))
        fresh = np.zeros(len(rows), bool)
        for i, (row, mark) in enumerate(zip(rows.tolist(), marks, strict=True)):
            largest = self.largest = mark if self.largest is None else max(self.largest, mark)
            since = remembered.get(row)
            fresh[i] = since is None or largest - since > self.limit
            if fresh[i] or self.parameters.reset_on_duplicate:
                remembered[row] = mark
        column = self.seen.column("mark")
        column[list(remembered)] = list(remembered.values())
        if self.largest is not None:
            there = self.seen.rows()
            self.seen.delete_rows(there[self._forgotten(column[there], self.largest, self.limit)])
        return fresh

    @staticmethod
    def _forgotten(marks: np.ndarray, largest: float, limit: float) -> np.ndarray:
        if marks.dtype == np.int64:
            return marks < largest - limit  # the difference of two numbers could need more than 64 bits
        with np.errstate(invalid="ignore"):  # a difference of infinities is NaN
            return largest - marks > limit

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Forget all keys at a window marker, under `flushOnPunctuation`."""
        if mark is Punctuation.WINDOW and self.parameters.flush_on_punctuation:
            self.seen.clear()
            if self.timed is not None:
                self.times.passed.clear()

    def checkpoint(self) -> State:
        """Return the remembered keys, each with the position, value or time from which it is remembered."""
        if self.timed is not None:
            return {"passed": self.times.passed, **self.timed.dump()}
        return {"seen": self.seen, "position": self.position, "largest": self.largest}

    def rescale(self, states: Sequence[State], route: Route) -> Sequence[State]:
        """Divide the remembered keys by the channels of their tuples.

        Every channel gets the largest value and position.
        """
        states = [state for state in states if state]
        if self.timed is not None:
            return self._divide_times(states, route)
        parts = [state["seen"] for state in states]
        channels = [route.channels(self._keys(part)) for part in parts]
        largest = max((state["largest"] for state in states if state["largest"] is not None), default=None)
        position = max((state["position"] for state in states), default=0)
        seen = divide_keyed(parts, channels, route.width) if parts else []
        return [{"seen": part, "position": position, "largest": largest} for part in seen] or [{}] * route.width

    def _divide_times(self, states: Sequence[State], route: Route) -> Sequence[State]:
        if not states:
            return [{}] * route.width
        refuse_different_watermarks(states)
        parts = [state["passed"] for state in states]
        divided = divide_keyed(parts, [route.channels(self._keys(part)) for part in parts], route.width)
        return [{"passed": part, **least_watermark(states)} for part in divided]

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return the remembered keys."""
        return [PortKeys(0, self._keys(state["seen" if self.timed is None else "passed"]))] if state else []

    def _keys(self, seen: KeyedState) -> pa.RecordBatch:
        keys = seen.keys_table()
        return renamed(
            keys.select(keys.column_names[: len(self.types)]), self._attributes(self.context, self.parameters)
        )

    def restore(self, state: State) -> None:
        """Restore the remembered keys."""
        if self.timed is not None:
            self.timed.load(state)
            self.times.passed = state["passed"]
            return
        self.seen, self.position, self.largest = state["seen"], state["position"], state["largest"]
