"""The units that a container may take next while it is filled."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable

from streams_orchestration.compiler.fusion.unit_flows import Flow


class Frontier:
    """Units connected with those in a container, the one that shares most traffic with it first.

    Among equals, downstream units come first, then the latest reached, then the smallest number. There is a stack for
    every amount of traffic and direction, so that only different amounts need a heap.
    """

    def __init__(self, waiting: Collection[int]) -> None:
        """Keep `waiting`, the units without a container, which the caller updates."""
        self._waiting = waiting
        self._shared: dict[int, float] = {}
        self._stacks: dict[float, tuple[list[int], list[int]]] = {}
        self._amounts: list[float] = []
        """The amounts that have stacks, negated, as a heap."""

    def reach(self, downstream: Iterable[Flow], upstream: Iterable[Flow]) -> None:
        """Add the neighbours of a unit that was put into the container, largest numbers first."""
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
        """Take out the first unit that still waits, None if there is none.

        The traffic that a unit shares only grows, so its older entries come out later and may name it again.
        """
        while self._amounts:
            downstream, upstream = self._stacks[-self._amounts[0]]
            while stack := downstream or upstream:
                unit = stack.pop()
                if unit in self._waiting:
                    return unit
            del self._stacks[-heapq.heappop(self._amounts)]
        return None
