"""A decoupling decision as it is applied: which operator of an application goes to which machine."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Assignment:
    """Machines by operator. Operators of a PE that go to different machines become PEs of their own.

    A machine is a place within a PE: machine 1 of one PE has nothing to do with machine 1 of another.
    """

    application: str
    fingerprint: str
    """Of the fused application that it was decided for."""
    machines: dict[str, int] = field(default_factory=dict[str, int])
    """Physical name of an operator -> machine. One that is not named is on machine 0."""
    location: str = ""
