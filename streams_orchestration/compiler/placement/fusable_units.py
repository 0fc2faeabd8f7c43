"""Fusable units: operators that must share a PE, and the rules for units that may share one (rules 45-53, 59)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from streams_orchestration.compiler.disjoint_sets import DisjointSets
from streams_orchestration.compiler.logical_graph import LogicalGraph, PlacementGroup
from streams_orchestration.compiler.named_tuples import maker
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import PhysicalGraph, PhysicalOperator
from streams_orchestration.compiler.placement.tags import resolve_tag, resolve_text
from streams_orchestration.compiler.stage_results import RegionMap


@dataclass(frozen=True, slots=True)
class HostSpec:
    """The host that an operator requires: a named host, a host of a pool, or any."""

    host: str | None = None
    pool: str | None = None


@dataclass(frozen=True, slots=True)
class Placements:
    """Placement configs of all replicas, with tags resolved. Operators without configs are not in the mappings."""

    exlocation: Mapping[int, tuple[str, ...]]
    host_exlocation: Mapping[int, tuple[str, ...]]
    isolated: frozenset[int]
    host_isolated: frozenset[int]
    host: Mapping[int, HostSpec]
    colocated: DisjointSets
    """Operators that share a tag of partition colocation, transitively (rule 45)."""
    fused: DisjointSets
    """The sets of `colocated`, joined further by host isolation (rule 52)."""
    host_colocated: DisjointSets
    """Operators that must share a host: fused, host-colocated, or on the same named host."""


Claim = tuple[tuple[str, str], int]
"""A claimed name with its value, such as a parallel region and a channel. Units with different values cannot share a
PE."""


class Kind(NamedTuple):
    """The facts that all units of a PE must have in common under the manual and automatic schemes (rule 53, A44)."""

    restartable: bool
    relocatable: bool
    regions: frozenset[int]
    """Consistent regions of the members, -1 for autonomous ones."""
    host: HostSpec | None
    channel: Hashable = None
    """The parallel channel around the unit, under `channelIsolation` only (rule 59)."""
    dataframe: int = -1
    """For a Spark query, its smallest operator, so that only colocated operators join the query; -1 for other units."""


class FusableUnit(NamedTuple):
    """A set of operators that no scheme splits (rule 52)."""

    operators: tuple[int, ...]
    isolated: bool
    """True if the unit has a PE of its own."""
    kind: Kind
    """The kind of the unit. Units of different kinds never share a PE under the manual and automatic schemes."""
    claims: tuple[Claim, ...] = ()
    """The claimed names with their values. Two units share a PE only if no name has different values in them."""
    host_set: int = -1
    """The set of operators on one host, from `Placements.host_colocated`; -1 without a host config."""


@dataclass(slots=True)
class _Tags:
    """Operators by tag, joined while they are added."""

    sets: DisjointSets
    first: dict[Hashable, int] = field(default_factory=dict[Hashable, int])

    def join(self, tag: Hashable, operator: int) -> None:
        self.sets.union(self.first.setdefault(tag, operator), operator)


def resolve_placements(logical: LogicalGraph, physical: PhysicalGraph) -> Placements:
    """Resolve the placement configs of all replicas and join colocated operators.

    Operators with one partition colocation tag, or with one host's name, are also colocated on a host. Operators that
    are colocated on a host are fused if one of them is isolated on it. A replica's own pool replaces the spec's.
    """
    size = len(physical.operators)
    partition, host = _Tags(DisjointSets(size)), _Tags(DisjointSets(size))
    exlocation: dict[int, tuple[str, ...]] = {}
    host_exlocation: dict[int, tuple[str, ...]] = {}
    hosts: dict[int, HostSpec] = {}
    isolated: set[int] = set()
    host_isolated: set[int] = set()
    nothing = PlacementGroup()
    placed = [
        (model.partition, model.host_placement, model.host, model.host_pool) != (nothing, nothing, None, None)
        for model in logical.operators
    ]
    for operator in physical.operators:
        if not placed[operator.logical] and operator.host_pool is None:
            continue
        model = logical.operators[operator.logical]
        for groups, separate, joined, alone in (
            (model.partition, exlocation, partition, isolated),
            (model.host_placement, host_exlocation, host, host_isolated),
        ):
            for tag in groups.colocation:
                joined.join(resolve_tag(tag, operator), operator.index)
            if groups.exlocation:
                separate[operator.index] = tuple({resolve_tag(tag, operator): None for tag in groups.exlocation})
            if groups.isolation:
                alone.add(operator.index)
        pool = operator.host_pool or model.host_pool
        if model.host is not None or pool is not None:
            name = None if model.host is None else resolve_text(model.host, operator)
            hosts[operator.index] = HostSpec(name, pool)
            if name is not None:
                host.join(("named", name), operator.index)
    fused = DisjointSets(size)
    for index in range(size) if partition.first else ():
        fused.union(index, partition.sets.find(index))
        host.sets.union(index, partition.sets.find(index))
    if host_isolated:
        members = host.sets.groups()
        for index in host_isolated:
            fused.union_all(members[host.sets.find(index)])
    return Placements(
        exlocation,
        host_exlocation,
        frozenset(isolated),
        frozenset(host_isolated),
        hosts,
        partition.sets,
        fused,
        host.sets,
    )


def fusable_units(
    logical: LogicalGraph, physical: PhysicalGraph, regions: RegionMap, placements: Placements, options: Options
) -> list[FusableUnit]:
    """Return the units in the order of their smallest operator.

    Units of one PE must be of one kind: restartable, relocatable, the consistent region (A44), the host, and under
    `channelIsolation` the parallel channel. Exlocation tags are claims. Under `channelExlocation`, so are the channels
    of all regions around the unit. Under both, a colocated unit that crosses channels gets a PE of its own, as an
    isolated one does (rule 59). Spark queries share a PE only if they are colocated. Under `manual` and `faithful`, a
    unit of several members of a consistent region gets a PE of its own, too (rule 60).
    """
    specs = host_specs(placements)
    bound = _bound_host_sets(logical, physical, placements)
    innermost = _innermost_channels(logical, physical) if options.channel_fusion == "channelIsolation" else None
    exlocated = options.channel_fusion == "channelExlocation"
    quirk = options.faithful and options.fusion == "manual"
    flags = [(model.restartable, model.restartable and model.relocatable) for model in logical.operators]
    agreed = [flags[operator.logical] for operator in physical.operators]
    dataframes = any(model.engine == "dataframe" for model in logical.operators)
    kinds: dict[tuple[tuple[bool, bool], int, HostSpec | None, Hashable, int], Kind] = {}
    """The kinds of units that have a single operator, by the facts that decide the kind."""
    units: list[FusableUnit] = []
    for number, members in enumerate(placements.fused.groups().values()):
        first = members[0]
        host_set = placements.host_colocated.find(first)
        spec = specs.get(host_set)
        claims: list[Claim] = []
        if placements.exlocation:
            tags = [tag for member in members for tag in placements.exlocation.get(member, ())]
            claims += [(("exlocation", tag), number) for tag in tags]
        isolated = bool(placements.isolated) and not placements.isolated.isdisjoint(members)
        channel: Hashable = None
        if len(members) == 1:
            channel = innermost[first] if innermost else None
            dataframe = _dataframe_of(logical, physical.operators[first]) if dataframes else -1
            key = agreed[first], regions.region_of[first], spec, channel, dataframe
            if key not in kinds:
                kinds[key] = Kind(*agreed[first], frozenset({regions.region_of[first]}), spec, channel, dataframe)
            kind = kinds[key]
        else:
            if innermost:
                channels = {innermost[member] for member in members}
                channel = channels.pop() if len(channels) == 1 else None
                isolated = isolated or len(channels) > 1
            restartable, relocatable = (all(each) for each in zip(*(agreed[member] for member in members), strict=True))
            of_members = frozenset(regions.region_of[member] for member in members)
            dataframe = _dataframe_of(logical, physical.operators[first])
            kind = Kind(restartable, relocatable, of_members, spec, channel, dataframe)
            isolated = isolated or (quirk and of_members != frozenset({-1}))
        if exlocated:
            isolated = not _claim_channels(logical, [physical.operators[each] for each in members], claims) or isolated
        host_set = host_set if host_set in bound else -1
        units.append(_unit((tuple(members), isolated, kind, tuple(claims), host_set)))
    return units


_unit = maker(FusableUnit)


def _dataframe_of(logical: LogicalGraph, operator: PhysicalOperator) -> int:
    """Return the operator itself if it is a Spark query, else -1.

    Spark cannot stream every combination of operators, for instance two aggregations in update mode. So only colocated
    operators are one query.
    """
    return operator.index if logical.operators[operator.logical].engine == "dataframe" else -1


def _bound_host_sets(logical: LogicalGraph, physical: PhysicalGraph, placements: Placements) -> set[int]:
    """Return the host sets with host exlocation, isolation or colocation, which constrain how PEs are packed."""
    find = placements.host_colocated.find
    bound = {find(index) for index in (*placements.host_exlocation, *placements.host_isolated)}
    colocated = [bool(operator.host_placement.colocation) for operator in logical.operators]
    if any(colocated):
        bound |= {find(operator.index) for operator in physical.operators if colocated[operator.logical]}
    return bound


def host_specs(placements: Placements) -> dict[int, HostSpec]:
    """Map each host set to the host that its operators require; of contradictory ones, the first operator's counts."""
    specs: dict[int, HostSpec] = {}
    for index in sorted(placements.host):
        specs.setdefault(placements.host_colocated.find(index), placements.host[index])
    return specs


