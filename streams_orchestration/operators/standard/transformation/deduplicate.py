"""DeDuplicate: drops tuples whose key was seen before."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from streams_orchestration.expressions.tokens import name_token
from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Punctuation
from streams_orchestration.operators.errors.errors import check_attributes
from streams_orchestration.operators.expressions.assignments import Assignments
from streams_orchestration.operators.expressions.evaluation import parse_expression, unequal_to_all
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.inputs.event_time import check_late_port
from streams_orchestration.operators.inputs.failed_tuples import FailureFilter, check_failure_port, own_outputs
from streams_orchestration.operators.inputs.key_columns import has_expressions, plain_attribute
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.transformation.deduplicate_parameters import DeDuplicateParameters
from streams_orchestration.operators.standard.transformation.deduplicate_within import KeysWithin
from streams_orchestration.operators.standard.transformation.remembered_keys import RememberedKeys
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.rescaling import PortKeys, Route, Sharding, names_in, renamed
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch

LATE_PORT = 2
"""The output port for tuples too late to tell if they are duplicates. Failed tuples go to the last port."""


class DeDuplicate(Operator):
    """Passes a tuple to output port 0 if its key is not remembered, otherwise to port 1 if that is connected.

    With `count`, a key is forgotten after that many further tuples. With `delta`, it is forgotten once the largest
    `deltaAttribute` so far is more than `delta` beyond its own. So a replay drops the same tuples. Only with `timeOut`,
    keys are forgotten by the clock, at the times of batches.

    With `within`, a tuple is a duplicate if a tuple with its key has passed whose event time is at most `within`
    earlier or later. A passed tuple is forgotten when the watermark excludes further duplicates. A tuple behind the
    watermark by more than `discardAge` comes too late for this decision, and goes to output port 2 if that is
    connected.
    """

    Parameters = DeDuplicateParameters
    naming_parameters = NamingParameters(inputs=("delta_attribute",), expressions=("output", "key"))
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
        """Return True if only free parameters differ, and keys keep the kind of value: position, value, time, none."""
        alike = (before.count is None) == (after.count is None) and (before.delta is None) == (after.delta is None)
        alike = alike and (before.time_out is None) == (after.time_out is None)
        return alike and super().keeps_state(before, after)

    @classmethod
    def state_attributes(cls, parameters: DeDuplicateParameters) -> Collection[str] | None:
        """Return the attributes of the key and of the delta; None for a key of all attributes, and for SPL.

        Raises:
            ExpressionError: a key is not an expression.
        """
        if has_expressions(parameters.keys):
            return None
        attribute = [] if parameters.delta_attribute is None else [name_token(parameters.delta_attribute)]
        return names_in(*parameters.keys, *attribute) if parameters.keys else None

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: DeDuplicateParameters) -> Sharding:
        """Return the parts of the key, by which the state is divided; a refusal with `count`.

        Raises:
            ExpressionError: a key is not an expression.
        """
        if parameters.count is not None:
            return Sharding(
                refusal="is positions in one channel, because count depends on them; delta depends on values"
            )
        return Sharding(keys=(tuple(cls._attributes(context, parameters)),))

    @staticmethod
    def _attributes(context: OperatorContext, parameters: DeDuplicateParameters) -> list[str]:
        """Return the parts of the key, all attributes by default. Attributes are spelled as in the stream."""
        texts = parameters.keys
        if not texts:
            return context.inputs[0].names
        known = {name.lower(): name for name in context.inputs[0].names}
        written = [plain_attribute(text, context.inputs[0].names) for text in texts]
        names = [text if name is None else name for text, name in zip(texts, written, strict=True)]
        return [name if name in context.inputs[0].names else known.get(name.lower(), name) for name in names]

    @classmethod
    def check(cls, context: OperatorContext, parameters: DeDuplicateParameters) -> None:
        """Raise ValueError if a key, `deltaAttribute`, an output or a port for failed or late tuples does not fit."""
        cls._compile(context, parameters)
        cls._outputs(context, parameters)

    @staticmethod
    def _outputs(context: OperatorContext, parameters: DeDuplicateParameters) -> Assignments | None:
        """Return the assignments of output port 0; None if it passes the input's tuples on. See `Assignments`."""
        source = context.inputs[0]
        if not parameters.output:
            return None
        return Assignments(parameters.output, source, context.outputs[0] or source, context.zone, context.required_at())

    @staticmethod
    def _compile(context: OperatorContext, parameters: DeDuplicateParameters) -> tuple[list[Any], list[pa.DataType]]:
        source = context.inputs[0]
        check_failure_port(context, parameters, source)
        unless = None if parameters.within is not None else "only `within` finds late tuples"
        check_late_port(context, LATE_PORT, len(own_outputs(context, parameters)), unless)
        texts = parameters.keys
        zone = context.zone
        keys = [parse_expression(text, source, "key", zone).keyed() for text in texts or map(name_token, source.names)]
        types = [key.arrow_type for key in keys]
        attribute = parameters.delta_attribute
        if attribute is not None:
            check_attributes("deltaAttribute", [attribute], source.names, "the stream")
            kind = source.field(attribute).type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_timestamp(kind)):
                message = f"deltaAttribute: {attribute} is {type_name(kind)}, but a number or a timestamp is expected"
                raise ValueError(message)
        return keys, types

    def setup(self) -> None:
        """Compile the key and the assignments, and begin without remembered keys."""
        parameters = self.parameters
        self.keys, self.types = self._compile(self.context, parameters)
        self.assignments = self._outputs(self.context, parameters)
        self.failure_filter = FailureFilter(
            self, [*self.keys, *([] if self.assignments is None else self.assignments.expressions)]
        )
        self.ports = len(own_outputs(self.context, parameters))
        self.remembered: RememberedKeys | KeysWithin = (
            RememberedKeys(self.context, parameters, self.types)
            if parameters.within is None
            else KeysWithin(self, parameters.within, parameters.discard_age, self.types)
        )

    def process(self, port: int, batch: TupleBatch) -> None:
        """Remember the keys of the tuples; submit new, duplicate and late tuples to their ports; set failed ones aside.

        Tuples of a port that is not connected are dropped.
        """
        tuples, failures = self.failure_filter.split(batch)
        columns = [tuples.value(key) for key in self.keys]
        keys = {str(i): column for i, column in enumerate(columns)}
        unequal = unequal_to_all(self.keys, columns)
        masks = self.remembered.judge(tuples.batch, keys, self.failure_filter.unfit(tuples.arrow, 0), unequal)
        self.failure_filter.distribute(batch, masks[: self.ports], (tuples, failures), self.assignments)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Forget all keys at a window marker, under `flushOnPunctuation`."""
        if mark is Punctuation.WINDOW and self.parameters.flush_on_punctuation:
            self.remembered.forget()

    def checkpoint(self) -> State:
        """Return the remembered keys, each with the position, value or time from which it is remembered.

        The present position, the largest value, or with `within` the watermark is a part, too.
        """
        return self.remembered.dump()

    def rescale(self, states: Sequence[State], route: Route) -> Sequence[State]:
        """Divide the remembered keys by the channels of their tuples."""
        states = [state for state in states if state]
        if not states:
            return [{}] * route.width
        return self.remembered.divide(states, lambda part: route.channels(self._keys(part)), route.width)

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return the remembered keys; none if the state is empty."""
        return [PortKeys(0, self._keys(state[self.remembered.state_key]))] if state else []

    def _keys(self, remembered: KeyedState) -> pa.RecordBatch:
        keys = remembered.keys_table()
        return renamed(
            keys.select(keys.column_names[: len(self.types)]), self._attributes(self.context, self.parameters)
        )

    def restore(self, state: State) -> None:
        """Restore the remembered keys."""
        self.remembered.load(state)
