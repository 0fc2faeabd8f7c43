"""Good decisions without a solver: many starts, coarse moves before fine ones, shared sends counted exactly."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from random import Random

from streams_orchestration.compiler.decoupling.annealing import anneal, settle
from streams_orchestration.compiler.decoupling.coarsening import coarser, common
from streams_orchestration.compiler.decoupling.contraction import Contraction
from streams_orchestration.compiler.decoupling.evaluation import Evaluation, evaluate
from streams_orchestration.compiler.decoupling.filling import filled
from streams_orchestration.compiler.decoupling.legality import violations
from streams_orchestration.compiler.decoupling.placement import Pieces, Placement
from streams_orchestration.compiler.decoupling.rebalancing import rebalance

_LIMITS = 16
"""Ways of filling machines along the flow."""
_STEPS = 150
"""Moves that are tried for each piece and level."""
_KEPT = 6
"""Decisions that others are made of."""
_FIRST = 3
"""Starts before that is done."""
_ANEW = 0.15
"""The part of later starts that still begin with nothing."""
_ALONE = 0.3
"""The part of the others that begin with one decision, and not with two."""
_WARM = 0.05
"""Heat that a good decision survives."""


class Search:
    """Keeps the best legal decision of a contracted problem."""

    def __init__(self, contraction: Contraction) -> None:
        self.contraction = contraction
        self.best: list[int] | None = None
        self.evaluation: Evaluation | None = None
        self._kept: list[tuple[float, float, list[int]]] = []
        """The best ends of starts, all different: largest load, sum, decision."""
        params = contraction.flow.params
        budgets = params.latency_budget is not None or params.machine_budget is not None
        self.guarded = params.forward or budgets or bool(contraction.apart)
        self._pieces = Pieces(
            contraction.weights, contraction.pins, contraction.fans, len(contraction.machines), params.tee == "exact"
        )
        for assignment in self._plain():
            self.offer(assignment)

    def offer(self, assignment: Sequence[int]) -> bool:
        """Take a decision when it is legal and better than the best so far; classes are on our machines."""
        outputs = self.contraction.outputs_of(assignment)
        evaluation = evaluate(self.contraction.flow, outputs)
        if self.evaluation is not None and not evaluation.better_than(self.evaluation):
            return False
        if next(violations(self.contraction.flow, outputs), None) is not None:
            return False
        self.best, self.evaluation = list(assignment), evaluation
        return True

    def _plain(self) -> Iterator[list[int]]:
        """Everything that is not pinned together, on each machine."""
        pins, machines = self.contraction.pins, len(self.contraction.machines)
        for machine in range(machines if self.contraction.forward else min(machines, self.contraction.pinned + 1)):
            yield [machine if pin < 0 else pin for pin in pins]
        if (self.contraction.forward or self.contraction.apart) and not any(pin >= 0 for pin in pins):
            average = sum(self.contraction.weights) / machines
            yield from (filled(self.contraction, average * (1 + step / _LIMITS)) for step in range(_LIMITS))

    def begin_anew(self, seed: int, deadline: float, *, rebalanced: bool = False, good_enough: float = 0.0) -> None:
        """Look for a better decision: from nothing, from one that is known, or from what two have in common.

        Args:
            seed: of the start; every other one from nothing takes more time.
            deadline: of `time.monotonic`; it ends there in any case.
            rebalanced: share out anew what pairs of machines have, by integer programs.
            good_enough: an objective that needs no improvement.
        """
        if len(self.contraction.machines) < 2:
            return
        if self.guarded:
            self._climb(deadline)
            return
        chance = Random(seed)
        if len(self._kept) < _FIRST or chance.random() < _ANEW:
            home = self._from_coarse(chance, deadline, _STEPS * (4 if seed % 2 else 1))
        elif chance.random() < _ALONE:
            home = self._warmed(chance.choice(self._kept)[2], chance, 4 * _STEPS, deadline)
        else:
            home = self._from_two(chance, deadline)
        placement = Placement(self._pieces, home)
        self.offer(home)
        if rebalanced:
            rebalance(placement, deadline, good_enough)
            settle(placement, deadline, self.contraction.flow.params.lex_epsilon)
            self.offer(placement.home)
        self._keep(placement)

    def _keep(self, placement: Placement) -> None:
        worst, total = max(placement.loads), sum(placement.loads)
        same = 1e-9 * total
        if all(abs(worst - other) > same or abs(total - others) > same for other, others, _ in self._kept):
            self._kept = sorted([*self._kept, (worst, total, list(placement.home))])[:_KEPT]

    def _warmed(self, home: Sequence[int], chance: Random, effort: int, deadline: float) -> list[int]:
        """A decision near one that is known."""
        placement = Placement(self._pieces, home)
        home = anneal(placement, chance, effort * len(home), _WARM, deadline)
        placement = Placement(self._pieces, home)
        settle(placement, deadline, self.contraction.flow.params.lex_epsilon)
        return placement.home

    def _from_two(self, chance: Random, deadline: float) -> list[int]:
        """What two decisions have on one machine stays there while it is found out where that goes."""
        first, second = sorted(chance.sample(self._kept, 2))
        clusters, numbers = common(self._pieces, first[2], second[2])
        home = [0] * len(clusters.weights)
        for piece, number in enumerate(numbers):
            home[number] = first[2][piece]
        home = anneal(Placement(clusters, home), chance, 4 * _STEPS * max(100, len(home)), 1.0, deadline)
        return self._warmed([home[number] for number in numbers], chance, _STEPS, deadline)

    def pack(self) -> None:
        """A first decision at once: clusters, the heaviest first, each to the machine that has least."""
        if self.guarded or len(self.contraction.machines) < 2:
            return
        levels, maps = self._clusters(Random(0))
        home = _packed(levels[-1])
        for numbers in reversed(maps):
            home = [home[number] for number in numbers]
        self.offer(home)

    def _clusters(self, chance: Random) -> tuple[list[Pieces], list[list[int]]]:
        """Levels of clusters, coarser and coarser, and for each piece of a level its number in the next."""
        levels, maps = [self._pieces], []
        total, machines = sum(self._pieces.weights), self._pieces.machines
        while len(levels[-1].weights) > 6 * machines:
            found = coarser(levels[-1], total / machines / 3, chance)
            if found is None:
                break
            levels.append(found[0])
            maps.append(found[1])
        return levels, maps

    def _from_coarse(self, chance: Random, deadline: float, effort: int) -> list[int]:
        levels, maps = self._clusters(chance)
        home = _packed(levels[-1])
        for level in range(len(levels) - 1, -1, -1):
            placement = Placement(levels[level], home)
            heat = 1.0 if level == len(levels) - 1 else 0.1
            steps = effort * max(40, len(levels[level].weights)) * (4 if level == len(levels) - 1 else 1)
            home = anneal(placement, chance, steps, heat, deadline)
            if level:
                home = [home[number] for number in maps[level - 1]]
        placement = Placement(self._pieces, home)
        settle(placement, deadline, self.contraction.flow.params.lex_epsilon)
        return placement.home

    def _climb(self, deadline: float) -> None:
        """Single moves, each evaluated and checked as a whole: for budgets, which loads alone do not show."""
        gained = self.best is not None
        while gained:
            gained = False
            for number, pin in enumerate(self.contraction.pins):
                for machine in range(len(self.contraction.machines) if pin < 0 else 0):
                    if time.monotonic() > deadline or self.best is None:
                        return
                    if machine != self.best[number]:
                        moved = list(self.best)
                        moved[number] = machine
                        gained |= self.offer(moved)


def _packed(pieces: Pieces) -> list[int]:
    """The heaviest piece first, each on the machine that has least."""
    loads = [0.0] * pieces.machines
    home = [max(0, pin) for pin in pieces.pins]
    for piece, pin in enumerate(pieces.pins):
        if pin >= 0:
            loads[pin] += pieces.weights[piece]
    for piece in sorted(range(len(home)), key=lambda each: -pieces.weights[each]):
        if pieces.pins[piece] < 0:
            home[piece] = min(range(pieces.machines), key=loads.__getitem__)
            loads[home[piece]] += pieces.weights[piece]
    return home
