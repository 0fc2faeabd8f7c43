"""Fusable units: operators that must share a PE, and what decides whom they may share it with (rules 45-53, 59)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from streams_orchestration.compiler.disjoint_sets import DisjointSets
from streams_orchestration.compiler.graph import (
    LogicalGraph,
    LogicalOperator,
    PhysicalGraph,
    PhysicalOperator,
    PlacementGroup,
)
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.placement_tags import resolve_tag, resolve_text
from streams_orchestration.compiler.stage_results import RegionMap


@dataclass(frozen=True, slots=True)
class HostSpec:
    """What an operator says of its host: a name, a pool, or nothing."""

    host: str | None = None
    pool: str | None = None


@dataclass(frozen=True, slots=True)
class Placements:
    """Placement configs of all replicas, tags resolved. Operators without one do not appear in the mappings."""

    exlocation: Mapping[int, tuple[str, ...]]
    host_exlocation: Mapping[int, tuple[str, ...]]
    isolated: frozenset[int]
    host_isolated: frozenset[int]
    host: Mapping[int, HostSpec]
    colocated: DisjointSets
    """Operators that share a tag of partition colocation, transitively (rule 45)."""
    fused: DisjointSets
    """The same, and what host isolation adds to it (rule 52)."""
    host_colocated: DisjointSets
    """Operators that must share a host: fused, host-colocated, or on the same named host."""
    any: bool
    """Is there any config that the mappings and sets are of?"""


Claim = tuple[tuple[str, str], int]
"""A name and the value given to it."""


class Kind(NamedTuple):
    """What must agree for a common PE under the manual and automatic schemes (rule 53, A44)."""

    restartable: bool
    relocatable: bool
    regions: frozenset[int]
    """Consistent regions of the members, -1 for autonomous ones."""
    host: HostSpec | None
    channel: Hashable = None
    """The parallel channel around the unit, under `channelIsolation` only (rule 59)."""


class FusableUnit(NamedTuple):
    """A set of operators that no scheme splits (rule 52)."""

    operators: tuple[int, ...]
    isolated: bool
    """Alone in its PE."""
    kind: Kind
    """Units of different kinds never share a PE under the manual and automatic schemes."""
    claims: tuple[Claim, ...] = ()
    """Two units share a PE only where they give the same value to every name that both claim."""
    host_set: int = -1
    """The set in `Placements.host_colocated`, -1 when nothing is asked of its host."""


@dataclass(slots=True)
class _Tags:
    """Operators by tag, joined as they are met."""

    sets: DisjointSets
    first: dict[Hashable, int] = field(default_factory=dict)

    def join(self, tag: Hashable, operator: int) -> None:
        self.sets.union(self.first.setdefault(tag, operator), operator)


def resolve_placements(logical: LogicalGraph, physical: PhysicalGraph) -> Placements:
    """Resolve the placement configs of all replicas and join what they join."""
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
        any(placed) or any(operator.host_pool is not None for operator in physical.operators),
    )


def fusable_units(
    logical: LogicalGraph, physical: PhysicalGraph, regions: RegionMap, placements: Placements, options: Options
) -> list[FusableUnit]:
    """The units in the order of their smallest operator.

    A unit's kind is what must agree for a common PE: restartable, relocatable, the consistent region (A44), the
    host, and under `channelIsolation` the parallel channel. Tags of exlocation are claims, as are the channels of
    every region around it under `channelExlocation`; a colocated unit that crosses channels has a PE of its own then
    (rule 59). Under `manual` and `faithful`, so has one of several members of a consistent region (rule 60).
    """
    specs = host_specs(placements)
    bound = _bound_host_sets(logical, physical, placements)
    models = [logical.operators[operator.logical] for operator in physical.operators]
    quirk = options.faithful and options.fusion == "manual"
    kinds: dict[tuple[int, int, HostSpec | None], Kind] = {}
    """Of units of one operator, by logical operator, region and host."""
    units: list[FusableUnit] = []
    for number, members in enumerate(placements.fused.groups().values()):
        host_set = placements.host_colocated.find(members[0])
        spec = specs.get(host_set)
        if len(members) == 1:
            key = models[members[0]].index, regions.region_of[members[0]], spec
            kind = kinds.get(key) or kinds.setdefault(key, _kind([models[members[0]]], regions, members, spec))
        else:
            kind = _kind([models[member] for member in members], regions, members, spec)
        claims: list[Claim] = []
        if placements.exlocation:
            tags = [tag for member in members for tag in placements.exlocation.get(member, ())]
            claims += [(("exlocation", tag), number) for tag in tags]
        isolated = not placements.isolated.isdisjoint(members)
        if quirk and len(members) > 1 and kind.regions != {-1}:
            isolated = True
        if options.channel_fusion != "noChannelInfluence":
            replicas = [physical.operators[member] for member in members]
            channel, crossing = _by_channel(logical, replicas, options, claims)
            kind, isolated = kind._replace(channel=channel), isolated or crossing
        units.append(
            FusableUnit(
                tuple(members),
                isolated,
                kind,
                tuple(claims),
                host_set if host_set in bound else -1,
            )
        )
    return units


def _kind(models: Sequence[LogicalOperator], regions: RegionMap, members: Sequence[int], host: HostSpec | None) -> Kind:
    restartable = all(model.restartable for model in models)
    relocatable = restartable and all(model.relocatable for model in models)
    return Kind(restartable, relocatable, frozenset(regions.region_of[member] for member in members), host)


def _bound_host_sets(logical: LogicalGraph, physical: PhysicalGraph, placements: Placements) -> set[int]:
    """Host sets of which something is asked beyond the host itself: exlocation, isolation, colocation of units."""
    find = placements.host_colocated.find
    bound = {find(index) for index in (*placements.host_exlocation, *placements.host_isolated)}
    colocated = [bool(operator.host_placement.colocation) for operator in logical.operators]
    if any(colocated):
        bound |= {find(operator.index) for operator in physical.operators if colocated[operator.logical]}
    return bound


def host_specs(placements: Placements) -> dict[int, HostSpec]:
    """What the operators of a host set say of their host, by set; where they contradict each other the first counts."""
    specs: dict[int, HostSpec] = {}
    for index in sorted(placements.host):
        specs.setdefault(placements.host_colocated.find(index), placements.host[index])
    return specs


def _by_channel(
    logical: LogicalGraph,
    replicas: Sequence[PhysicalOperator],
    options: Options,
    claims: list[Claim],
) -> tuple[Hashable, bool]:
    """The channel of a unit, and whether it crosses channels and needs a PE of its own; adds what channels claim."""
    around = [list(zip(logical.operators[each.logical].regions, each.channels, strict=False)) for each in replicas]
    if options.channel_fusion == "channelIsolation":
        innermost = {channels[-1] if channels else None for channels in around}
        return next(iter(innermost)) if len(innermost) == 1 else None, len(innermost) > 1
    channel_of: dict[int, int] = {}
    for channels in around:
        for region, channel in channels:
            if channel_of.setdefault(region, channel) != channel:
                return None, True
    claims += [(("channel", str(region)), channel) for region, channel in channel_of.items()]
    return None, False
