"""Runs search, lower bounds and the integer program for one decoupling problem, and divides the time among them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from streams_orchestration.compiler.decoupling.integer_program import solve_exactly
from streams_orchestration.compiler.decoupling.lower_bounds import block_bound
from streams_orchestration.compiler.decoupling.search import Search
from streams_orchestration.compiler.decoupling.solver_task import SolverProgress, SolverTask
from streams_orchestration.compiler.decoupling.spreading import spreading_bound

_STARTS = 1000
"""The most starting points of a search that otherwise ends only when its time is over."""
_SOME_STARTS = 6
"""The most starting points of a search that runs before the integer program."""


def solve_task(task: SolverTask, report: Callable[[SolverProgress], None]) -> None:
    """Search, prove cheap bounds, then solve the integer program if it is small enough.

    The program is left out if it may end early (the gap is not 0) and the search was good enough. Every better decision
    or bound is reported at once, since the time may end at any moment. If the integer program is solved for two
    machines, search and bounds are skipped, since the program alone is faster.
    """
    effort = _Effort(task, report)
    if not task.solvable:
        effort.prove_blocks(task.seconds / 10)
        effort.search_for(0.5 * task.seconds, _STARTS)
        effort.prove_distances(0.8 * effort.remaining)
        effort.search_for(effort.remaining, _STARTS)
    elif not task.two:
        effort.prove_blocks(task.seconds / 10)
        effort.search_for(0.3 * task.seconds, _SOME_STARTS)
    if task.solvable and not (effort.close() and task.gap):  # an exact answer has the least sum, too (rule Q9)
        effort.solve()


class _Effort:
    """One attempt at a problem: the best decision found so far, and a lower bound on all decisions."""

    def __init__(self, task: SolverTask, report: Callable[[SolverProgress], None]) -> None:
        self.task = task
        self.search = Search(task.contraction)
        if task.start is not None:
            self.search.offer(task.start)
        self._report = report
        self._deadline = time.monotonic() + task.seconds
        self._bound = task.bound
        self._seed = 0
        budget = task.contraction.flow.params.machine_budget
        self._proves = task.solver != "search" and not task.two and budget is None

    @property
    def remaining(self) -> float:
        """The seconds left until the deadline."""
        return self._deadline - time.monotonic()

    def close(self) -> bool:
        """Return True if the best decision is close enough to the lower bound for the wanted gap."""
        known = self.search.evaluation
        return known is not None and known.objective <= self._bound * (1 + max(self.task.gap, 1e-9))

    def search_for(self, seconds: float, starts: int) -> None:
        """Run the search from at most `starts` different starts, for at most `seconds`, and report after each.

        It ends early if the best decision is close enough to the lower bound.
        """
        until = time.monotonic() + seconds
        for _ in range(starts):
            if self.close() or time.monotonic() > until:
                return
            self.search.run_start(self._seed, until)
            self._seed += 1
            self._report_progress()

    def prove_blocks(self, seconds: float) -> None:
        """Raise the lower bound with `block_bound` for at most `seconds` and report it, unless none is needed."""
        if self._proves:
            self._raise_bound(block_bound(self.task.contraction, self._bound, seconds))

    def prove_distances(self, seconds: float) -> None:
        """Raise the lower bound with `spreading_bound` for at most `seconds`, and report each better one.

        Nothing happens if the task needs no bound, if there is no decision yet, or if the decision is good enough.
        """
        best, evaluation = self.search.best, self.search.evaluation
        if self._proves and best is not None and not self.close():
            wanted = math.inf if evaluation is None else evaluation.objective / (1 + self.task.gap)
            spreading_bound(self.task.contraction, self._bound, best, seconds, wanted, self._raise_bound)

    def solve(self) -> None:
        """Solve the whole integer program, beginning with the best decision so far, and report what it finds."""
        start = None if self.search.best is None else tuple(self.search.best)
        rest = self.task._replace(start=start, seconds=max(0.01, self.remaining), bound=self._bound)
        solve_exactly(rest, self._report)

    def _raise_bound(self, bound: float) -> None:
        self._bound = max(self._bound, bound)
        self._report_progress()

    def _report_progress(self) -> None:
        self._report(SolverProgress(None if self.search.best is None else tuple(self.search.best), self._bound))
