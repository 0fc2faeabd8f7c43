"""Simulated annealing of an assignment, which lowers all loads and the largest ones most."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from random import Random

from streams_orchestration.compiler.decoupling.dataflow import LEAST_LOAD
from streams_orchestration.compiler.decoupling.tracked_assignment import TrackedAssignment

_CHECK = 256
"""The number of steps between two checks of the deadline."""
_COOLING = 1e-4
"""The final temperature as a fraction of the initial one."""
_NEAR = 0.9
"""The share of moves that go to the machine of a neighbour."""

Target = Callable[[int], int]
"""A function that chooses the machine to which a piece moves, or the piece's current machine for no move."""


def anneal(
    assignment: TrackedAssignment,
    chance: Random,
    steps: int,
    heat: float,
    deadline: float,
    target: Target | None = None,
) -> list[int]:
    """Improve an assignment by simulated annealing with moves of single pieces, and return the best assignment found.

    The energy is the sum of the eighth powers of the loads, so the largest ones count most and every send counts too.
    Of two assignments the one with the lower largest load is better, then the one with the lower sum. Nothing is tried
    with a single machine, without movable pieces, or without load.

    Args:
        assignment: the initial assignment; it is changed in place.
        chance: the random generator of the moves.
        steps: the number of moves to try.
        heat: the initial temperature, in energies of one machine with an average load.
        deadline: the end in seconds of `time.monotonic`; without it the result is the same every time.
        target: chooses the machine of a move; by default mostly a neighbour's machine, else any machine.
    """
    pieces = assignment.pieces
    movable = [piece for piece, pin in enumerate(pieces.pins) if pin < 0]
    home, loads = assignment.home, assignment.loads
    best, best_key = list(home), (max(loads), sum(loads))
    if pieces.machines < 2 or not movable or best_key[1] <= 0:
        return best
    average = 1.0 / max(sum(pieces.weights) / pieces.machines, *pieces.weights, LEAST_LOAD * best_key[0])
    random, choose = chance.random, target or _near(assignment, chance)
    cooling = _COOLING ** (1.0 / max(1, steps // _CHECK))
    temperature = heat
    for step in range(steps):
        if step % _CHECK == 0:
            temperature *= cooling
            if time.monotonic() > deadline:
                break
        piece = movable[int(random() * len(movable))]
        there = choose(piece)
        if there == home[piece]:
            continue
        changes = assignment.changes(piece, there)
        rise = 0.0
        for machine, change in changes.items():
            before = loads[machine] * average
            after = before + change * average
            rise += after**8 - before**8
        if rise <= 0 or random() < math.exp(-rise / temperature):
            assignment.move(piece, there, changes)
            if rise < 0:
                largest = max(loads)
                if largest < best_key[0] - 1e-12 or (largest <= best_key[0] and sum(loads) < best_key[1]):
                    best, best_key = list(home), (largest, sum(loads))
    return best


def _near(assignment: TrackedAssignment, chance: Random) -> Target:
    home, neighbours = assignment.home, assignment.neighbours
    random, machines = chance.random, assignment.pieces.machines

    def target(piece: int) -> int:
        near = neighbours[piece]
        return home[near[int(random() * len(near))]] if near and random() < _NEAR else int(random() * machines)

    return target
