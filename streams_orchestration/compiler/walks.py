"""Reachability and orders of small graphs."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

Successors = Mapping[int, Iterable[int]]
"""Node -> its successors; every node is a key."""


def reached(starts: Iterable[int], successors: Successors) -> set[int]:
    """Return the start nodes and all nodes that are reachable from them."""
    nodes = set(starts)
    pending = list(nodes)
    while pending:
        for following in successors[pending.pop()]:
            if following not in nodes:
                nodes.add(following)
                pending.append(following)
    return nodes


def shortest_path(first: int, last: int, successors: Callable[[int], Iterable[int]]) -> list[int]:
    """Return the nodes of a shortest path, with both ends; earlier successors are preferred.

    The list is empty if there is no path, or if both ends are one node.
    """
    came = {first: first}
    waiting = [first]
    for node in waiting:
        for following in successors(node):
            if following not in came:
                came[following] = node
                waiting.append(following)
    if last not in came or first == last:
        return []
    way = [last]
    while way[-1] != first:
        way.append(came[way[-1]])
    return way[::-1]


def reversed_(successors: Successors) -> dict[int, list[int]]:
    """Return the predecessors of every node; every successor must be a key, too."""
    predecessors: dict[int, list[int]] = {node: [] for node in successors}
    for node, following in successors.items():
        for each in following:
            predecessors[each].append(node)
    return predecessors


def producers_first(nodes: set[int], successors: Successors) -> tuple[int, ...]:
    """Return some nodes in topological order, smaller nodes first among equals.

    Nodes of a cycle, and nodes downstream of a cycle, are left out.
    """
    waiting = dict.fromkeys(nodes, 0)
    for node in nodes:
        for following in successors[node]:
            if following in waiting:
                waiting[following] += 1
    ready = [node for node, before in waiting.items() if not before]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        node = heapq.heappop(ready)
        order.append(node)
        for following in successors[node]:
            if following in waiting:
                waiting[following] -= 1
                if not waiting[following]:
                    heapq.heappush(ready, following)
    return tuple(order)


def levels(successors: Successors) -> dict[int, int]:
    """Return for every node the length of the longest path to it.

    Raises:
        CircleError: the graph has a cycle.
    """
    sorter = TopologicalSorter(reversed_(successors))
    try:
        sorter.prepare()
    except CycleError as error:
        raise CircleError(tuple(error.args[1][:-1])) from error
    level_of: dict[int, int] = {}
    level = 0
    while sorter.is_active():
        ready = sorter.get_ready()
        level_of |= dict.fromkeys(ready, level)
        sorter.done(*ready)
        level += 1
    return level_of


class CircleError(ValueError):
    """A graph has a cycle."""

    def __init__(self, nodes: tuple[int, ...]) -> None:
        super().__init__(f"a cycle goes through {nodes}")
        self.nodes = nodes
        """The nodes of the cycle, in order."""
