"""Keys that are expressions: columns beside the attributes of a stream, which windows and matching use as attributes.

In SPL a stream is grouped, partitioned and matched by expressions. Each such expression becomes a column whose name no
attribute can have, so that windows keep its values with their tuples.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from streams_orchestration.expressions.naming import attribute_of
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.context import OperatorContext
from streams_orchestration.operators.contract import Parameters
from streams_orchestration.operators.expressions import Expression, evaluate, parse_expression
from streams_orchestration.operators.libraries import pa
from streams_orchestration.operators.spl.text import SplText
from streams_orchestration.operators.windows.clause import ARRIVAL
from streams_orchestration.operators.windows.clock import nanoseconds

_MARK = "@"
_Parameters = TypeVar("_Parameters", bound=Parameters)


def has_expressions(*lists: Sequence[str]) -> bool:
    """Return True if a list of keys has an expression of SPL among the names of attributes."""
    return any(isinstance(each, SplText) for names in lists for each in names)


def names_of(*lists: Sequence[str]) -> list[str]:
    """Return the keys that are names of attributes."""
    return [each for names in lists for each in names if not isinstance(each, SplText)]


def expressions_of(*lists: Sequence[str]) -> list[str]:
    """Return the keys that are expressions of SPL."""
    return [each for names in lists for each in names if isinstance(each, SplText)]


def attributes_in(schema: pa.Schema) -> pa.Schema:
    """Return a schema without the columns of keys."""
    return pa.schema([field for field in schema if _MARK not in field.name])


def plain_attribute(text: str, names: Sequence[str]) -> str | None:
    """Return the attribute if a key is just that, and equal values have one hash in its column; None otherwise.

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
    from streams_orchestration.operators.spl.types import written_attribute_type
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
            self._columns[port][name] = expression.keyed()
            names.append(name)
        return names

    def named(self, parameters: _Parameters, places: Mapping[str, int]) -> _Parameters:
        """Add columns for the expressions, and return the parameters with column names in their place.

        Args:
            parameters: the parameters of the operator.
            places: maps each field of the parameters that is a list of keys to its input port.
        """
        fields = type(parameters).model_fields
        written = {name: getattr(parameters, name) for name in places}
        changed = {
            name: self.names(places[name], fields[name].alias or name, keys)
            for name, keys in written.items()
            if has_expressions(keys)
        }
        return parameters.model_copy(update=changed) if changed else parameters

    @property
    def inputs(self) -> tuple[pa.Schema, ...]:
        """The schemas of the input ports with the columns of the keys."""
        return tuple(
            pa.schema(
                [
                    *schema,
                    *(pa.field(name, each.arrow_type) for name, each in columns.items()),
                    *([] if self._arrival is None else [self._arrival]),
                ]
            )
            for schema, columns in zip(self._schemas, self._columns, strict=True)
        )

    @property
    def context(self) -> OperatorContext:
        """The context of the operator, with the columns of the keys at its input ports."""
        return dataclasses.replace(self._context, inputs=self.inputs)

    def extended(self, port: int, batch: TupleBatch) -> TupleBatch:
        """Return the tuples of a port with the columns of its keys. Raises DataError if a key has no value."""
        columns = self._columns[port]
        if not columns and self._arrival is None:
            return batch
        tuples: Any = batch.arrow
        for name, expression in columns.items():
            tuples = tuples.append_column(pa.field(name, expression.arrow_type), evaluate(expression, batch.arrow))
        if self._arrival is not None:
            came = pa.scalar(nanoseconds(self._context.now), self._arrival.type)
            tuples = tuples.append_column(self._arrival, pa.repeat(came, len(batch)))
        return TupleBatch(tuples).with_watermarks(batch.watermarks)
