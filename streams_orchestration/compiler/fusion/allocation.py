"""A finished packing that a search may still change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from streams_orchestration.compiler.fusion.unit_flows import UnitFlows


class Allocation:
    """Units that share containers with one another and with no others, and how full these are."""

    def __init__(
        self, home: list[int], units: Sequence[int], sizes: Sequence[int], flows: UnitFlows, most: int
    ) -> None:
        """Take a packing over.

        Args:
            home: container of every unit; changed in place.
            units: the units.
            sizes: operators of every unit.
            flows: what flows between units.
            most: operators that a container may grow to.
        """
        self._home = home
        self._sizes = sizes
        self._flows = flows
        self._most = most
        self._units: dict[int, int] = Counter(map(home.__getitem__, units))
        self._operators = dict.fromkeys(self._units, 0)
        for unit in units:
            self._operators[home[unit]] += sizes[unit]

    def _shares(self, unit: int) -> dict[int, float]:
        """Traffic of a unit with every container."""
        shares: dict[int, float] = {}
        for other, weight in self._flows.of(unit):
            container = self._home[other]
            if container in self._units:
                shares[container] = shares.get(container, 0.0) + weight
        return shares

    def _move(self, unit: int, there: int) -> None:
        here = self._home[unit]
        self._home[unit] = there
        for container, sign in ((here, -1), (there, 1)):
            self._operators[container] += sign * self._sizes[unit]
            self._units[container] += sign
