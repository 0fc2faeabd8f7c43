"""A compilation with indexes by name, and the intermediate results of its stages."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.deployment.returning import returning_connections
from streams_orchestration.compiler.deployment_plan import DeploymentPlan
from streams_orchestration.compiler.event_time.ends import EventTimeIndex
from streams_orchestration.compiler.event_time.growth import grow
from streams_orchestration.compiler.event_time.imports import find_imports
from streams_orchestration.compiler.event_time.starts import find_starts as find_event_time
from streams_orchestration.compiler.fusion.load_fusion import costs_of
from streams_orchestration.compiler.fusion.schemes import Allotment, allot
from streams_orchestration.compiler.logical_graph import ConsistentAnnotation, LogicalOperator
from streams_orchestration.compiler.placement.fusable_units import (
    FusableUnit,
    Placements,
    fusable_units,
    resolve_placements,
)
from streams_orchestration.compiler.placement.host_bindings import HostBindings
from streams_orchestration.compiler.profiles.costs import MeasuredCosts
from streams_orchestration.compiler.regions.growth import Growth
from streams_orchestration.compiler.regions.regions import grow_expanded, grow_logical
from streams_orchestration.compiler.regions.starts import RegionStarts, find_starts, innermost_annotations
from streams_orchestration.compiler.stage_results import EventTimeOperator, Network, ProcessingElement, Queue
from streams_orchestration.compiler.threads.origins import ThreadOrigins, find_origins

Port = tuple[int, int]


class CompilationIndex:
    """The indexes of one compilation. Intermediate results are computed again by the stages' functions on first use."""

    def __init__(self, compilation: Compilation) -> None:
        self.compilation = compilation
        self.logical = compilation.logical
        self.physical = compilation.physical
        self.fusion = compilation.fusion
        self.options = compilation.options
        self.deployment = compilation.progress.get(DeploymentPlan) or DeploymentPlan()
        """The deployment plan; it is empty for a stored compilation, which has none."""

    def model(self, operator: int) -> LogicalOperator:
        """Return the logical operator of a replica."""
        return self.logical.operators[self.physical.operators[operator].logical]

    def name(self, operator: int) -> str:
        """Return the physical name of an operator."""
        return self.physical.operators[operator].name

    def names(self, operators: list[int] | tuple[int, ...]) -> list[str]:
        """Return the physical names of some operators."""
        return [self.name(operator) for operator in operators]

    @cached_property
    def replicas(self) -> dict[str, list[int]]:
        """Replicas by logical name."""
        numbers: dict[str, list[int]] = defaultdict(list)
        for each in self.physical.operators:
            numbers[self.logical.operators[each.logical].name].append(each.index)
        return dict(numbers)

    @cached_property
    def by_name(self) -> dict[str, int]:
        """Physical operators by name."""
        return {each.name: each.index for each in self.physical.operators}

    @cached_property
    def streams(self) -> dict[str, list[Port]]:
        """Output ports by physical and by logical stream name."""
        numbers: dict[str, list[Port]] = defaultdict(list)
        for each in self.physical.operators:
            for port, stream in enumerate(each.streams):
                logical = self.logical.operators[each.logical].outputs[port].stream
                for name in {stream, logical}:
                    numbers[name].append((each.index, port))
        return dict(numbers)

    @cached_property
    def splitters(self) -> dict[str, int]:
        """Splitters by id."""
        return {each.id: each.index for each in self.physical.splitters}

    @cached_property
    def incoming(self) -> dict[Port, list[int]]:
        """Connection numbers by input port."""
        numbers: dict[Port, list[int]] = defaultdict(list)
        for number, each in enumerate(self.physical.connections):
            numbers[each.target, each.target_port].append(number)
        return dict(numbers)

    @cached_property
    def outgoing(self) -> dict[Port, list[int]]:
        """Connection numbers by output port, in the order in which its consumers are served."""
        numbers: dict[Port, list[int]] = defaultdict(list)
        for number in self.compilation.copies.order:
            each = self.physical.connections[number]
            numbers[each.source, each.source_port].append(number)
        return dict(numbers)

    @cached_property
    def queues(self) -> dict[Port, Queue]:
        """Queues by input port."""
        return {(each.operator, each.port): each for each in self.compilation.threads.queues}

    @cached_property
    def placements(self) -> Placements:
        """Placement configs with resolved tags."""
        return resolve_placements(self.logical, self.physical)

    @cached_property
    def units(self) -> list[FusableUnit]:
        """The sets of operators that no fusion scheme splits."""
        return fusable_units(self.logical, self.physical, self.compilation.regions, self.placements, self.options)

    @cached_property
    def unit_of(self) -> list[int]:
        """The number of the unit of every operator."""
        unit_of = [0] * len(self.physical.operators)
        for number, unit in enumerate(self.units):
            for operator in unit.operators:
                unit_of[operator] = number
        return unit_of

    @cached_property
    def bindings(self) -> HostBindings:
        """Host bindings of the units, before any PE is made."""
        return HostBindings(len(self.physical.operators), self.units, self.placements)

    @cached_property
    def allotment(self) -> Allotment:
        """The number of PEs that the scheme gives to every kind of units."""
        tags = self.bindings.tags_of_sets(self.units)
        return allot(self.units, tags, self.physical.host_pools, self.options)

    @cached_property
    def costs(self) -> MeasuredCosts | None:
        """Measured costs of operators, None if fusion did not use them."""
        return costs_of(self.logical, self.physical, self.options)[0]

    @cached_property
    def pes(self) -> dict[int, ProcessingElement]:
        """PEs by number."""
        return {pe.id: pe for pe in self.fusion.pes}

    @cached_property
    def feeds(self) -> dict[int, set[int]]:
        """PE -> the other PEs that it sends tuples to."""
        feeds: dict[int, set[int]] = {pe: set() for pe in self.pes}
        for each in self.physical.connections:
            source, target = self.fusion.pe_of[each.source], self.fusion.pe_of[each.target]
            if source != target:
                feeds[source].add(target)
        return feeds

    @cached_property
    def returning(self) -> frozenset[int]:
        """The connections that close loops within PEs outside of regions."""
        regions, returning = self.compilation.regions.region_of, set[int]()
        for pe in self.fusion.pes:
            if all(regions[operator] < 0 for operator in pe.operators):
                own = set(pe.operators)
                inside = (number for number, each in enumerate(self.physical.connections) if each.source in own)
                returning |= returning_connections(self.compilation, own, inside)
        return frozenset(returning)

    @cached_property
    def networks(self) -> dict[tuple[int, int, int], Network]:
        """Pairs of Network operators by producer, output port and receiving PE."""
        return {(*each.outputs[0][:2], each.receiver): each for each in self.fusion.networks}

    @cached_property
    def origins(self) -> ThreadOrigins:
        """Origins of threads, and the connections that they pass."""
        return find_origins(self.logical, self.physical, self.fusion, self.queues.keys(), self.options)

    @cached_property
    def starts(self) -> RegionStarts:
        """Starts and barriers of regions, by the annotations."""
        return find_starts(self.logical)

    @cached_property
    def logical_growth(self) -> tuple[Growth, list[int]]:
        """Growth of the regions on the logical graph, and the region of every logical operator."""
        return grow_logical(self.logical, self.starts)

    @cached_property
    def growth(self) -> Growth:
        """Growth of the regions on the expanded graph."""
        regions = len(self.compilation.regions.logical)
        return grow_expanded(self.physical, regions, self.logical_growth[1], self.starts)[0]

    @cached_property
    def event_time(self) -> EventTimeIndex:
        """The reach of annotations of event time on the logical graph."""
        starts = find_event_time(self.logical)[0]
        imports = find_imports(self.logical)[0]
        return EventTimeIndex(self.logical, grow(self.logical, starts, imports))

    @cached_property
    def event_time_roles(self) -> dict[int, EventTimeOperator]:
        """The replicas in event-time graphs, by number."""
        return {each.operator: each for each in self.compilation.event_time.operators}

    @cached_property
    def annotations(self) -> dict[str, ConsistentAnnotation]:
        """Region annotations by scope."""
        return innermost_annotations(self.logical)
