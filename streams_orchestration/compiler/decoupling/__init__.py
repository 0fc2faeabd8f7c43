"""Which operators to move apart: the decision from measured costs. Solvers are imported when they are used."""

from streams_orchestration.compiler.decoupling.decision import Decision
from streams_orchestration.compiler.decoupling.solving import SECONDS, solve
from streams_orchestration.compiler.decoupling.task import SolverChoice

__all__ = ["SECONDS", "Decision", "SolverChoice", "solve"]
