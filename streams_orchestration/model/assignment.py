"""A decoupling decision: the machine of each operator of an application."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Assignment:
    """Machines by operator. A PE whose operators go to several machines is split into one PE for each.

    A machine is a place within a PE: machine 1 of one PE has nothing to do with machine 1 of another.
    """

    application: str
    fingerprint: str
    """The fingerprint of the fused application for which the decision was made."""
    machines: dict[str, int] = field(default_factory=dict[str, int])
    """Machines by the operators' physical names. An operator that is not named is on machine 0."""
    location: str = ""
