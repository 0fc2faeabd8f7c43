"""Moves of single classes that keep streams going forward, and apart what is to be apart."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from streams_orchestration.compiler.decoupling.annealing import Target
from streams_orchestration.compiler.decoupling.contraction import Contraction


class OrderedMoves:
    """The machines that a class may move to, where the order of machines or sets of classes restrict them."""

    def __init__(self, contraction: Contraction, machines: int) -> None:
        """Collect what restricts each class.

        Args:
            contraction: the problem.
            machines: only so many of the first machines are used.
        """
        params = contraction.flow.params
        self._machines = machines
        self._before: list[list[int]] = [[] for _ in contraction.weights]
        self._behind: list[list[int]] = [[] for _ in contraction.weights]
        if params.forward or params.latency_budget is not None:
            for source, target in dict.fromkeys(contraction.sent()):
                self._behind[source].append(target)
                self._before[target].append(source)
        self._others: list[list[int]] = [[] for _ in contraction.weights]
        for members in contraction.apart:
            for each in members:
                self._others[each] += [other for other in members if other != each]

    def targets(self, home: Sequence[int], chance: Random) -> Target:
        """The choice of a machine for `anneal`: one between what feeds a class and what the class feeds.

        Args:
            home: machines of classes, kept up to date by the caller.
            chance: of the choice.
        """

        def target(piece: int) -> int:
            first = max((home[other] for other in self._before[piece]), default=0)
            last = min((home[other] for other in self._behind[piece]), default=self._machines - 1)
            there = first + int(chance.random() * (last - first + 1))
            return home[piece] if any(home[other] == there for other in self._others[piece]) else there

        return target
