"""Fusion as the reverse of decoupling: few machines, or the best use of a number of them, in the same model.

Small problems are solved exactly. Large ones are shared out along the flow, so that a plan is the same every time,
however busy the machine is on which it is made.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from streams_orchestration.compiler.decoupling.contraction import contract
from streams_orchestration.compiler.decoupling.dataflow import dataflow
from streams_orchestration.compiler.decoupling.decision import Decision
from streams_orchestration.compiler.decoupling.lower_bounds import block_load, simple_bound
from streams_orchestration.compiler.decoupling.search import Search
from streams_orchestration.compiler.decoupling.solver_task import SolverChoice
from streams_orchestration.compiler.decoupling.solving import solve
from streams_orchestration.model.decoupling import Problem

EXACT = 70
"""Classes times machines up to which a problem is solved exactly: it takes about a second."""
_STARTS = 3
"""Ways of filling machines that are improved in a larger problem."""
_STEPS = 400
"""Moves that are tried for each class, up to `_MOST` in all."""
_MOST = 60_000
_HEAVY = 20
"""The most classes with which it is determined whether any machine could hold them."""
_SECONDS = 30.0
"""Time limit for one of them, a linear program."""
_SAME = 1e-9
"""Relative difference that is only rounding."""


def fewest_machines(problem: Problem, capacity: float, *, most: int, solver: SolverChoice = "highs") -> Decision:
    """The decision with the fewest machines among those with no load above the capacity.

    Of several with as few machines it has the least largest load, then the least sum. Operators that are too much for
    any machine, whatever else is there, count as if they just filled one: so the others keep within the capacity.

    Args:
        problem: a checked problem; its number of machines does not count.
        capacity: of a machine, in the unit of loads.
        most: machines there may be at most. If so many are not enough, the decision with the least largest load.
        solver: of the integer programs.

    Raises:
        ApplicationError: no decision is allowed with `most` machines.
    """
    fitted = _fitted(problem, capacity)
    total = math.fsum(each.cpu + each.recv_cpu for each in fitted.ops)
    least = min(max(least_machines(problem), math.ceil(total / capacity - _SAME)), most)

    def fits(decision: Decision | None) -> bool:
        return decision is not None and decision.evaluation.worst <= capacity * (1 + _SAME)

    if contract(dataflow(fitted)).size * least > EXACT:
        return _fewest_of_large(fitted, fits, least, most)
    best: Decision | None = None
    for count in range(least, most + 1):
        decision = best_use(fitted.with_machines(count), solver=solver)
        if best is None or decision.evaluation.worst < best.evaluation.worst * (1 - _SAME):
            best = decision
        if fits(decision):
            return decision
    assert best is not None
    return best


def _fewest_of_large(problem: Problem, fits: Callable[[Decision | None], bool], least: int, most: int) -> Decision:
    """As many machines as filling alone needs, by bisection, and then fewer as long as moves make that do."""
    low, high = least, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(_approached(problem.with_machines(middle), 0)) else (middle + 1, high)
    best = best_use(problem.with_machines(high))
    while high > least and fits(best):
        high -= 1
        fewer = _approached(problem.with_machines(high), _STEPS)
        if fewer is None or not fits(fewer):
            break
        best = fewer
    return best


def least_machines(problem: Problem) -> int:
    """How many machines what is to be apart needs at least."""
    return max((len(set(members)) for members in problem.apart), default=1)


def best_use(problem: Problem, *, solver: SolverChoice = "highs") -> Decision:
    """The decision with the least largest load on the machines that the problem has; close to it in a large problem.

    Raises:
        ApplicationError: no decision is allowed.
    """
    if contract(dataflow(problem)).size * problem.params.k > EXACT:
        decision = _approached(problem, _STEPS)
        if decision is not None:
            return decision
    return solve(problem, solver=solver)


def _approached(problem: Problem, steps: int) -> Decision | None:
    """A good decision by filling machines, and by so many moves for each class; None when filling finds none."""
    flow = dataflow(problem)
    contraction = contract(flow)
    search = Search(contraction)
    for seed in range(_STARTS if steps else 0):
        search.improve_filling(seed, min(steps * contraction.size, _MOST))
    if search.best is None or search.evaluation is None:
        return None
    outputs = tuple(contraction.outputs_of(search.best))
    return Decision(flow, outputs, search.evaluation, simple_bound(contraction), "search", 0.0)


def _fitted(problem: Problem, capacity: float) -> Problem:
    """The problem with operators that overload any machine made light enough to fill one."""
    flow = dataflow(problem.with_machines(2))
    contraction = contract(flow)
    alone = list(contraction.weights)
    for fan in contraction.fans:
        alone[fan.source] += fan.send * (len(fan.targets) if flow.params.tee == "exact" else 1)
        for target in fan.targets:
            alone[target] += fan.receive
    factors = [1.0] * contraction.size
    heavy = [number for number, load in enumerate(alone) if load > capacity and contraction.weights[number] > 0]
    for number in sorted(heavy, key=lambda each: -contraction.weights[each])[:_HEAVY]:
        excess = block_load(contraction, number, _SECONDS) - capacity
        factors[number] = max(0.0, 1 - max(0.0, excess) / contraction.weights[number])
    ops = [
        operation.model_copy(update={"cpu": operation.cpu * factors[contraction.executes[number]]})
        for number, operation in enumerate(problem.ops)
    ]
    return problem.model_copy(update={"ops": tuple(ops)})
