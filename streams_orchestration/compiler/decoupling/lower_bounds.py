"""Lower bounds on the objective that need no integer program."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import pulp

from streams_orchestration.compiler.decoupling.contraction import Contraction

_BLOCKS = 40
"""The highest number of blocks that are examined."""


def simple_bound(contraction: Contraction) -> float:
    """Return a lower bound on the objective from loads alone, without the costs of sending.

    The load of a machine is at least the mean load, the heaviest class, and the load pinned to one machine. With a
    budget of machines, only classes with state count as a whole, and pins do not count.
    """
    params = contraction.flow.params
    total = math.fsum(contraction.weights)
    machines = len(contraction.machines)
    if params.machine_budget is not None:
        single = [weight for weight, whole in zip(contraction.weights, contraction.whole, strict=True) if whole]
        worst = max(total / params.machine_budget, max(single, default=0.0))
        return worst + params.lex_epsilon * worst
    pinned = [0.0] * machines
    for weight, pin in zip(contraction.weights, contraction.pins, strict=True):
        if pin >= 0:
            pinned[pin] += weight
    worst = max(total / machines, *contraction.weights, *pinned)
    return worst + params.lex_epsilon * total


def block_bound(contraction: Contraction, above: float, seconds: float) -> float:
    """Return a lower bound on the objective, by the least possible load of the machine with the heaviest block.

    For a class, the load is the minimum over all sets around it of the set's load plus the cost of its border: a
    minimum cut, solved as a linear program. Only classes that may beat `above` are examined, the most promising first,
    at most `_BLOCKS` and for at most `seconds`. The result is 0 if there are none, for a single machine, and with a
    budget of machines.
    """
    params = contraction.flow.params
    if params.machine_budget is not None or len(contraction.machines) < 2:
        return 0.0
    deadline = time.monotonic() + seconds
    around = [0.0] * contraction.size
    for fan in contraction.fans:
        around[fan.source] += fan.send
        for target in fan.targets:
            around[target] += fan.receive
    order = sorted(range(contraction.size), key=lambda each: -(contraction.weights[each] + around[each]))
    extra = params.lex_epsilon * math.fsum(contraction.weights)
    best = 0.0
    for number in order[:_BLOCKS]:
        isolated = contraction.weights[number] + around[number]
        if isolated + extra <= max(above, best) or time.monotonic() > deadline:
            break
        best = max(best, block_load(contraction, number, deadline - time.monotonic()) + extra)
    return best


def block_load(contraction: Contraction, seed: int, seconds: float) -> float:
    """Return the least possible load of the machine that has the class `seed`; 0 if it is not found in `seconds`."""
    program = pulp.LpProblem("block", pulp.LpMinimize)
    inside = [program.add_variable(f"i{number}", float(number == seed), 1) for number in range(contraction.size)]
    cost = {variable: weight for variable, weight in zip(inside, contraction.weights, strict=True) if weight}
    rows = 0

    def differs(name: str, ins: Sequence[int], outs: Sequence[int]) -> pulp.LpVariable:
        nonlocal rows
        variable = program.add_variable(name, 0, 1)
        for first in ins:
            for second in outs:
                rows += 1
                row = {variable: 1, inside[first]: -1, inside[second]: 1}
                program.addConstraint(pulp.LpConstraint(pulp.LpAffineExpression(row), 1, rhs=0), f"r{rows}")
        return variable

    for number, fan in enumerate(contraction.fans):
        if fan.send:
            cost[differs(f"s{number}", [fan.source], fan.targets)] = fan.send
        if fan.receive:
            cost[differs(f"t{number}", fan.targets, [fan.source])] = fan.receive
    program.setObjective(pulp.LpAffineExpression(cost))
    solver = pulp.HiGHS(msg=False, threads=1, timeLimit=max(0.1, seconds))
    solved = program.solve(solver) == 1 and program.sol_status == 1
    value = pulp.value(program.objective) if solved else None
    return value if isinstance(value, int | float) else 0.0
