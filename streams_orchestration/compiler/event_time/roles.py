"""The roles of operators in event-time graphs, and the event time of exported and imported streams (EV48)."""

from __future__ import annotations

from dataclasses import replace

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.event_time.uses import uses_event_time
from streams_orchestration.compiler.logical_graph import EventTimeAnnotation, LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import EventTimeMap, EventTimeOperator, RegionMap
from streams_orchestration.compiler.time_attributes import TimeAttribute
from streams_orchestration.compiler.walks import reached
from streams_orchestration.operators.event_time.role import EventTimeRole, whole_ticks_up


def role_of(
    operator: EventTimeOperator, graphs: EventTimeMap, physical: PhysicalGraph, logical: LogicalGraph
) -> EventTimeRole:
    """Return the role of a replica of an operator.

    An annotated operator ignores tuples without a time if its annotation says so. Any other operator ignores them if at
    least one annotation of its graph says so (EV54), and has the defaults of `idleAfter`, `maxAhead`, `confirmations`,
    `aheadOf` and `maxDrift`. Lengths of time that are counted in ticks are rounded up.
    """
    graph = graphs.graphs[operator.graph]
    ticks = graph.time.ticks
    own = logical.operators[physical.operators[operator.operator].logical].event_time
    annotations = [logical.operators[source].event_time for source in graph.sources] if own is None else [own]
    ignores = any(each is not None and each.on_null == "ignore" for each in annotations)
    own = own or EventTimeAnnotation(graph.attribute)
    imports = {physical.imports[number].port for number in operator.imports}
    ports = imports | {physical.connections[number].target_port for number in operator.connections}
    return EventTimeRole(
        attribute=graph.attribute,
        ticks=ticks,
        mode=operator.mode,
        lag=whole_ticks_up(operator.lag, ticks),
        minimum_gap=whole_ticks_up(operator.minimum_gap, ticks),
        ports=tuple(sorted(ports)),
        imports=tuple(sorted(imports)),
        outputs=operator.outputs,
        on_null="ignore" if ignores else "fail",
        idle_after=own.idle_after,
        max_ahead=None if own.max_ahead is None else whole_ticks_up(own.max_ahead, ticks),
        confirmations=own.confirmations,
        ahead_of=own.ahead_of,
        max_drift=None if own.max_drift is None else whole_ticks_up(own.max_drift, ticks),
        peers=_peers(operator, graphs, physical, logical),
        awaited=_is_awaited(operator, graphs, physical, logical),
    )


def role_in(compilation: Compilation, operator: EventTimeOperator) -> EventTimeRole:
    """Return the role with which a replica runs: the role of `role_of`, but without `maxDrift` for a region's trigger.

    Only the trigger ends the epochs of its region. If the trigger waited for a source whose consumers wait for the end
    of an epoch, neither would continue (EV65).
    """
    role = role_of(operator, compilation.event_time, compilation.physical, compilation.logical)
    return replace(role, max_drift=None) if triggers_region(operator.operator, compilation.regions) else role


def triggers_region(operator: int, regions: RegionMap) -> bool:
    """Return True if a replica of an operator is the trigger of an operator-driven region."""
    if regions.region_of[operator] < 0:
        return False
    region = regions.expanded[regions.region_of[operator]]
    return region.trigger == "operatorDriven" and operator in region.starts


def _peers(
    operator: EventTimeOperator, graphs: EventTimeMap, physical: PhysicalGraph, logical: LogicalGraph
) -> tuple[str, ...]:
    """Return the names of the other sources' replicas of a source's graph; none if no source has a `maxDrift`.

    An operator that is not an annotated source has none, either.
    """
    annotations = {source: logical.operators[source].event_time for source in graphs.graphs[operator.graph].sources}
    sources = {source for source in annotations if not logical.operators[source].inputs}
    drifts = any(each is not None and each.max_drift is not None for each in annotations.values())
    if not drifts or physical.operators[operator.operator].logical not in sources:
        return ()
    found = (physical.operators[each.operator] for each in graphs.operators if each.graph == operator.graph)
    return tuple(each.name for each in found if each.index != operator.operator and each.logical in sources)


def _is_awaited(
    operator: EventTimeOperator, graphs: EventTimeMap, physical: PhysicalGraph, logical: LogicalGraph
) -> bool:
    """Return True for a Spark query if an operator downstream uses the watermarks of its results."""
    if logical.operators[physical.operators[operator.operator].logical].engine != "dataframe" or not operator.outputs:
        return False
    models = {each.operator: logical.operators[physical.operators[each.operator].logical] for each in graphs.operators}
    consumers: dict[int, list[int]] = {number: [] for number in models}
    for each in graphs.operators:
        for number in each.connections:
            consumers[physical.connections[number].source].append(each.operator)
    return any(uses_event_time(models[number]) for number in reached(consumers[operator.operator], consumers))


def roles_by_operator(
    graphs: EventTimeMap | None, physical: PhysicalGraph | None, logical: LogicalGraph
) -> dict[int, EventTimeRole]:
    """Return the role of the first replica of each logical operator in an event-time graph.

    There are none without event-time graphs or without an expanded graph.
    """
    if graphs is None or physical is None:
        return {}
    roles = {
        physical.operators[each.operator].logical: role_of(each, graphs, physical, logical)
        for each in reversed(graphs.operators)
    }
    return dict(sorted(roles.items()))


def exported_times(compilation: Compilation) -> dict[tuple[int, int], TimeAttribute]:
    """Map each (operator, output port) in an event-time graph to its event-time attribute."""
    found = compilation.event_time
    return {(each.operator, port): found.graphs[each.graph].time for each in found.operators for port in each.outputs}


def imported_times(compilation: Compilation) -> dict[int, TimeAttribute]:
    """Map each Import with event time, by its number in the physical graph, to its event-time attribute."""
    found = compilation.event_time
    return {number: found.graphs[each.graph].time for each in found.operators for number in each.imports}
