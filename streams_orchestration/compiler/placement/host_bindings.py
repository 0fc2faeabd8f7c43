"""Host configs while PEs are packed: the units that can still share a host (rule 53)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from streams_orchestration.compiler.disjoint_sets import DisjointSets
from streams_orchestration.compiler.placement.fusable_units import FusableUnit, Placements


class HostBindings:
    """The host sets of units while PEs are packed.

    A host set is a set of operators that must share one host. A PE that takes units of two host sets joins the sets.
    """

    def __init__(self, operators: int, units: Sequence[FusableUnit], placements: Placements) -> None:
        find = placements.host_colocated.find
        self._sets = DisjointSets(operators)
        self._tags: dict[int, set[str]] = {}
        self._isolated: set[int] = {find(index) for index in placements.host_isolated}
        self._pes: dict[int, int] = {}
        """The number of PEs, and of units without a PE, in each set."""
        for index, tags in placements.host_exlocation.items():
            self._tags.setdefault(find(index), set()).update(tags)
        for unit in units:
            if unit.host_set >= 0:
                self._pes[unit.host_set] = self._pes.get(unit.host_set, 0) + 1

    def tags(self, host_set: int) -> Iterable[str]:
        """Return the host exlocation tags of the operators in a host set."""
        return self._tags.get(self._sets.find(host_set), ())

    def tags_of_sets(self, units: Sequence[FusableUnit]) -> dict[int, Iterable[str]]:
        """Map the host set of each unit that has one to its host exlocation tags."""
        return {unit.host_set: self.tags(unit.host_set) for unit in units if unit.host_set >= 0}

    def fits(self, first: int, second: int) -> bool:
        """Return True if a PE with host set `first` can take a unit of host set `second`; -1 means no set.

        Two sets cannot share a PE if they share an exlocation tag, or if one is isolated and has further PEs.
        """
        if first < 0 or second < 0:
            return True
        first, second = self._sets.find(first), self._sets.find(second)
        if first == second:
            return True
        if (first in self._isolated or second in self._isolated) and self._pes[first] + self._pes[second] > 2:
            return False
        return self._tags.get(first, set()).isdisjoint(self._tags.get(second, set()))

    def join(self, first: int, second: int) -> int:
        """Put a unit of the second host set into a PE of the first, and return the joined set.

        If one of them is -1, which means no set, return the other one unchanged.
        """
        if first < 0 or second < 0:
            return max(first, second)
        first, second = self._sets.find(first), self._sets.find(second)
        if first == second:
            self._pes[first] -= 1
            return first
        tags, more = self._tags.pop(first, set()), self._tags.pop(second, set())
        if len(tags) < len(more):
            tags, more = more, tags
        tags |= more
        pes = self._pes.pop(first) + self._pes.pop(second) - 1
        root = self._sets.union(first, second)
        self._pes[root] = pes
        if tags:
            self._tags[root] = tags
        if first in self._isolated or second in self._isolated:
            self._isolated.add(root)
        return root
