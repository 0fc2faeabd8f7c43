"""The third stage finds the consistent regions: the operators whose states are saved and restored together.

A region begins at the operator that is annotated, and grows along the streams: everything that is reached belongs to
it, except operators that are annotated as autonomous. Its *starts* are the operators that end each epoch first and pass
the boundary downstream, its *ends* are the members whose tuples go to no other member. An epoch is complete when it has
passed the ends; after a failure all members go back to the last complete epoch together, so that no tuple is lost or
counted twice.

The stage judges the logical graph, which has the annotation, and gives each replica the result of its operator. It also
collects the values of the annotation: how often an epoch ends, how long draining may take, and how many resets in a row
are tried.

    >>> from streams_orchestration.compiler.tour import results_before
    >>> regions, findings = REGIONS_STAGE.compute(results_before(REGIONS))
    >>> for region in regions.expanded:
    ...     print(region.trigger, region.period, "operators", region.operators)
    ...     print("starts", region.starts, "ends", region.ends)
    ...     print(region.drain_timeout, region.reset_timeout, region.max_consecutive_reset_attempts)
    periodic 1.0 operators (0, 1, 2, 3)
    starts (0,) ends (2,)
    180.0 180.0 5
    >>> regions.region_of
    (0, 0, 0, 0)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict

from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.regions.regions import map_regions
from streams_orchestration.compiler.sections.terms import Document, Section, Terms
from streams_orchestration.compiler.stage import LOGICAL, PARALLEL, REGIONS, Stage, Summary, SummaryRows
from streams_orchestration.compiler.stage_results import DEFAULT_RESTART, ConsistentRegion, RegionMap


def regions_are_closed(done: Progress) -> Iterator[str]:
    """Yield a contradiction if a region lacks an operator that it reaches, except starts and autonomous operators.

    Also if its list of operators does not agree with `region_of`, or a start is not a member. The ends of a region are
    its members without a consumer inside (A23, A24, A32).
    """
    logical = done[LogicalGraph]
    physical = done[PhysicalGraph]
    regions = done[RegionMap]
    starts = {operator for region in regions.expanded for operator in region.starts}
    scopes = [annotation.scope for annotation in logical.annotations if annotation.kind == "autonomous"]
    inner: defaultdict[int, set[int]] = defaultdict(set)
    for c in physical.connections:
        source, target = regions.region_of[c.source], regions.region_of[c.target]
        if source >= 0 and source == target:
            inner[source].add(c.source)
        if source < 0 or source == target or c.target in starts:
            continue
        model = logical.operators[physical.operators[c.target].logical]
        if not any(scope in (model.name, *model.composites) for scope in scopes):
            names = physical.operators[c.source].name, physical.operators[c.target].name
            yield f"{names[0]} of region {source} leads to {names[1]}, which is not in it"
    for region in regions.expanded:
        members = {operator for operator, index in enumerate(regions.region_of) if index == region.index}
        if members != set(region.operators):
            yield f"region {region.index} lists other operators than those that belong to it"
        if not set(region.starts) <= members:
            yield f"region {region.index} has a start that is not a member"
        if set(region.ends) != members - inner[region.index]:
            yield f"the ends of region {region.index} are not its members without a consumer in it"


def _region_map(done: Progress, terms: Terms) -> Section:
    del terms
    graph, regions = done[PhysicalGraph], done[RegionMap]
    logical = [each.name for each in done[LogicalGraph].operators]
    physical = [each.name for each in graph.operators]
    return {
        "logicalRegions": [_region(each, logical, logical=True) for each in regions.logical],
        "regions": [_region(each, physical, logical=False) for each in regions.expanded],
        "autonomous": [name for name, region in zip(physical, regions.region_of, strict=True) if region < 0],
    }


def _region(region: ConsistentRegion, names: list[str], *, logical: bool) -> Document:
    document: Document = {
        "index": region.index,
        "trigger": region.trigger,
        "period": region.period,
        "drainTimeout": region.drain_timeout,
        "resetTimeout": region.reset_timeout,
        "maxConsecutiveResetAttempts": region.max_consecutive_reset_attempts,
        **({} if region.restart == DEFAULT_RESTART else {"restart": asdict(region.restart)}),
        "operators": [names[operator] for operator in region.operators],
        "starts": [names[operator] for operator in region.starts],
        "ends": [names[operator] for operator in region.ends],
        "autonomousPorts": {names[operator]: list(ports) for operator, ports in region.autonomous_ports},
    }
    return document if logical else {"index": region.index, "logicalIndex": region.logical_index, **document}


def _summary(done: Progress) -> Summary:
    regions, operators = done[RegionMap], done[PhysicalGraph].operators
    rows = [
        (
            region.index,
            region.trigger if region.period is None else f"every {region.period:g} s",
            len(region.operators),
            ", ".join(operators[op].name for op in region.starts),
            ", ".join(operators[op].name for op in region.ends),
            region.max_consecutive_reset_attempts,
        )
        for region in regions.expanded
    ]
    columns = ("region", "trigger", "operators", "starts", "ends", "reset attempts")
    return {
        "regions": len(regions.expanded),
        "autonomous_operators": sum(region < 0 for region in regions.region_of),
        "region_table": SummaryRows(columns, rows),
    }


REGIONS_STAGE = Stage(
    name=REGIONS,
    result=RegionMap,
    inputs=(LOGICAL, PARALLEL),
    description="The consistent regions: which operators take their cuts together, where they start and end.",
    compute=lambda done: map_regions(done[LogicalGraph], done[PhysicalGraph]),
    subject="regions",
    invariant=regions_are_closed,
    summary=_summary,
    key="consistentRegionMap",
    place=5,
    section=_region_map,
    empty={"logicalRegions": [], "regions": [], "autonomous": []},
)
