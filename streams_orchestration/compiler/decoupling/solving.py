"""Solves decoupling problems within a time limit."""

from __future__ import annotations

import time

from streams_orchestration.compiler.decoupling.contraction import Contraction, contract
from streams_orchestration.compiler.decoupling.dataflow import Dataflow, dataflow
from streams_orchestration.compiler.decoupling.decision import Decision, canonical
from streams_orchestration.compiler.decoupling.effort import solve_task
from streams_orchestration.compiler.decoupling.evaluation import evaluate
from streams_orchestration.compiler.decoupling.lower_bounds import simple_bound
from streams_orchestration.compiler.decoupling.search import Search
from streams_orchestration.compiler.decoupling.solver_process import SolverFailedError, solve_apart
from streams_orchestration.compiler.decoupling.solver_task import SolverChoice, SolverProgress, SolverTask
from streams_orchestration.model.decoupling import Problem
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic
from streams_orchestration.model.short_texts import first_names

TIME_LIMIT_SECONDS = 60.0
"""The default time limit in seconds."""
SMALL = 60
"""The highest number of binary variables for a solver in this process, since starting another process takes longer."""
_EXACT = 300
"""The highest number of binary variables for which the optimum is proven by default."""
_CLOSE = 1e-4
"""The default relative gap for larger problems."""
_HUGE = 3000
"""The highest number of binary variables, for more than two machines, up to which `_CLOSE` is the default gap."""
_ROUGH = 0.01
"""The default relative gap for problems with more binary variables than `_HUGE`."""
_SAME = 1e-7
"""Relative difference between objective and bound that counts as rounding of the solver (rule Q16)."""


def solve(
    problem: Problem, *, solver: SolverChoice = "highs", seconds: float = TIME_LIMIT_SECONDS, gap: float | None = None
) -> Decision:
    """Return the best decision that can be found in time.

    It is never worse than placing everything on one machine, if the constraints allow that.

    Args:
        problem: a checked problem.
        solver: HiGHS, or a search without the integer program.
        seconds: the time limit.
        gap: the relative difference from the optimum at which the solver may stop. By default small problems are solved
            exactly, large ones to 0.01 percent, and the largest ones with more than two machines to 1 percent.

    Raises:
        ApplicationError: no decision is allowed, none was found in time, the solver's process cannot be started, or
            pins or operators to keep apart contradict each other (see `contract`).
    """
    begin = time.monotonic()
    flow = dataflow(problem)
    contraction = contract(flow)
    run = _Run(contraction, begin + seconds)
    try:
        used = run.decide(solver, gap)
    except OSError as error:
        message = f"the solver's process cannot be started on this machine: {error}"
        raise ApplicationError([Diagnostic.of("SO0612", message, location=problem.params.location())]) from error
    if run.search.best is None:
        raise ApplicationError([_no_decision(problem, seconds, infeasible=run.infeasible)])
    outputs = tuple(canonical(contraction, run.search.best))
    evaluation = evaluate(flow, outputs)
    proven = len(contraction.machines) < 2 or run.bound >= evaluation.objective * (1 - _SAME)
    bound = evaluation.objective if proven else run.bound
    took = time.monotonic() - begin
    return Decision(flow, outputs, evaluation, bound, used, took, tuple(_unmeasured(flow)))


class _Run:
    """A run of the solvers on one problem: the best decision and the best bound so far."""

    def __init__(self, contraction: Contraction, deadline: float) -> None:
        self.contraction = contraction
        self.deadline = deadline
        self.search = Search(contraction)
        self.bound = simple_bound(contraction)
        self.infeasible = False

    @property
    def remaining(self) -> float:
        """The seconds left until the deadline, at least 0."""
        return max(0.0, self.deadline - time.monotonic())

    def take(self, progress: SolverProgress) -> None:
        """Keep a better decision, a better bound, and the proof that the problem has no solution."""
        self.infeasible |= progress.infeasible
        if not progress.infeasible:
            self.bound = max(self.bound, progress.bound)
        if progress.assignment is not None:
            self.search.offer(progress.assignment)

    def decide(self, solver: SolverChoice, gap: float | None) -> SolverChoice:
        """Solve the problem, by search alone if HiGHS fails, and return the solver that was used.

        With a single machine nothing is solved; the problem is infeasible if that machine allows no decision.
        """
        self.search.pack()
        start = None if self.search.best is None else tuple(self.search.best)
        task = SolverTask(self.contraction, solver, start, self.bound, gap or 0.0, self.remaining)
        if gap is None and task.binaries > _EXACT:
            task = task._replace(gap=_ROUGH if task.binaries > _HUGE and not task.two else _CLOSE)
        if len(self.contraction.machines) < 2:
            self.infeasible = self.search.best is None
            return solver
        if solver != "search" and self.remaining:
            try:
                self._run(task._replace(seconds=self.remaining))
            except SolverFailedError:
                task = task._replace(solver="search")
            else:
                return solver
        if self.remaining:
            self._run(task._replace(solver="search", seconds=self.remaining))
        return "search"

    def _run(self, task: SolverTask) -> None:
        if task.binaries <= SMALL or task.solver == "search":  # a search reads the clock itself
            solve_task(task, self.take)
            return
        solve_apart(task, task.seconds, self.take)


def _no_decision(problem: Problem, seconds: float, *, infeasible: bool) -> Diagnostic:
    params = problem.params
    budgets = {"latency_budget": params.latency_budget, "machine_budget": params.machine_budget}
    limits = ", ".join(f"{name} {value}" for name, value in budgets.items() if value is not None)
    place = params.location()
    if infeasible:
        others = [*(["the sets `apart`"] if problem.apart else []), *([limits] if limits else [])]
        demands = " and ".join(["the pins", *others])
        return Diagnostic.of("SO0608", f"no decision meets the conditions of {demands}", location=place)
    return Diagnostic.of("SO0609", f"no decision was found in {seconds:g} s", location=place)


def _unmeasured(flow: Dataflow) -> list[Diagnostic]:
    """Return a warning with the first eight outputs that were not measured, so that they may not be cut (rule Q4).

    The list is empty if all were measured.
    """
    unmeasured = [
        node
        for node, readers in zip(flow.nodes, flow.readers, strict=True)
        if "not measured" in node.stays and node.parents and readers and not node.implicit
    ]
    if not unmeasured:
        return []
    names = first_names([str(node.operation.id) for node in unmeasured], 8)
    message = f"{names}: the output was not measured, so it is not sent to another machine"
    first = unmeasured[0].operation
    return [Diagnostic.of("SO0610", message, operator=str(first.id), location=first.location())]
