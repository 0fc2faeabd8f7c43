"""Keys that are expressions: columns beside the attributes of a stream, which windows and matching use as attributes.

In SPL a stream is grouped, partitioned and matched by expressions. Each such expression becomes a column whose name no
attribute can have, so that windows keep its values with their tuples.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from streams_orchestration.expressions.naming import attribute_of
from streams_orchestration.operators.contract.context import OperatorContext
from streams_orchestration.operators.contract.operator import Parameters
from streams_orchestration.operators.expressions.evaluation import (
    Expression,
    evaluate,
    parse_expression,
    unequal_to_all,
)
from streams_orchestration.operators.expressions.spl.text import SplText
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.windows.clause import ARRIVAL
from streams_orchestration.operators.windows.clock import nanoseconds

_MARK = "@"
_APART = "apart"
"""The name in a state of the number of tuples that were told apart, which are the tuples whose key equals no key."""
_CHANNELS = 1 << 20
"""A number above every channel."""
_Parameters = TypeVar("_Parameters", bound=Parameters)


def has_expressions(*lists: Sequence[str]) -> bool:
    """Return True if a list of keys has an expression of SPL among the names of attributes."""
    return any(isinstance(each, SplText) for names in lists for each in names)


def attributes_in(schema: pa.Schema) -> pa.Schema:
    """Return a schema without the columns of keys."""
    return pa.schema([field for field in schema if _MARK not in field.name])


def plain_attribute(text: str, names: Sequence[str]) -> str | None:
    """Return the attribute if a key is just that, and equal values have one hash in its column; None otherwise.

    A name in SQL is returned even if the stream has no such attribute. A faulty key in SQL raises ExpressionError.

    >>> plain_attribute("(k)", ["k"]), plain_attribute("k + 1", ["k"]), plain_attribute(SplText("In.k"), ["k"])
    ('k', None, 'k')

    Args:
        text: the key, in SQL or SPL.
        names: the attributes of the stream.
    """
    if not isinstance(text, SplText):
        return attribute_of(text)
    port, _, name = text.text.rpartition(".")
    if name not in names or port in names or not (not port or port.isidentifier()):
        return None
    from streams_orchestration.operators.expressions.spl.types import written_attribute_type
    from streams_orchestration.spl.types.types import DECIMALS, parts_of_type

    written = [written_attribute_type(each, name) for each in text.types.values()]
    parts = {part for each in written if each is not None for part in parts_of_type(each)}
    return None if DECIMALS.keys() & parts else name


class KeyColumns:
    """The key expressions of each input port of an operator."""

    def __init__(self, context: OperatorContext, *, by_clock: bool = False) -> None:
        """Start without key columns; `names` adds the columns of a port.

        Args:
            context: the context of the operator.
            by_clock: add the column `ARRIVAL`, the time of the batch in which a tuple came.
        """
        self._context = context
        self._arrival = pa.field(ARRIVAL, pa.timestamp("ns", "UTC")) if by_clock else None
        self._schemas = [attributes_in(each) for each in context.inputs]
        self._columns: list[dict[str, Expression]] = [{} for _ in context.inputs]
        self._apart: list[dict[str, list[str]]] = [{} for _ in context.inputs]
        """For each port, maps a column that tells tuples apart to the columns of their keys."""
        self.told_apart = 0
        """The number of tuples so far whose key equals no key. Each got a number of its own, so that no other tuple has
        its key; an operator keeps the count in its state.
        """

    def names(self, port: int, parameter: str, keys: Sequence[str]) -> list[str]:
        """Add a column for each key that is an expression, report its faults, and return all keys' column names.

        Args:
            port: the input port.
            parameter: the name of the parameter with the keys, for errors.
            keys: names of attributes, and expressions.

        Raises:
            FaultyExpressionError: an expression is faulty, and errors are not being gathered.
        """
        names: list[str] = []
        for number, each in enumerate(keys):
            if not isinstance(each, SplText):
                names.append(each)
                continue
            name = f"{_MARK}{parameter}.{number}"
            expression = parse_expression(each, self._schemas[port], parameter, self._context.zone)
            matches = parameter.startswith("equality")
            self._columns[port][name] = expression.matched() if matches else expression.keyed()
            names.append(name)
        return names

    def named(self, parameters: _Parameters, places: Mapping[str, int]) -> _Parameters:
        """Add columns for the expressions, and return the parameters with column names in their place.

        Args:
            parameters: the parameters of the operator.
            places: maps each field of the parameters that is a list of keys to its input port.

        Raises:
            FaultyExpressionError: an expression is faulty, and errors are not being gathered.
        """
        fields = type(parameters).model_fields
        written = {name: getattr(parameters, name) for name in places}
        changed = {
            name: self.names(places[name], fields[name].alias or name, keys)
            for name, keys in written.items()
            if has_expressions(keys)
        }
        return parameters.model_copy(update=changed) if changed else parameters

    def tell_apart(self, port: int, parameter: str) -> list[str]:
        """Add a column that differs for tuples whose key equals no key; return its name, or nothing if keys equal.

        Args:
            port: the input port.
            parameter: the parameter with the keys, whose columns `names` has added.
        """
        keys = [name for name in self._columns[port] if name.startswith(f"{_MARK}{parameter}.")]
        if all(self._columns[port][name].equals_itself for name in keys):
            return []
        name = f"{_MARK}{parameter}"
        self._apart[port][name] = keys
        return [name]

    def unequal(self, port: int, tuples: pa.RecordBatch, keys: Sequence[str] | None = None) -> np.ndarray | None:
        """Return a mask of the tuples with a key that equals no key, such as NaN in SPL; None for none.

        Args:
            port: the input port.
            tuples: its tuples, with the columns of keys.
            keys: the columns of the key; None for all of the port.
        """
        names = self._columns[port] if keys is None else keys
        return unequal_to_all([self._columns[port][name] for name in names], [tuples.column(name) for name in names])

    @property
    def inputs(self) -> tuple[pa.Schema, ...]:
        """The schemas of the input ports with the columns of the keys."""
        return tuple(
            pa.schema(
                [
                    *schema,
                    *(pa.field(name, each.arrow_type) for name, each in columns.items()),
                    *(pa.field(name, pa.int64()) for name in apart),
                    *([] if self._arrival is None else [self._arrival]),
                ]
            )
            for schema, columns, apart in zip(self._schemas, self._columns, self._apart, strict=True)
        )

    @property
    def context(self) -> OperatorContext:
        """The context of the operator, with the columns of the keys at its input ports."""
        return dataclasses.replace(self._context, inputs=self.inputs)

    def extended(self, port: int, batch: TupleBatch) -> TupleBatch:
        """Return the tuples of a port with the columns of its keys, and count the tuples that are told apart.

        Raises DataError if a key has no value.
        """
        columns = self._columns[port]
        if not columns and self._arrival is None:
            return batch
        tuples: Any = batch.arrow
        for name, expression in columns.items():
            tuples = tuples.append_column(pa.field(name, expression.arrow_type), evaluate(expression, batch.arrow))
        for name, keys in self._apart[port].items():
            tuples = tuples.append_column(
                pa.field(name, pa.int64()), self._numbers(self.unequal(port, tuples, keys), len(batch))
            )
        if self._arrival is not None:
            came = pa.scalar(nanoseconds(self._context.now), self._arrival.type)
            tuples = tuples.append_column(self._arrival, pa.repeat(came, len(batch)))
        return TupleBatch(tuples).with_watermarks(batch.watermarks)

    def dump(self) -> dict[str, Any]:
        """Return the number of tuples that were told apart, for a checkpoint; nothing if there were none."""
        return {_APART: self.told_apart} if self.told_apart else {}

    def load(self, state: State) -> None:
        """Restore a state that `dump` returned."""
        self.told_apart = state.get(_APART, 0)

    @staticmethod
    def latest(states: Sequence[State]) -> dict[str, Any]:
        """Return the state of new channels: the highest number of the channels before, or nothing if none has one."""
        numbers = [state[_APART] for state in states if _APART in state]
        return {_APART: max(numbers)} if numbers else {}

    def _numbers(self, unequal: np.ndarray | None, count: int) -> pa.Array:
        """Count the tuples that are told apart, and number them uniquely over all channels.

        The other tuples get null; all do if `unequal` is None.
        """
        if unequal is None:
            return pa.nulls(count, pa.int64())
        numbers = self.told_apart + np.cumsum(unequal)
        self.told_apart = int(numbers[-1])
        return pa.array(numbers * _CHANNELS + max(self._context.channel, 0), mask=~unequal)
