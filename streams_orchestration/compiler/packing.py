"""Packing fusable units into a given number of PEs: connected chains, then moves that save traffic (rule 55)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from streams_orchestration.compiler.fusable_units import Claim, FusableUnit
from streams_orchestration.compiler.graph import LogicalGraph, PhysicalGraph
from streams_orchestration.compiler.host_bindings import HostBindings
from streams_orchestration.compiler.measured_rates import Rates
from streams_orchestration.compiler.move_chains import MoveChains
from streams_orchestration.compiler.refinement import Refinement
from streams_orchestration.compiler.traffic import connection_traffic

_TRIES = 256
"""Units, or containers, that are tried in vain before the search goes another way: keeps it near linear."""


def most_operators(operators: int, containers: int) -> int:
    """How large a container may become for less traffic: an even share and an eighth, but at least one more of four."""
    share = -(-operators // containers)
    return share + max(share // 8, share > 3)


@dataclass(slots=True)
class Container:
    """A PE in the making."""

    units: list[int] = field(default_factory=list)
    operators: int = 0
    claims: dict[tuple[str, str], int] = field(default_factory=dict)
    host_set: int = -1


class Packing:
    """Units, what flows between them, and the containers that they are in."""

    def __init__(
        self,
        units: Sequence[FusableUnit],
        logical: LogicalGraph,
        physical: PhysicalGraph,
        hosts: HostBindings,
        rates: Rates,
    ) -> None:
        self.containers: list[Container] = []
        self._units = units
        self._logical = logical
        self._physical = physical
        self._hosts = hosts
        self._rates = rates
        self._sizes = [len(unit.operators) for unit in units]
        self._container_of = [-1] * len(units)

    @cached_property
    def _flows(self) -> tuple[list[list[tuple[int, float]]], list[list[tuple[int, float]]]]:
        """Per unit the units downstream, and those upstream, each with the traffic between."""
        unit_of = [0] * len(self._physical.operators)
        for number, unit in enumerate(self._units):
            for operator in unit.operators:
                unit_of[operator] = number
        downstream: list[list[tuple[int, float]]] = [[] for _ in self._units]
        upstream: list[list[tuple[int, float]]] = [[] for _ in self._units]
        traffic = connection_traffic(self._logical, self._physical, self._rates)
        for connection, weight in zip(self._physical.connections, traffic, strict=True):
            source, target = unit_of[connection[0]], unit_of[connection[2]]
            if source != target:
                downstream[source].append((target, weight))
                upstream[target].append((source, weight))
        return downstream, upstream

    def isolate(self, unit: int) -> None:
        """Give a unit a container of its own."""
        self._put(self._open(), unit)

    def pack(self, members: Sequence[int], count: int) -> None:
        """Spread units of one kind over `count` new containers, or more where their claims do not let them.

        The containers are filled one after the other, up to an even share of what is left: a first unit by rule 55,
        then always the unit that shares most traffic with the container, downstream ones and the latest reached
        first, so that chains stay whole. One unit is kept back for every container still to come.
        """
        if count == 1 and not any(self._units[each].claims or self._units[each].host_set >= 0 for each in members):
            self._fill(members)
            return
        downstream, upstream = self._flows
        kind = frozenset(members)
        order = sorted(members, key=self._precedence(members))
        first = len(self.containers)
        units_left, operators_left, cursor = len(order), sum(self._sizes[each] for each in order), 0
        for to_come in range(count - 1, -1, -1):
            container = self._open()
            share = -(-operators_left // (to_come + 1))
            frontier: list[tuple[float, int, int, int]] = []
            gain: dict[int, float] = {}
            refused: set[int] = set()
            while units_left > to_come and container.operators < share:
                unit = self._next_neighbour(frontier, container, share, refused)
                if unit is None:
                    while cursor < len(order) and self._container_of[order[cursor]] >= 0:
                        cursor += 1
                    unit = self._next_seed(order, cursor, container, share, refused)
                if unit is None:
                    break
                self._put(container, unit)
                units_left -= 1
                operators_left -= self._sizes[unit]
                for direction, neighbours in enumerate((downstream[unit], upstream[unit])):
                    for other, weight in neighbours:
                        if self._container_of[other] < 0 and other in kind:
                            gain[other] = gain.get(other, 0.0) + weight
                            heapq.heappush(frontier, (-gain[other], direction, -len(container.units), other))
            if not container.units:
                self.containers.pop()
        self._place_rest([unit for unit in order if self._container_of[unit] < 0], first)
        self._refine(order, first)

    def _fill(self, members: Sequence[int]) -> None:
        """Put units that nothing keeps apart into one container."""
        container = self._open()
        container.units.extend(members)
        container.operators = sum(self._sizes[each] for each in members)
        for each in members:
            self._container_of[each] = len(self.containers) - 1

    def _open(self) -> Container:
        container = Container()
        self.containers.append(container)
        return container

    def _put(self, container: Container, unit: int, number: int = -1) -> None:
        self._container_of[unit] = number if number >= 0 else len(self.containers) - 1
        container.units.append(unit)
        container.operators += self._sizes[unit]
        container.claims.update(self._units[unit].claims)
        container.host_set = self._hosts.join(container.host_set, self._units[unit].host_set)

    def _fits(self, container: Container, unit: int) -> bool:
        claims = container.claims
        return all(claims.get(name, value) == value for name, value in self._units[unit].claims) and self._hosts.fits(
            container.host_set, self._units[unit].host_set
        )

    def _precedence(self, members: Sequence[int]) -> Callable[[int], tuple[int, bool, bool, bool, int, int, int]]:
        """The order of first units: one for every claimed value, then rule 55, with unconnected ones as filling."""
        rank: dict[int, int] = {}
        seen: dict[Claim, int] = {}
        for member in members:
            claims = self._units[member].claims
            rank[member] = max((seen.get(claim, 0) for claim in claims), default=len(self._units))
            for claim in claims:
                seen[claim] = seen.get(claim, 0) + 1

        def key(unit: int) -> tuple[int, bool, bool, bool, int, int, int]:
            downstream, upstream = self._flows[0][unit], self._flows[1][unit]
            operators = self._sizes[unit]
            connections = len(downstream) + len(upstream)
            return rank[unit], not connections, bool(upstream), bool(downstream), -operators, -connections, unit

        return key

    def _next_neighbour(
        self, frontier: list[tuple[float, int, int, int]], container: Container, share: int, refused: set[int]
    ) -> int | None:
        while frontier:
            unit = heapq.heappop(frontier)[3]
            if self._container_of[unit] < 0 and unit not in refused:
                if self._has_room(container, unit, share) and self._fits(container, unit):
                    return unit
                refused.add(unit)
        return None

    def _next_seed(
        self, order: Sequence[int], cursor: int, container: Container, share: int, refused: set[int]
    ) -> int | None:
        tries = 0
        while cursor < len(order) and tries < _TRIES:
            unit = order[cursor]
            cursor += 1
            if self._container_of[unit] < 0 and unit not in refused:
                if self._has_room(container, unit, share) and self._fits(container, unit):
                    return unit
                tries += 1
        return None

    def _has_room(self, container: Container, unit: int, share: int) -> bool:
        return not container.units or container.operators + self._sizes[unit] <= share

    def _place_rest(self, rest: Sequence[int], first: int) -> None:
        """Put the rest into containers that claim the same, else into the smallest that fit, else into new ones."""
        if not rest:
            return
        claimed: dict[Claim, int] = {}
        room: list[tuple[int, int]] = []
        for number in range(first, len(self.containers)):
            claimed.update(dict.fromkeys(self.containers[number].claims.items(), number))
            room.append((self.containers[number].operators, number))
        heapq.heapify(room)
        for unit in rest:
            alike = [claimed[claim] for claim in self._units[unit].claims if claim in claimed]
            found = next((number for number in alike if self._fits(self.containers[number], unit)), None)
            tried: list[tuple[int, int]] = []
            while found is None and room and len(tried) < _TRIES:
                entry = heapq.heappop(room)
                tried.append(entry)
                if self._fits(self.containers[entry[1]], unit):
                    found = entry[1]
            if found is None:
                self._open()
                found = len(self.containers) - 1
                tried.append((0, found))
            self._put(self.containers[found], unit, found)
            for _, number in tried:
                heapq.heappush(room, (self.containers[number].operators, number))
            claimed.update(dict.fromkeys(self._units[unit].claims, found))

    def _refine(self, members: Sequence[int], first: int) -> None:
        """Let single units of one kind change containers, as long as these stay of even size.

        Units with claims or wishes for their host stay where they are.
        """
        count = len(self.containers) - first
        if count < 2:
            return
        most = most_operators(sum(self._sizes[each] for each in members), count)
        free = [each for each in members if not self._units[each].claims and self._units[each].host_set < 0]
        Refinement(self._container_of, members, self._sizes, self._neighbours, most).improve(free)
        if MoveChains.reach(members):
            MoveChains(self._container_of, members, self._sizes, self._neighbours, most).improve(free)
        for container in self.containers[first:]:
            container.units.clear()
            container.operators = 0
        for unit in members:
            container = self.containers[self._container_of[unit]]
            container.units.append(unit)
            container.operators += self._sizes[unit]

    def _neighbours(self, unit: int) -> Iterator[tuple[int, float]]:
        return chain(self._flows[0][unit], self._flows[1][unit])
