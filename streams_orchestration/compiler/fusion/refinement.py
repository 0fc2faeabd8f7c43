"""Local search on a finished packing: moves and swaps of units that save traffic between PEs (rule 55)."""

from __future__ import annotations

from collections.abc import Sequence

from streams_orchestration.compiler.fusion.allocation import Allocation
from streams_orchestration.compiler.fusion.unit_flows import UnitFlows

_PASSES = 4
"""Rounds over all units; later ones gain next to nothing."""
_PARTNER = 128
"""Connections of a unit up to which others may swap with it, since every try looks at all of them."""


class Refinement(Allocation):
    """Moves and swaps of single units.

    Every step saves traffic, so the search ends, and a round looks at every connection a bounded number of times.
    """

    def __init__(
        self, home: list[int], units: Sequence[int], sizes: Sequence[int], flows: UnitFlows, most: int
    ) -> None:
        """Take a packing over, see `Allocation`."""
        super().__init__(home, units, sizes, flows, most)
        self._border: set[int] = set()
        """All units with traffic to other containers, and some more: the only ones that may gain from anything."""
        for unit in units:
            here = home[unit]
            for other, _ in flows.downstream[unit]:
                if home[other] != here:
                    self._border.add(unit)
                    self._border.add(other)

    def improve(self, units: Sequence[int]) -> None:
        """Move and swap `units` until nothing is gained, or enough rounds were made."""
        for _ in range(_PASSES):
            wishes: dict[tuple[int, int], tuple[float, int]] = {}
            gained = False
            for unit in units:
                if unit in self._border and self._improve(unit, wishes):
                    gained = True
            if not gained:
                return

    def _improve(self, unit: int, wishes: dict[tuple[int, int], tuple[float, int]]) -> bool:
        """Move one unit to the container it shares most with; when that is full, swap it with one that wants out."""
        here = self._home[unit]
        shared = self._shares(unit)
        stays = shared.pop(here, 0.0)
        if not shared:
            return False
        there = max(shared, key=lambda container: (shared[container], -container))
        gain = shared[there] - stays
        if gain > 0:
            if self._units[here] > 1 and self._operators[there] + self._sizes[unit] <= self._most:
                self._move(unit, there)
                return True
            other = wishes.get((there, here), (0.0, -1))[1]
            if other >= 0 and self._home[other] == there and self._swaps(unit, other, gain):
                self._move(unit, there)
                self._move(other, here)
                return True
        if len(self._flows.downstream[unit]) + len(self._flows.upstream[unit]) <= _PARTNER:
            for container, weight in shared.items():
                wish = weight - stays, unit
                if wish > wishes.get((here, container), (-float("inf"), -1)):
                    wishes[here, container] = wish
        return False

    def _swaps(self, unit: int, other: int, gain: float) -> bool:
        """Does a swap save traffic, and do both containers stay in bounds?"""
        here, there = self._home[unit], self._home[other]
        shared = self._shares(other)
        between = sum(weight for neighbour, weight in self._flows.of(unit) if neighbour == other)
        grown = self._sizes[unit] - self._sizes[other]
        return (
            gain + shared.get(here, 0.0) - shared.get(there, 0.0) - 2 * between > 1e-9
            and self._operators[there] + grown <= self._most
            and self._operators[here] - grown <= self._most
        )

    def _move(self, unit: int, there: int) -> None:
        super()._move(unit, there)
        self._border.add(unit)
        self._border.update(other for other, _ in self._flows.of(unit))
