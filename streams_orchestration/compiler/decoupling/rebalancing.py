"""Rebalancing of pairs of machines by integer programs, where single moves find no improvement."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import pulp

from streams_orchestration.compiler.decoupling.contraction import Fan
from streams_orchestration.compiler.decoupling.tracked_assignment import TrackedAssignment

_SECONDS = 4.0
"""The most seconds for one pair."""
_GAP = 1e-3
_SUM = 1e-3
"""Weight of the sum of loads relative to the largest one."""


def rebalance(placed: TrackedAssignment, deadline: float, good_enough: float = 0.0) -> None:
    """Redistribute the pieces of the machine with the largest load and another one, as long as that helps.

    Args:
        placed: changed in place.
        deadline: of `time.monotonic`.
        good_enough: the peak load at which it ends.
    """
    loads = placed.loads
    failed: set[tuple[int, int, float]] = set()
    while time.monotonic() < deadline and max(loads) > good_enough:
        worst = max(range(len(loads)), key=loads.__getitem__)
        for other in _partners(placed, worst):
            attempt = worst, other, round(loads[worst] + loads[other], 9)
            if attempt in failed or time.monotonic() > deadline:
                continue
            if _share(placed, worst, other, min(_SECONDS, deadline - time.monotonic())):
                break
            failed.add(attempt)
        else:
            return


def _partners(placed: TrackedAssignment, worst: int) -> list[int]:
    """Return the other machines, first those with a low load and many sends to and from the worst one."""
    ties = [0.0] * len(placed.loads)
    home = placed.home
    for fan in placed.pieces.fans:
        there = {home[fan.source], *(home[target] for target in fan.targets)}
        if worst in there:
            for machine in there:
                ties[machine] += fan.send + fan.receive
    average = sum(placed.loads) / len(ties)
    others = [machine for machine in range(len(ties)) if machine != worst]
    return sorted(others, key=lambda machine: placed.loads[machine] - average - ties[machine])


def _share(placed: TrackedAssignment, first: int, second: int, seconds: float) -> bool:
    """Redistribute the pieces of two machines; return True if the peak of the affected loads is lower now."""
    pair = _Pair(placed, first, second)
    chosen = pair.solve(seconds)
    before = list(placed.home)
    worst = max(placed.loads[first], placed.loads[second])
    for piece, machine in chosen.items():
        if placed.home[piece] != machine:
            placed.move(piece, machine, placed.changes(piece, machine))
    if max(placed.loads[machine] for machine in {first, second, *pair.touched}) < worst * (1 - 1e-7):
        return True
    for piece, machine in enumerate(before):
        if placed.home[piece] != machine:
            placed.move(piece, machine, placed.changes(piece, machine))
    return False


class _Pair:
    """The integer program of two machines, with all other pieces fixed."""

    def __init__(self, placed: TrackedAssignment, first: int, second: int) -> None:
        self._placed = placed
        self._sides = first, second
        self._program = pulp.LpProblem("pair", pulp.LpMinimize)
        self._rows = 0
        home, pieces = placed.home, placed.pieces
        self._second: dict[int, pulp.LpVariable] = {
            piece: self._program.add_variable(f"y{piece}", 0, 1, pulp.LpBinary)
            for piece, pin in enumerate(pieces.pins)
            if pin < 0 and home[piece] in self._sides
        }
        self._fixed = [0.0] * len(placed.loads)
        self._terms: list[dict[pulp.LpVariable, float]] = [{} for _ in placed.loads]
        for piece, variable in self._second.items():
            self._charge(0, {variable: -pieces.weights[piece]}, pieces.weights[piece])
            self._charge(1, {variable: pieces.weights[piece]}, 0.0)
        concerned = {fan for piece in self._second for fan in placed.fans_of(piece)}
        base = list(placed.loads)
        for piece in self._second:
            base[home[piece]] -= pieces.weights[piece]
        for number in concerned:
            fan = pieces.fans[number]
            here = home[fan.source]
            away = {home[target] for target in fan.targets} - {here}
            base[here] -= fan.send * (len(away) if pieces.exact else min(1, len(away)))
            for machine in away:
                base[machine] -= fan.receive
            self._fan(number, fan)
        self.touched = [machine for machine, terms in enumerate(self._terms) if terms]
        most = self._program.add_variable("most", 0)
        total: dict[pulp.LpVariable, float] = {}
        for machine in self.touched:
            terms = self._terms[machine]
            for variable, factor in terms.items():
                total[variable] = total.get(variable, 0.0) + _SUM * factor
            row = {most: 1.0, **{variable: -factor for variable, factor in terms.items()}}
            self._at_least(row, base[machine] + self._fixed[machine])
        self._program.setObjective(pulp.LpAffineExpression({**total, most: 1.0}))

    def _at_least(self, row: dict[pulp.LpVariable, float], least: float) -> None:
        self._rows += 1
        constraint = pulp.LpConstraint(pulp.LpAffineExpression(row), pulp.LpConstraintGE, rhs=least)
        self._program.addConstraint(constraint, f"r{self._rows}")

    def _charge(self, side: int, terms: dict[pulp.LpVariable, float], constant: float) -> None:
        self._charge_machine(self._sides[side], terms, constant)

    def _charge_machine(self, machine: int, terms: dict[pulp.LpVariable, float], constant: float) -> None:
        self._fixed[machine] += constant
        for variable, factor in terms.items():
            self._terms[machine][variable] = self._terms[machine].get(variable, 0.0) + factor

    def _at(self, piece: int, side: int) -> tuple[dict[pulp.LpVariable, float], float]:
        """Return the indicator that a piece is on a side, as terms and a constant."""
        if piece in self._second:
            return ({self._second[piece]: 1.0}, 0.0) if side else ({self._second[piece]: -1.0}, 1.0)
        return {}, float(self._placed.home[piece] == self._sides[side])

    def _arrival(self, name: str, side: int, targets: Sequence[int], source: int | None) -> pulp.LpVariable:
        """Return a variable that is 1 if a target is on a side and the source is not."""
        variable = self._program.add_variable(name, 0, 1)
        for target in targets:
            terms, constant = self._at(target, side)
            row = {variable: 1.0, **{each: -factor for each, factor in terms.items()}}
            if source is not None:
                more, other = self._at(source, side)
                constant -= other
                for each, factor in more.items():
                    row[each] = row.get(each, 0.0) + factor
            self._at_least(row, constant)
        return variable

    def _fan(self, number: int, fan: Fan) -> None:
        """Charge a fan with an end among the pieces."""
        home, exact = self._placed.home, self._placed.pieces.exact
        here = home[fan.source]
        inside = [target for target in fan.targets if home[target] in self._sides]
        outside = {home[target] for target in fan.targets} - {*self._sides, here}
        for machine in outside:
            self._fixed[machine] += fan.receive
        source = fan.source if here in self._sides else None
        arrivals = [self._arrival(f"a{number}_{side}", side, inside, source) for side in (0, 1)] if inside else []
        for side, variable in enumerate(arrivals):
            self._charge(side, {variable: fan.receive}, 0.0)
        sends = len(outside) if exact else min(1, len(outside))
        if source is None:
            if exact:
                self._charge_machine(here, dict.fromkeys(arrivals, fan.send), fan.send * sends)
            else:
                self._charge_machine(here, {}, fan.send)
            return
        for side in (0, 1):
            terms, constant = self._at(source, side)
            factor = fan.send * sends
            self._charge(side, {each: factor * value for each, value in terms.items()}, factor * constant)
            if arrivals and (exact or not outside):
                self._charge(side, {arrivals[1 - side]: fan.send}, 0.0)

    def solve(self, seconds: float) -> dict[int, int]:
        """Return the machine of each piece of the pair."""
        if not self._second:
            return {}
        solver = pulp.HiGHS(msg=False, gapRel=_GAP, threads=1, timeLimit=seconds, random_seed=1)
        solver.createAndConfigureSolver(self._program)
        solver.buildSolverModel(self._program)
        model: Any = self._program.solverModel
        known = [
            (variable.index, float(self._placed.home[piece] == self._sides[1]))
            for piece, variable in self._second.items()
        ]
        model.setSolution(len(known), *_columns(known))
        solver.callSolver(self._program)
        if model.getInfo().primal_solution_status != 2:
            return {}
        values = model.getSolution().col_value
        return {piece: self._sides[int(values[variable.index] > 0.5)] for piece, variable in self._second.items()}


def _columns(pairs: Iterable[tuple[int, float]]) -> tuple[list[int], list[float]]:
    numbers, values = zip(*pairs, strict=True)
    return list(numbers), list(values)
