"""Disjoint sets over small integers; a set is named by its smallest member, whatever the order of the unions."""

from __future__ import annotations

from collections.abc import Iterable


class DisjointSets:
    """Union-find with path halving."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))
        self._apart = True

    def find(self, item: int) -> int:
        """Return the smallest member of the set that holds `item`."""
        parent = self._parent
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    def union(self, first: int, second: int) -> int:
        """Join the sets of two items, and return the name of the joined set, which is its smallest member."""
        first, second = self.find(first), self.find(second)
        if first == second:
            return first
        self._apart = False
        if second < first:
            first, second = second, first
        self._parent[second] = first
        return first

    def union_all(self, items: Iterable[int]) -> None:
        """Join the sets of all `items`."""
        rest = iter(items)
        for first in rest:
            for other in rest:
                self.union(first, other)

    def groups(self) -> dict[int, list[int]]:
        """Return the members of every set in ascending order, by the set's name."""
        if self._apart:
            return {item: [item] for item in self._parent}
        result: dict[int, list[int]] = {}
        for item in range(len(self._parent)):
            result.setdefault(self.find(item), []).append(item)
        return result

    def larger_groups(self) -> list[list[int]]:
        """Return the members of every set with several members in ascending order, sorted by the set's name."""
        return [] if self._apart else [members for members in self.groups().values() if len(members) > 1]
