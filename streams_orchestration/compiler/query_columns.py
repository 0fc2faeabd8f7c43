"""From which attributes the columns of a query of Spark's are made, as Spark's analysis says before a deployment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streams_orchestration.compiler.logical_graph import LogicalOperator


@dataclass(frozen=True, slots=True)
class ColumnOrigin:
    """What one column of an output port is made from; nothing where it is a constant or a count of rows."""

    inputs: tuple[tuple[int, str], ...] = ()
    """(input port, attribute), sorted."""
    whole_rows: bool = False
    """A function over whole rows makes it, so all attributes that the function gets are named."""


@dataclass(frozen=True, slots=True)
class QueryColumns:
    """Those of one logical operator."""

    operator: str
    """Its full logical name."""
    outputs: tuple[Mapping[str, ColumnOrigin], ...]
    """By output port and column."""


def is_same_query(one: LogicalOperator, other: LogicalOperator) -> bool:
    """Whether what is known of the columns of one operator holds for the other."""
    return _query(one) == _query(other)


def _query(operator: LogicalOperator) -> tuple[object, ...]:
    ports = [port.name for port in operator.inputs]
    return operator.kind, operator.parameters, ports, [output.schema for output in operator.outputs]
