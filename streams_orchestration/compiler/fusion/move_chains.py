"""Chains of moves that improve a finished packing; a chain may pass through worse packings (rule 55).

This is the method of Fiduccia and Mattheyses for several parts. In a chain every unit moves at most once, and the next
move is always the one that saves most. Then the chain is undone back to its best point. One container at a time may be
too large in between, so that two moves make a swap, and more moves a rotation.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Sequence

from streams_orchestration.compiler.fusion.unit_flows import UnitFlows

_STEPS = 40_000
"""The most moves that one search considers, which bounds its time; a graph with more units gets one move per unit."""
_TRIES = 60
"""The number of disturbances in a row without an improvement after which the search ends."""
_PATIENCE = 64
"""The number of moves in a row without a new best point after which a chain ends."""
_LEAST = 1e-9
"""The least difference that counts as a gain, since sums of rates are not exact."""


class MoveChains:
    """A packing of units that share containers with no other units, and the traffic of each with every container."""

    def __init__(
        self, home: list[int], units: Sequence[int], sizes: Sequence[int], flows: UnitFlows, most: int
    ) -> None:
        """Begin with a packing.

        Args:
            home: container of every unit; changed in place.
            units: the units.
            sizes: operators of every unit.
            flows: the traffic between units.
            most: the most operators of a container; a larger one does not grow.
        """
        self._home = home
        self._sizes = sizes
        self._units: dict[int, int] = Counter(map(home.__getitem__, units))
        self._operators = dict.fromkeys(self._units, 0)
        for unit in units:
            self._operators[home[unit]] += sizes[unit]
        self._bound = {container: max(most, size) for container, size in self._operators.items()}
        self._flows = flows
        self._shared: dict[int, dict[int, float]] = {}
        """Unit -> its traffic with every container, computed on first use and then kept up to date."""
        self._between: dict[int, dict[int, float]] = {}
        """Moved unit -> its traffic with every other unit."""
        self._steps = max(_STEPS, len(units))
        self._border = self._ends_of_crossing_flows(units)
        """Units with traffic to another container: only a move of such a unit can save any."""
        self._near_moves: set[int] = set()
        """Units near a moved unit, for which `_border` may be out of date."""

    def improve(self, units: Sequence[int]) -> None:
        """Move `units` for as long as it saves traffic, then disturb the packing and try again.

        A disturbance that ends with more traffic is undone. It ends after `_TRIES` disturbances in a row without an
        improvement, or when about `_STEPS` moves were considered, or as many as there are units if that is more.
        """
        if not units:
            return
        while self._chain(units):
            pass
        chance = random.Random(len(units))
        tries = 0
        while self._steps > 0 and tries < _TRIES:
            before = {unit: self._home[unit] for unit in units}
            gained = self._disturb(units, chance)
            while gain := self._chain(units):
                gained += gain
            tries = 0 if gained > _LEAST else tries + 1
            if gained < -_LEAST:
                for unit, container in before.items():
                    self._go(unit, container)

    def _disturb(self, units: Sequence[int], chance: random.Random) -> float:
        """Swap a few random pairs of units, even at a cost.

        Return the traffic that this saves, usually a negative number.
        """
        gained = 0.0
        for _ in range(chance.randint(1, 3)):
            first, second = chance.choice(units), chance.choice(units)
            here, there = self._home[first], self._home[second]
            grown = self._sizes[first] - self._sizes[second]
            fits = self._operators[there] + grown <= self._bound[there]
            if here != there and fits and self._operators[here] - grown <= self._bound[here]:
                gained += self._go(first, there) + self._go(second, here)
        return gained

    def _chain(self, units: Sequence[int]) -> float:
        """Make one chain of moves, undo it back to its best point, and return the traffic that is saved there.

        Return 0 if no move saves traffic, or if the search has considered all its moves.
        """
        if self._steps <= 0:
            return 0.0
        waiting: dict[int, list[tuple[float, int, int]]] = {container: [] for container in self._operators}
        free = set(units)
        self._border -= self._near_moves
        self._border.update(filter(self._at_border, self._near_moves))
        self._near_moves.clear()
        smallest = self._smallest()
        for unit in self._border & free:
            self._offer(unit, waiting, smallest)
        moves: list[tuple[int, int]] = []
        gained = best = 0.0
        length, overfull = 0, -1
        while self._steps > 0 and len(moves) - length < _PATIENCE:
            move = self._choose(waiting, free, overfull)
            if move is None:
                break
            unit, there = move
            here = self._home[unit]
            free.discard(unit)
            moves.append((unit, here))
            gained += self._go(unit, there)
            overfull = next((each for each in (there, here) if self._operators[each] > self._bound[each]), -1)
            if overfull < 0 and gained > best + _LEAST:
                best, length = gained, len(moves)
            smallest = self._smallest()
            for other in self._others(unit):
                if other in free:
                    self._offer(other, waiting, smallest)
        for unit, container in reversed(moves[length:]):
            self._go(unit, container)
        return best

    def _ends_of_crossing_flows(self, units: Sequence[int]) -> set[int]:
        home, containers = self._home, self._units
        border: set[int] = set()
        for unit in units:
            here = home[unit]
            for other, _ in self._flows.downstream[unit]:
                there = home[other]
                if there != here and there in containers:
                    border.add(unit)
                    border.add(other)
        return border

    def _at_border(self, unit: int) -> bool:
        """Return True if the unit has traffic with another container."""
        home, here = self._home, self._home[unit]
        return any(home[other] != here and home[other] in self._units for other, _ in self._flows.of(unit))

    def _sum_traffic(self, unit: int) -> dict[int, float]:
        """Return the traffic of a unit with every container, from the cache if it is known."""
        known = self._shared.get(unit)
        if known is not None:
            return known
        shared = self._shared[unit] = dict[int, float]()
        for other, weight in self._flows.of(unit):
            container = self._home[other]
            if container in self._units:
                shared[container] = shared.get(container, 0.0) + weight
        return shared

    def _others(self, unit: int) -> dict[int, float]:
        """Return the traffic of a unit with every other unit in the containers; computed once."""
        known = self._between.get(unit)
        if known is not None:
            return known
        between = self._between[unit] = dict[int, float]()
        for other, weight in self._flows.of(unit):
            if self._home[other] in self._units:
                between[other] = between.get(other, 0.0) + weight
        return between

    def _smallest(self) -> int:
        """Return the container that has the fewest operators."""
        return min(self._operators, key=self._operators.__getitem__)

    def _offer(self, unit: int, waiting: dict[int, list[tuple[float, int, int]]], smallest: int) -> None:
        """Queue the moves of a unit to the containers that it has traffic with, and to the smallest one."""
        here, shared = self._home[unit], self._sum_traffic(unit)
        stays = shared.get(here, 0.0)
        targets = {*shared, smallest}
        targets.discard(here)
        for container in targets:
            heapq.heappush(waiting[here], (stays - shared.get(container, 0.0), unit, container))
        self._steps -= len(targets) + len(self._operators) // 8

    def _choose(
        self, waiting: dict[int, list[tuple[float, int, int]]], free: set[int], overfull: int
    ) -> tuple[int, int] | None:
        """Return the best move after which at most one container is too large, and drop outdated moves from `waiting`.

        None if no move is possible. If a container is too large already, the move takes a unit out of the container. No
        move empties a container.
        """
        self._steps -= 1 + len(waiting) // 8
        best: tuple[float, int, int] | None = None
        for here in (overfull,) if overfull >= 0 else waiting:
            queue = waiting[here]
            refused: list[tuple[float, int, int]] = []
            while queue and self._units[here] > 1:
                cost, unit, there = queue[0]
                current = unit in free and cost == self._cost(unit, there)
                if current and self._fits(unit, there, overfull):
                    if best is None or queue[0] < best:
                        best = queue[0]
                    break
                heapq.heappop(queue)
                if current:
                    refused.append((cost, unit, there))
            for each in refused:
                heapq.heappush(queue, each)
        return None if best is None else best[1:]

    def _cost(self, unit: int, there: int) -> float:
        shared = self._sum_traffic(unit)
        return shared.get(self._home[unit], 0.0) - shared.get(there, 0.0)

    def _fits(self, unit: int, there: int, overfull: int) -> bool:
        size = self._sizes[unit]
        if self._operators[there] + size <= self._bound[there]:
            return True
        return overfull < 0 or self._operators[overfull] - size <= self._bound[overfull]

    def _go(self, unit: int, there: int) -> float:
        """Move a unit, and return the traffic that it saves."""
        here = self._home[unit]
        if here == there:
            return 0.0
        shared = self._sum_traffic(unit)
        gain = shared.get(there, 0.0) - shared.get(here, 0.0)
        self._home[unit] = there
        for container, sign in ((here, -1), (there, 1)):
            self._operators[container] += sign * self._sizes[unit]
            self._units[container] += sign
        others = self._others(unit)
        self._near_moves.add(unit)
        self._near_moves.update(others)
        for other, weight in others.items():
            of_other = self._shared.get(other)
            if of_other is not None:
                of_other[here] -= weight
                of_other[there] = of_other.get(there, 0.0) + weight
        return gain
