"""Decoupling decisions about a PE of an application, with their expected costs and gains."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from streams_orchestration.compiler.decoupling.application_problem import (
    PERCENT,
    ApplicationProblem,
    Outlet,
    application_problem,
)
from streams_orchestration.compiler.decoupling.decision import Decision
from streams_orchestration.compiler.decoupling.solver_task import SolverChoice
from streams_orchestration.compiler.decoupling.solving import TIME_LIMIT_SECONDS, solve
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.profiles.costs import MeasuredCosts
from streams_orchestration.compiler.stage_results import FusionPlan
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic


@dataclass(frozen=True, slots=True)
class Crossing:
    """A stream from one part to another, which crosses PEs if the decision is applied."""

    outlet: Outlet
    sender: int
    receiver: int
    readers: int
    """The number of operators in the receiving part that read the stream; each of them pays for receiving it."""


@dataclass(frozen=True, slots=True)
class Parting:
    """The division of a PE's operators into parts that become PEs. Streams lead only to later parts."""

    parts: tuple[tuple[int, ...], ...]
    """The operators of each part; a part comes after the parts that feed it."""
    loads: tuple[float, ...]
    """The load of each part, in percent of a processor at the rates of the problem."""
    crossings: tuple[Crossing, ...]


@dataclass(frozen=True, slots=True)
class ApplicationDecision:
    """A decision about one PE of an application, with the expected loads."""

    pe: int
    problem: ApplicationProblem
    parting: Parting
    solution: Decision
    costs: MeasuredCosts
    before: Mapping[int, float]
    """The load of every PE in percent of a processor, at the rates that saturate the busiest PE (rule Q14)."""
    saturation: float
    """The ratio of the saturating rates to the measured ones."""

    @property
    def after(self) -> tuple[float, ...]:
        """The load of each part with its overhead, in percent of a processor at the saturating rates."""
        overhead = PERCENT * self.costs.overhead * self.saturation
        return tuple(load + overhead for load in self.parting.loads)

    @property
    def predicted_speedup(self) -> float:
        """The factor by which the rates can grow over the fused PEs, as `MeasuredCosts.headroom` limits both."""
        return self.costs.headroom([*self.others, *self.after]) / self.costs.headroom([*self.before.values()])

    def gain(self, running: FusionPlan) -> float:
        """Return the factor by which the rates can grow over the running PEs, both predicted; 1 if not at all.

        The operators of this decision may already run divided by another one, so the factor differs from
        `predicted_speedup`, which compares with the fused PE. If the running PEs do not divide exactly these operators
        into several, `predicted_speedup` is returned.

        Args:
            running: the running PEs, of the same expanded graph.
        """
        operators = set(self.problem.operators)
        parts = [set(pe.operators) for pe in running.pes if operators & set(pe.operators)]
        if len(parts) < 2 or set().union(*parts) != operators:
            return self.predicted_speedup
        part_of = {operator: part for part, members in enumerate(parts) for operator in members}
        overhead = PERCENT * self.costs.overhead * self.saturation
        now = [load + overhead for load in evaluated(self.problem, part_of).loads]
        return self.costs.headroom([*self.others, *self.after]) / self.costs.headroom([*self.others, *now])

    @property
    def others(self) -> list[float]:
        """The loads of the PEs that are not divided, in percent of a processor at the saturating rates."""
        return [load for pe, load in self.before.items() if pe != self.pe]


def pe_loads(
    logical: LogicalGraph, physical: PhysicalGraph, fusion: FusionPlan, costs: MeasuredCosts
) -> dict[int, float]:
    """Return the load of every PE at the measured rates, in percent of a processor; 0 for an idle PE."""
    return {
        pe.id: PERCENT * costs.overhead
        + sum(application_problem(logical, physical, costs, pe.operators, parts=1).loads)
        if any(costs.cpu.get(each) for each in pe.operators)
        else 0.0
        for pe in fusion.pes
    }


def decide(
    logical: LogicalGraph,
    physical: PhysicalGraph,
    fusion: FusionPlan,
    costs: MeasuredCosts,
    *,
    parts: int = 2,
    pe: int | None = None,
    solver: SolverChoice = "highs",
    seconds: float = TIME_LIMIT_SECONDS,
    gap: float | None = None,
) -> ApplicationDecision:
    """Divide one PE so that the busiest part has the smallest load.

    Args:
        logical: the application.
        physical: its expanded graph.
        fusion: its PEs.
        costs: the measured costs.
        parts: the highest number of parts.
        pe: the number of the PE; None for the busiest one, or the first of several.
        solver: HiGHS, or a search.
        seconds: the time limit.
        gap: the relative difference from the optimum at which the solver may stop.

    Raises:
        ApplicationError: nothing was measured, there is no such PE, no decision was found in time, or the solver's
            process cannot be started.
    """
    loads = pe_loads(logical, physical, fusion, costs)
    busiest = max(loads, key=lambda each: (loads[each], -each))
    chosen = busiest if pe is None else pe
    if chosen not in loads:
        message = f"there is no PE {chosen}; the application has the PEs {', '.join(map(str, loads))}"
        raise ApplicationError([Diagnostic.of("SO0611", message)])
    saturation = PERCENT / loads[busiest] if loads[busiest] else 1.0
    operators = next(each.operators for each in fusion.pes if each.id == chosen)
    problem = application_problem(logical, physical, costs, operators, parts=parts, saturation=saturation)
    solution = solve(problem.problem, solver=solver, seconds=seconds, gap=gap)
    before = {each: load * saturation for each, load in loads.items()}
    return ApplicationDecision(chosen, problem, parting_of(problem, solution), solution, costs, before, saturation)


def parting_of(problem: ApplicationProblem, solution: Decision) -> Parting:
    """Return the parts of a solution, with loads that are evaluated from the assignment itself (rule Q16)."""
    executes = solution.document()["execAt"]
    machine_of = {operator: executes[id] for operator, id in zip(problem.operators, problem.ids, strict=True)}
    used = sorted(set(machine_of.values()))
    return evaluated(problem, {operator: used.index(machine) for operator, machine in machine_of.items()})


def evaluated(problem: ApplicationProblem, part_of: Mapping[int, int]) -> Parting:
    """Return the loads and crossings of an assignment of operators to parts.

    Args:
        problem: the problem.
        part_of: operator -> its part, numbered from 0.
    """
    parts: dict[int, list[int]] = defaultdict(list)
    loads = [0.0] * (max(part_of.values(), default=0) + 1)
    for operator, load in zip(problem.operators, problem.loads, strict=True):
        parts[part_of[operator]].append(operator)
        loads[part_of[operator]] += load
    crossings: list[Crossing] = []
    for outlet in problem.outlets:
        sender = part_of[outlet.output.operator]
        receivers = Counter(part_of[reader] for reader in outlet.readers if part_of[reader] != sender)
        if receivers:
            loads[sender] += outlet.send
        for receiver, readers in sorted(receivers.items()):
            loads[receiver] += readers * outlet.receive
            crossings.append(Crossing(outlet, sender, receiver, readers))
    return Parting(tuple(tuple(parts[part]) for part in range(len(loads))), tuple(loads), tuple(crossings))
