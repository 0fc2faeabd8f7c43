"""What is tried for a problem, in which order, and for how long."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from streams_orchestration.compiler.decoupling.exact import solve_exactly
from streams_orchestration.compiler.decoupling.lower_bounds import block_bound
from streams_orchestration.compiler.decoupling.search import Search
from streams_orchestration.compiler.decoupling.spreading import spreading_bound
from streams_orchestration.compiler.decoupling.task import Step, Task

_LARGE = 3000
"""Binaries above which an integer program for more than two machines finds nothing that a search does not."""
_STARTS = 1000
"""Starts of a search that only time ends."""


def work(task: Task, report: Callable[[Step], None]) -> None:
    """Search, prove what can be proven in passing, then solve the whole program where that has a chance.

    Whatever is better than before is reported at once, since the time may be over at any moment.
    """
    deadline = time.monotonic() + task.seconds
    contraction = task.contraction
    search = Search(contraction)
    if task.start is not None:
        search.offer(task.start)
    bound = task.bound
    two = len(contraction.machines) == 2
    solvable = task.solver != "search" and (two or task.binaries <= _LARGE)
    guarded = search.guarded

    def close() -> bool:
        known = search.evaluation
        return known is not None and known.objective <= bound * (1 + max(task.gap, 1e-9))

    def tell() -> None:
        report(Step(None if search.best is None else tuple(search.best), bound))

    if not guarded and not two and task.solver != "search":
        bound = max(bound, block_bound(contraction, bound, task.seconds / 10))
        tell()
    highs = task.solver == "highs" and not two
    starts = (1 if two else 6) if solvable else _STARTS

    def look(first: int, seconds: float) -> int:
        """Search from several starts; the number of the next one."""
        until = time.monotonic() + seconds
        for seed in range(first, 1 if guarded else starts):
            if close() or time.monotonic() > until:
                return seed
            search.begin_anew(seed, until, rebalanced=highs, good_enough=bound)
            tell()
        return starts

    following = look(0, (0.3 if solvable else 0.5) * task.seconds)
    if highs and not guarded and not close() and search.best is not None:
        left = deadline - time.monotonic()
        wanted = math.inf if search.evaluation is None else search.evaluation.objective / (1 + task.gap)
        seconds = left * (0.3 if solvable else 0.8)
        bound = max(bound, spreading_bound(contraction, bound, search.best, seconds, wanted))
        tell()
    if not solvable and not guarded:
        look(following, deadline - time.monotonic())
    if solvable and not close():
        left = deadline - time.monotonic()
        start = None if search.best is None else tuple(search.best)
        solve_exactly(task._replace(start=start, seconds=max(0.01, left), bound=bound), report)
