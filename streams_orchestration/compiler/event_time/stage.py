"""The fourth stage finds the event-time graphs: the streams along which watermarks go.

An `eventTime` annotation says which attribute of an operator's output is the time of a tuple. From there event time
grows downstream only, over every stream whose tuples have the same attribute with the same type, and ends where they
lose it. An operator's *watermark* says up to which time its streams are complete. At the annotated operator it is made
of the tuples' times, less the `lag`; everywhere else it is the least watermark of all event-time connections.

The stage judges the logical graph and then says the same of the replicas. For each replica it says where its watermark
comes from (its *mode*), and the greatest lag that reaches it. It also checks all that needs event time, such as windows
of time intervals.

The tour has an annotation and no such window, which is a warning:

    >>> from streams_orchestration.compiler.tour import results_before
    >>> result, findings = EVENT_TIME_STAGE.compute(results_before(EVENT_TIME))
    >>> for graph in result.graphs:
    ...     print(graph.attribute, graph.type, graph.resolution, "from", graph.sources, "to", graph.operators)
    at bigint Milliseconds from (0,) to (0, 1, 2)
    >>> for each in result.operators:
    ...     print(each.operator, each.mode, each.lag, "connections", each.connections, "outputs", each.outputs)
    0 outputEventTime 2.0 connections () outputs (0,)
    1 inputWatermark 2.0 connections (0,) outputs (0,)
    2 inputWatermark 2.0 connections (2, 3) outputs ()
    3 inputWatermark 2.0 connections (1,) outputs (0,)
    >>> print(*findings)
    Read: warning SO0803: nothing downstream of Read uses the event time by at (bigint, Milliseconds)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.event_time.event_time import map_event_time, mode_of
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.sections.terms import Document, Section, Terms
from streams_orchestration.compiler.stage import EVENT_TIME, LOGICAL, PARALLEL, Stage, Summary, SummaryRows
from streams_orchestration.compiler.stage_results import EventTimeMap, EventTimeOperator
from streams_orchestration.compiler.time_attributes import attribute_type
from streams_orchestration.compiler.walks import producers_first, reached


def event_time_leads_back_to_annotations(done: Progress) -> Iterator[str]:
    """Check that upstream of each event-time connection there is an annotation, and that no connection is missing.

    On the way upstream, every output port has the attribute with the same type (EV5), no annotated operator is entered
    (EV10), and lags are the greatest (EV8). A connection may be missing only if it would close a loop (EV12).
    """
    logical = done[LogicalGraph]
    physical = done[PhysicalGraph]
    result = done[EventTimeMap]
    found = {each.operator: each for each in result.operators}
    names = [operator.name for operator in physical.operators]
    models = [logical.operators[operator.logical] for operator in physical.operators]
    consumers: defaultdict[int, list[int]] = defaultdict(list)
    listed = {number for each in result.operators for number in each.connections}
    for number in listed:
        consumers[physical.connections[number].source].append(physical.connections[number].target)
    for index, model in enumerate(models):
        if index in found:
            graph = result.graphs[found[index].graph]
            types = [attribute_type(output.schema, graph.attribute) for output in model.outputs]
            if found[index].outputs != tuple(port for port, kind in enumerate(types) if kind == graph.type):
                yield f"the event-time ports of {names[index]} are not those with {graph.attribute}"
            if model.index not in graph.operators or found[index].mode != mode_of(model):
                yield f"{names[index]} has the graph or the mode of another operator"
            yield from _wrong_greatest(index, found, done)
        elif model.event_time is not None:
            yield f"{names[index]} is annotated, and not in the map"
    for number, each in enumerate(physical.connections):
        starts = each.source in found and each.source_port in found[each.source].outputs
        begins_anew = models[each.target].event_time is not None
        if number in listed:
            if not starts or begins_anew or each.target not in found:
                yield f"the event-time connection {number} does not lead from a port in a graph to an operator in it"
        elif starts and not begins_anew and each.source not in reached((each.target,), consumers):
            yield f"the connection from {names[each.source]} to {names[each.target]} is missing, and closes no loop"
    if len(producers_first(set(found), consumers)) < len(found):
        yield "event-time connections are a loop, so its watermarks would wait for themselves"


def _wrong_greatest(index: int, found: dict[int, EventTimeOperator], done: Progress) -> Iterator[str]:
    """Yield a contradiction if an operator's lag or gap is not the greatest of its annotation or direct producers.

    Also yield one if event time enters an annotated operator, or does not enter another one.
    """
    physical, each = done[PhysicalGraph], found[index]
    operator = physical.operators[index]
    annotation = done[LogicalGraph].operators[operator.logical].event_time
    sources = [found[s] for s in (physical.connections[number].source for number in each.connections) if s in found]
    if annotation is not None:
        if (each.lag, each.minimum_gap) != (annotation.lag, annotation.minimum_gap) or each.connections:
            yield f"{operator.name} is annotated, but has other values or an event-time connection"
    elif not sources and not each.imports:
        yield f"no event time reaches {operator.name}"
    elif (each.lag, each.minimum_gap) != (
        max((s.lag for s in sources), default=0.0),
        max((s.minimum_gap for s in sources), default=0.0),
    ):
        yield f"lag or minimumGap of {operator.name} is not the greatest that comes to it"


def _event_time_map(done: Progress, terms: Terms) -> Section:
    del terms
    result, graph = done[EventTimeMap], done[PhysicalGraph]
    logical = [each.name for each in done[LogicalGraph].operators]
    physical = [each.name for each in graph.operators]

    def ends(number: int) -> Document:
        source, source_port, target, target_port, *_ = graph.connections[number]
        return {
            "from": {"operator": physical[source], "port": source_port},
            "to": {"operator": physical[target], "port": target_port},
        }

    return {
        "graphs": [
            {
                "index": each.index,
                "attribute": each.attribute,
                "type": each.type,
                "resolution": each.resolution,
                "sources": _names(each.sources, logical),
                "operators": _names(each.operators, logical),
                **({"imports": list(each.imports)} if each.imports else {}),
            }
            for each in result.graphs
        ],
        "operators": [
            {
                "operator": physical[each.operator],
                "graph": each.graph,
                "mode": each.mode,
                "lag": each.lag,
                "minimumGap": each.minimum_gap,
                "connections": [ends(number) for number in each.connections],
                "outputs": list(each.outputs),
                **({"imports": [graph.imports[number].name for number in each.imports]} if each.imports else {}),
            }
            for each in result.operators
        ],
    }


def _names(operators: Sequence[int], names: Sequence[str]) -> list[str]:
    return [names[operator] for operator in operators]


def _summary(done: Progress) -> Summary:
    result = done[EventTimeMap]
    logical = [each.name for each in done[LogicalGraph].operators]
    rows = [
        (
            each.index,
            each.attribute,
            each.type,
            each.resolution,
            ", ".join(_names(each.sources, logical)),
            len(each.operators),
        )
        for each in result.graphs
    ]
    return {
        "event_time_graphs": len(result.graphs),
        "event_time_operators": len(result.operators),
        "event_time_connections": sum(len(each.connections) for each in result.operators),
        **(
            {"graph_table": SummaryRows(("graph", "attribute", "type", "resolution", "from", "operators"), rows)}
            if rows
            else {}
        ),
    }


EVENT_TIME_STAGE = Stage(
    name=EVENT_TIME,
    result=EventTimeMap,
    inputs=(LOGICAL, PARALLEL),
    description="The event-time graphs: along which streams watermarks go, and where they come from.",
    compute=lambda done: map_event_time(done[LogicalGraph], done[PhysicalGraph]),
    subject="time",
    invariant=event_time_leads_back_to_annotations,
    summary=_summary,
    key="eventTimeMap",
    place=6,
    section=_event_time_map,
    empty={"graphs": [], "operators": []},
)
