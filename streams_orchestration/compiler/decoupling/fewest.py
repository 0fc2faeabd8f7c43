"""Fusion in the model of decoupling: the fewest machines, or the best use of a given number of machines.

Small problems are solved exactly. For large ones, machines are filled along the flow, so that a plan does not depend on
how busy the compiling machine is.
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
from streams_orchestration.model.diagnostics import ApplicationError

MAX_EXACT_SIZE = 70
"""The product of classes and machines up to which a problem is solved exactly, in about a second."""
_STARTS = 3
"""The number of candidates that local search improves in a larger problem."""
_STEPS = 400
"""The number of moves to try for each class, up to `_MOST` in all."""
_MOST = 60_000
_HEAVY = 20
"""The highest number of classes for which the compiler checks whether they overload every machine."""
_SECONDS = 30.0
"""The time limit in seconds for checking if a class overloads every machine, which solves a linear program."""
_SAME = 1e-9
"""The relative difference of two loads that counts as rounding."""


def fewest_machines(problem: Problem, capacity: float, *, most: int) -> Decision:
    """Return a decision with the fewest machines such that no machine's load exceeds the capacity.

    Among decisions with that many machines, it has the smallest peak load, then the smallest sum. An operator that
    overloads any machine counts as if it just filled one, so that the other machines keep within the capacity.

    Args:
        problem: a checked problem; its own number of machines is ignored.
        capacity: the largest load of a machine.
        most: the most machines. If they are not enough, the decision with the smallest peak load is returned.

    Raises:
        ApplicationError: no decision is allowed with `most` machines (SO0608), or the search fails.
    """
    fitted = _fitted(problem, capacity)
    total = math.fsum(each.cpu + each.recv_cpu for each in fitted.ops)
    least = min(max(least_machines(problem), math.ceil(total / capacity - _SAME)), most)

    def fits(decision: Decision | None) -> bool:
        return decision is not None and decision.evaluation.worst <= capacity * (1 + _SAME)

    if contract(dataflow(fitted)).size * least > MAX_EXACT_SIZE:
        return _fewest_of_large(fitted, fits, least, most)
    best: Decision | None = None
    for count in range(least, most + 1):
        decision = _allowed_use(fitted.with_machines(count), last=count == most)
        if decision is None:
            continue
        if best is None or decision.evaluation.worst < best.evaluation.worst * (1 - _SAME):
            best = decision
        if fits(decision):
            return decision
    assert best is not None
    return best


def _fewest_of_large(problem: Problem, fits: Callable[[Decision | None], bool], least: int, most: int) -> Decision:
    """Find by bisection how many machines filling needs, then remove machines while local moves still find a fit.

    Filling puts operators on machines in the order of the flow. It gets from `least` to `most` machines: `most` if
    fewer are too few.
    """
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
    """Return the size of the largest set of operators that must be apart; 1 if none must.

    If such sets overlap, more machines may be necessary.
    """
    return max((len(set(members)) for members in problem.apart), default=1)


def least_use(problem: Problem, *, most: int) -> Decision:
    """Return the result of `best_use` on the least number of machines that allows a decision.

    Args:
        problem: a checked problem; its own number of machines is ignored.
        most: the most machines.

    Raises:
        ApplicationError: no decision is allowed with `most` machines (SO0608), or the search fails.
    """
    counts = range(min(least_machines(problem), most), most + 1)
    tried = (_allowed_use(problem.with_machines(count), last=count == most) for count in counts)
    return next(decision for decision in tried if decision is not None)


def _allowed_use(problem: Problem, *, last: bool) -> Decision | None:
    """Return the result of `best_use`; None if no decision is allowed, unless this is the last number of machines."""
    try:
        return best_use(problem)
    except ApplicationError as error:
        if last or any(each.code != "SO0608" for each in error.diagnostics):
            raise
        return None


def best_use(problem: Problem, *, solver: SolverChoice = "highs") -> Decision:
    """Return the decision with the smallest peak load on the problem's machines; for a large problem, a close one.

    The solver is for other problems, and for a large one for which filling finds no decision.

    Raises:
        ApplicationError: no decision is allowed (SO0608), none was found in time (SO0609), or operators that must be
            on one machine are pinned to several or to be apart (SO0607), or the solver's process cannot be started
            (SO0612).
    """
    if contract(dataflow(problem)).size * problem.params.k > MAX_EXACT_SIZE:
        decision = _approached(problem, _STEPS)
        if decision is not None:
            return decision
    return solve(problem, solver=solver)


def _approached(problem: Problem, steps: int) -> Decision | None:
    """Return a good decision, found by filling machines and then trying `steps` moves per class.

    The result is None if filling finds no legal decision.
    """
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
    """Return the problem with the load of too heavy operators reduced, so that each of them just fills one machine.

    Only the `_HEAVY` heaviest classes are reduced, and none for which `block_load` finds nothing in `_SECONDS`.
    """
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
