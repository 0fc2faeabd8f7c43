"""Join: pairs the tuples of two streams that are in their windows at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.arrow_types import type_name
from streams_orchestration.operators.assignments import Assignments
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, Punctuation
from streams_orchestration.operators.errors import UnknownAttributeError
from streams_orchestration.operators.expressions import parse_condition
from streams_orchestration.operators.failed_tuples import ExpressionParameters, Sieve, check_failure_port
from streams_orchestration.operators.faults import reported
from streams_orchestration.operators.libraries import compute as pc
from streams_orchestration.operators.libraries import np, pa
from streams_orchestration.operators.standard.join_by_time import TimedJoin
from streams_orchestration.operators.standard.join_side import JoinSide
from streams_orchestration.operators.standard.join_within import TimedSide
from streams_orchestration.operators.standard.refused import REFUSED
from streams_orchestration.operators.states.rescaling import PortKeys, Route, Sharding
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration.operators.watermarks import Watermarks
from streams_orchestration.operators.windows.clause import Policy, parse_window

PAIRS_AT_ONCE = 1_000_000
"""The largest number of candidate pairs formed at once when there are no equality attributes."""
SIDES = ("LHS", "RHS")
Bound = Annotated[float, Field(allow_inf_nan=False)]
"""A number of seconds."""


class JoinParameters(ExpressionParameters):
    """The parameters of `Join`."""

    window: str | list[str] | None = Field(
        default=None,
        description="Sliding window clause for both streams, or a list with one for each; needed without within.",
    )
    within: list[Bound] | None = Field(
        default=None,
        min_length=2,
        max_length=2,
        description=(
            "Least and greatest time of a tuple of port 1 less that of its partner, in seconds of event time; in place "
            "of window."
        ),
    )
    discard_age: float = Field(
        default=0.0,
        ge=0,
        alias="discardAge",
        allow_inf_nan=False,
        description="Seconds behind the watermark from which a tuple is dropped; goes with within.",
    )
    equality_lhs: list[str] = Field(
        default_factory=list,
        alias="equalityLHS",
        description="Attributes of port 0 that are compared with those of equalityRHS.",
    )
    equality_rhs: list[str] = Field(
        default_factory=list,
        alias="equalityRHS",
        description="Attributes of port 1 that are compared with those of equalityLHS.",
    )
    match: str | None = Field(default=None, description="A further condition that a pair must meet.")
    algorithm: Literal["inner", "leftOuter", "rightOuter", "outer"] = Field(
        default="inner",
        description="outer: a tuple that never matched is submitted with nulls when it leaves its window.",
    )
    output: dict[str, str] = Field(
        default_factory=dict, description="Maps an attribute to an expression. Other attributes keep their values."
    )
    time_attribute: str | None = Field(
        default=None,
        alias="timeAttribute",
        description="Timestamp attribute of both streams by which time(...) windows are ordered.",
    )

    @model_validator(mode="after")
    def _go_together(self) -> JoinParameters:
        if len(self.equality_lhs) != len(self.equality_rhs):
            message = "equalityLHS and equalityRHS have one attribute for another"
            raise ValueError(message)
        if self.window is not None and self.within is not None:
            message = "window and within exclude each other"
            raise ValueError(message)
        if self.within is not None:
            self._suit_event_time(self.within)
            return self
        if self.window is None:
            message = "the parameter window is missing; only within, for event time, stands in its place"
            raise ValueError(message)
        if "discard_age" in self.model_fields_set:
            message = "discardAge goes with within, which pairs tuples by event time"
            raise ValueError(message)
        clauses = [self.window] * 2 if isinstance(self.window, str) else self.window
        windows = [parse_window(clause, least=0) for clause in clauses]
        if len(windows) != 2:
            message = "a window for each of the two streams is wanted"
            raise ValueError(message)
        triggered = any(clause.count("(") > 1 for clause in clauses)
        if triggered or any(window.tumbling or window.partitioned for window in windows):
            message = "Join needs sliding windows without a trigger and not partitioned, as in 'sliding, count(100)'"
            raise ValueError(message)
        return self

    def _suit_event_time(self, within: list[float]) -> None:
        if within[0] > within[1]:
            message = f"within: {within[0]:g} is above {within[1]:g}; the least difference comes first"
            raise ValueError(message)
        if self.time_attribute is not None:
            message = "timeAttribute does not go with within, whose attribute the annotation eventTime names"
            raise ValueError(message)

    def eviction(self, side: int) -> Policy:
        """Return the policy that evicts tuples from the window of a stream.

        Raises:
            ValueError: there are no windows, since tuples meet by event time.
        """
        if self.window is None:
            message = "there is no window; tuples meet within a distance of event time"
            raise ValueError(message)
        return parse_window(self.window if isinstance(self.window, str) else self.window[side], least=0).eviction


class Join(Operator):
    """Adds each tuple to its window and pairs it with the tuples in the other window, in their order.

    In `match` and `output`, an attribute of one stream has its own name; an attribute of both is `lhs_name` or
    `rhs_name`. A tuple of an outer side that leaves its window unmatched is submitted with nulls for the other side. At
    the end of the streams all such tuples leave. Null equals nothing. Only the order in which the tuples of the two
    streams arrive decides which of them meet.
    """

    Parameters = JoinParameters
    unsupported = REFUSED["Join"]
    stateful = True
    free_parameters = frozenset(("match", "output", "algorithm", "window", "within", "discard_age", "on_error"))

    @classmethod
    def keeps_state(cls, before: JoinParameters, after: JoinParameters) -> bool:
        """Return True if only window sizes and distances of time change, or outer sides become inner.

        A side that becomes outer would lack the flags of matched tuples.
        """
        outer = {"inner": set[int](), "leftOuter": {0}, "rightOuter": {1}, "outer": {0, 1}}
        if not outer[after.algorithm] <= outer[before.algorithm]:
            return False
        if before.within is not None or after.within is not None:
            return before.window is None and after.window is None and super().keeps_state(before, after)
        policies = [[replace(each.eviction(side), size=0) for side in (0, 1)] for each in (before, after)]
        return policies[0] == policies[1] and super().keeps_state(before, after)

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: JoinParameters) -> Sharding:
        """Return how the state is divided: by any attributes, unless windows count the tuples of a channel."""
        if parameters.window is not None and any(parameters.eviction(side).kind == "count" for side in (0, 1)):
            return Sharding(refusal="is windows that count the tuples of one channel; delta and time go by values")
        return Sharding(keys=tuple(tuple(schema.names) for schema in context.inputs))

    @classmethod
    def check(cls, context: OperatorContext, parameters: JoinParameters) -> None:
        """Raise ValueError if a window, an attribute or an expression does not fit."""
        cls._compile(context, parameters)

    @staticmethod
    def _check_equality(context: OperatorContext, parameters: JoinParameters) -> None:
        keys = (parameters.equality_lhs, parameters.equality_rhs)
        for side, names, schema in zip(SIDES, keys, context.inputs, strict=True):
            for name in names:
                if name not in schema.names:
                    message = f"equality{side}: the stream has no attribute {name}{nearest(name, schema.names)}"
                    raise UnknownAttributeError(message)
        for left, right in zip(*keys, strict=True):
            kinds = context.inputs[0].field(left).type, context.inputs[1].field(right).type
            if kinds[0] != kinds[1] or pa.types.is_nested(kinds[0]):
                one, other = map(type_name, kinds)
                message = f"equalityLHS: {left} is {one}, {right} of the other stream is {other}"
                raise ValueError(message)

    @classmethod
    def _compile(cls, context: OperatorContext, parameters: JoinParameters) -> tuple[list[Policy], Any, Assignments]:
        with reported():
            cls._check_equality(context, parameters)
        target, joined = context.output_schema(), _joined_schema(context)
        check_failure_port(context, parameters, joined)
        text, zone = parameters.match, context.zone
        match = None if text is None else parse_condition(text, joined, "match", zone)
        assignments = Assignments(parameters.output, joined, target, zone, context.required_at())
        sides = enumerate(context.inputs if parameters.within is None else ())
        policies = [parameters.eviction(side).resolved(schema, parameters.time_attribute) for side, schema in sides]
        return policies, match, assignments

    def setup(self) -> None:
        """Parse windows and expressions."""
        policies, self.match, self.assignments = self._compile(self.context, self.parameters)
        self.joined = _joined_schema(self.context)
        self.matched = Sieve(self, [] if self.match is None else [self.match])
        self.computed = Sieve(self, self.assignments.expressions)
        keys = (self.parameters.equality_lhs, self.parameters.equality_rhs)
        algorithm = self.parameters.algorithm
        outer = (algorithm in ("leftOuter", "outer"), algorithm in ("rightOuter", "outer"))
        self.timed: TimedJoin | None = None
        """The tuples of both streams with `within`; windows are not used then."""
        if self.parameters.within is not None:
            age = self.parameters.discard_age
            self.timed = TimedJoin(self, self.parameters.within, age, keys, outer, self._met, self._send)
            self.places_watermarks = True
            self.sides: Sequence[JoinSide | TimedSide] = self.timed.sides
            return
        self.windows = [
            JoinSide(schema, policy, key, outer=kept)
            for schema, policy, key, kept in zip(self.context.inputs, policies, keys, outer, strict=True)
        ]
        self.sides = self.windows

    def reset_to_initial_state(self) -> None:
        """Empty both windows."""
        if self.timed is not None:
            self.timed.clear()
            return
        for side in self.windows:
            side.clear()

    def process(self, port: int, batch: TupleBatch) -> None:
        """Pair the tuples with the other window, and submit the pairs."""
        if self.timed is not None:
            self.timed.process(port, batch)
            return
        size = len(batch)
        if not self.parameters.equality_lhs:
            size = max(1, PAIRS_AT_ONCE // max(len(self.windows[1 - port].log), 1))
        for start in range(0, len(batch), size):
            self._arrive(port, batch.arrow.slice(start, size))

    def _arrive(self, port: int, batch: pa.RecordBatch) -> None:
        own, other = self.windows[port], self.windows[1 - port]
        here, there = other.partners([batch.column(name) for name in own.keys], batch.num_rows)
        met = self._met(port, batch, here, there)
        if met is None:
            half = batch.num_rows // 2
            self._arrive(port, batch.slice(0, half))
            self._arrive(port, batch.slice(half))
            return
        here, there = here[met], there[met]
        other.meet(there)
        came = own.insert(batch)
        own.meet(came[here])
        left_at, left = own.evict(came)
        # a tuple that is evicted is submitted before the pairs of the tuple that evicts it
        order = np.lexsort((np.r_[np.zeros(len(left)), np.ones(len(here))], np.r_[left_at, here]))
        mine = np.r_[left, came[here]][order]
        theirs = np.r_[np.full(len(left), -1), there][order]
        self._send(*((mine, theirs) if port == 0 else (theirs, mine)))

    def _met(self, port: int, batch: pa.RecordBatch, here: np.ndarray, there: np.ndarray) -> np.ndarray | None:
        """Return which candidate pairs meet `match`, and set aside those for which it has no value.

        Returns None if one has no value and the batch has several tuples. They must then be handled in parts, so that
        all that fails for a tuple leaves before what fails for the next.
        """
        met = np.ones(len(here), bool)
        if self.match is None:
            return met
        mine, yours = batch.take(pa.array(here)), self.sides[1 - port].log.take(there)
        pairs = TupleBatch(self._join(*((mine, yours) if port == 0 else (yours, mine))))
        compared, failures = self.matched.sift(pairs)
        if failures and batch.num_rows > 1:
            return None
        self.matched.set_aside(pairs.arrow, failures)
        met[list(failures)] = False
        truth = pc.fill_null(compared.value(self.match), fill_value=False)
        met[met] = truth.to_numpy(zero_copy_only=False)
        return met

    def _join(self, left: pa.RecordBatch, right: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([*left.columns, *right.columns], schema=self.joined)

    def _send(self, left: np.ndarray, right: np.ndarray, watermarks: Watermarks | None = None) -> None:
        """Submit pairs of places in the two logs, -1 for none, with the watermarks among them."""
        if not len(left) and watermarks is None:
            return
        tuples = [_taken(side.log, places) for side, places in zip(self.sides, (left, right), strict=True)]
        pairs = self.computed(TupleBatch(self._join(*tuples), watermarks=watermarks))
        self.submit(self.assignments.of(pairs))

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Submit unmatched tuples of outer sides once both streams have ended."""
        if mark is not Punctuation.FINAL or self.timed is not None:  # the greatest watermark comes in front of the mark
            return
        self.windows[port].ended = True
        if all(side.ended for side in self.windows):
            for number, side in enumerate(self.windows):
                alone = side.alone()
                nothing = np.full(len(alone), -1)
                self._send(*((alone, nothing) if number == 0 else (nothing, alone)))
            self.reset_to_initial_state()

    def checkpoint(self) -> State:
        """Return both windows."""
        if self.timed is not None:
            return self.timed.checkpoint()
        return {
            name: value for number, side in enumerate(self.windows) for name, value in side.dump(str(number)).items()
        }

    def rescale(self, states: Sequence[State], route: Route) -> Sequence[State]:
        """Reassign the tuples of both windows to channels by the new splitter, in window order."""
        states = [state for state in states if state]
        if self.timed is not None:
            return self.timed.rescale(states, route)
        sides = [side.divided(states, str(number), route, number) for number, side in enumerate(self.windows)]
        return [left | right for left, right in zip(*sides, strict=True)] if states else [{}] * route.width

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return the tuples in both windows."""
        if self.timed is not None:
            return self.timed.keys_of(state)
        logs = [state[f"{number}.tuples"] for number in range(len(self.sides))] if state else []
        return [PortKeys(port, log.take(log.places())) for port, log in enumerate(logs)]

    def restore(self, state: State) -> None:
        """Restore both windows."""
        if self.timed is not None:
            self.timed.restore(state)
            return
        for number, side in enumerate(self.windows):
            side.load(state, str(number))


def _joined_schema(context: OperatorContext) -> pa.Schema:
    left, right = context.inputs
    shared = set(left.names) & set(right.names)
    return pa.schema(
        [
            field.with_name(f"{side.lower()}_{field.name}") if field.name in shared else field
            for side, schema in zip(SIDES, (left, right), strict=True)
            for field in schema
        ]
    )


def _taken(log: TupleLog, places: np.ndarray) -> pa.RecordBatch:
    """Return the tuples at places of a log, with nulls for -1."""
    there = places >= 0
    tuples = log.take(places[there])
    return tuples if there.all() else tuples.take(pa.array(np.cumsum(there) - 1, mask=~there))
