"""Strongly connected components of an operator graph, in time and memory linear in its size."""

from __future__ import annotations

from collections.abc import Sequence

from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph


def strong_components(successors: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the components of a graph of adjacency lists, producers before consumers, each in ascending order.

    Tarjan's algorithm with an explicit stack, since a pipeline may be longer than Python's recursion limit.
    """
    size = len(successors)
    number = [-1] * size
    low = [0] * size
    waiting = bytearray(size)
    pending: list[int] = []
    components: list[list[int]] = []
    counter = 0
    for root in range(size):
        if number[root] >= 0:
            continue
        number[root] = low[root] = counter
        counter += 1
        pending.append(root)
        waiting[root] = 1
        path = [(root, iter(successors[root]))]
        while path:
            node, rest = path[-1]
            for successor in rest:
                if number[successor] < 0:
                    number[successor] = low[successor] = counter
                    counter += 1
                    pending.append(successor)
                    waiting[successor] = 1
                    path.append((successor, iter(successors[successor])))
                    break
                if waiting[successor] and number[successor] < low[node]:
                    low[node] = number[successor]
            else:
                path.pop()
                if path and low[node] < low[path[-1][0]]:
                    low[path[-1][0]] = low[node]
                if low[node] == number[node]:
                    component: list[int] = []
                    while True:
                        member = pending.pop()
                        waiting[member] = 0
                        component.append(member)
                        if member == node:
                            break
                    component.sort()
                    components.append(component)
    components.reverse()
    return components


def producers_first(
    logical: LogicalGraph, physical: PhysicalGraph, successors: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Return the strongly connected components of a part of the physical graph, producers before consumers.

    Replicas are in a loop only if their operators are. In an application without loops, the replicas are thus in the
    order of their operators, and every replica is a component.

    Args:
        logical: the application.
        physical: its replicas.
        successors: the consumers of every replica in this part of the graph.
    """
    following: list[list[int]] = [[] for _ in logical.operators]
    for connection in logical.connections:
        following[connection.source].append(connection.target)
    order = strong_components(following)
    if len(order) < len(following) or any(index in following[index] for (index,) in order):
        return strong_components(successors)
    replicas: list[list[int]] = [[] for _ in following]
    for operator in physical.operators:
        replicas[operator.logical].append(operator.index)
    return [[replica] for (index,) in order for replica in replicas[index]]
