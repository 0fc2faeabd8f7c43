"""The end of an application that refuses to go on, since a file was altered that nothing can make again."""

from __future__ import annotations

from dataclasses import dataclass, field

REFUSED_SECONDS = 20.0
"""Seconds from the first error about a damaged file to one that is the last word, if no epoch is complete between them.

A reset that heals the damage takes less time.
"""


@dataclass
class Damage:
    """The errors about damaged files that were seen."""

    since: dict[int, float] = field(default_factory=dict[int, float])
    """Number of complete epochs -> simulated time of the first error that was seen at this number."""

    def is_last_word(self, epochs: int, now: float) -> bool:
        """Return True if an error that is seen now, after a number of complete epochs, is not healed by a reset."""
        return now - self.since.setdefault(epochs, now) > REFUSED_SECONDS
