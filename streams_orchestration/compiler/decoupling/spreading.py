"""A lower bound on the objective: close operators do not all fit on one machine, so some sends must be paid."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from streams_orchestration.compiler.decoupling.contraction import Contraction

_ROWS = 400
"""The number of rows that are added to the linear program in one round."""
_STEPS = (0.3, 0.5, 0.7, 0.85, 1.0)
"""Points on the line from the solution (1) to a known decision (0) at which `extend` looks for violated rows."""


def spreading_bound(
    contraction: Contraction,
    known: float,
    assignment: Sequence[int],
    seconds: float,
    wanted: float = math.inf,
    report: Callable[[float], None] = lambda _: None,
) -> float:
    """Return a bound on the objective by a linear program with row generation; the known bound if that is as high.

    An edge has length 1 if its ends are on different machines, else 0. The machine of an operator pays for every
    operator at distance 0 and for every edge that leaves this set; the sum is at most the largest load. All machines
    together pay all loads and both sides of all sends. With lengths between 0 and 1 and distances along shortest paths,
    this holds for every decision, so the least objective of the relaxation is a bound.

    Args:
        contraction: the problem; without a budget of machines.
        known: a known bound.
        assignment: the machines of classes in a good decision.
        seconds: the time limit.
        wanted: a bound at which to stop.
        report: called with every better bound.
    """
    deadline = time.monotonic() + seconds
    program = _Program(contraction, known, assignment, deadline)
    best = known
    steps = list(_STEPS)
    while steps and best < wanted and time.monotonic() < deadline:
        bound = program.solve()
        if bound is None:
            break
        if bound > best:
            best = bound
            report(best)
        while steps and not program.extend(steps[0]):
            steps.pop(0)
    return best


class _Program:
    """The linear program. Column 0 is the largest load, then a column for each edge, then one for each fan."""

    def __init__(self, contraction: Contraction, known: float, assignment: Sequence[int], deadline: float) -> None:
        import highspy

        self._highs: Any = highspy.Highs()
        self._highs.setOptionValue("output_flag", False)  # noqa: FBT003  HiGHS takes no keywords
        self._highs.setOptionValue("threads", 1)
        self._optimal = highspy.HighsModelStatus.kOptimal
        self._deadline = deadline
        self._weights = contraction.weights
        epsilon = contraction.flow.params.lex_epsilon
        total = math.fsum(contraction.weights)
        infinite = highspy.kHighsInf
        self._constant = epsilon * total
        self._highs.addCol(1.0, 0.0 if epsilon else known, infinite, 0, [], [])
        self._edges: list[list[tuple[int, int, float, tuple[int, bool]]]] = [[] for _ in contraction.weights]
        """The edges of each class: (other end, column, load of a cut on this side, (fan, True at its source))."""
        everything: dict[int, float] = {0: float(len(contraction.machines))}
        columns = 1
        fans: list[tuple[int, int]] = []
        self._decided = [0.0]
        for number, fan in enumerate(contraction.fans):
            for target in fan.targets:
                self._highs.addCol(0.0, 0.0, 1.0, 0, [], [])
                self._edges[fan.source].append((target, columns, fan.send, (number, True)))
                self._edges[target].append((fan.source, columns, fan.receive, (number, False)))
                fans.append((columns, number))
                self._decided.append(float(assignment[fan.source] != assignment[target]))
                columns += 1
        self._first_fan = columns
        for fan in contraction.fans:
            self._highs.addCol(epsilon * (fan.send + fan.receive), 0.0, 1.0, 0, [], [])
            everything[columns] = -(fan.send + fan.receive)
            columns += 1
        for column, number in fans:
            self._highs.addRow(0.0, infinite, 2, [self._first_fan + number, column], [1.0, -1.0])
        self._highs.addRow(total, infinite, len(everything), list(everything), list(everything.values()))
        self._infinite = infinite
        self._lengths: list[float] = []

    def solve(self) -> float | None:
        """Solve the program with the current rows, and return the bound; None if no optimum is found in time."""
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + max(0.1, self._deadline - time.monotonic()))
        self._highs.run()
        if self._highs.getModelStatus() != self._optimal:
            return None
        # within its tolerance HiGHS lets a length be negative, and then there are no shortest paths
        self._lengths = [max(0.0, value) for value in self._highs.getSolution().col_value]
        return float(self._highs.getInfo().objective_function_value) + self._constant

    def extend(self, step: float) -> bool:
        """Look for violated rows at a point between decision and solution, and add the most violated ones.

        Rows that the solution does not violate are left out, since they would not change it. The search ends at the
        deadline.

        Returns:
            True if a row was added.
        """
        solution = self._lengths[: len(self._decided)]
        decided = zip(solution[1:], self._decided[1:], strict=True)
        self._lengths = [solution[0], *(step * each + (1 - step) * other for each, other in decided)]
        broken: list[tuple[float, dict[int, float], float]] = []
        for root in range(len(self._weights)):
            if time.monotonic() > self._deadline:
                break
            excess, row, least = self._row(root)
            margin = 1e-6 * self._lengths[0]
            if excess > margin and sum(solution[each] * factor for each, factor in row.items()) < least - margin:
                broken.append((excess, row, least))
        self._lengths = solution
        broken.sort(key=lambda each: -each[0])
        for _, row, least in broken[:_ROWS]:
            self._highs.addRow(least, self._infinite, len(row), list(row), list(row.values()))
        return bool(broken)

    def _row(self, root: int) -> tuple[float, dict[int, float], float]:
        """Return the row which says that the largest load is at least the load of the machine of the class `root`.

        Returns:
            The amount by which the current lengths violate the row, its factors by column, and its least value.
        """
        lengths, weights = self._lengths, self._weights
        distance = {root: 0.0}
        parent: dict[int, tuple[int, int]] = {}
        order: list[int] = []
        done: set[int] = set()
        queue = [(0.0, root)]
        while queue:
            far, here = heapq.heappop(queue)
            if here in done:
                continue
            done.add(here)
            order.append(here)
            for other, column, _, _ in self._edges[here]:
                further = far + lengths[column]
                if further < 1.0 - 1e-9 and further < distance.get(other, 1.0):
                    distance[other] = further
                    parent[other] = here, column
                    heapq.heappush(queue, (further, other))
        least = 0.0
        bears = 0.0
        row: dict[int, float] = {0: 1.0}
        below: dict[int, float] = {}
        paid: dict[tuple[int, bool], tuple[float, int, int, float]] = {}
        for here in order:
            far = distance[here]
            least += weights[here]
            bears += weights[here] * (1.0 - far)
            below[here] = weights[here]
            for _, column, price, side in self._edges[here]:
                gain = lengths[column] - far
                # a machine sends a fan at least once, and receives it once for all of its readers there
                if gain > 1e-9 and (side not in paid or gain > paid[side][0]):
                    paid[side] = gain, here, column, price
        for gain, here, column, price in paid.values():
            bears += price * gain
            row[column] = row.get(column, 0.0) - price
            below[here] += price
        for here in reversed(order[1:]):
            above, column = parent[here]
            row[column] = row.get(column, 0.0) + below[here]
            below[above] += below[here]
        return bears - lengths[0], row, least
