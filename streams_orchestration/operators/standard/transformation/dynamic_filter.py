"""DynamicFilter: passes tuples whose key another stream has added."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.operators.errors.faults import report
from streams_orchestration.operators.expressions.evaluation import parse_expression, unequal_to_all
from streams_orchestration.operators.expressions.spl.text import ExpressionText
from streams_orchestration.operators.inputs.failed_tuples import (
    ExpressionParameters,
    FailureFilter,
    check_failure_port,
    own_outputs,
)
from streams_orchestration.operators.keys.comparison import distinct, key_batch, key_schema
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch

Expressions = ExpressionText | list[ExpressionText]
_PARAMETERS = ("key", "addKey", "removeKey")
"""The key parameters of input ports 0, 1 and 2."""


class DynamicFilterParameters(ExpressionParameters):
    """The parameters of `DynamicFilter`."""

    key: Expressions = Field(
        examples=["0"], description="List of expressions over input port 0 that form the key of a tuple."
    )
    add_key: Expressions = Field(
        alias="addKey",
        examples=["0"],
        description="List of expressions over port 1. Their key lets tuples pass from then on.",
    )
    remove_key: Expressions | None = Field(
        default=None,
        alias="removeKey",
        description="List of expressions over port 2. Their key stops tuples from then on.",
    )

    def of_ports(self) -> list[list[str]]:
        """Return the key expressions of each port."""
        texts = [self.key, self.add_key, *([] if self.remove_key is None else [self.remove_key])]
        return [[text] if isinstance(text, str) else text for text in texts]


class DynamicFilter(Operator):
    """Passes a tuple to port 0 if its key was added and not removed since, otherwise to port 1 if connected.

    The order of arrival decides, so in a consistent region a replay may see keys and tuples in another order.
    """

    keeps_places = True
    Parameters = DynamicFilterParameters
    stateful = True
    indivisible = "is keys that were added in one channel"
    free_parameters = frozenset(("on_error",))

    @classmethod
    def check(cls, context: OperatorContext, parameters: DynamicFilterParameters) -> None:
        """Raise ValueError if an expression does not fit its stream, or the keys or the ports do not fit each other."""
        cls._compile(context, parameters)

    @staticmethod
    def _compile(context: OperatorContext, parameters: DynamicFilterParameters) -> list[list[Any]]:
        check_failure_port(context, parameters, *context.inputs)
        texts = parameters.of_ports()
        if len(texts) != len(context.inputs):
            wanted = "the parameter needs" if len(texts) > len(context.inputs) else "the parameter is missing for"
            message = f"removeKey: {wanted} a third input port"
            raise ValueError(message)
        keys: list[list[Any]] = []
        types: list[list[pa.DataType]] = []
        for name, each, schema in zip(_PARAMETERS, texts, context.inputs, strict=False):
            keys.append([parse_expression(text, schema, name, context.zone).keyed() for text in each])
            types.append([key.arrow_type for key in keys[-1]])
            sound = not any(key.faulty for key in (*keys[0], *keys[-1]))
            if sound and types[-1] != types[0]:
                message = f"{name}: {_listed(types[-1])} cannot be compared with key, which is {_listed(types[0])}"
                report(ValueError(message))
        return keys

    def setup(self) -> None:
        """Compile the expressions; begin without keys, so that no tuple passes."""
        self.keys = self._compile(self.context, self.parameters)
        self.failure_filters = [FailureFilter(self, keys) for keys in self.keys]
        self.divides = len(own_outputs(self.context, self.parameters)) > 1
        self.passing = KeyedState(key_schema([key.arrow_type for key in self.keys[0]]))

    def process(self, port: int, batch: TupleBatch) -> None:
        """Filter tuples (port 0), add keys (port 1) or remove keys (port 2); set failed tuples aside."""
        if not len(batch):
            return
        tuples, failures = self.failure_filters[port].split(batch)
        columns = [tuples.value(key) for key in self.keys[port]]
        heads, codes = distinct(columns, len(tuples))
        keys = key_batch(columns, heads)
        unequal = unequal_to_all(self.keys[port], columns)
        if port == 1:
            self.passing.add_many(keys if unequal is None else keys.filter(pa.array(~unequal[heads])))
        elif port == 2:
            self.passing.delete_many(keys.filter(pa.array(self.passing.has_many(keys))))
        else:
            passes = self.passing.has_many(keys)[codes]
            passes = passes if unequal is None else passes & ~unequal
            masks = [passes, ~passes] if self.divides else [passes]
            self.failure_filters[port].distribute(batch, masks, (tuples, failures))
            return
        self.failure_filters[port].set_aside(batch.arrow, failures, batch.watermarks)

    def checkpoint(self) -> State:
        """Return the keys that the filter lets pass."""
        return {"passing": self.passing}

    def restore(self, state: State) -> None:
        """Restore the keys that the filter lets pass."""
        self.passing = state["passing"]


def _listed(types: list[pa.DataType]) -> str:
    return ", ".join(map(type_name, types))
