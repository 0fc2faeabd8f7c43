"""Loops of the graph, which are allowed but worth a warning (rule 39)."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.logical.control_ports import is_control_port
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.model.diagnostics import Diagnostic


def check_feedback(graph: LogicalGraph) -> Iterator[Diagnostic]:
    """One CDISP0729W for every way back into an operator on the current path; ways into control ports are free."""
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
