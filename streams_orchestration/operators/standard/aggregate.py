"""Aggregate: summarises groups of tuples over tumbling windows that punctuation closes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, field_validator

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.expressions import evaluate, expression_type, parse_expression
from streams_orchestration.operators.operator import Operator, OperatorContext, Parameters, Punctuation
from streams_orchestration.operators.state import State

_CALL = re.compile(r"^\s*([A-Za-z]+)\s*\((.*)\)\s*$", re.DOTALL)
_WINDOW = re.compile(r"^\s*tumbling\s*,\s*punct\s*\(\s*\)\s*$")
FUNCTIONS = ("Count", "Sum", "Average", "Min", "Max")


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


class Measure:
    """One output function over all groups: running values that do not depend on how tuples came in batches.

    Sums are added tuple by tuple in order of arrival (`numpy.add.at`), so that a replay with other batch borders gives
    the same bits.
    """

    def __init__(self, function: str, expression: Any = None, *, whole: bool = False) -> None:
        self.function = function
        self.expression = expression
        self.type = np.dtype(np.int64 if whole else np.float64)
        least, most = (np.iinfo(np.int64).min, np.iinfo(np.int64).max) if whole else (-np.inf, np.inf)
        self.start = {"Min": most, "Max": least}.get(function, 0)
        self.clear()

    def clear(self) -> None:
        """No groups."""
        self.counts = np.zeros(0, np.int64)
        self.values = np.zeros(0, self.type)

    def grow(self, groups: int) -> None:
        """Make room for new groups."""
        extra = groups - len(self.counts)
        if extra > 0:
            self.counts = np.concatenate([self.counts, np.zeros(extra, np.int64)])
            self.values = np.concatenate([self.values, np.full(extra, self.start, self.type)])

    def add(self, groups: np.ndarray, batch: pa.RecordBatch) -> None:
        """Take in a batch whose tuple i belongs to group `groups[i]`; null values are left out."""
        if self.expression is None:
            np.add.at(self.counts, groups, 1)
            return
        array = pc.cast(evaluate(self.expression, batch), pa.from_numpy_dtype(self.type))
        if array.null_count:
            valid = pc.is_valid(array).to_numpy(zero_copy_only=False)
            groups, array = groups[valid], array.drop_null()
        values = array.to_numpy(zero_copy_only=False)
        np.add.at(self.counts, groups, 1)
        {"Min": np.minimum, "Max": np.maximum}.get(self.function, np.add).at(self.values, groups, values)

    def result(self) -> pa.Array:
        """The value of every group; null where a group had no value."""
        if self.function == "Count":
            return pa.array(self.counts)
        empty = self.counts == 0
        divided = self.values / np.maximum(self.counts, 1) if self.function == "Average" else self.values
        return pa.array(divided, mask=empty)


class Aggregate(Operator):
    """Groups in order of first appearance; every window marker, and the final one, emits and forgets all groups."""

    Parameters = AggregateParameters
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
                raise ValueError(message)
        for name in parameters.output:
            if name not in target.names:
                message = f"output: the output stream has no attribute {name}{nearest(name, target.names)}"
                raise ValueError(message)
        for name in target.names:
            if name not in parameters.output and name not in parameters.group_by:
                message = f"output: nothing says what {name} is; give it a function, or put it into groupBy"
                raise ValueError(message)
        return {name: _measure(text, source, f"output.{name}") for name, text in parameters.output.items()}

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
        self.groups: dict[tuple[Any, ...], int] = {}
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
        if not len(self.keys):
            self.groups.setdefault((), 0)
            return np.zeros(source.num_rows, np.int64)
        codes = np.zeros(source.num_rows, np.int64)
        for name in self.keys.names:
            encoded = pc.dictionary_encode(source.column(name), null_encoding="encode")
            codes = codes * (len(encoded.dictionary) + 1) + encoded.indices.to_numpy(zero_copy_only=False)
            codes = np.unique(codes, return_inverse=True)[1]
        first, inverse = np.unique(codes, return_index=True, return_inverse=True)[1:]
        order = np.argsort(first)
        heads = source.select(self.keys.names).take(pa.array(first[order]))
        numbers = np.zeros(len(first), np.int64)
        keys = zip(*(column.to_pylist() for column in heads.columns), strict=True)
        numbers[order] = [self.groups.setdefault(key, len(self.groups)) for key in keys]
        return numbers[inverse]

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Close the window: emit its groups, in key order of first appearance."""
        if self.groups:
            columns: dict[str, Any] = {
                name: pa.array([key[i] for key in self.groups], type=self.keys.field(name).type)
                for i, name in enumerate(self.keys.names)
            }
            columns |= {name: measure.result() for name, measure in self.measures.items()}
            self.submit(TupleBatch.from_columns(columns, self.schema))
        self.reset_to_initial_state()
        if mark is Punctuation.WINDOW:
            self.punctuate(mark)

    def checkpoint(self) -> State:
        """The groups' keys, counts and running values."""
        state: dict[str, Any] = {
            "groups": pa.table(
                [pa.array([key[i] for key in self.groups], type=field.type) for i, field in enumerate(self.keys)],
                schema=self.keys,
            ),
            "number": len(self.groups),
        }
        for name, measure in self.measures.items():
            state[f"measure.{name}"] = pa.table({"count": measure.counts, "value": measure.values})
        return state

    def restore(self, state: State) -> None:
        """Take the groups back."""
        columns = [state["groups"].column(name).to_pylist() for name in self.keys.names]
        keys = list(zip(*columns, strict=True)) if columns else [()] * state["number"]
        self.groups = {key: i for i, key in enumerate(keys)}
        for name, measure in self.measures.items():
            table = state[f"measure.{name}"]
            measure.counts = table.column("count").to_numpy().copy()
            measure.values = table.column("value").to_numpy().copy()


def _measure(text: str, schema: pa.Schema, parameter: str) -> Measure:
    call = _CALL.match(text)
    if not call or call.group(1) not in FUNCTIONS:
        name = call.group(1) if call else text
        message = f"{parameter}: {text!r} is no output function{nearest(name, FUNCTIONS)}"
        raise ValueError(message)
    function, argument = call.group(1), call.group(2).strip()
    if function == "Count":
        if argument:
            message = f"{parameter}: Count() takes no argument"
            raise ValueError(message)
        return Measure(function)
    expression = parse_expression(argument, schema, parameter)
    kind = expression_type(expression, schema)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        message = f"{parameter}: {function} needs a number or a condition, {argument!r} is {kind}"
        raise ValueError(message)
    return Measure(function, expression, whole=not pa.types.is_floating(kind))
