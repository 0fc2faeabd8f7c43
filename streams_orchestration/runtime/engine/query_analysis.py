"""The result of an engine's analysis of queries, which a deployment reads whichever engine has made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streams_orchestration.compiler.query_columns import OperatorColumns


@dataclass(frozen=True, slots=True)
class QueryRefusal:
    """An operator whose query cannot run, and the reason."""

    operator: str
    """The physical name of the operator."""
    reason: str


@dataclass(frozen=True, slots=True)
class QueryAnalysis:
    """The result of an engine's analysis of an application's queries."""

    refusals: tuple[QueryRefusal, ...] = ()
    columns: Mapping[int, OperatorColumns] = field(default_factory=dict[int, OperatorColumns])
    """Number of an operator in the physical graph -> the origins of its columns, if they are known."""
