"""Packing fusable units into a given number of PEs: connected chains, then moves that save traffic (rule 55)."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from streams_orchestration.compiler.fusion.move_chains import MoveChains
from streams_orchestration.compiler.fusion.unit_flows import Flow, UnitFlows, unit_flows
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.placement.fusable_units import Claim, FusableUnit
from streams_orchestration.compiler.placement.host_bindings import HostBindings
from streams_orchestration.compiler.profiles.rates import Rates


class Frontier:
    """The queue of units that are connected with a container, in the order in which the container should take them.

    The unit with the most traffic to the container comes first. Among equals, downstream units come first, then the
    unit that was reached last, then the smallest number. There is a stack for every amount of traffic and direction, so
    only different amounts need a heap.
    """

    def __init__(self, waiting: Collection[int]) -> None:
        """Begin without units; `waiting` is the set of units without a container, which the caller keeps up to date."""
        self._waiting = waiting
        self._shared: dict[int, float] = {}
        self._stacks: dict[float, tuple[list[int], list[int]]] = {}
        self._amounts: list[float] = []
        """A heap of the negated amounts of traffic that have a stack."""

    def reach(self, downstream: Iterable[Flow], upstream: Iterable[Flow]) -> None:
        """Add the waiting neighbours of a unit that was put into the container.

        Each direction lists the largest numbers first, so that among equals the smallest is taken first.
        """
        waiting, shared, stacks = self._waiting, self._shared, self._stacks
        for direction, flows in enumerate((downstream, upstream)):
            for unit, weight in flows:
                if unit in waiting:
                    shared[unit] = amount = shared.get(unit, 0.0) + weight
                    stack = stacks.get(amount)
                    if stack is None:
                        stack = stacks[amount] = [], []
                        heapq.heappush(self._amounts, -amount)
                    stack[direction].append(unit)

    def pop(self) -> int | None:
        """Remove and return the first unit that is still without a container; None if there is none.

        A unit is added again whenever its traffic with the container has grown. Its older entries, with less traffic,
        come out later and are skipped.
        """
        while self._amounts:
            downstream, upstream = self._stacks[-self._amounts[0]]
            while stack := downstream or upstream:
                unit = stack.pop()
                if unit in self._waiting:
                    return unit
            del self._stacks[-heapq.heappop(self._amounts)]
        return None


_TRIES = 256
"""The most failed attempts to find a unit or a container, which keeps the packing's time near linear."""


