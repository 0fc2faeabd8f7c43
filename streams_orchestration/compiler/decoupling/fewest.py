"""Fusion as the reverse of decoupling: the fewest machines on which no load is above a limit, in the same model."""

from __future__ import annotations

import math
import time

from streams_orchestration.compiler.decoupling.contraction import contract
from streams_orchestration.compiler.decoupling.dataflow import dataflow
from streams_orchestration.compiler.decoupling.decision import Decision
from streams_orchestration.compiler.decoupling.solving import solve
from streams_orchestration.compiler.decoupling.task import SolverChoice
from streams_orchestration.model.decoupling import Problem

SECONDS = 60.0
"""Time limit for all numbers of machines together."""
_SAME = 1e-9
"""Relative difference that is only rounding."""


def fewest_machines(
    problem: Problem, capacity: float, *, most: int, solver: SolverChoice = "highs", seconds: float = SECONDS
) -> Decision:
    """The decision with the fewest machines among those with no load above the capacity.

    Of several with as few machines it has the least largest load, then the least sum. Operators that are too much for a
    machine of their own, with all that they send and receive, count as if they just filled one; then others share
    nothing with them, as far as that can be, and their own load is above the capacity all the same.

    Args:
        problem: a checked problem; its number of machines does not count.
        capacity: of a machine, in the unit of loads.
        most: machines there may be at most. If so many are not enough, the decision with the least largest load.
        solver: of the integer programs.
        seconds: time limit for all of them.

    Raises:
        ApplicationError: no decision is allowed with `most` machines, or none was found in time.
    """
    deadline = time.monotonic() + seconds
    fitted = _fitted(problem, capacity)
    total = math.fsum(each.cpu + each.recv_cpu for each in fitted.ops)
    least = max((len(set(members)) for members in problem.apart), default=1)
    machines = min(max(least, math.ceil(total / capacity - _SAME)), most) if capacity > 0 else most
    best: Decision | None = None
    while True:
        left = max(0.05, deadline - time.monotonic())
        found = solve(fitted.with_machines(machines), solver=solver, seconds=left)
        worst = found.evaluation.worst
        if best is None or worst < best.evaluation.worst * (1 - _SAME):
            best = found
        if worst <= capacity * (1 + _SAME) or machines >= most or time.monotonic() > deadline:
            return best
        machines += 1


def _fitted(problem: Problem, capacity: float) -> Problem:
    """The problem with operators that must be together made light enough for a machine of their own."""
    flow = dataflow(problem.with_machines(2))
    contraction = contract(flow)
    alone = list(contraction.weights)
    for fan in contraction.fans:
        alone[fan.source] += fan.send * (len(fan.targets) if flow.params.tee == "exact" else 1)
        for target in fan.targets:
            alone[target] += fan.receive
    factors = [
        max(0.0, 1 - (load - capacity) / weight) if load > capacity and weight > 0 else 1.0
        for load, weight in zip(alone, contraction.weights, strict=True)
    ]
    ops = [
        operation.model_copy(update={"cpu": operation.cpu * factors[contraction.executes[number]]})
        for number, operation in enumerate(problem.ops)
    ]
    return problem.model_copy(update={"ops": tuple(ops)})
