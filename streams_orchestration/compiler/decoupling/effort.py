"""What is tried for a problem, in which order, and for how long."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from streams_orchestration.compiler.decoupling.backends import available
from streams_orchestration.compiler.decoupling.exact import solve_exactly
from streams_orchestration.compiler.decoupling.lower_bounds import block_bound
from streams_orchestration.compiler.decoupling.search import Search
from streams_orchestration.compiler.decoupling.spreading import spreading_bound
from streams_orchestration.compiler.decoupling.task import Step, Task

_STARTS = 1000
"""Starts of a search that only time ends."""
_SOME_STARTS = 6
"""Starts of a search that an integer program follows."""


def work(task: Task, report: Callable[[Step], None]) -> None:
    """Search, prove what can be proven in passing, then solve the whole program where that has a chance.

    Whatever is better than before is reported at once, since the time may be over at any moment. Of two processes that
    share a task the second one proves, and the first one only searches.
    """
    effort = _Effort(task, report)
    if effort.search.guarded:
        effort.look((0.3 if task.solvable else 1.0) * task.seconds, 1)
    elif task.workers > 1:
        if task.worker:
            effort.prove_blocks(task.seconds / 10)
            effort.look(task.seconds, 1)
            effort.prove_distances(effort.left)
        effort.look(effort.left, _STARTS)
    else:
        if not task.two:
            effort.prove_blocks(task.seconds / 10)
        starts = _STARTS if not task.solvable else 1 if task.two else _SOME_STARTS
        effort.look((0.3 if task.solvable else 0.5) * task.seconds, starts)
        effort.prove_distances(effort.left * (0.3 if task.solvable else 0.8))
        if not task.solvable:
            effort.look(effort.left, _STARTS)
    if task.solvable and not (effort.close() and task.gap):  # an exact answer has the least sum, too (rule Q9)
        effort.solve()


class _Effort:
    """A search and a bound that come closer to each other."""

    def __init__(self, task: Task, report: Callable[[Step], None]) -> None:
        self.task = task
        self.search = Search(task.contraction)
        if task.start is not None:
            self.search.offer(task.start)
        self._report = report
        self._deadline = time.monotonic() + task.seconds
        self._bound = task.bound
        self._seed = task.worker
        self._proves = task.solver != "search" and not task.two and available("highs")

    @property
    def left(self) -> float:
        """Seconds."""
        return self._deadline - time.monotonic()

    def close(self) -> bool:
        """Is the decision as close to the bound as it has to be?"""
        known = self.search.evaluation
        return known is not None and known.objective <= self._bound * (1 + max(self.task.gap, 1e-9))

    def look(self, seconds: float, starts: int) -> None:
        """Search from so many starts, each of them another one."""
        until = time.monotonic() + seconds
        for _ in range(starts):
            if self.close() or time.monotonic() > until:
                return
            rebalanced = self._proves and self.task.solver == "highs"
            self.search.begin_anew(self._seed, until, rebalanced=rebalanced, good_enough=self._bound)
            self._seed += self.task.workers
            self._tell()

    def prove_blocks(self, seconds: float) -> None:
        """See `block_bound`."""
        if self._proves:
            self._know(block_bound(self.task.contraction, self._bound, seconds))

    def prove_distances(self, seconds: float) -> None:
        """See `spreading_bound`."""
        best, evaluation = self.search.best, self.search.evaluation
        if self._proves and self.task.solver == "highs" and best is not None and not self.close():
            wanted = math.inf if evaluation is None else evaluation.objective / (1 + self.task.gap)
            spreading_bound(self.task.contraction, self._bound, best, seconds, wanted, self._know)

    def solve(self) -> None:
        """Solve the whole program, from the best decision so far."""
        start = None if self.search.best is None else tuple(self.search.best)
        rest = self.task._replace(start=start, seconds=max(0.01, self.left), bound=self._bound)
        solve_exactly(rest, self._report)

    def _know(self, bound: float) -> None:
        self._bound = max(self._bound, bound)
        self._tell()

    def _tell(self) -> None:
        self._report(Step(None if self.search.best is None else tuple(self.search.best), self._bound))