def most_operators(operators: int, containers: int) -> int:
    """Return the highest number of operators that a container may get.

    It is an even share plus an eighth; for an even share of 4 to 7 operators, it is one operator more.
    """
    share = -(-operators // containers)
    return share + max(share // 8, share > 3)


@dataclass(slots=True)
class Container:
    """A PE that is being filled."""

    operators: int = 0
    claims: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    host_set: int = -1


class Packing:
    """Units, the traffic between units, and the containers that get the units."""

    def __init__(
        self,
        units: Sequence[FusableUnit],
        logical: LogicalGraph,
        physical: PhysicalGraph,
        hosts: HostBindings,
        rates: Rates,
    ) -> None:
        self._containers: list[Container] = []
        self._units = units
        self._logical = logical
        self._physical = physical
        self._hosts = hosts
        self._rates = rates
        self._sizes = [len(unit.operators) for unit in units]
        self._bound = {number for number, unit in enumerate(units) if unit.claims or unit.host_set >= 0}
        """Units that claim a value for their PE, or that must be placed on certain hosts."""
        self._container_of = [-1] * len(units)

    @cached_property
    def _flows(self) -> UnitFlows:
        return unit_flows(self._units, self._logical, self._physical, self._rates)

    def isolate(self, unit: int) -> None:
        """Give a unit a container of its own."""
        self._put(self._open(), unit)

    def pack(self, members: Sequence[int], count: int) -> None:
        """Spread units of one kind over `count` new containers, or over more if claims keep too many units apart.

        The containers are filled one after the other, each up to an even share of the remaining operators. The first
        unit of a container follows rule 55. The next unit is always the one with the most traffic to the container. Of
        equal units, a downstream one comes first, then the one that was reached last, so chains stay whole. One unit
        is kept for every container that is still empty, and a container that no unit fits is removed. Local moves then
        save further traffic.
        """
        if count == 1 and self._bound.isdisjoint(members):
            self._fill(members)
            return
        flows = self._flows
        order = self._in_order(members)
        waiting = set(order)
        first = len(self._containers)
        operators_left, cursor = sum(self._sizes[each] for each in order), 0
        for to_come in range(count - 1, -1, -1):
            container = self._open()
            share = -(-operators_left // (to_come + 1))
            frontier = Frontier(waiting)
            refused: set[int] = set()
            while len(waiting) > to_come and container.operators < share:
                unit = self._next_neighbour(frontier, container, share, refused)
                if unit is None:
                    while cursor < len(order) and order[cursor] not in waiting:
                        cursor += 1
                    unit = self._next_seed(order, cursor, waiting, container, share, refused)
                if unit is None:
                    break
                self._put(container, unit)
                waiting.remove(unit)
                frontier.reach(flows.downstream[unit], flows.upstream[unit])
            operators_left -= container.operators
            if not container.operators:
                self._containers.pop()
        self._place_rest([unit for unit in order if unit in waiting], first)
        self._refine(order, first)

    def pes(self) -> list[list[int]]:
        """Return the operators of every container; units without one are left out."""
        pes: list[list[int]] = [[] for _ in self._containers]
        for unit, container in zip(self._units, self._container_of, strict=True):
            if container >= 0:
                pes[container] += unit.operators
        for operators in pes:
            operators.sort()
        return pes

    def _fill(self, members: Sequence[int]) -> None:
        """Put all units into one container; the caller knows that no claim and no host keeps them apart."""
        container = self._open()
        container.operators = sum(self._sizes[each] for each in members)
        for each in members:
            self._container_of[each] = len(self._containers) - 1

    def _open(self) -> Container:
        container = Container()
        self._containers.append(container)
        return container

    def _put(self, container: Container, unit: int, number: int = -1) -> None:
        self._container_of[unit] = number if number >= 0 else len(self._containers) - 1
        container.operators += self._sizes[unit]
        if unit in self._bound:
            container.claims.update(self._units[unit].claims)
            container.host_set = self._hosts.join(container.host_set, self._units[unit].host_set)

    def _fits(self, container: Container, unit: int) -> bool:
        claims = container.claims
        return all(claims.get(name, value) == value for name, value in self._units[unit].claims) and self._hosts.fits(
            container.host_set, self._units[unit].host_set
        )

    def _in_order(self, members: Sequence[int]) -> list[int]:
        """Sort units by how well they suit as the first unit of a container.

        First comes one unit for every claimed value, then units by rule 55, then units without connections.
        """
        alike: dict[tuple[int, int, bool, bool, int], list[int]] = {}
        seen: dict[Claim, int] = {}
        downstream, upstream = self._flows.downstream, self._flows.upstream
        for unit in members:
            rank = len(self._units)
            if claims := self._units[unit].claims:
                rank = max(seen.get(claim, 0) for claim in claims)
                for claim in claims:
                    seen[claim] = seen.get(claim, 0) + 1
            leaving, entering = len(downstream[unit]), len(upstream[unit])
            key = rank, self._sizes[unit], leaving > 0, entering > 0, leaving + entering
            if key in alike:
                alike[key].append(unit)
            else:
                alike[key] = [unit]

        def precedence(key: tuple[int, int, bool, bool, int]) -> tuple[int, bool, bool, bool, int, int]:
            rank, operators, leaves, enters, connections = key
            return rank, not connections, enters, leaves, -operators, -connections

        return [unit for key in sorted(alike, key=precedence) for unit in sorted(alike[key])]

    def _next_neighbour(self, frontier: Frontier, container: Container, share: int, refused: set[int]) -> int | None:
        while (unit := frontier.pop()) is not None:
            if unit not in refused:
                if self._takes(container, unit, share):
                    return unit
                refused.add(unit)
        return None

    def _next_seed(
        self,
        order: Sequence[int],
        cursor: int,
        waiting: Collection[int],
        container: Container,
        share: int,
        refused: Collection[int],
    ) -> int | None:
        tries = 0
        while cursor < len(order) and tries < _TRIES:
            unit = order[cursor]
            cursor += 1
            if unit in waiting and unit not in refused:
                if self._takes(container, unit, share):
                    return unit
                tries += 1
        return None

    def _takes(self, container: Container, unit: int, share: int) -> bool:
        """Return True if there is room and no claim keeps the unit away."""
        room = not container.operators or container.operators + self._sizes[unit] <= share
        return room and (unit not in self._bound or self._fits(container, unit))

    def _place_rest(self, rest: Sequence[int], first: int) -> None:
        """Put the remaining units into containers.

        A unit goes to a container with the same claim that it fits, else to the smallest that it fits, else to a new
        one. At most `_TRIES` of the smallest containers are tried.
        """
        if not rest:
            return
        claimed: dict[Claim, int] = {}
        room: list[tuple[int, int]] = []
        for number in range(first, len(self._containers)):
            claimed.update(dict.fromkeys(self._containers[number].claims.items(), number))
            room.append((self._containers[number].operators, number))
        heapq.heapify(room)
        for unit in rest:
            alike = [claimed[claim] for claim in self._units[unit].claims if claim in claimed]
            container = next((number for number in alike if self._fits(self._containers[number], unit)), None)
            tried: list[tuple[int, int]] = []
            while container is None and room and len(tried) < _TRIES:
                entry = heapq.heappop(room)
                tried.append(entry)
                if self._fits(self._containers[entry[1]], unit):
                    container = entry[1]
            if container is None:
                self._open()
                container = len(self._containers) - 1
                tried.append((0, container))
            self._put(self._containers[container], unit, container)
            for _, number in tried:
                heapq.heappush(room, (self._containers[number].operators, number))
            claimed.update(dict.fromkeys(self._units[unit].claims, container))

    def _refine(self, members: Sequence[int], first: int) -> None:
        """Move single units between the containers from number `first` on, to save traffic, and keep their sizes even.

        Units with claims or host placement are not moved.
        """
        count = len(self._containers) - first
        if count < 2:
            return
        most = most_operators(sum(self._sizes[each] for each in members), count)
        free = [each for each in members if each not in self._bound]
        MoveChains(self._container_of, members, self._sizes, self._flows, most).improve(free)
