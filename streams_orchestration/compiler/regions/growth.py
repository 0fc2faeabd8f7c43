"""The growth of regions along the streams, their mergers, and their ends and autonomous ports (A23-A33).

The rules are the same on the logical and on the expanded graph, so everything here works on operator numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Protocol

from streams_orchestration.compiler.disjoint_sets import DisjointSets


class Edge(Protocol):
    """The common interface of logical and physical connections."""

    @property
    def source(self) -> int:
        """The number of the producing operator."""
        ...

    @property
    def target(self) -> int:
        """The number of the consuming operator."""
        ...

    @property
    def target_port(self) -> int:
        """The input port of the consuming operator."""
        ...


@dataclass(frozen=True, slots=True)
class Growth:
    """Regions after growing and merging; a merged region has the smallest number of its parts (A30)."""

    region_of: list[int]
    """Per operator: the region that holds it, -1 if no region does (A25)."""
    merged: dict[int, list[int]]
    """Surviving region -> all regions that were merged into it, including the region itself."""
    reached_from: list[int] = field(compare=False)
    """Per operator: the producer through which a region reached it first, -1 for starts and outside of regions."""
    meetings: list[tuple[int, int, int]] = field(compare=False)
    """(operator, region, region) for each place where two separate regions met."""


def grow(operators: int, edges: Iterable[Edge], starts: Mapping[int, int], barriers: Set[int], regions: int) -> Growth:
    """Follow all streams from all starts up to other starts and barriers, and merge regions that meet (A23, A24, A27).

    An operator that is already in a region is not walked again: that region reaches all operators downstream, and the
    two regions are merged. Hence every connection is visited once, and since a merge is a union of sets, neither the
    order of the starts nor the order of the connections matters. The walk is breadth first, so that the recorded
    producers lead back to a start by a shortest path.
    """
    successors: list[list[int]] = [[] for _ in range(operators)]
    for edge in edges if starts else ():
        successors[edge.source].append(edge.target)
    region_of = [-1] * operators
    for start, region in starts.items():
        region_of[start] = region
    sets = DisjointSets(regions)
    reached_from = [-1] * operators
    meetings: list[tuple[int, int, int]] = []
    queue = list(starts)
    for operator in queue:
        region = region_of[operator]
        for successor in successors[operator]:
            if successor in starts or successor in barriers:
                continue
            if region_of[successor] < 0:
                region_of[successor] = region
                reached_from[successor] = operator
                queue.append(successor)
            elif region_of[successor] != region and sets.find(region_of[successor]) != sets.find(region):
                meetings.append((successor, region_of[successor], region))
                sets.union(region_of[successor], region)
    roots = [sets.find(region) if region >= 0 else -1 for region in region_of]
    return Growth(roots, sets.groups(), reached_from, meetings)


@dataclass(frozen=True, slots=True)
class Membership:
    """The members of one region, ascending, with its starts, ends and autonomous input ports."""

    operators: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    autonomous_ports: tuple[tuple[int, tuple[int, ...]], ...]


def memberships(
    region_of: Sequence[int], edges: Iterable[Edge], starts: Mapping[int, int], input_ports: Sequence[int]
) -> dict[int, Membership]:
    """Map each region with members to its members, starts, ends (A32) and autonomous input ports (A33).

    Args:
        region_of: per operator its region, -1 for none.
        edges: all connections.
        starts: start operators.
        input_ports: number of input ports per operator.
    """
    inner_producers: set[int] = set()
    consistent_ports: set[tuple[int, int]] = set()
    for edge in edges if starts else ():
        if region_of[edge.source] == region_of[edge.target] >= 0:
            inner_producers.add(edge.source)
            consistent_ports.add((edge.target, edge.target_port))
    members: dict[int, list[int]] = {}
    for operator, region in enumerate(region_of):
        if region >= 0:
            members.setdefault(region, []).append(operator)
    result: dict[int, Membership] = {}
    for region, operators in sorted(members.items()):
        autonomous: list[tuple[int, tuple[int, ...]]] = []
        for operator in operators:
            ports = tuple(port for port in range(input_ports[operator]) if (operator, port) not in consistent_ports)
            if ports:
                autonomous.append((operator, ports))
        result[region] = Membership(
            tuple(operators),
            tuple(operator for operator in operators if operator in starts),
            tuple(operator for operator in operators if operator not in inner_producers),
            tuple(autonomous),
        )
    return result
