"""DeDuplicate: drops tuples whose key was seen before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.arrow_types import compute as pc
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, Parameters, Punctuation
from streams_orchestration.operators.errors import DataError, UnknownAttributeError
from streams_orchestration.operators.expressions import evaluate, expression_type, parse_expression
from streams_orchestration.operators.keys import Key, factorize, key_columns, key_values
from streams_orchestration.operators.standard.refused import REFUSED
from streams_orchestration.operators.state import State


class DeDuplicateParameters(Parameters):
    """Parameters of `DeDuplicate`; without `count` and `delta` a key is remembered for good."""

    key: str | list[str] = Field(default_factory=list, description="expressions that make the key; else all attributes")
    count: int | None = Field(default=None, gt=0, description="a key is remembered for so many further tuples")
    delta: float | None = Field(default=None, ge=0, description="a key is remembered until deltaAttribute has grown by")
    delta_attribute: str | None = Field(
        default=None, alias="deltaAttribute", description="a number, or a time, which delta gives in seconds"
    )
    reset_on_duplicate: bool = Field(
        default=True, alias="resetOnDuplicate", description="a duplicate, too, lets its key be remembered anew"
    )
    flush_on_punctuation: bool = Field(
        default=False, alias="flushOnPunctuation", description="a window marker forgets all keys"
    )

    @model_validator(mode="after")
    def _go_together(self) -> DeDuplicateParameters:
        if self.count is not None and self.delta is not None:
            message = "count and delta exclude each other"
            raise ValueError(message)
        if (self.delta is None) != (self.delta_attribute is None):
            message = "delta and deltaAttribute go together"
            raise ValueError(message)
        return self


class DeDuplicate(Operator):
    """Output port 0 gets the tuples whose key is not remembered; port 1, where connected, the others.

    Time is what `deltaAttribute` says, never the clock, so that a replay drops the same tuples. It is the largest value
    so far that counts: a key is forgotten once any tuple is more than `delta` beyond it.
    """

    Parameters = DeDuplicateParameters
    unsupported = REFUSED["DeDuplicate"]
    stateful = True

    @classmethod
    def check(cls, context: OperatorContext, parameters: DeDuplicateParameters) -> None:
        """Raises ValueError when a key or the attribute does not fit."""
        cls._compile(context, parameters)

    @staticmethod
    def _compile(context: OperatorContext, parameters: DeDuplicateParameters) -> tuple[list[Any], list[pa.DataType]]:
        source = context.inputs[0]
        texts = [parameters.key] if isinstance(parameters.key, str) else parameters.key
        keys = [parse_expression(text, source, "key") for text in texts or (f'"{name}"' for name in source.names)]
        types = [expression_type(key, source) for key in keys]
        for text, kind in zip(texts or source.names, types, strict=True):
            if pa.types.is_nested(kind):
                message = f"key: {text} is {kind}, which cannot be compared"
                raise ValueError(message)
        attribute = parameters.delta_attribute
        if attribute is not None:
            if attribute not in source.names:
                message = f"deltaAttribute: the stream has no attribute {attribute}{nearest(attribute, source.names)}"
                raise UnknownAttributeError(message)
            kind = source.field(attribute).type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_timestamp(kind)):
                message = f"deltaAttribute: {attribute} is {kind}, a number or a timestamp is wanted"
                raise ValueError(message)
        return keys, types

    def setup(self) -> None:
        """Parse the keys."""
        self.keys, self.types = self._compile(self.context, self.parameters)
        limit, scale = self.parameters.count, 1
        if self.parameters.delta_attribute is not None:
            kind = self.context.inputs[0].field(self.parameters.delta_attribute).type
            scale = 1_000_000 if pa.types.is_timestamp(kind) else 1
            limit = self.parameters.delta * scale
        self.limit: float | None = limit
        self.reset_to_initial_state()

    def reset_to_initial_state(self) -> None:
        """No key is remembered."""
        self.seen: dict[Key, float] = {}
        self.position = 0
        self.largest: float | None = None

    def process(self, port: int, batch: TupleBatch) -> None:
        """Tell the new from the old."""
        keys, codes = factorize([evaluate(key, batch.arrow) for key in self.keys], len(batch))
        marks = self._marks(batch)
        fresh = self._first_ones(keys, codes) if self.limit is None else self._judge(keys, codes, marks)
        self.position += len(batch)
        self.submit(batch.filter(fresh))
        if len(self.context.outputs) > 1:
            self.submit(batch.filter(~fresh), 1)

    def _marks(self, batch: TupleBatch) -> list[Any]:
        """What is compared with the limit: positions, or values of the attribute."""
        attribute = self.parameters.delta_attribute
        if attribute is None:
            return list(range(self.position, self.position + len(batch)))
        column = batch.arrow.column(attribute)
        values = (pc.cast(column, pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
        if any(value is None or value != value for value in values):
            message = f"deltaAttribute: {attribute} is null or NaN"
            raise DataError(message)
        return values

    def _first_ones(self, keys: list[Key], codes: np.ndarray) -> np.ndarray:
        """Nothing is ever forgotten: a tuple is new if it is the first of a new key."""
        new = np.array([key not in self.seen for key in keys], bool)
        self.seen |= dict.fromkeys(keys, 0)
        first = np.zeros(len(codes), bool)
        first[np.unique(codes, return_index=True)[1]] = True
        return first & new[codes]

    def _judge(self, keys: list[Key], codes: np.ndarray, marks: list[Any]) -> np.ndarray:
        assert self.limit is not None
        fresh = np.zeros(len(codes), bool)
        for i, (code, mark) in enumerate(zip(codes.tolist(), marks, strict=True)):
            largest = self.largest = mark if self.largest is None else max(self.largest, mark)
            key = keys[code]
            remembered = self.seen.get(key)
            fresh[i] = remembered is None or largest - remembered > self.limit
            if fresh[i] or self.parameters.reset_on_duplicate:
                self.seen[key] = mark
        if self.largest is not None:
            self.seen = {key: mark for key, mark in self.seen.items() if self.largest - mark <= self.limit}
        return fresh

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Forget, if asked to."""
        if mark is Punctuation.WINDOW and self.parameters.flush_on_punctuation:
            self.seen.clear()

    def checkpoint(self) -> State:
        """The keys and since when they are remembered."""
        columns = [*key_columns(self.seen, self.types), pa.array(list(self.seen.values()))]
        names = [str(i) for i in range(len(columns))]
        return {"seen": pa.table(columns, names=names), "position": self.position, "largest": self.largest}

    def restore(self, state: State) -> None:
        """Remember again."""
        *keys, marks = state["seen"].columns
        self.seen = dict(zip(zip(*map(key_values, keys), strict=True), marks.to_pylist(), strict=True))
        self.position, self.largest = state["position"], state["largest"]
