"""The exact solution: the best objective first, then the least sum of loads among those that reach it (rule Q9)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from streams_orchestration.compiler.decoupling.backends import Found, run
from streams_orchestration.compiler.decoupling.evaluation import Evaluation, evaluate
from streams_orchestration.compiler.decoupling.formulation import Formulation
from streams_orchestration.compiler.decoupling.task import Step, Task

SAME = 1e-9
"""Relative difference from a bound at which a decision reaches it."""


def solve_exactly(task: Task, report: Callable[[Step], None]) -> None:
    """Solve in two steps; everything that is found is reported at once."""
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

    def told(found: Found) -> None:
        new = None if found.values is None else formulation.assignment(found.values)
        report(Step(tuple(new) if new is not None and take(new) else None, found.bound))

    if task.start is not None:
        take(task.start)
    if best is not None and best[0].objective <= task.bound * (1 + SAME):
        found = Found(None, task.bound, "optimal")
    else:
        start = None if task.start is None else formulation.start(task.start)
        found = run(solver, formulation, start, task.gap, task.seconds, told)
    if found.outcome == "infeasible":
        report(Step(None, found.bound, infeasible=task.start is None))
        return
    told(found)
    now = time.monotonic()
    left = deadline - now
    if task.gap:  # where the first step may end early, the second is not worth more than it
        left = min(left, now - begin)
    if best is None or found.outcome != "optimal" or left <= 0:
        return
    bound = found.bound

    def settled(found: Found) -> None:
        new = None if found.values is None else formulation.assignment(found.values)
        report(Step(tuple(new) if new is not None and take(new) else None, bound))

    formulation = Formulation(contraction, at_most=best[0].objective * (1 + 1e-9))
    settled(run(solver, formulation, formulation.start(best[1]), task.gap, left, settled))
