"""Moves of single classes that keep streams going forward and apart what is to be: the same result every time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from streams_orchestration.compiler.decoupling.contraction import Contraction
from streams_orchestration.compiler.decoupling.placement import Pieces, Placement

_COOLING = 1e-4
"""Temperature at the end, as a part of that at the beginning."""


class ForwardSearch:
    """Anneals decisions of a problem without pins and budgets, in steps that are counted and not timed."""

    def __init__(self, contraction: Contraction) -> None:
        self._contraction = contraction
        exact = contraction.flow.params.tee == "exact"
        machines = len(contraction.machines)
        self._pieces = Pieces(contraction.weights, contraction.pins, contraction.fans, machines, exact)
        self._before: list[list[int]] = [[] for _ in contraction.weights]
        self._behind: list[list[int]] = [[] for _ in contraction.weights]
        for source, target in dict.fromkeys(contraction.sent()) if contraction.forward else ():
            self._behind[source].append(target)
            self._before[target].append(source)
        self._others: list[list[int]] = [[] for _ in contraction.weights]
        for members in contraction.apart:
            for each in members:
                self._others[each] += [other for other in members if other != each]

    def improved(self, start: Sequence[int], steps: int) -> list[int]:
        """The best decision on the way from a legal one: the largest load, then the sum decide.

        Args:
            start: machines of classes.
            steps: moves that are tried.
        """
        placement = Placement(self._pieces, start)
        home, loads = placement.home, placement.loads
        best, key = list(home), (max(loads), sum(loads))
        average = len(loads) / max(sum(self._pieces.weights), 1e-300)
        chance = Random(len(home))
        for step in range(steps):
            temperature = _COOLING ** (step / steps)
            piece = int(chance.random() * len(home))
            there = self._target(home, piece, chance)
            if there == home[piece] or any(home[other] == there for other in self._others[piece]):
                continue
            changes = placement.changes(piece, there)
            rise = 0.0
            for machine, change in changes.items():
                before = loads[machine] * average
                rise += (before + change * average) ** 8 - before**8
            if rise <= 0 or chance.random() < math.exp(-rise / temperature):
                placement.move(piece, there, changes)
                now = max(loads), sum(loads)
                if now[0] < key[0] * (1 - 1e-9) or (now[0] <= key[0] * (1 + 1e-12) and now[1] < key[1] * (1 - 1e-9)):
                    best, key = list(home), now
        return best

    def _target(self, home: Sequence[int], piece: int, chance: Random) -> int:
        """A machine between what feeds the class and what it feeds."""
        first = max((home[other] for other in self._before[piece]), default=0)
        last = min((home[other] for other in self._behind[piece]), default=self._pieces.machines - 1)
        return first + int(chance.random() * (last - first + 1))
