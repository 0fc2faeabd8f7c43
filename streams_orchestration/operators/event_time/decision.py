"""A decision that partitions of a source are idle, in the form in which it is stored (EV51)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IdleDecision:
    """A decision that partitions of a source are idle.

    After a reset to an earlier cut, it is made again after the same tuples.
    """

    number: int
    """The number of decisions of the source before it."""
    idle: tuple[str, ...]
    """The partitions that became idle."""
    counts: dict[str, int]
    """The number of tuples of each partition up to then."""
    epoch: int | None = None
    """The epoch of the batch that committed it; None if a reset has gone back before it since."""
