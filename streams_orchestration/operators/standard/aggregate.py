"""Aggregate: summarises groups of tuples over tumbling windows that punctuation closes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import Field, field_validator

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.arrow_types import fits
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, Parameters, Punctuation
from streams_orchestration.operators.errors import UnknownAttributeError
from streams_orchestration.operators.keys import Key, factorize, key_columns, key_values
from streams_orchestration.operators.standard.measure import Measure, parse_measure
from streams_orchestration.operators.state import State

_WINDOW = re.compile(r"^\s*tumbling\s*,\s*punct\s*\(\s*\)\s*$")


class AggregateParameters(Parameters):
    """Parameters of `Aggregate`."""

    window: str = Field(description="the window clause: tumbling, punct()")
    group_by: list[str] = Field(default_factory=list, alias="groupBy", description="attributes that make a group")
    output: dict[str, str] = Field(
        default_factory=dict,
        description="attribute -> Count(), Sum(e), Average(e), Min(e) or Max(e); others come from groupBy",
    )

    @field_validator("window")
    @classmethod
    def _is_supported(cls, text: str) -> str:
        if not _WINDOW.match(text):
            message = "only windows of the form 'tumbling, punct()' can run yet"
            raise ValueError(message)
        return text


class Aggregate(Operator):
    """Groups in order of first appearance; every window marker, and the final one, emits and forgets all groups."""

    Parameters = AggregateParameters
    unsupported = frozenset(("aggregateEvictedPartitions", "aggregateIncompleteWindows", "partitionBy"))
    stateful = True

    @classmethod
    def check(cls, context: OperatorContext, parameters: AggregateParameters) -> None:
        """Raises ValueError when a group attribute, an output attribute or a function does not fit."""
        cls._compile(context, parameters)

    @staticmethod
    def _compile(context: OperatorContext, parameters: AggregateParameters) -> dict[str, Measure]:
        source, target = context.inputs[0], context.outputs[0]
        if target is None:
            message = "the output stream needs a schema: outputs: [{stream: Name, schema: Type}]"
            raise ValueError(message)
        for name in parameters.group_by:
            if name not in source.names:
                message = f"groupBy: the input stream has no attribute {name}{nearest(name, source.names)}"
                raise UnknownAttributeError(message)
            if pa.types.is_nested(source.field(name).type):
                message = f"groupBy: {name} is {source.field(name).type}, which cannot make groups"
                raise ValueError(message)
        for name in parameters.output:
            if name not in target.names:
                message = f"output: the output stream has no attribute {name}{nearest(name, target.names)}"
                raise UnknownAttributeError(message)
        for name in target.names:
            if name not in parameters.output and name not in parameters.group_by:
                message = f"output: nothing says what {name} is; give it a function, or put it into groupBy"
                raise ValueError(message)
        measures = {name: parse_measure(text, source, f"output.{name}") for name, text in parameters.output.items()}
        for field in target:
            measure = measures.get(field.name)
            kind = source.field(field.name).type if measure is None else measure.result_type
            if not fits(kind, field.type):
                message = f"output.{field.name}: the value is {kind}, the output stream's attribute is {field.type}"
                raise ValueError(message)
        return measures

    def setup(self) -> None:
        """Parse the functions."""
        self.measures = self._compile(self.context, self.parameters)
        output = self.context.outputs[0]
        assert output is not None
        self.schema = output
        self.keys = pa.schema([self.context.inputs[0].field(name) for name in self.parameters.group_by])
        self.reset_to_initial_state()

    def reset_to_initial_state(self) -> None:
        """No groups."""
        self.groups: dict[Key, int] = {}
        for measure in self.measures.values():
            measure.clear()

    def process(self, port: int, batch: TupleBatch) -> None:
        """Add the tuples to their groups."""
        source = batch.arrow
        numbers = self._number(source)
        for measure in self.measures.values():
            measure.grow(len(self.groups))
            measure.add(numbers, source)

    def _number(self, source: pa.RecordBatch) -> np.ndarray:
        """The group number of every tuple; new groups get the next numbers in order of appearance."""
        keys, codes = factorize([source.column(name) for name in self.keys.names], source.num_rows)
        return np.array([self.groups.setdefault(key, len(self.groups)) for key in keys], np.int64)[codes]

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Close the window: emit its groups, in key order of first appearance."""
        if self.groups:
            columns: dict[str, Any] = dict(zip(self.keys.names, key_columns(self.groups, self.keys.types), strict=True))
            columns |= {name: measure.result() for name, measure in self.measures.items()}
            self.submit(TupleBatch.from_columns(columns, self.schema))
        self.reset_to_initial_state()
        if mark is Punctuation.WINDOW:
            self.punctuate(mark)

    def checkpoint(self) -> State:
        """The groups' keys, counts and running values."""
        state: dict[str, Any] = {
            "groups": pa.table(key_columns(self.groups, self.keys.types), schema=self.keys),
            "number": len(self.groups),
        }
        for name, measure in self.measures.items():
            state[f"measure.{name}"] = pa.table({"count": measure.counts, "value": measure.values})
        return state

    def restore(self, state: State) -> None:
        """Take the groups back."""
        columns = [key_values(state["groups"].column(name)) for name in self.keys.names]
        keys = list(zip(*columns, strict=True)) if columns else [()] * state["number"]
        self.groups = {key: i for i, key in enumerate(keys)}
        for name, measure in self.measures.items():
            table = state[f"measure.{name}"]
            measure.counts = table.column("count").to_numpy().copy()
            measure.values = table.column("value").to_numpy().copy()
