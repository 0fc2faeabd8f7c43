"""Computes the cost of sending a tuple to another PE from measured streams: a + b * bytes (rule Q15)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from streams_orchestration.model.profile import PassageCost

APART = 1.5
"""Least ratio of the largest to the smallest size of tuples for fitting a line."""


class Passage(NamedTuple):
    """The amounts that passed one stream in one direction, and their cost."""

    tuples: float
    bytes: float
    """The bytes of the tuples in memory."""
    seconds: float
    """The processor time in seconds."""


def fit_passage_cost(passages: Sequence[Passage]) -> PassageCost | None:
    """Fit a line to the cost by least squares, weighted by tuples. Neither coefficient is negative.

    None if fewer than two streams carried tuples, or their sizes of a tuple differ too little (`APART`).
    """
    used = [each for each in passages if each.tuples > 0]
    sizes = [each.bytes / each.tuples for each in used]
    if len(used) < 2 or max(sizes) < APART * min(sizes):
        return None
    weights = [each.tuples for each in used]
    costs = [each.seconds / each.tuples for each in used]
    total = math.fsum(weights)
    mean_size = math.fsum(w * x for w, x in zip(weights, sizes, strict=True)) / total
    mean_cost = math.fsum(w * y for w, y in zip(weights, costs, strict=True)) / total
    spread = math.fsum(w * (x - mean_size) ** 2 for w, x in zip(weights, sizes, strict=True))
    joint = math.fsum(w * (x - mean_size) * y for w, x, y in zip(weights, sizes, costs, strict=True))
    slope = joint / spread
    if slope <= 0:
        return PassageCost(mean_cost, 0.0)
    base = mean_cost - slope * mean_size
    if base >= 0:
        return PassageCost(base, slope)
    squares = math.fsum(w * x * x for w, x in zip(weights, sizes, strict=True))
    return PassageCost(0.0, math.fsum(w * x * y for w, x, y in zip(weights, sizes, costs, strict=True)) / squares)


def scaled(passages: Sequence[Passage], shape: PassageCost) -> PassageCost | None:
    """Return a known cost, scaled to the measured total of the given streams.

    None if the measured total, or the total by the known cost, is 0, as without tuples.
    """
    expected = math.fsum(shape.of(each.tuples, each.bytes) for each in passages)
    spent = math.fsum(each.seconds for each in passages)
    if expected <= 0 or spent <= 0:
        return None
    return PassageCost(shape.per_tuple * spent / expected, shape.per_byte * spent / expected)
