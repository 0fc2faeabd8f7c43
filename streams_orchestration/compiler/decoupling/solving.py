"""From a decoupling problem to a decision, within a time limit that holds."""

from __future__ import annotations

import os
import time
from typing import Literal

from streams_orchestration.compiler.decoupling.backends import available
from streams_orchestration.compiler.decoupling.contraction import Contraction, contract
from streams_orchestration.compiler.decoupling.dataflow import Dataflow, dataflow
from streams_orchestration.compiler.decoupling.decision import Decision, canonical
from streams_orchestration.compiler.decoupling.effort import work
from streams_orchestration.compiler.decoupling.evaluation import evaluate
from streams_orchestration.compiler.decoupling.lower_bounds import simple_bound
from streams_orchestration.compiler.decoupling.search import Search
from streams_orchestration.compiler.decoupling.solver_process import SolverFailedError, solve_apart
from streams_orchestration.compiler.decoupling.task import SolverChoice, Step, Task
from streams_orchestration.model.decoupling import Problem
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic

SECONDS = 60.0
"""Time limit when nobody says another."""
_SMALL = 60
"""Binaries up to which a solver runs in this process: it takes a moment, and a process costs more."""
_EXACT = 300
"""Binaries up to which the optimum is proven when nobody says how close is close enough."""
_CLOSE = 1e-4
"""Relative gap for larger problems."""
_HUGE = 3000
"""Binaries up to which larger problems are solved to that gap, when there are more than two machines."""
_ROUGH = 0.01
"""Relative gap beyond."""
_SAME = 1e-7
"""Relative difference between objective and bound that is only the solvers' rounding (rule Q16)."""


def solve(
    problem: Problem, *, solver: SolverChoice = "highs", seconds: float = SECONDS, gap: float | None = None
) -> Decision:
    """The best decision that is found in time, never worse than everything on one machine where that is allowed.

    Args:
        problem: a checked problem.
        solver: of the integer program; the other one takes its place when it is not installed. `search` takes none.
        seconds: time limit.
        gap: relative difference from the best at which to stop. By default small problems are solved exactly and
            large ones to 0.01 percent.

    Raises:
        ApplicationError: no decision is allowed, or none was found in time.
    """
    begin = time.monotonic()
    flow = dataflow(problem)
    contraction = contract(flow)
    run = _Run(contraction, begin + seconds)
    used = run.decide(solver, gap)
    if run.search.best is None:
        raise ApplicationError([_nothing(problem, seconds, infeasible=run.infeasible)])
    outputs = tuple(canonical(contraction, run.search.best))
    evaluation = evaluate(flow, outputs)
    proven = len(contraction.machines) < 2 or run.bound >= evaluation.objective * (1 - _SAME)
    bound = evaluation.objective if proven else run.bound
    took = time.monotonic() - begin
    return Decision(flow, outputs, evaluation, bound, used, took, tuple(_unmeasured(flow)))


class _Run:
    """One problem being solved."""

    def __init__(self, contraction: Contraction, deadline: float) -> None:
        self.contraction = contraction
        self.deadline = deadline
        self.search = Search(contraction)
        self.bound = simple_bound(contraction)
        self.infeasible = False

    @property
    def left(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    def hear(self, step: Step) -> None:
        """Keep what is new."""
        self.infeasible |= step.infeasible
        if not step.infeasible:
            self.bound = max(self.bound, step.bound)
        if step.assignment is not None:
            self.search.offer(step.assignment)

    def decide(self, solver: SolverChoice, gap: float | None) -> SolverChoice:
        """Do what there is time for; what was used."""
        self.search.pack()
        start = None if self.search.best is None else tuple(self.search.best)
        task = Task(self.contraction, solver, start, self.bound, gap or 0.0, self.left)
        if gap is None and task.binaries > _EXACT:
            task = task._replace(gap=_ROUGH if task.binaries > _HUGE and not task.two else _CLOSE)
        if len(self.contraction.machines) < 2:
            self.infeasible = self.search.best is None
            return solver
        programs: tuple[Literal["highs", "cbc"], ...] = ("cbc", "highs") if solver == "cbc" else ("highs", "cbc")
        for each in programs if solver != "search" else ():
            if self.left and available(each):
                try:
                    self._run(task._replace(solver=each, seconds=self.left))
                except SolverFailedError:
                    continue
                return each
        if self.left:
            self._run(task._replace(solver="search", seconds=self.left))
        return "search"

    def _run(self, task: Task) -> None:
        if task.binaries <= _SMALL or task.solver == "search":  # a search looks at the clock itself
            work(task, self.hear)
            return
        # where a search and a bound are all that there is time for, each has a processor
        if task.solver == "highs" and not task.solvable and not self.search.guarded and (os.cpu_count() or 1) > 1:
            shares = [task._replace(worker=each, workers=2) for each in (0, 1)]
            solve_apart(shares, task.seconds, self.hear, lambda: self._close(task.gap))
        else:
            solve_apart([task], task.seconds, self.hear)

    def _close(self, gap: float) -> bool:
        known = self.search.evaluation
        return known is not None and known.objective <= self.bound * (1 + gap)


def _nothing(problem: Problem, seconds: float, *, infeasible: bool) -> Diagnostic:
    params = problem.params
    given = {"latency_budget": params.latency_budget, "machine_budget": params.machine_budget}
    limits = ", ".join(f"{name} {value}" for name, value in given.items() if value is not None)
    place = params.location()
    if infeasible:
        others = [*(["what is to be apart"] if problem.apart else []), *([limits] if limits else [])]
        held = " and ".join(["the pins", *others])
        return Diagnostic.of("SO0608", f"no decision keeps to {held}", location=place)
    return Diagnostic.of("SO0609", f"no decision was found in {seconds:g} s", location=place)


def _unmeasured(flow: Dataflow) -> list[Diagnostic]:
    """Outputs that may not be cut because nobody measured them, in one warning (rule Q4)."""
    found = [node for node in flow.nodes if "not measured" in node.stays and node.parents and not node.implicit]
    found = [node for node, readers in zip(flow.nodes, flow.readers, strict=False) if node in found and readers]
    if not found:
        return []
    names = ", ".join(str(node.operation.id) for node in found[:8])
    more = f" and {len(found) - 8} more" if len(found) > 8 else ""
    message = f"{names}{more}: the output was not measured, so it is not sent to another machine"
    first = found[0].operation
    return [Diagnostic.of("SO0610", message, operator=str(first.id), location=first.location())]
