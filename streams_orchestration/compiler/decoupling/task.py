"""What a solver is given, and what it tells while it works."""

from __future__ import annotations

from typing import Literal, NamedTuple

from streams_orchestration.compiler.decoupling.contraction import Contraction

SolverChoice = Literal["highs", "cbc", "search"]


class Task(NamedTuple):
    """What is to be solved, and how."""

    contraction: Contraction
    solver: SolverChoice
    """`search` takes no integer program at all."""
    start: tuple[int, ...] | None
    """A decision that is known."""
    bound: float
    """No decision is known to have a lower objective."""
    gap: float
    """Relative difference from the best at which it may stop."""
    seconds: float

    @property
    def binaries(self) -> int:
        """How many binaries the integer program has, about."""
        machines = len(self.contraction.machines)
        return self.contraction.size * (1 if machines == 2 else machines)


class Step(NamedTuple):
    """What is known at one time."""

    assignment: tuple[int, ...] | None
    """Machines of classes; None when there is nothing new."""
    bound: float = 0.0
    """No decision has a lower objective."""
    infeasible: bool = False
