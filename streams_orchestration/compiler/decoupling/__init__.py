"""Which operators to move apart: the decision from measured costs. Solvers are imported when they are used."""

from streams_orchestration.compiler.decoupling.decision import Decision
from streams_orchestration.compiler.decoupling.solver_task import SolverChoice
from streams_orchestration.compiler.decoupling.solving import SECONDS, solve

__all__ = ["SECONDS", "Decision", "SolverChoice", "solve"]
