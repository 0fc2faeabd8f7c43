"""Decoupling: decides from measured costs which operators to move apart. Solvers are imported on first use."""

from streams_orchestration.compiler.decoupling.decision import Decision
from streams_orchestration.compiler.decoupling.solver_task import SolverChoice
from streams_orchestration.compiler.decoupling.solving import SECONDS, solve

__all__ = ["SECONDS", "Decision", "SolverChoice", "solve"]
