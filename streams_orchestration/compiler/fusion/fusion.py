"""Fusion: partitions operators into PEs and places these on hosts (rules 42-63)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from streams_orchestration.compiler.fusion.load_fusion import ClassProblem, LoadFusion, costs_of, room
from streams_orchestration.compiler.fusion.packing import Packing
from streams_orchestration.compiler.fusion.pe_loops import looped_pes, without_loops
from streams_orchestration.compiler.fusion.pe_ports import pe_ports
from streams_orchestration.compiler.fusion.schemes import Class, allot
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.parallel.replicas import replicas_of
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.placement.checks import check_placements
from streams_orchestration.compiler.placement.fusable_units import (
    FusableUnit,
    Placements,
    Sharing,
    fusable_units,
    resolve_placements,
)
from streams_orchestration.compiler.placement.host_bindings import HostBindings
from streams_orchestration.compiler.placement.hosts import place_on_hosts
from streams_orchestration.compiler.profiles.costs import MeasuredCosts
from streams_orchestration.compiler.profiles.rates import Rates, measured_rates
from streams_orchestration.compiler.stage_results import FusionPlan, ProcessingElement, RegionMap
from streams_orchestration.model.diagnostics import Diagnostic


def fuse(
    logical: LogicalGraph, physical: PhysicalGraph, regions: RegionMap, options: Options
) -> tuple[FusionPlan, list[Diagnostic]]:
    """Partition the physical operators into PEs under the scheme of the options.

    Colocation is transitive, and the units that it makes are never split. If the configs of a unit contradict each
    other, the application has errors (rules 51 to 53), and the plan still shows the unit as one PE.

    The number of PEs depends on the scheme. Under `legacy` every unit is a PE, and the channel fusion option has no
    effect. Under `manual` there are as many PEs as the option `pes` says, one by default. Under `automatic` there is
    one PE per resource; if a profile has the costs of operators, there are as few PEs as keep each below `pe_capacity`
    busy processors, or as many as asked for, such that the busiest has the least load.

    A unit of several members of a consistent region may share its PE with others of that region, unless the options say
    `faithful` (rule 60). PEs are numbered by their smallest operator.
    """
    placements = resolve_placements(logical, physical)
    diagnostics = check_placements(logical, physical, placements)
    rates: Rates = {}
    costs: MeasuredCosts | None = None
    if options.profile is not None:
        rates, findings = measured_rates(logical, physical, options.profile)
        costs, more = costs_of(logical, physical, options)
        diagnostics += findings if costs is None else more
    pes = sorted(_Fusion(logical, physical, regions, options, placements, rates, costs).pes())
    wanted = min(options.pes or 1, len(physical.operators))
    by_load = costs is not None and options.pes is not None
    if (options.fusion == "manual" and len(pes) != wanted) or (by_load and len(pes) > wanted):
        message = f"{wanted} PEs were requested, but the placement configs require {len(pes)}"
        diagnostics.append(Diagnostic.of("CDISR3035W", message))
    hosts, problems = place_on_hosts(logical, physical, placements, pes)
    return _plan(logical, physical, pes, hosts, options), diagnostics + problems


@dataclass(frozen=True)
class _Fusion:
    """The operators of one application, and all that decides how they are fused."""

    logical: LogicalGraph
    physical: PhysicalGraph
    regions: RegionMap
    options: Options
    placements: Placements
    rates: Rates
    costs: MeasuredCosts | None
    """The measured costs of operators; None if no profile has them."""

    @cached_property
    def units(self) -> list[FusableUnit]:
        """The sets of operators that no scheme but `legacy` may divide."""
        return fusable_units(self.logical, self.physical, self.regions, self.placements, self.options)

    def pes(self) -> list[list[int]]:
        """Return the operators of every PE under the scheme of the options.

        Loops of PEs are divided, except under `legacy` and `faithful`.
        """
        if self.options.fusion == "legacy":
            return list(self.placements.fused.groups().values())
        pes = self._packed() if self.costs is None else self._by_load(self.costs)
        return pes if self.options.faithful else self._unlooped(pes)

    def _begun(self) -> tuple[Packing, list[tuple[Class, int]]]:
        """Return a packing with the isolated units, and each class of the other units with its number of PEs."""
        bindings = HostBindings(len(self.physical.operators), self.units, self.placements)
        tags = bindings.tags_of_sets(self.units)
        allotment = allot(self.units, tags, self.physical.host_pools, self.options)
        packing = Packing(self.units, self.logical, self.physical, bindings, self.rates)
        for number in allotment.isolated:
            packing.isolate(number)
        return packing, list(zip(allotment.classes, allotment.sizes, strict=True))

    def _packed(self) -> list[list[int]]:
        """Return the operators of every PE under the manual or the automatic scheme, without measured costs."""
        packing, classes = self._begun()
        for each, size in classes:
            packing.pack(each.units, size)
        return packing.pes()

    def _by_load(self, costs: MeasuredCosts) -> list[list[int]]:
        """Return the operators of every PE by the load that measured costs give.

        The number of PEs is asked for, or is the least that keeps each PE within its capacity. Classes whose load says
        nothing, or for which no division is found, are packed as without costs.
        """
        packing, classes = self._begun()
        loads = LoadFusion(self.logical, self.physical, self.units, costs)
        shares: list[tuple[ClassProblem, int]] = []
        for each, size in classes:
            if (share := loads.share(each)) is None:
                packing.pack(each.units, size)
            else:
                shares.append((share, size))
        decided: list[list[int]] = []
        undecided = shares
        if self.options.pes is None:
            capacity = room(costs, self.options.pe_capacity)
            found = [(loads.within(share, capacity), share, size) for share, size in shares]
            decided = [operators for pes, _, _ in found for operators in pes or ()]
            undecided = [(share, size) for pes, share, size in found if pes is None]
        elif (
            best := loads.best_use([share for share, _ in shares], self.options.pes - len(packing.pes()))
        ) is not None:
            decided, undecided = best, []
        for share, size in undecided:
            packing.pack(share.units, size)
        return packing.pes() + decided

    def _loops(self, pes: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return the loops of PEs that the scheme must avoid.

        PEs in a loop never end, because each waits for the others, so the automatic scheme avoids all loops. Within a
        consistent region, such PEs could not even close an epoch, so the manual scheme avoids loops there, too.
        """
        region_of, any_counts = self.regions.region_of, self.options.fusion == "automatic"
        if len(pes) < 2 or not (any_counts or max(region_of, default=-1) >= 0):
            return []
        home = pes_of_operators(len(self.physical.operators), pes)
        members = [{region_of[each] for each in operators} - {-1} for operators in pes]
        flows = {
            (source, target)
            for each in self.physical.connections
            if (source := home[each[0]]) != (target := home[each[2]])
        }
        return looped_pes(len(pes), (each for each in flows if any_counts or members[each[0]] & members[each[1]]))

    def _unlooped(self, pes: list[list[int]]) -> list[list[int]]:
        """Divide the PEs that form loops, and return all PEs; a loop that the operators form themselves stays."""
        loops = self._loops(pes)
        if not loops:
            return pes
        sharing = Sharing(self.units) if self.costs is None else None
        successors: list[list[int]] = [[] for _ in self.physical.operators]
        for source, _, target, *_ in self.physical.connections:
            successors[source].append(target)
        looped = {pe for loop in loops for pe in loop}
        result = [operators for pe, operators in enumerate(pes) if pe not in looped]
        for loop in loops:
            result += without_loops([pes[pe] for pe in loop], self.placements.fused, successors, sharing)
        return result


