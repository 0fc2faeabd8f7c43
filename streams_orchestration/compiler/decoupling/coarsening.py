"""Pairs of pieces that are expensive to separate; in a large problem a search moves pairs before single pieces."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from streams_orchestration.compiler.decoupling.contraction import Fan
from streams_orchestration.compiler.decoupling.tracked_assignment import Pieces


def coarser(pieces: Pieces, heaviest: float, chance: Random) -> tuple[Pieces, list[int]] | None:
    """Join pieces in pairs, since a pair is moved as a whole.

    In random order, each piece chooses the free neighbour whose separation costs most in relation to its weight. Pieces
    that are pinned to different machines are not paired.

    Args:
        pieces: the pieces.
        heaviest: the highest weight of a pair.
        chance: the random generator for the order in which pieces choose a partner.

    Returns:
        The pairs and unpaired pieces, and for every piece its new number; None if hardly any pieces can be paired.
    """
    near: list[dict[int, float]] = [{} for _ in pieces.weights]
    for fan in pieces.fans:
        cost = (fan.send + fan.receive) / len(fan.targets)
        for target in fan.targets:
            near[fan.source][target] = near[fan.source].get(target, 0.0) + cost
            near[target][fan.source] = near[target].get(fan.source, 0.0) + cost
    order = list(range(len(pieces.weights)))
    chance.shuffle(order)
    partner = [-1] * len(order)
    weights, pins = pieces.weights, pieces.pins
    floor = sum(weights) / len(weights) / 10 + 1e-12
    for piece in order:
        if partner[piece] >= 0:
            continue
        partner[piece] = piece
        best = 0.0
        chosen = -1
        for other, cost in near[piece].items():
            if partner[other] < 0 and weights[piece] + weights[other] <= heaviest and _fit(pins[piece], pins[other]):
                rating = cost / (weights[other] + floor)
                if rating > best:
                    best, chosen = rating, other
        if chosen >= 0:
            partner[piece], partner[chosen] = chosen, piece
    numbers: list[int] = [-1] * len(order)
    count = 0
    for piece, other in enumerate(partner):
        if numbers[piece] < 0:
            numbers[piece] = numbers[other] = count
            count += 1
    if count > 0.95 * len(order):
        return None
    return _merged(pieces, numbers, count), numbers


def _fit(first: int, second: int) -> bool:
    return first < 0 or second < 0 or first == second


def _merged(pieces: Pieces, numbers: Sequence[int], count: int) -> Pieces:
    weights = [0.0] * count
    pins = [-1] * count
    for piece, number in enumerate(numbers):
        weights[number] += pieces.weights[piece]
        pins[number] = max(pins[number], pieces.pins[piece])
    costs: dict[tuple[int, tuple[int, ...]], tuple[float, float]] = {}
    for fan in pieces.fans:
        source = numbers[fan.source]
        targets = tuple(sorted({numbers[target] for target in fan.targets} - {source}))
        if targets:
            send, receive = costs.get((source, targets), (0.0, 0.0))
            costs[source, targets] = send + fan.send, receive + fan.receive
    fans = [Fan(source, targets, *price) for (source, targets), price in costs.items()]
    return Pieces(weights, pins, fans, pieces.machines, pieces.exact)
