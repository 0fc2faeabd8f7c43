"""Units that a container in the making may take next."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable

from streams_orchestration.compiler.fusion.unit_flows import Flow


class Frontier:
    """Units connected with those in a container, the one that shares most traffic with it first.

    Of equal ones those downstream come first, then the latest reached, then the smallest number: they are kept as
    stacks, one for every amount of traffic and direction, so that only different amounts need a heap.
    """

    def __init__(self, waiting: Collection[int]) -> None:
        """`waiting` are the units that have no container yet, now and later."""
        self._waiting = waiting
        self._shared: dict[int, float] = {}
        self._stacks: dict[float, tuple[list[int], list[int]]] = {}
        self._amounts: list[float] = []
        """All amounts with stacks, negated, as a heap."""

    def reach(self, downstream: Iterable[Flow], upstream: Iterable[Flow]) -> None:
        """Add the units at the other ends of a unit that came into the container: the largest first of each."""
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
        """Take out the first unit that is waiting still, None when there is none.

        What a unit shares only grows, so what is left of it from before comes later, and may come out once more.
        """
        while self._amounts:
            downstream, upstream = self._stacks[-self._amounts[0]]
            while stack := downstream or upstream:
                unit = stack.pop()
                if unit in self._waiting:
                    return unit
            del self._stacks[-heapq.heappop(self._amounts)]
        return None
