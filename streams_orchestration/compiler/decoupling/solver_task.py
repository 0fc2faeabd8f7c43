"""The task of a solver, and its progress reports."""

from __future__ import annotations

from typing import Literal, NamedTuple

from streams_orchestration.compiler.decoupling.contraction import Contraction

SolverChoice = Literal["highs", "search"]
_LARGE = 3000
"""The number of binary variables above which the integer program, for more than two machines, is no better than search.
"""


class SolverTask(NamedTuple):
    """A problem to solve, with the solver and its limits."""

    contraction: Contraction
    solver: SolverChoice
    """The kind of solver; `search` uses no integer program."""
    start: tuple[int, ...] | None
    """A known decision; None without one."""
    bound: float
    """A known lower bound on the objective."""
    gap: float
    """The relative difference from the optimum at which the solver may stop."""
    seconds: float

    @property
    def two(self) -> bool:
        """True if the problem has two machines."""
        return len(self.contraction.machines) == 2

    @property
    def solvable(self) -> bool:
        """True if the whole integer program is worth solving: with HiGHS, and on two machines or with few binaries."""
        return self.solver != "search" and (self.two or self.binaries <= _LARGE)

    @property
    def binaries(self) -> int:
        """The approximate number of binaries of the integer program."""
        return self.contraction.size * (1 if self.two else len(self.contraction.machines))


class SolverProgress(NamedTuple):
    """The best decision and bound so far."""

    assignment: tuple[int, ...] | None
    """Machines of classes; None if there is no new decision."""
    bound: float = 0.0
    """The lower bound on the objective of every decision."""
    infeasible: bool = False
