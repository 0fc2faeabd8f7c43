"""The task of a solver, and what the solver reports while it works."""

from __future__ import annotations

from typing import Literal, NamedTuple

from streams_orchestration.compiler.decoupling.contraction import Contraction

SolverChoice = Literal["highs", "cbc", "search"]
_LARGE = 3000
"""Binaries above which an integer program for more than two machines finds nothing that a search does not."""


class SolverTask(NamedTuple):
    """A problem to be solved, by which solver and how closely."""

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
    def two(self) -> bool:
        """Has it two machines?"""
        return len(self.contraction.machines) == 2

    @property
    def solvable(self) -> bool:
        """Is it worth while to solve the whole integer program?"""
        return self.solver != "search" and (self.two or self.binaries <= _LARGE)

    @property
    def binaries(self) -> int:
        """How many binaries the integer program has, about."""
        return self.contraction.size * (1 if self.two else len(self.contraction.machines))


class Progress(NamedTuple):
    """The best decision and bound so far."""

    assignment: tuple[int, ...] | None
    """Machines of classes; None when there is nothing new."""
    bound: float = 0.0
    """No decision has a lower objective."""
    infeasible: bool = False
