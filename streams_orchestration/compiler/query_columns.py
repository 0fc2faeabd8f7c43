"""The columns of Spark queries and the attributes that they are made from, by Spark's analysis before a deployment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from streams_orchestration.compiler.column_uses import ColumnUse
from streams_orchestration.compiler.logical_graph import LogicalOperator


@dataclass(frozen=True, slots=True)
class ColumnOrigin:
    """The attributes from which one column of an output port is computed; empty for a constant or a count of rows."""

    inputs: tuple[tuple[int, str], ...] = ()
    """The attributes as (input port, attribute), sorted."""
    whole_rows: bool = False
    """True if a function over whole rows computes the column; `inputs` then holds all attributes of these rows."""


QueryInfluences = frozenset[tuple[int, str, ColumnUse]]
"""The attributes that decide which rows a query returns, as triples of input port, attribute and kind of influence."""


@dataclass(frozen=True, slots=True)
class OperatorColumns:
    """The columns of one operator's output ports."""

    outputs: tuple[Mapping[str, ColumnOrigin], ...]
    """For each output port: column -> its origin."""
    influences: QueryInfluences = frozenset()

    @classmethod
    def of(cls, ports: Iterable[tuple[Mapping[str, ColumnOrigin], QueryInfluences]]) -> OperatorColumns:
        """Return the columns of an operator, given the columns and influences of each output port.

        An influence on one port counts for all of them.
        """
        several = list(ports)
        together = frozenset[tuple[int, str, ColumnUse]]().union(*(influences for _, influences in several))
        return cls(tuple(columns for columns, _ in several), together)


@dataclass(frozen=True, slots=True)
class QueryColumns:
    """The columns of one logical operator."""

    operator: str
    """Full logical name of the operator."""
    outputs: tuple[Mapping[str, ColumnOrigin], ...]
    """For each output port: column -> its origin."""
    influences: QueryInfluences = frozenset()


def is_same_query(one: LogicalOperator, other: LogicalOperator) -> bool:
    """Return True if two Spark queries have equal kinds, parameters, names of inputs and output types.

    The analysed columns of one then apply to the other.
    """
    return _query(one) == _query(other)


def _query(operator: LogicalOperator) -> tuple[object, ...]:
    ports = [port.name for port in operator.inputs]
    return operator.kind, operator.parameters, ports, [output.schema for output in operator.outputs]
