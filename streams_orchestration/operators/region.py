"""The consistent region of an operator, as the operator may know it (B26)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RegionRole:
    """The place of one operator replica in a consistent region."""

    index: int
    """Number of the region."""
    start: bool = False
    """The region begins with it: nothing but it replays its tuples (A15, A16)."""
    trigger: bool = False
    """True for the start operator of an operator-driven region, which ends its epochs."""
    end: bool = False
    """No operator of the region reads from it (A32)."""
    autonomous_ports: frozenset[int] = frozenset()
    """Input ports that nothing in the region feeds (A33)."""


class NotTheTriggerError(Exception):
    """An operator that does not drive its region called `make_consistent`."""


def not_the_trigger() -> None:
    """Raise the error of `make_consistent` for all other operators.

    Raises:
        NotTheTriggerError: always.
    """
    message = "only the start operator of a region with trigger: operatorDriven can make its region consistent"
    raise NotTheTriggerError(message)
