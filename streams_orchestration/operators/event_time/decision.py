"""A decision that partitions of a source are idle, in the form in which it is stored (EV51)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IdleDecision:
    """A decision that partitions of a source are idle.

    After a reset to an earlier cut, it is made again after the same tuples.
    """

    number: int
    """The number of this decision among the source's decisions, from 0."""
    idle: tuple[str, ...]
    """The partitions that became idle."""
    counts: dict[str, int]
    """The number of tuples that each partition had when the decision was made."""
    epoch: int | None = None
    """The epoch of the batch that committed the decision; None if a later reset went back to before that batch."""
