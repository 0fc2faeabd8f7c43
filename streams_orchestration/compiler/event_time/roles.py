"""The roles of operators in event-time graphs, in ticks of the attribute."""

from __future__ import annotations

from streams_orchestration.compiler.event_time.attributes import TimeAttribute
from streams_orchestration.compiler.logical_graph import EventTimeAnnotation, LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import EventTimeMap, EventTimeOperator
from streams_orchestration.operators.event_time.role import EventTimeRole, whole_ticks_up


def role_of(
    operator: EventTimeOperator, graphs: EventTimeMap, physical: PhysicalGraph, logical: LogicalGraph
) -> EventTimeRole:
    """Return the role of a replica of an operator.

    Tuples without a time are ignored by an annotated operator if its annotation says so, and by all others if one of
    their graph does (EV54).
    """
    graph = graphs.graphs[operator.graph]
    ticks = TimeAttribute(graph.attribute, graph.type, graph.resolution).ticks
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
    )


def roles_by_operator(
    graphs: EventTimeMap | None, physical: PhysicalGraph | None, logical: LogicalGraph
) -> dict[int, EventTimeRole]:
    """Return the role of the first replica of each logical operator in an event-time graph."""
    if graphs is None or physical is None:
        return {}
    roles = {
        physical.operators[each.operator].logical: role_of(each, graphs, physical, logical)
        for each in reversed(graphs.operators)
    }
    return dict(sorted(roles.items()))
