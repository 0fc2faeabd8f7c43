"""Invocations as a spec has them, and the logical graphs that they give."""

from __future__ import annotations

from typing import Any

from streams_orchestration.compiler.logical_graph import LogicalGraph, LogicalOperator
from streams_orchestration.model.application import Application
from streams_orchestration_tests.specs import logical

SOURCE: dict[str, Any] = {"name": "Src", "operator": "Source"}
SUBMISSION = {
    "n": {"type": "int32", "default": 3},
    "x": {"type": "float64", "default": 2},
    "s": {"type": "rstring", "default": "text"},
    "b": {"type": "boolean", "default": True},
    "must": {"type": "int64"},
}

FLIGHT = {"Flight": "carrier string, delay double", "Other": "carrier string"}
TYPED = {"name": "Src", "operator": "Beacon", "outputs": [{"stream": "Src", "schema": "Flight"}]}
PLAIN_SOURCE = {"name": "Two", "operator": "Beacon", "outputs": [{"stream": "Two", "schema": "Other"}]}


def call(name: str, operator: str = "Work", inputs: Any = ("Src",), **parts: Any) -> dict[str, Any]:
    """Return an invocation."""
    return {"name": name, "operator": operator, "inputs": list(inputs), **parts}


def built(application: Application, **options: Any) -> LogicalGraph:
    """Return the logical graph of an application that nothing is wrong with."""
    logical_graph, diagnostics = logical(application, **options)
    assert not diagnostics, diagnostics
    return logical_graph


def by_name(logical_graph: LogicalGraph) -> dict[str, LogicalOperator]:
    """Return its operators by their full names."""
    return {operator.name: operator for operator in logical_graph.operators}
