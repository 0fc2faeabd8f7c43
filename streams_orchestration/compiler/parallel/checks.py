"""Checks of the graph around parallel regions (rules 25, 26, 35, 39)."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.parallel.feedback import check_feedback
from streams_orchestration.compiler.parallel.punctuation import check_punctuation
from streams_orchestration.model.diagnostics import Diagnostic


def check_parallel_regions(graph: LogicalGraph) -> list[Diagnostic]:
    """Everything that the transformation would make wrong, or that it does not touch but should be known."""
    return [*_check_links(graph), *check_punctuation(graph), *check_feedback(graph)]


def _check_links(graph: LogicalGraph) -> Iterator[Diagnostic]:
    """Imports and Exports have the innermost region of the operator that they touch (rule 35)."""
    for link in (*graph.imports, *graph.exports):
        operator = graph.operators[link.operator]
        if link.regions[-1:] != operator.regions[-1:]:
            message = f"{link.name} and {operator.name} are not in the same parallel region"
            yield Diagnostic.of("CDISP0816E", message, operator=operator.name, location=link.location)
