"""Tuples that come out of order: shuffled within a lag of event time, and some of them later."""

from __future__ import annotations

import numpy as np

SECOND = 1_000_000
LAG = 4 * SECOND
"""Microseconds of event time by which tuples may be out of order."""


def arrival_order(times: np.ndarray, random: np.random.Generator, late: float = 0.01) -> np.ndarray:
    """Return the order in which tuples arrive that are on their way for up to the lag.

    Args:
        times: their times in microseconds.
        random: random numbers.
        late: the share of tuples that are on their way for longer, by up to the lag.
    """
    delays = random.uniform(0, LAG, len(times))
    longer = random.random(len(times)) < late
    delays[longer] += LAG + random.uniform(0, LAG, longer.sum())
    return np.argsort(times + delays, kind="stable")
