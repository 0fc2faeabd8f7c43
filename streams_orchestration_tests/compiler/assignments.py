"""Decoupling decisions for compiled applications."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import networkx as nx

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.fusion_fingerprint import fusion_fingerprint
from streams_orchestration.model.assignment import Assignment


def fingerprint(compilation: Compilation) -> str:
    return fusion_fingerprint(compilation.logical, compilation.physical, compilation.fusion)


def assignment(compilation: Compilation, machines: dict[str, int]) -> Assignment:
    """Return a decision that was made for a compiled application."""
    return Assignment(compilation.logical.application, fingerprint(compilation), machines)


def forward(compilation: Compilation, step: Callable[[], int]) -> Assignment:
    """Return a decision in which machines do not decrease along the streams of a PE, so that no loop comes of it.

    Args:
        compilation: an application without loops.
        step: how many machines further than those that feed it an operator is.
    """
    pe_of, operators = compilation.fusion.pe_of, compilation.physical.operators
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(operators)))
    feeding: dict[int, set[int]] = defaultdict(set)
    for each in compilation.physical.connections:
        graph.add_edge(each.source, each.target)
        if pe_of[each.source] == pe_of[each.target]:
            feeding[each.target].add(each.source)
    machines: dict[int, int] = {}
    for index in nx.topological_sort(graph):
        machines[index] = max((machines[other] for other in feeding[index]), default=0) + step()
    return assignment(compilation, {operators[index].name: machine for index, machine in machines.items()})
