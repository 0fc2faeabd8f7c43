"""Decoupling: decides from measured costs which operators to move apart. Solvers are imported on first use."""

from streams_orchestration.compiler.decoupling.decision import Decision
from streams_orchestration.compiler.decoupling.solver_task import SolverChoice
from streams_orchestration.compiler.decoupling.solving import solve

__all__ = ["Decision", "SolverChoice", "solve"]
