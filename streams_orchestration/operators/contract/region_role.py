"""The facts about its consistent region that an operator may use (B26)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RegionRole:
    """The role of one operator replica in a consistent region."""

    index: int
    """The number of the region."""
    start: bool = False
    """True for a start operator of the region, whose tuples nothing else can replay (A15, A16)."""
    trigger: bool = False
    """True for the start operator that ends the epochs of an operator-driven region."""
    end: bool = False
    """True if no operator of the region reads from this operator (A32)."""
    autonomous_ports: frozenset[int] = frozenset()
    """The input ports that nothing in the region feeds (A33)."""


class NotTheTriggerError(Exception):
    """`make_consistent` was called by an operator that does not drive its region."""


def not_the_trigger() -> None:
    """Raise NotTheTriggerError.

    This function replaces `make_consistent` in operators that do not drive their region.

    Raises:
        NotTheTriggerError: always.
    """
    message = "only the start operator of a region with trigger: operatorDriven can make its region consistent"
    raise NotTheTriggerError(message)
