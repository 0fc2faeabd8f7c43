"""Local search on a finished packing: moves and swaps of units that save traffic between PEs (rule 55)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

_PASSES = 4
"""Rounds over all units; later ones gain next to nothing."""
_PARTNER = 128
"""Connections of a unit up to which others may swap with it, since every try looks at all of them."""


class Refinement:
    """Units, the containers they are in, and a bound on the containers' sizes.

    Every step saves traffic, so the search ends, and a round looks at every connection a bounded number of times.
    """

    def __init__(
        self,
        home: list[int],
        units: Sequence[int],
        sizes: Sequence[int],
        neighbours: Callable[[int], Iterable[tuple[int, float]]],
        most: int,
    ) -> None:
        """Take a packing over.

        Args:
            home: container of every unit; changed in place.
            units: the units that share containers with one another, and with no others.
            sizes: operators of every unit.
            neighbours: units connected with a unit, with the traffic between.
            most: operators that a container may grow to.
        """
        self._home = home
        self._sizes = sizes
        self._neighbours = neighbours
        self._most = most
        self._operators: dict[int, int] = {}
        self._units: dict[int, int] = {}
        for unit in units:
            container = home[unit]
            self._operators[container] = self._operators.get(container, 0) + sizes[unit]
            self._units[container] = self._units.get(container, 0) + 1

    def improve(self, units: Sequence[int]) -> None:
        """Move and swap `units` until nothing is gained, or enough rounds were made."""
        for _ in range(_PASSES):
            wishes: dict[tuple[int, int], tuple[float, int]] = {}
            if not sum(self._improve(unit, wishes) for unit in units):
                return

    def _improve(self, unit: int, wishes: dict[tuple[int, int], tuple[float, int]]) -> bool:
        """Move one unit to the container it shares most with; when that is full, swap it with one that wants out."""
        here = self._home[unit]
        neighbours = list(self._neighbours(unit))
        shared = self._shared(neighbours)
        stays = shared.pop(here, 0.0)
        if not shared:
            return False
        there = max(shared, key=lambda container: (shared[container], -container))
        gain = shared[there] - stays
        if gain > 0:
            if self._units[here] > 1 and self._operators[there] + self._sizes[unit] <= self._most:
                self._go(unit, there)
                return True
            other = wishes.get((there, here), (0.0, -1))[1]
            if other >= 0 and self._home[other] == there and self._swaps(unit, other, gain, neighbours):
                self._go(unit, there)
                self._go(other, here)
                return True
        for container, weight in shared.items() if len(neighbours) <= _PARTNER else ():
            wish = weight - stays, unit
            if wish > wishes.get((here, container), (-float("inf"), -1)):
                wishes[here, container] = wish
        return False

    def _shared(self, neighbours: Iterable[tuple[int, float]]) -> dict[int, float]:
        """Traffic with every container."""
        shared: dict[int, float] = {}
        for other, weight in neighbours:
            container = self._home[other]
            if container in self._units:
                shared[container] = shared.get(container, 0.0) + weight
        return shared

    def _swaps(self, unit: int, other: int, gain: float, neighbours: Iterable[tuple[int, float]]) -> bool:
        """Does a swap save traffic, and do both containers stay in bounds?"""
        here, there = self._home[unit], self._home[other]
        shared = self._shared(self._neighbours(other))
        between = sum(weight for neighbour, weight in neighbours if neighbour == other)
        grown = self._sizes[unit] - self._sizes[other]
        return (
            gain + shared.get(here, 0.0) - shared.get(there, 0.0) - 2 * between > 1e-9
            and self._operators[there] + grown <= self._most
            and self._operators[here] - grown <= self._most
        )

    def _go(self, unit: int, there: int) -> None:
        here = self._home[unit]
        self._home[unit] = there
        for container, sign in ((here, -1), (there, 1)):
            self._operators[container] += sign * self._sizes[unit]
            self._units[container] += sign
