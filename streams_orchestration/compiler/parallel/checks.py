"""Checks of the graph around parallel regions, and of its loops (rules 25, 26, 35, 39)."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.logical.control_ports import is_control_port
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.parallel.punctuation import check_punctuation
from streams_orchestration.model.diagnostics import Diagnostic


def check_feedback(graph: LogicalGraph) -> Iterator[Diagnostic]:
    """Yield a CDISP0729W for every connection that closes a loop, except into control ports."""
    following: list[list[int]] = [[] for _ in graph.operators]
    for connection in graph.connections:
        if not is_control_port(graph.operators[connection.target], connection.target_port):
            following[connection.source].append(connection.target)
    visited = [False] * len(graph.operators)
    for start in range(len(graph.operators)):
        if visited[start]:
            continue
        visited[start] = True
        path = [start]
        position = {start: 0}
        pending = [iter(following[start])]
        while pending:
            target = next(pending[-1], None)
            if target is None:
                pending.pop()
                del position[path.pop()]
            elif target in position:
                loop = [*path[position[target] :], target]
                names = " -> ".join(graph.operators[each].name for each in loop)
                at = graph.operators[target]
                yield Diagnostic.of("CDISP0729W", f"a loop: {names}", operator=at.name, location=at.location)
            elif not visited[target]:
                visited[target] = True
                position[target] = len(path)
                path.append(target)
                pending.append(iter(following[target]))


def check_parallel_regions(graph: LogicalGraph) -> list[Diagnostic]:
    """Return the findings on parallel regions, links and loops of the logical graph."""
    return [*_check_links(graph), *check_punctuation(graph), *check_feedback(graph)]


def _check_links(graph: LogicalGraph) -> Iterator[Diagnostic]:
    """Yield findings on Imports and Exports whose innermost parallel region is not their operator's (rule 35).

    If only one of both is in a region, that is a finding, too.
    """
    for link in (*graph.imports, *graph.exports):
        operator = graph.operators[link.operator]
        if link.regions[-1:] != operator.regions[-1:]:
            message = f"{link.name} and {operator.name} are not in the same parallel region"
            yield Diagnostic.of("CDISP0816E", message, operator=operator.name, location=link.location)
