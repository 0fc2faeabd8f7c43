"""Exact solutions by HiGHS: the best objective first, then the least sum of loads that reaches it (rule Q9)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import pulp

from streams_orchestration.compiler.decoupling.evaluation import Evaluation, evaluate
from streams_orchestration.compiler.decoupling.formulation import Formulation
from streams_orchestration.compiler.decoupling.solver_task import SolverProgress, SolverTask

Values = Mapping[str, float]
_ABSOLUTE = 1e-7
"""The difference from the optimum at which HiGHS may stop, with loads that add up to 1000."""
SAME = 1e-9
"""The relative difference below which a decision counts as equal to a bound."""


class SolverAnswer(NamedTuple):
    """The best solution and bound of HiGHS at one time."""

    values: Values | None
    """The best solution so far; None if there is no new one."""
    bound: float
    """The lower bound on every solution, in the unit of the problem."""
    outcome: Literal["running", "optimal", "stopped", "infeasible"]
    """The state of the solver; `optimal` means that the solution is within the wanted gap of the bound."""


def solve_exactly(task: SolverTask, report: Callable[[SolverProgress], None]) -> None:
    """Solve the problem in two steps (rule Q9), and report every better decision and bound at once.

    If no decision is allowed, this is reported as `infeasible`, unless the task has a decision to start from. The
    second step is left out if the first one finds no optimum or takes all the time. If the gap is not 0, the second one
    gets no more time than the first one took.
    """
    begin = time.monotonic()
    deadline = begin + task.seconds
    contraction = task.contraction
    formulation = Formulation(contraction)
    best: tuple[Evaluation, Sequence[int]] | None = None

    def take(assignment: Sequence[int]) -> bool:
        nonlocal best
        evaluation = evaluate(contraction.flow, contraction.outputs_of(assignment))
        if best is None or evaluation.better_than(best[0]):
            best = evaluation, assignment
            return True
        return False

    def report_first(answer: SolverAnswer) -> None:
        new = None if answer.values is None else formulation.assignment(answer.values)
        report(SolverProgress(tuple(new) if new is not None and take(new) else None, answer.bound))

    if task.start is not None:
        take(task.start)
    if best is not None and best[0].objective <= task.bound * (1 + SAME):
        answer = SolverAnswer(None, task.bound, "optimal")
    else:
        start = None if task.start is None else formulation.start(task.start)
        answer = run(formulation, start, task.gap, task.seconds, report_first)
    if answer.outcome == "infeasible":
        report(SolverProgress(None, answer.bound, infeasible=task.start is None))
        return
    report_first(answer)
    now = time.monotonic()
    left = deadline - now
    if task.gap:  # if the first step may end early, the second one gets no more time than it took
        left = min(left, now - begin)
    if best is None or answer.outcome != "optimal" or left <= 0:
        return
    bound = answer.bound

    def report_second(answer: SolverAnswer) -> None:
        new = None if answer.values is None else formulation.assignment(answer.values)
        report(SolverProgress(tuple(new) if new is not None and take(new) else None, bound))

    formulation = Formulation(contraction, at_most=best[0].objective * (1 + 1e-9))
    report_second(run(formulation, formulation.start(best[1]), task.gap, left, report_second))


def run(
    formulation: Formulation, start: Values | None, gap: float, seconds: float, report: Callable[[SolverAnswer], None]
) -> SolverAnswer:
    """Solve a program, and return the last answer of HiGHS.

    Args:
        formulation: the program.
        start: the values of the binary variables in a known solution.
        gap: the relative difference from the optimum at which the solver may stop; 0 for an exact answer.
        seconds: the time after which HiGHS should stop; it can take longer.
        report: called with better solutions and bounds on the way.
    """
    import highspy

    program = formulation.program
    kinds = highspy.cb.HighsCallbackType
    names: list[str] = []

    def on_event(kind: Any, _message: str, data: Any, _input: Any, _value: Any) -> None:
        values = None
        if kind == kinds.kCallbackMipImprovingSolution:
            values = dict(zip(names, map(float, data.mip_solution), strict=True))
        report(SolverAnswer(values, data.mip_dual_bound / formulation.scale, "running"))

    solver = pulp.HiGHS(
        msg=False,
        gapRel=gap,
        gapAbs=_ABSOLUTE,
        threads=1,
        timeLimit=seconds,
        callbackTuple=(on_event, None),
        callbacksToActivate=[kinds.kCallbackMipImprovingSolution, kinds.kCallbackMipLogging],
        random_seed=1,
        mip_feasibility_tolerance=1e-7,
    )
    solver.createAndConfigureSolver(program)
    solver.buildSolverModel(program)
    variables: list[Any] = program.variables()
    names += [variable.name for variable in variables]
    model: Any = program.solverModel
    if start is not None:
        known = [(variable.index, start[variable.name]) for variable in variables if variable.name in start]
        model.setSolution(len(known), [index for index, _ in known], [value for _, value in known])
    solver.callSolver(program)
    status = model.getModelStatus()
    states = highspy.HighsModelStatus
    if status in (states.kInfeasible, states.kUnboundedOrInfeasible):
        return SolverAnswer(None, float("inf"), "infeasible")
    info = model.getInfo()
    bound = info.mip_dual_bound if program.isMIP() else info.objective_function_value
    solved = info.primal_solution_status == 2
    values = dict(zip(names, map(float, model.getSolution().col_value), strict=True)) if solved else None
    return SolverAnswer(values, bound / formulation.scale, "optimal" if status == states.kOptimal else "stopped")
