"""Automatic fusion by measured loads: the fewest PEs without an overload, or the best use of N PEs (rule 56).

A connection costs only where it crosses PEs, as in the model of decoupling.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streams_orchestration.compiler.fusion.schemes import Class
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.placement.fusable_units import FusableUnit
from streams_orchestration.compiler.profiles.costs import MeasuredCosts, measured_costs
from streams_orchestration.model.decoupling import Problem
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic

PERCENT = 100.0
"""The load of one processor, since loads are in percent of a processor."""
_LEAST = 0.5
"""The smallest fraction of a PE's capacity that is kept for operators, however large the overhead is."""
_PAIRS = 2000
"""The highest number of pairs of units in different PEs up to which a class is fused by load."""


def costs_of(
    logical: LogicalGraph, physical: PhysicalGraph, options: Options
) -> tuple[MeasuredCosts | None, list[Diagnostic]]:
    """Return the operators' costs from the profile, and the findings about them.

    The costs are None unless fusion is automatic and not `faithful`, and the profile is of this application and has the
    costs of operators and of the transport.
    """
    profile = options.profile
    if options.fusion != "automatic" or options.faithful or profile is None or profile.transport is None:
        return None, []
    if not profile.operators or profile.application != logical.application:
        return None, []
    return measured_costs(logical, physical, profile)


def room(costs: MeasuredCosts, capacity: float) -> float:
    """Return the processors that operators and streams of a PE may keep busy: its capacity without its overhead.

    It is at least the part `_LEAST` of the capacity.
    """
    return max(capacity - costs.overhead, capacity * _LEAST)


@dataclass(frozen=True, slots=True)
class ClassProblem:
    """The units of a class, as the problem of sharing them out among PEs."""

    units: tuple[int, ...]
    problem: Problem


class LoadFusion:
    """Fusion of classes of units by the measured costs of their operators."""

    def __init__(
        self, logical: LogicalGraph, physical: PhysicalGraph, units: Sequence[FusableUnit], costs: MeasuredCosts
    ) -> None:
        self._logical = logical
        self._physical = physical
        self._units = units
        self._costs = costs

    def share(self, each: Class) -> ClassProblem | None:
        """Return the fusion of one class of units as a decoupling problem.

        The result is None if the loads of the class are unknown or all 0, if host configs constrain its PEs, or if more
        than `_PAIRS` groups of units must be apart.
        """
        from streams_orchestration.compiler.decoupling.application_problem import application_problem

        operators = [operator for number in each.units for operator in self._units[number].operators]
        measured = any(self._costs.cpu.get(operator) for operator in operators)
        if not measured or any(self._units[number].host_set >= 0 for number in each.units):
            return None
        apart = list(itertools.islice(self._apart(each), _PAIRS + 1))
        if len(apart) > _PAIRS:
            return None
        graphs = self._logical, self._physical, self._costs
        problem = application_problem(*graphs, operators, parts=len(each.units)).problem
        return ClassProblem(each.units, problem.model_copy(update={"apart": tuple(apart)}))

    def _apart(self, each: Class) -> Iterator[tuple[str, ...]]:
        """Yield groups of operator names.

        The operators of a group must be in different PEs, since their claims differ.
        """
        claims: dict[tuple[str, str], dict[int, list[int]]] = {}
        for number in each.units:
            for name, value in dict(self._units[number].claims).items():
                claims.setdefault(name, {}).setdefault(value, []).append(number)
        for by_value in claims.values():
            if all(len(numbers) == 1 for numbers in by_value.values()):
                if len(by_value) > 1:
                    yield tuple(self._name(numbers[0]) for numbers in by_value.values())
                continue
            for first, second in itertools.combinations(by_value.values(), 2):
                for pair in itertools.product(first, second):
                    yield tuple(map(self._name, pair))

    def _name(self, unit: int) -> str:
        return self._physical.operators[self._units[unit].operators[0]].name

    def within(self, share: ClassProblem, capacity: float) -> list[list[int]] | None:
        """Return the operators of the fewest PEs that keep at most `capacity` processors busy each.

        The result is None if operators must be apart that the model keeps together, such as an atomic group.
        """
        from streams_orchestration.compiler.decoupling.fewest import fewest_machines

        try:
            decision = fewest_machines(share.problem, PERCENT * capacity, most=len(share.units))
        except ApplicationError:
            return None
        return self._pes(share, decision.document())

    def best_use(self, shares: Sequence[ClassProblem], wanted: int) -> list[list[int]] | None:
        """Return the operators of `wanted` PEs with the smallest peak load.

        The result is None if operators must be apart that the model keeps together, such as an atomic group.

        Args:
            shares: one problem for each class.
            wanted: the number of PEs for all classes. Each class gets at least as many as it needs, which may make
                more PEs in all, and at most as many as it has units, which may make fewer.
        """
        try:
            return self._best_use(shares, wanted)
        except ApplicationError:
            return None

    def _best_use(self, shares: Sequence[ClassProblem], wanted: int) -> list[list[int]]:
        from streams_orchestration.compiler.decoupling.fewest import best_use, least_use

        decisions = [least_use(each.problem, most=len(each.units)) for each in shares]
        counts = [each.flow.params.k for each in decisions]
        while sum(counts) < wanted:
            able = [number for number, each in enumerate(shares) if counts[number] < len(each.units)]
            if not able:
                break
            number = max(able, key=lambda each: decisions[each].evaluation.worst)
            counts[number] += 1
            decisions[number] = best_use(shares[number].problem.with_machines(counts[number]))
        decided = zip(shares, decisions, strict=True)
        return [operators for share, decision in decided for operators in self._pes(share, decision.document())]

    def _pes(self, share: ClassProblem, decision: dict[str, dict[str, int]]) -> list[list[int]]:
        machines = decision["execAt"]
        pes: dict[int, list[int]] = {}
        for number in share.units:
            pes.setdefault(machines[self._name(number)], []).extend(self._units[number].operators)
        return [sorted(pes[machine]) for machine in sorted(pes)]
