"""The exact solution: the best objective first, then the least sum of loads among those that reach it (rule Q9)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from streams_orchestration.compiler.decoupling.backends import SolverAnswer, run
from streams_orchestration.compiler.decoupling.evaluation import Evaluation, evaluate
from streams_orchestration.compiler.decoupling.formulation import Formulation
from streams_orchestration.compiler.decoupling.solver_task import Progress, SolverTask

SAME = 1e-9
"""Relative difference from a bound at which a decision reaches it."""


def solve_exactly(task: SolverTask, report: Callable[[Progress], None]) -> None:
    """Solve in two steps, and report every better decision and bound at once."""
    solver = "cbc" if task.solver == "cbc" else "highs"
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
        report(Progress(tuple(new) if new is not None and take(new) else None, answer.bound))

    if task.start is not None:
        take(task.start)
    if best is not None and best[0].objective <= task.bound * (1 + SAME):
        answer = SolverAnswer(None, task.bound, "optimal")
    else:
        start = None if task.start is None else formulation.start(task.start)
        answer = run(solver, formulation, start, task.gap, task.seconds, report_first)
    if answer.outcome == "infeasible":
        report(Progress(None, answer.bound, infeasible=task.start is None))
        return
    report_first(answer)
    now = time.monotonic()
    left = deadline - now
    if task.gap:  # where the first step may end early, the second is not worth more than it
        left = min(left, now - begin)
    if best is None or answer.outcome != "optimal" or left <= 0:
        return
    bound = answer.bound

    def report_second(answer: SolverAnswer) -> None:
        new = None if answer.values is None else formulation.assignment(answer.values)
        report(Progress(tuple(new) if new is not None and take(new) else None, bound))

    formulation = Formulation(contraction, at_most=best[0].objective * (1 + 1e-9))
    report_second(run(solver, formulation, formulation.start(best[1]), task.gap, left, report_second))
