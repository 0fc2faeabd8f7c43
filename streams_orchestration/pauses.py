"""Pauses between attempts, which grow while attempts fail.

>>> [Pauses(first=0.5, longest=3.0).after(failures) for failures in range(6)]
[0.0, 0.5, 1.0, 2.0, 3.0, 3.0]
"""

from __future__ import annotations

from typing import NamedTuple

MOST_STEPS = 30
"""The largest number of steps by which a pause grows, so that its length stays finite."""


class Pauses(NamedTuple):
    """The shortest and the longest pause, in seconds. Each failure in a row multiplies the pause by `factor`."""

    first: float
    longest: float
    factor: float = 2.0

    def after(self, failures: int) -> float:
        """Return the seconds to wait after a number of failures in a row; 0 if the last attempt succeeded."""
        return min(self.first * self.factor ** min(failures - 1, MOST_STEPS), self.longest) if failures > 0 else 0.0