def _innermost_channels(logical: LogicalGraph, physical: PhysicalGraph) -> list[tuple[int, int] | None]:
    """Return the innermost parallel region around every operator, and the operator's channel there.

    None outside of regions.
    """
    innermost = [model.regions[-1] if model.regions else -1 for model in logical.operators]
    return [(innermost[each.logical], each.channels[-1]) if each.channels else None for each in physical.operators]


def _claim_channels(logical: LogicalGraph, replicas: Sequence[PhysicalOperator], claims: list[Claim]) -> bool:
    """Add a claim for the unit's channel in each region around it, and return True.

    If the unit has several channels of one region, add none, and return False.
    """
    channel_of: dict[int, int] = {}
    for each in replicas:
        for region, channel in zip(logical.operators[each.logical].regions, each.channels, strict=False):
            if channel_of.setdefault(region, channel) != channel:
                return False
    claims += [(("channel", str(region)), channel) for region, channel in channel_of.items()]
    return True


class Sharing:
    """The rules by which PEs of whole units may be merged."""

    def __init__(self, units: Sequence[FusableUnit]) -> None:
        self._unit_of = {operator: unit for unit in units for operator in unit.operators}

    def kind(self, operators: Sequence[int]) -> Kind | None:
        """Return the common kind of some operators.

        The result is None if their kinds differ, or if one of their units is isolated or has a host set.
        """
        units = [self._unit_of[operator] for operator in operators]
        bound = any(unit.isolated or unit.host_set >= 0 for unit in units)
        return units[0].kind if not bound and all(unit.kind == units[0].kind for unit in units) else None

    def agree(self, first: Sequence[int], second: Sequence[int]) -> bool:
        """Return True if the claims of two sets of operators do not contradict each other."""
        claims: dict[tuple[str, str], int] = {}
        both = (claim for operator in (*first, *second) for claim in self._unit_of[operator].claims)
        return all(claims.setdefault(name, value) == value for name, value in both)
