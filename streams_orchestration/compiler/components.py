"""Strongly connected components of an operator graph, in time and memory linear in its size."""

from __future__ import annotations

from collections.abc import Sequence


def strong_components(successors: Sequence[Sequence[int]]) -> list[list[int]]:
    """The components of a graph given as adjacency lists, producers before consumers.

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
                    component = []
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
