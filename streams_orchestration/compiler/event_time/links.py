"""The event time of streams between applications: of exported streams, and of Imports that take it (EV48)."""

from __future__ import annotations

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.event_time.attributes import TimeAttribute
from streams_orchestration.compiler.stage_results import EventTimeMap, EventTimeOperator


def exported_times(compilation: Compilation) -> dict[tuple[int, int], TimeAttribute]:
    """Return the event time of every output port in an event-time graph, by operator and port."""
    found = compilation.event_time
    return {(each.operator, port): _time(found, each) for each in found.operators for port in each.outputs}


def imported_times(compilation: Compilation) -> dict[int, TimeAttribute]:
    """Return the event time that Imports take, by the numbers of the Imports in the physical graph."""
    found = compilation.event_time
    return {number: _time(found, each) for each in found.operators for number in each.imports}


def _time(found: EventTimeMap, operator: EventTimeOperator) -> TimeAttribute:
    graph = found.graphs[operator.graph]
    return TimeAttribute(graph.attribute, graph.type, graph.resolution)
