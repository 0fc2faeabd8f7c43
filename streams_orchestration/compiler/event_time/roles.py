"""The roles of operators in event-time graphs, in ticks of the attribute."""

from __future__ import annotations

from streams_orchestration.compiler.event_time.attributes import TimeAttribute
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import EventTimeMap, EventTimeOperator
from streams_orchestration.operators.event_time.role import EventTimeRole, whole_ticks_up


def role_of(operator: EventTimeOperator, graphs: EventTimeMap, physical: PhysicalGraph) -> EventTimeRole:
    """Return the role of a replica of an operator."""
    graph = graphs.graphs[operator.graph]
    ticks = TimeAttribute(graph.attribute, graph.type, graph.resolution).ticks
    ports = {physical.connections[number].target_port for number in operator.connections}
    return EventTimeRole(
        attribute=graph.attribute,
        ticks=ticks,
        mode=operator.mode,
        lag=whole_ticks_up(operator.lag, ticks),
        minimum_gap=whole_ticks_up(operator.minimum_gap, ticks),
        ports=tuple(sorted(ports)),
        outputs=operator.outputs,
    )


def roles_by_operator(graphs: EventTimeMap | None, physical: PhysicalGraph | None) -> dict[int, EventTimeRole]:
    """Return the role of the first replica of each logical operator in an event-time graph."""
    if graphs is None or physical is None:
        return {}
    roles = {
        physical.operators[each.operator].logical: role_of(each, graphs, physical)
        for each in reversed(graphs.operators)
    }
    return dict(sorted(roles.items()))
