"""Simulated annealing on a placement: loads come down together, the largest most of all."""

from __future__ import annotations

import math
import time
from random import Random

from streams_orchestration.compiler.decoupling.placement import Placement

_CHECK = 256
"""Steps between two looks at the clock."""


def anneal(placement: Placement, chance: Random, steps: int, heat: float, deadline: float) -> list[int]:
    """Move pieces to machines of their neighbours, or to any, and keep the best that was seen.

    The energy is the sum of the eighth powers of the loads, so the largest ones count most and every send counts too.

    Args:
        placement: changed in place.
        chance: of the moves.
        steps: moves that are tried.
        heat: of the beginning, as a part of the energy of one machine with an average load.
        deadline: of `time.monotonic`; it ends there in any case.

    Returns:
        The machines of the best placement: the largest load, then the sum decide.
    """
    pieces = placement.pieces
    movable = [piece for piece, pin in enumerate(pieces.pins) if pin < 0]
    home, loads, neighbours = placement.home, placement.loads, placement.neighbours
    best, best_key = list(home), (max(loads), sum(loads))
    if pieces.machines < 2 or not movable or best_key[1] <= 0:
        return best
    average = 1.0 / max(max(sum(pieces.weights) / pieces.machines, max(pieces.weights)), 1e-300)
    machines, random = pieces.machines, chance.random
    cooling = (1e-4) ** (1.0 / max(1, steps // _CHECK))
    temperature = heat
    for step in range(steps):
        if step % _CHECK == 0:
            temperature *= cooling
            if time.monotonic() > deadline:
                break
        piece = movable[int(random() * len(movable))]
        near = neighbours[piece]
        there = home[near[int(random() * len(near))]] if near and random() < 0.9 else int(random() * machines)
        if there == home[piece]:
            continue
        changes = placement.changes(piece, there)
        rise = 0.0
        for machine, change in changes.items():
            before = loads[machine] * average
            after = before + change * average
            rise += after**8 - before**8
        if rise <= 0 or random() < math.exp(-rise / temperature):
            placement.move(piece, there, changes)
            if rise < 0:
                largest = max(loads)
                if largest < best_key[0] - 1e-12 or (largest <= best_key[0] and sum(loads) < best_key[1]):
                    best, best_key = list(home), (largest, sum(loads))
    return best


def settle(placement: Placement, deadline: float, epsilon: float = 0.0) -> None:
    """Make every single move that lowers the largest load, or keeps it and lowers the sum, until there is none.

    Args:
        placement: changed in place.
        deadline: of `time.monotonic`.
        epsilon: weight of the sum beside the largest load.
    """
    loads, home = placement.loads, placement.home
    movable = [piece for piece, pin in enumerate(placement.pieces.pins) if pin < 0]
    gained = True
    while gained:
        gained = False
        for piece in movable:
            if time.monotonic() > deadline:
                return
            worst, total = max(loads), sum(loads)
            for there in range(len(loads)):
                if there == home[piece]:
                    continue
                changes = placement.changes(piece, there)
                rest = max((load for machine, load in enumerate(loads) if machine not in changes), default=0.0)
                peak = max(rest, *(loads[machine] + change for machine, change in changes.items()))
                more = sum(changes.values())
                margin = 1e-10 * worst
                gain = worst - peak - epsilon * more
                if gain > margin or (gain >= -margin / 100 and more < -1e-10 * total):
                    placement.move(piece, there, changes)
                    worst, total, gained = max(loads), sum(loads), True