def pes_of_operators(count: int, pes: Sequence[Sequence[int]]) -> list[int]:
    """Return the PE numbers of operators 0 to `count` - 1; 0 for an operator that is in no PE."""
    pe_of = [0] * count
    for pe, operators in enumerate(pes):
        for operator in operators:
            pe_of[operator] = pe
    return pe_of


def _plan(
    logical: LogicalGraph,
    physical: PhysicalGraph,
    pes: Sequence[Sequence[int]],
    hosts: Sequence[int],
    options: Options,
) -> FusionPlan:
    """Return the plan with PE flags and PE ports."""
    pe_of = pes_of_operators(len(physical.operators), pes)
    inputs, outputs = pe_ports(physical, pe_of)
    flags = pe_flags(logical, physical)
    elements = (
        ProcessingElement(pe, tuple(operators), hosts[pe], *flags(operators), inputs.get(pe, ()), outputs.get(pe, ()))
        for pe, operators in enumerate(pes)
    )
    return FusionPlan(options.fusion, tuple(elements), tuple(pe_of))


def pe_flags(logical: LogicalGraph, physical: PhysicalGraph) -> Callable[[Sequence[int]], tuple[bool, bool]]:
    """Return a function from operators to (restartable, relocatable) of their PE (rule 61).

    A PE is restartable if all its operators are, and relocatable if it is restartable and all its operators are
    relocatable.
    """
    pinned = replicas_of(logical, physical, lambda model: not model.relocatable)
    fragile = replicas_of(logical, physical, lambda model: not model.restartable)

    def flags(operators: Sequence[int]) -> tuple[bool, bool]:
        restartable = fragile.isdisjoint(operators)
        return restartable, restartable and pinned.isdisjoint(operators)

    return flags
