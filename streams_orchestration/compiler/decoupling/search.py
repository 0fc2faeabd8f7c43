"""A search for good decisions from many starts, with coarse moves before fine ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from streams_orchestration.compiler.decoupling.annealing import Target, anneal
from streams_orchestration.compiler.decoupling.coarsening import coarser
from streams_orchestration.compiler.decoupling.contraction import Contraction
from streams_orchestration.compiler.decoupling.evaluation import Evaluation, evaluate
from streams_orchestration.compiler.decoupling.legality import violations
from streams_orchestration.compiler.decoupling.tracked_assignment import Pieces, TrackedAssignment

_LIMITS = 24
"""The number of different load limits up to which machines are filled along the flow."""
_FILLINGS = 3
"""The number of fillings that local search improves."""
_ORDERED_STEPS = 400
"""The number of moves to try for each class if moves are restricted."""
_STEPS = 150
"""The number of moves to try for each piece and level."""


def legal_targets(contraction: Contraction, machines: int, home: Sequence[int], chance: Random) -> Target:
    """Return a function that chooses a machine for `anneal`, if the machines are ordered or classes must be apart.

    The machine is not before producers' nor after consumers' machines, which count only if streams must not lead back
    or if hops have a budget. It is the present machine if the chosen one has a class that must be apart.

    Args:
        contraction: the problem.
        machines: the number of machines to use, which are the first ones.
        home: the machines of classes, kept up to date by the caller.
        chance: the random generator for the choice.
    """
    params = contraction.flow.params
    before: list[list[int]] = [[] for _ in contraction.weights]
    behind: list[list[int]] = [[] for _ in contraction.weights]
    if params.forward or params.latency_budget is not None:
        for source, target in dict.fromkeys(contraction.sent()):
            behind[source].append(target)
            before[target].append(source)
    others: list[list[int]] = [[] for _ in contraction.weights]
    for members in contraction.apart:
        for each in members:
            others[each] += [other for other in members if other != each]

    def choose(piece: int) -> int:
        first = max((home[other] for other in before[piece]), default=0)
        last = min((home[other] for other in behind[piece]), default=machines - 1)
        there = first + int(chance.random() * (last - first + 1))
        return home[piece] if any(home[other] == there for other in others[piece]) else there

    return choose


def filled(contraction: Contraction, limit: float, machines: int) -> list[int]:
    """Fill machines one after the other with classes in the order of the flow, each up to a limit.

    No stream leads back to an earlier machine. Classes that do not fit go to the last machine, even if they must be
    apart from others there.

    Args:
        contraction: the problem.
        limit: the highest weight of a machine, in the unit of loads.
        machines: the highest number of machines to fill.
    """
    order, weights = contraction.along_the_flow(), contraction.weights
    kept: list[set[int]] = [set() for _ in weights]
    for number, members in enumerate(contraction.apart):
        for piece in members:
            kept[piece].add(number)
    home = [0] * len(order)
    machine = 0
    load = 0.0
    claimed: set[int] = set()
    for piece in order:
        full = load + weights[piece] > limit and load > 0
        if (full or claimed & kept[piece]) and machine < machines - 1:
            machine, load, claimed = machine + 1, 0.0, set[int]()
        home[piece], load = machine, load + weights[piece]
        claimed |= kept[piece]
    return home


class Search:
    """A search that keeps the best legal decision of a contracted problem."""

    def __init__(self, contraction: Contraction) -> None:
        self.contraction = contraction
        self.best: list[int] | None = None
        self.evaluation: Evaluation | None = None
        params = contraction.flow.params
        hops = params.latency_budget
        machines = len(contraction.machines)
        self._ordered = params.forward or hops is not None or bool(contraction.apart)
        self._usable = machines if hops is None else min(machines, hops + 1)
        """The number of machines to use. With a latency budget it is at most one more than the allowed hops, so that no
        path along increasing machines has too many."""
        self._pieces = Pieces(contraction.weights, contraction.pins, contraction.fans, machines, params.tee == "exact")
        self._offer_single_machines()
        self._fillings = self._fill() if self._ordered else []
        """The best legal fillings, best first; none if moves are not restricted."""

    def offer(self, assignment: Sequence[int]) -> bool:
        """Keep a decision if it is legal and better than the best so far; return True if so."""
        outputs = self.contraction.outputs_of(assignment)
        evaluation = evaluate(self.contraction.flow, outputs)
        if self.evaluation is not None and not evaluation.better_than(self.evaluation):
            return False
        if next(violations(self.contraction.flow, outputs), None) is not None:
            return False
        self.best, self.evaluation = list(assignment), evaluation
        return True

    def pack(self) -> None:
        """Offer a first decision: clusters, heaviest first, each on the machine with the smallest load.

        Do nothing if moves are restricted, or if there is one machine.
        """
        if self._ordered or len(self.contraction.machines) < 2:
            return
        levels, maps = self._clusters(Random(0))
        home = _packed(levels[-1])
        for numbers in reversed(maps):
            home = [home[number] for number in numbers]
        self.offer(home)

    def run_start(self, seed: int, deadline: float) -> None:
        """Look for a better decision: anneal coarse clusters, then finer ones, then classes.

        If moves are restricted, anneal a filling instead. Do nothing if there is one machine.

        Args:
            seed: the seed of the random numbers.
            deadline: the time, in seconds of `time.monotonic`, at which the search ends at the latest.
        """
        if len(self.contraction.machines) < 2:
            return
        if self._ordered:
            self.improve_filling(seed, _ORDERED_STEPS * self.contraction.size, deadline)
            return
        self.offer(self._from_coarse(Random(seed), deadline))

    def improve_filling(self, seed: int, steps: int, deadline: float = math.inf) -> None:
        """Anneal one of the best fillings, or the best decision if there is none, by moves that keep it legal.

        Offer the result. Do nothing without a filling or a decision.

        Args:
            seed: the seed that decides on the filling and the moves.
            steps: the number of moves to try.
            deadline: the end in seconds of `time.monotonic`; without it the result is the same every time.
        """
        start = self._fillings[seed % len(self._fillings)] if self._fillings else self.best
        if start is None:
            return
        chance, placed = Random(seed), TrackedAssignment(self._pieces, start)
        targets = legal_targets(self.contraction, self._usable, placed.home, chance)
        self.offer(anneal(placed, chance, steps, 1.0, deadline, targets))

    def _offer_single_machines(self) -> None:
        """Offer, for each machine, the decision with all classes on it that are not pinned.

        Without `forward`, machines without pinned classes are alike, so only the first of them is tried.
        """
        pins, machines = self.contraction.pins, len(self.contraction.machines)
        for machine in range(machines if self.contraction.forward else min(machines, self.contraction.pinned + 1)):
            self.offer([machine if pin < 0 else pin for pin in pins])

    def _fill(self) -> list[list[int]]:
        """Fill machines along the flow up to different limits, offer the legal fillings, and return the best ones.

        There are none if a class is pinned.
        """
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
        return [filling for _, _, filling in sorted(legal)[:_FILLINGS]]

    def _clusters(self, chance: Random) -> tuple[list[Pieces], list[list[int]]]:
        """Return ever coarser levels of clusters, and for each piece of a level its cluster in the next level."""
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
    """Assign the pinned pieces to their machines, then the others, heaviest first, each to the least loaded machine."""
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
