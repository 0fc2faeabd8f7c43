"""The growth of event-time graphs: equal to the definition that goes upstream, on graphs of any form."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.event_time.event_time import map_event_time
from streams_orchestration.compiler.event_time.growth import Ends, Reach, grow
from streams_orchestration.compiler.event_time.starts import find_starts
from streams_orchestration.compiler.logical_graph import EventTimeAnnotation, InputPort, LogicalGraph, OutputPort
from streams_orchestration_tests.compiler.graphs import logical_graph, operator, unexpanded
from streams_orchestration_tests.examples import examples

TYPES = ("at bigint", "at bigint, on timestamp", "on timestamp", "at string", "k string", None)
NOTES = (
    EventTimeAnnotation("at", lag=1.0, minimum_gap=5.0),
    EventTimeAnnotation("at", lag=7.0),
    EventTimeAnnotation("at", "Microseconds", lag=3.0),
    EventTimeAnnotation("on", lag=2.0),
)


@st.composite
def graphs(draw: st.DrawFn) -> LogicalGraph:
    """Applications with any streams, control ports and annotations, loops among them."""
    size = draw(st.integers(1, 9))
    operators = [
        operator(
            str(number),
            [InputPort(f"in{port}", control=draw(st.booleans()) and draw(st.booleans())) for port in range(2)],
            [
                OutputPort(
                    f"{number}.{port}", schema=draw(st.sampled_from(TYPES[:3] if draw(st.booleans()) else TYPES))
                )
                for port in range(2)
            ],
            event_time=draw(st.one_of(st.none(), st.none(), st.sampled_from(NOTES))),
        )
        for number in range(size)
    ]
    name = st.integers(0, size - 1).map(str)
    port = st.integers(0, 1)
    return logical_graph(operators, draw(st.lists(st.tuples(name, port, name, port), max_size=3 * size)))


def has_attribute(logical: LogicalGraph, reach: Reach, number: int, port: int) -> bool:
    schema = logical.operators[number].outputs[port].schema or ""
    return f"{reach.time.attribute} {reach.time.type}" in schema.split(", ")


def upstream(reach: Reach, number: int, connections: Iterable[Ends]) -> set[int]:
    """Return all operators from which connections lead to an operator, itself included."""
    found = {number}
    while more := {ends.source for ends in connections if ends.target in found} - found:
        found |= more
    return found


@given(graphs())
@examples(300)
def test_a_connection_is_in_if_an_annotation_is_upstream_of_it(logical: LogicalGraph):
    starts, _ = find_starts(logical)
    annotated = {each.index for each in logical.operators if each.event_time is not None}
    for reach in grow(logical, starts):
        own = {start.operator: start for start in reach.starts}
        passable = [
            ends
            for ends in dict.fromkeys(Ends(*each[:4]) for each in logical.connections)
            if has_attribute(logical, reach, *ends[:2]) and ends.target not in annotated and ends not in reach.left_out
        ]
        expected = [ends for ends in passable if upstream(reach, ends.source, passable) & own.keys()]
        assert set(reach.connections) == set(expected)
        for number in reach.operators:
            origins = upstream(reach, number, expected) & own.keys()
            assert reach.lags[number] == max(own[each].lag for each in origins)
            assert reach.gaps[number] == max(own[each].minimum_gap for each in origins)


@given(graphs())
@examples(300)
def test_loops_are_cut_and_nothing_else(logical: LogicalGraph):
    starts, _ = find_starts(logical)
    annotated = {each.index for each in logical.operators if each.event_time is not None}
    for reach in grow(logical, starts):
        for ends in reach.left_out:
            assert ends.target in upstream(reach, ends.source, reach.connections)
        for ends in reach.connections:
            assert ends.target not in upstream(reach, ends.source, reach.connections)
        whole = {start.operator for start in reach.starts}
        streams = [Ends(*each[:4]) for each in logical.connections if each.target not in annotated]
        while (
            more := {
                ends.target for ends in streams if ends.source in whole and has_attribute(logical, reach, *ends[:2])
            }
            - whole
        ):
            whole |= more
        assert reach.operators == whole


@given(graphs())
@examples(200)
def test_graphs_are_what_meets_and_are_numbered_by_their_first_annotation(logical: LogicalGraph):
    result, found = map_event_time(logical, unexpanded(logical))
    assert [graph.index for graph in result.graphs] == [*range(len(result.graphs))]
    firsts = [graph.sources[0] for graph in result.graphs]
    assert firsts == sorted(firsts)
    met = any(each.code in ("CDISP0868E", "SO0802") for each in found)
    for graph in result.graphs:
        assert graph.operators == tuple(sorted(graph.operators))
        assert set(graph.sources) <= set(graph.operators)
    if not met:
        everywhere = [number for graph in result.graphs for number in graph.operators]
        assert len(everywhere) == len(set(everywhere))
        assert {each.operator for each in result.operators} == set(everywhere)
