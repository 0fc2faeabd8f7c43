"""Checks of a decoupling decision against the application (rule Q12)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from streams_orchestration.compiler.components import strong_components
from streams_orchestration.compiler.disjoint_sets import DisjointSets
from streams_orchestration.compiler.fusion.fusion import pes_of_operators
from streams_orchestration.compiler.fusion.pe_loops import looped_pes
from streams_orchestration.compiler.fusion_fingerprint import fusion_fingerprint
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.placement.fusable_units import resolve_placements
from streams_orchestration.compiler.stage_results import FusionPlan, RegionMap
from streams_orchestration.model.assignment import Assignment
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.names import nearest
from streams_orchestration.model.short_texts import first_names

_SHOWN = 6
"""The most operators that a message names."""


def check_assignment(
    logical: LogicalGraph,
    physical: PhysicalGraph,
    regions: RegionMap,
    fusion: FusionPlan,
    assignment: Assignment,
    parts: Sequence[Sequence[int]],
) -> list[Diagnostic]:
    """Return the findings on a decision.

    If it is for another application, names unknown operators, or has another fingerprint, only this is returned.
    """
    if assignment.application != logical.application:
        message = f"the decision was made for {assignment.application}, but this is {logical.application}"
        return [Diagnostic.of("SO0620", message, location=assignment.location)]
    names = {each.name for each in physical.operators}
    unknown = [
        Diagnostic.of("SO0621", f"there is no operator {name}{nearest(name, names)}", location=assignment.location)
        for name in assignment.machines
        if name not in names
    ]
    if unknown:
        return unknown
    fingerprint = fusion_fingerprint(logical, physical, fusion)
    if assignment.fingerprint != fingerprint:
        message = (
            f"the decision is for the fingerprint {assignment.fingerprint}, but this application has {fingerprint}"
        )
        return [Diagnostic.of("SO0622", message, location=assignment.location)]
    checks = _Checks(logical, physical, regions, fusion, assignment, parts)
    return [*checks.units(), *checks.groups(), *checks.loops()]


def atomic_groups(logical: LogicalGraph, physical: PhysicalGraph, fusion: FusionPlan) -> list[list[int]]:
    """Return the sets of several operators of one fused PE with the same atomic tag, in all channels.

    None of these sets may be divided.
    """
    groups: dict[tuple[str, int], list[int]] = {}
    tags = [each.atomic for each in logical.operators]
    for operator in physical.operators if any(tags) else ():
        if (tag := tags[operator.logical]) is not None:
            original = fusion.pes[fusion.pe_of[operator.index]].original
            groups.setdefault((tag, original), []).append(operator.index)
    return [members for members in groups.values() if len(members) > 1]


class _Checks:
    """The findings on one decision, by violated condition."""

    def __init__(
        self,
        logical: LogicalGraph,
        physical: PhysicalGraph,
        regions: RegionMap,
        fusion: FusionPlan,
        assignment: Assignment,
        parts: Sequence[Sequence[int]],
    ) -> None:
        self._logical = logical
        self._physical = physical
        self._regions = regions
        self._fusion = fusion
        self._assignment = assignment
        self._parts = parts
        self._part_of = pes_of_operators(len(physical.operators), parts)

    def units(self) -> Iterator[Diagnostic]:
        """Yield findings on operators in different parts though colocation or host isolation keeps them in one PE."""
        for members in resolve_placements(self._logical, self._physical).fused.larger_groups():
            if self._parted(members):
                model = self._logical.operators[self._physical.operators[members[0]].logical]
                location = str(model.partition.location or model.host_placement.location or "")
                yield self._finding(
                    "SO0623", members, f"placement configs keep {self._names(members)} in one PE", location
                )

    def groups(self) -> Iterator[Diagnostic]:
        """Yield findings on atomic groups that the decision would divide."""
        for members in atomic_groups(self._logical, self._physical, self._fusion):
            if self._parted(members):
                model = self._logical.operators[self._physical.operators[members[0]].logical]
                message = f"{self._names(members)} are the atomic group {model.atomic}"
                yield self._finding("SO0624", members, message, str(model.location or ""))

    def loops(self) -> Iterator[Diagnostic]:
        """Yield a finding for each loop of parts that the decision causes.

        A loop that the fused PEs had before is allowed. So is a loop that the operators form themselves, unless several
        of its parts have members of one consistent region.
        """
        edges = [(each.source, each.target) for each in self._physical.connections]
        before = looped_pes(len(self._fusion.pes), self._between(edges, self._fusion.pe_of))
        for loop in looped_pes(len(self._parts), self._between(edges, self._part_of)):
            origins = {self._fusion.pe_of[self._parts[part][0]] for part in loop}
            if any(origins <= set(each) for each in before):
                continue
            if self._within_a_region(loop) or not self._forced(loop, edges):
                places = [self._place(part) for part in loop]
                where = f"{', '.join(places[:-1])} and {places[-1]} would feed one another in a loop"
                yield self._finding("SO0625", [self._parts[part][0] for part in loop], where)

    def _parted(self, members: Iterable[int]) -> bool:
        """Return True if the decision puts some operators of one fused PE into different parts."""
        originals = {self._fusion.pe_of[each] for each in members}
        return len({self._part_of[each] for each in members}) > len(originals)

    @staticmethod
    def _between(edges: Iterable[tuple[int, int]], pe_of: Sequence[int]) -> set[tuple[int, int]]:
        return {(pe_of[source], pe_of[target]) for source, target in edges}

    def _within_a_region(self, loop: Sequence[int]) -> bool:
        """Return True if at least two parts of a loop have members of the same consistent region."""
        regions = [{self._regions.region_of[each] for each in self._parts[part]} - {-1} for part in loop]
        return any(sum(region in each for each in regions) > 1 for region in set[int]().union(*regions))

    def _forced(self, loop: Sequence[int], edges: Iterable[tuple[int, int]]) -> bool:
        """Return True if the loop of PEs exists only because the operators form a loop themselves."""
        members = {operator for part in loop for operator in self._parts[part]}
        successors: list[list[int]] = [[] for _ in self._part_of]
        flows: set[tuple[int, int]] = set()
        for source, target in edges:
            if source in members and target in members:
                successors[source].append(target)
                flows.add((self._part_of[source], self._part_of[target]))
        joined = DisjointSets(len(self._parts))
        for component in strong_components(successors):
            joined.union_all(self._part_of[each] for each in component)
        return not looped_pes(len(self._parts), ((joined.find(one), joined.find(other)) for one, other in flows))

    def _place(self, part: int) -> str:
        operators = self._parts[part]
        pe = self._fusion.pe_of[operators[0]]
        machine = self._assignment.machines.get(self._physical.operators[operators[0]].name, 0)
        return f"machine {machine} of PE {pe} ({self._names(operators)})"

    def _names(self, operators: Sequence[int]) -> str:
        return first_names([self._physical.operators[each].name for each in operators], _SHOWN)

    def _finding(self, code: str, operators: Sequence[int], message: str, location: str = "") -> Diagnostic:
        first = self._physical.operators[operators[0]].name
        return Diagnostic.of(code, message, operator=first, location=location or self._assignment.location)
