"""Event-time graphs of an application, on the logical graph and on its replicas (EV4-EV12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from streams_orchestration.compiler.event_time.checks import check_event_time
from streams_orchestration.compiler.event_time.growth import Ends, Reach, grow
from streams_orchestration.compiler.event_time.imports import find_imports
from streams_orchestration.compiler.event_time.starts import find_starts
from streams_orchestration.compiler.logical_graph import LogicalGraph, LogicalOperator
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import EventTimeGraph, EventTimeMap, EventTimeOperator
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.operators.event_time.role import EventTimeMode


def map_event_time(logical: LogicalGraph, physical: PhysicalGraph) -> tuple[EventTimeMap, list[Diagnostic]]:
    """Find the event-time graphs of the logical graph, check them, and map them to the replicas."""
    starts, diagnostics = find_starts(logical)
    imports, wrong = find_imports(logical)
    diagnostics += wrong
    reaches = grow(logical, starts, imports)
    diagnostics += check_event_time(logical, reaches)
    graphs = _graphs(reaches)
    return EventTimeMap(graphs, _operators(logical, physical, reaches, graphs)), diagnostics


def mode_of(operator: LogicalOperator) -> EventTimeMode:
    """Return the watermark mode of an operator: the way in which its watermark arises (EV17, EV19, EV23, EV62).

    `manual` by its model comes first, then its annotation, then another mode by its model, then `inputWatermark`.
    """
    if operator.watermark_mode == "manual":
        return "manual"
    if operator.event_time is not None:
        return "outputEventTime"
    return operator.watermark_mode or "inputWatermark"


def _graphs(reaches: Sequence[Reach]) -> tuple[EventTimeGraph, ...]:
    """Return the graphs in the order of their first operators that are annotated or read an Import with event time."""
    found: list[tuple[int, EventTimeGraph]] = []
    for reach in reaches:
        for graph in reach.graphs:
            members = set(graph)
            sources = tuple(start.operator for start in reach.starts if start.operator in members)
            entered = [each for each in reach.imports if each.operator in members]
            names = tuple(dict.fromkeys(each.name for each in entered))
            first = min((*sources, *(each.operator for each in entered)))
            found.append((first, EventTimeGraph(-1, *reach.time, sources, graph, names)))
    ordered = sorted(found, key=lambda each: (each[0], each[1].attribute))
    return tuple(replace(graph, index=index) for index, (_, graph) in enumerate(ordered))


def _operators(
    logical: LogicalGraph, physical: PhysicalGraph, reaches: Sequence[Reach], graphs: Sequence[EventTimeGraph]
) -> tuple[EventTimeOperator, ...]:
    """Return the replicas that are in event-time graphs.

    A physical connection is in a graph if its logical connection is (EV11).
    """
    if not graphs:
        return ()
    graph_of = {operator: graph.index for graph in reversed(graphs) for operator in graph.operators}
    reach_of: dict[int, Reach] = {operator: reach for reach in reversed(reaches) for operator in reach.operators}
    connections = {id(reach): set(reach.connections) for reach in reaches}
    with_time = {(each.operator, each.port) for reach in reaches for each in reach.imports}
    imported: dict[int, list[int]] = {}
    for number, link in enumerate(physical.imports):
        reader = physical.operators[link.operator].logical
        if "eventTime" in link.parameters and (reader, link.port) in with_time:
            imported.setdefault(link.operator, []).append(number)
    incoming: dict[int, list[int]] = {}
    for number, each in enumerate(physical.connections):
        source, target = physical.operators[each.source].logical, physical.operators[each.target].logical
        reach = reach_of.get(target)
        if reach is not None and Ends(source, each.source_port, target, each.target_port) in connections[id(reach)]:
            incoming.setdefault(each.target, []).append(number)
    found: list[EventTimeOperator] = []
    for replica in physical.operators:
        reach = reach_of.get(replica.logical)
        if reach is None:
            continue
        operator = logical.operators[replica.logical]
        outputs = tuple(port for port in range(len(operator.outputs)) if (operator.index, port) in reach.ports)
        found.append(
            EventTimeOperator(
                operator=replica.index,
                graph=graph_of[operator.index],
                mode=mode_of(operator),
                lag=reach.lags[operator.index],
                minimum_gap=reach.gaps[operator.index],
                connections=tuple(incoming.get(replica.index, ())),
                outputs=outputs,
                imports=tuple(imported.get(replica.index, ())),
            )
        )
    return tuple(found)
