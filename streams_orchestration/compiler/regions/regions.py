"""Consistent regions: finds the operators that take cuts together (A10-A45)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from streams_orchestration.compiler.logical_graph import ConsistentAnnotation, LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.regions.checks import check_regions
from streams_orchestration.compiler.regions.growth import Growth, Membership, grow, memberships
from streams_orchestration.compiler.regions.starts import RegionStarts, find_starts
from streams_orchestration.compiler.regions.values import merge_values
from streams_orchestration.compiler.stage_results import ConsistentRegion, RegionMap, RestartPolicy
from streams_orchestration.model.diagnostics import Diagnostic

_NOBODY = Membership((), (), (), ())


def map_regions(logical: LogicalGraph, physical: PhysicalGraph) -> tuple[RegionMap, list[Diagnostic]]:
    """Find the consistent regions of the logical graph, check them, and find them again on the expanded graph.

    A region without members (A34) is kept in both results, since it has a number: channel 0 has the number of the
    logical region (A40), and the index of an expanded region is its number.
    """
    roots = find_starts(logical)
    growth, region_of = grow_logical(logical, roots)
    regions, diagnostics = _logical_regions(logical, roots, growth)
    expanded, expanded_of = _expand(physical, logical, regions, region_of, roots)
    diagnostics += check_regions(logical, regions, region_of, roots, expanded)
    return RegionMap(regions, expanded, expanded_of), diagnostics


def grow_logical(logical: LogicalGraph, roots: RegionStarts) -> tuple[Growth, list[int]]:
    """Return the growth on the logical graph, and the final index of every operator's region, -1 for none (A31)."""
    growth = grow(len(logical.operators), logical.connections, roots.starts, roots.barriers, len(roots.created))
    number = {region: index for index, region in enumerate(growth.merged)}
    return growth, [number[region] if region >= 0 else -1 for region in growth.region_of]


def _logical_regions(
    logical: LogicalGraph, roots: RegionStarts, growth: Growth
) -> tuple[tuple[ConsistentRegion, ...], list[Diagnostic]]:
    """Return the surviving regions in the order of creation (A31), with merged values (A29), and errors of merging."""
    ports = [len(operator.inputs) for operator in logical.operators]
    members = memberships(growth.region_of, logical.connections, roots.starts, ports)
    regions: list[ConsistentRegion] = []
    diagnostics: list[Diagnostic] = []
    for index, (survivor, merged) in enumerate(growth.merged.items()):
        annotations = [roots.created[region] for region in merged]
        values, problems = merge_values(annotations)
        diagnostics += problems
        regions.append(_region(index, annotations[0], values, members.get(survivor, _NOBODY)))
    return tuple(regions), diagnostics


def _region(
    index: int, annotation: ConsistentAnnotation, values: dict[str, float | int | None], members: Membership
) -> ConsistentRegion:
    trigger = annotation.trigger or "periodic"
    period = values["period"] if trigger == "periodic" else None
    return ConsistentRegion(
        index=index,
        logical_index=index,
        trigger=trigger,
        period=None if period is None else float(period),
        drain_timeout=float(values["drainTimeout"] or 0.0),
        reset_timeout=float(values["resetTimeout"] or 0.0),
        max_consecutive_reset_attempts=int(values["maxConsecutiveResetAttempts"] or 0),
        operators=members.operators,
        starts=members.starts,
        ends=members.ends,
        autonomous_ports=members.autonomous_ports,
        restart=RestartPolicy(float(values["restart.pause"] or 0.0), float(values["restart.limit"] or 0.0)),
    )


def _expand(
    physical: PhysicalGraph,
    logical: LogicalGraph,
    regions: tuple[ConsistentRegion, ...],
    region_of: list[int],
    roots: RegionStarts,
) -> tuple[tuple[ConsistentRegion, ...], tuple[int, ...]]:
    """Return the regions of the expanded graph (A40), and the index of each operator's region, -1 for none."""
    growth, starts, logical_of = grow_expanded(physical, len(regions), region_of, roots)
    ports = [len(logical.operators[operator.logical].inputs) for operator in physical.operators]
    members = memberships(growth.region_of, physical.connections, starts, ports)
    kept = [(region, members.get(region, _NOBODY)) for region in sorted({*range(len(regions)), *members})]
    expanded = tuple(
        replace(
            regions[logical_of[region]],
            index=index,
            operators=membership.operators,
            starts=membership.starts,
            ends=membership.ends,
            autonomous_ports=membership.autonomous_ports,
        )
        for index, (region, membership) in enumerate(kept)
    )
    index_of = {region: index for index, (region, _) in enumerate(kept)}
    return expanded, tuple(index_of[region] if region >= 0 else -1 for region in growth.region_of)


def grow_expanded(
    physical: PhysicalGraph, regions: int, region_of: Sequence[int], roots: RegionStarts
) -> tuple[Growth, dict[int, int], list[int]]:
    """Return the growth on the expanded graph, the region of each start, and the logical region of each region (A40).

    A replica of a start opens the region for (logical region, global channel of the replica). Channel 0, or no channel,
    keeps the number of the logical region; other channels get the next numbers, in the order of the replicas. The walk
    never enters a start, so regions that are apart on the logical graph stay apart (A41).
    """
    keys: dict[tuple[int, int], int] = {(region, 0): region for region in range(regions)}
    logical_of = list(range(regions))
    starts: dict[int, int] = {}
    barriers: set[int] = set()
    for operator in physical.operators:
        if operator.logical in roots.starts:
            key = (region_of[operator.logical], max(operator.channel, 0))
            if key not in keys:
                keys[key] = len(logical_of)
                logical_of.append(key[0])
            starts[operator.index] = keys[key]
        elif operator.logical in roots.barriers:
            barriers.add(operator.index)
    growth = grow(len(physical.operators), physical.connections, starts, barriers, len(logical_of))
    return growth, starts, logical_of
