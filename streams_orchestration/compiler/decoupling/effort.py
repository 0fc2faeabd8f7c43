"""What is tried for a problem, in which order, and for how long."""

from __future__ import annotations

import time
from collections.abc import Callable

from streams_orchestration.compiler.decoupling.exact import solve_exactly
from streams_orchestration.compiler.decoupling.lower_bounds import block_bound
from streams_orchestration.compiler.decoupling.search import Search
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
    share = 0.3 if solvable else 0.95
    until = time.monotonic() + share * (deadline - time.monotonic())
    starts = (1 if two else 6) if solvable else _STARTS
    for seed in range(1 if guarded else starts):
        if close() or time.monotonic() > until:
            break
        search.begin_anew(seed, until, rebalanced=task.solver == "highs" and not two, good_enough=bound)
        tell()
    if solvable and not close():
        left = deadline - time.monotonic()
        start = None if search.best is None else tuple(search.best)
        solve_exactly(task._replace(start=start, seconds=max(0.01, left), bound=bound), report)
