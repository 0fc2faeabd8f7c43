"""Good decisions by many starts of a search, with coarse moves before fine ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from streams_orchestration.compiler.decoupling.annealing import anneal
from streams_orchestration.compiler.decoupling.coarsening import coarser, common
from streams_orchestration.compiler.decoupling.contraction import Contraction
from streams_orchestration.compiler.decoupling.evaluation import Evaluation, evaluate
from streams_orchestration.compiler.decoupling.filling import filled
from streams_orchestration.compiler.decoupling.legality import violations
from streams_orchestration.compiler.decoupling.ordered_moves import OrderedMoves
from streams_orchestration.compiler.decoupling.rebalancing import rebalance
from streams_orchestration.compiler.decoupling.tracked_assignment import Pieces, TrackedAssignment

_LIMITS = 24
"""Ways of filling machines along the flow."""
_FILLINGS = 3
"""Of these the ones that are improved."""
_ORDERED_STEPS = 400
"""Moves that are tried for each class where moves are restricted."""
_STEPS = 150
"""Moves that are tried for each piece and level."""
_KEPT = 6
"""Decisions that later starts begin with."""
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
        hops = params.latency_budget
        machines = len(contraction.machines)
        self._ordered = params.forward or hops is not None or bool(contraction.apart)
        self._usable = machines if hops is None else min(machines, hops + 1)
        """Where streams go forward among so many machines, no path has more hops than it may have."""
        self._pieces = Pieces(contraction.weights, contraction.pins, contraction.fans, machines, params.tee == "exact")
        self._fillings: list[list[int]] | None = None
        """The best legal ones, the best one first; None before they are made."""
        self._offer_single_machines()
        if self._ordered:
            self._fill()

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

    def pack(self) -> None:
        """Offer a first decision at once: clusters, the heaviest first, each to the machine that has least."""
        if self._ordered or len(self.contraction.machines) < 2:
            return
        levels, maps = self._clusters(Random(0))
        home = _packed(levels[-1])
        for numbers in reversed(maps):
            home = [home[number] for number in numbers]
        self.offer(home)

    def run_start(self, seed: int, deadline: float, *, rebalanced: bool = False, good_enough: float = 0.0) -> None:
        """Look for a better decision: from nothing, from one that is known, or from what two have in common.

        Args:
            seed: of the start.
            deadline: of `time.monotonic`; it ends there in any case.
            rebalanced: share out anew what pairs of machines have, by integer programs.
            good_enough: an objective that needs no improvement.
        """
        if len(self.contraction.machines) < 2:
            return
        if self._ordered:
            self.improve_filling(seed, _ORDERED_STEPS * self.contraction.size, deadline)
            return
        chance = Random(seed)
        if len(self._kept) < _FIRST or chance.random() < _ANEW:
            home = self._from_coarse(chance, deadline)
        elif chance.random() < _ALONE:
            home = self._warmed(chance.choice(self._kept)[2], chance, 4 * _STEPS, deadline)
        else:
            home = self._from_two(chance, deadline)
        self.offer(home)
        placed = TrackedAssignment(self._pieces, home)
        if rebalanced:
            rebalance(placed, deadline, good_enough)
            self.offer(placed.home)
        self._keep(placed)

    def improve_filling(self, seed: int, steps: int, deadline: float = math.inf) -> None:
        """Anneal one of the best fillings by moves that keep it legal, or the best decision where there is none.

        Args:
            seed: decides on the filling and the moves.
            steps: moves that are tried.
            deadline: of `time.monotonic`; without one the result is the same every time.
        """
        fillings = self._fill() if self._fillings is None else self._fillings
        start = fillings[seed % len(fillings)] if fillings else self.best
        if start is None:
            return
        chance, placed = Random(seed), TrackedAssignment(self._pieces, start)
        moves = OrderedMoves(self.contraction, self._usable)
        self.offer(anneal(placed, chance, steps, 1.0, deadline, moves.targets(placed.home, chance)))

    def _offer_single_machines(self) -> None:
        """Offer everything that is not pinned together, on each machine."""
        pins, machines = self.contraction.pins, len(self.contraction.machines)
        for machine in range(machines if self.contraction.forward else min(machines, self.contraction.pinned + 1)):
            self.offer([machine if pin < 0 else pin for pin in pins])

    def _fill(self) -> list[list[int]]:
        """Fill machines along the flow up to different limits, offer what is legal, and keep the best of it."""
        flow = self.contraction.flow
        legal: list[tuple[float, float, list[int]]] = []
        average = math.fsum(self.contraction.weights) / self._usable
        pinned = any(pin >= 0 for pin in self.contraction.pins)
        for step in range(0 if pinned else _LIMITS):
            filling = filled(self.contraction, average * (1 + step / _LIMITS), self._usable)
            outputs = self.contraction.outputs_of(filling)
            if next(violations(flow, outputs), None) is None:
                self.offer(filling)
                evaluation = evaluate(flow, outputs)
                legal.append((evaluation.objective, evaluation.total, filling))
        self._fillings = [filling for _, _, filling in sorted(legal)[:_FILLINGS]]
        return self._fillings

    def _keep(self, placed: TrackedAssignment) -> None:
        worst, total = max(placed.loads), sum(placed.loads)
        same = 1e-9 * total
        if all(abs(worst - other) > same or abs(total - others) > same for other, others, _ in self._kept):
            self._kept = sorted([*self._kept, (worst, total, list(placed.home))])[:_KEPT]

    def _warmed(self, home: Sequence[int], chance: Random, effort: int, deadline: float) -> list[int]:
        """A decision near one that is known."""
        return anneal(TrackedAssignment(self._pieces, home), chance, effort * len(home), _WARM, deadline)

    def _from_two(self, chance: Random, deadline: float) -> list[int]:
        """Clusters of what two decisions have on one machine are annealed first, then their classes."""
        first, second = sorted(chance.sample(self._kept, 2))
        clusters, numbers = common(self._pieces, first[2], second[2])
        home = [0] * len(clusters.weights)
        for piece, number in enumerate(numbers):
            home[number] = first[2][piece]
        home = anneal(TrackedAssignment(clusters, home), chance, 4 * _STEPS * max(100, len(home)), 1.0, deadline)
        return self._warmed([home[number] for number in numbers], chance, _STEPS, deadline)

    def _clusters(self, chance: Random) -> tuple[list[Pieces], list[list[int]]]:
        """Levels of clusters, coarser and coarser, and for each piece of a level its number in the next."""
        levels = [self._pieces]
        maps: list[list[int]] = []
        total, machines = sum(self._pieces.weights), self._pieces.machines
        while len(levels[-1].weights) > 6 * machines:
            coarse = coarser(levels[-1], total / machines / 3, chance)
            if coarse is None:
                break
            levels.append(coarse[0])
            maps.append(coarse[1])
        return levels, maps

    def _from_coarse(self, chance: Random, deadline: float) -> list[int]:
        levels, maps = self._clusters(chance)
        home = _packed(levels[-1])
        for level in range(len(levels) - 1, -1, -1):
            coarsest = level == len(levels) - 1
            steps = _STEPS * max(40, len(levels[level].weights)) * (4 if coarsest else 1)
            heat = 1.0 if coarsest else 0.1
            home = anneal(TrackedAssignment(levels[level], home), chance, steps, heat, deadline)
            if level:
                home = [home[number] for number in maps[level - 1]]
        return home


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
