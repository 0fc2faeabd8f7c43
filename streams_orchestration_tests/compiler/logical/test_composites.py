"""Composites are seen through."""

from __future__ import annotations

from typing import Any

from streams_orchestration.compiler.logical_graph import LogicalConnection, LogicalGraph
from streams_orchestration_tests.compiler.invocations import SOURCE, built, by_name, call
from streams_orchestration_tests.specs import graph, logical


def ends(logical_graph: LogicalGraph) -> list[tuple[str, int, str, int]]:
    names = [operator.name for operator in logical_graph.operators]
    return [(names[a], b, names[c], d) for a, b, c, d, _ in logical_graph.connections]


COMPOSITES: dict[str, Any] = {
    "Outer": {
        "inputs": ["Left", "Right"],
        "outputs": ["I", "J"],
        "graph": [
            {"name": "N", "operator": "Inner", "inputs": [["Left", "Right"]], "outputs": ["I"]},
            {"name": "J", "operator": "Work", "inputs": ["I", "Right"]},
        ],
    },
    "Inner": {
        "inputs": ["In"],
        "outputs": ["B"],
        "graph": [
            {"name": "A", "operator": "Work", "inputs": ["In", "In"]},
            {"name": "B", "operator": "Work", "inputs": ["A"]},
        ],
    },
}


def test_composites_are_seen_through() -> None:
    actual = built(
        graph(
            SOURCE,
            call("Two", "Source", ()),
            call("Out", "Outer", ["Src", ["Two", "Src"]], outputs=["First", "Second"]),
            call("Snk", "Sink", [["First", "Second"]]),
            composites=COMPOSITES,
        )
    )
    assert [operator.name for operator in actual.operators] == ["Src", "Two", "Out.N.A", "Out.N.B", "Out.J", "Snk"]
    assert by_name(actual)["Out.N.A"].composites == ("Out", "Out.N")
    assert ends(actual) == [
        *[("Src", 0, "Out.N.A", 0)] * 2,
        *[("Src", 0, "Out.N.A", 1)] * 2,
        ("Src", 0, "Out.J", 1),
        *(("Two", 0, "Out.N.A", 0), ("Two", 0, "Out.N.A", 1), ("Two", 0, "Out.J", 1)),
        ("Out.N.A", 0, "Out.N.B", 0),
        *(("Out.N.B", 0, "Out.J", 0), ("Out.N.B", 0, "Snk", 0)),
        ("Out.J", 0, "Snk", 0),
    ]
    assert actual.connections[0].path == ("entered:Out.Left", "entered:Out.N.In")
    assert actual.connections[1].path == ("entered:Out.Right", "entered:Out.N.In")
    leaving = [each for each in actual.connections if each.target == 5]
    assert leaving[0] == LogicalConnection(3, 0, 5, 0, ("left:Out.N.B", "left:Out.I"))
    # A stream has the name of the outermost composite output that it leaves by.
    assert [each.outputs[0].stream for each in actual.operators[2:5]] == ["Out.N.A", "First", "Second"]


def test_own_streams_hide_input_ports() -> None:
    composite = {
        "inputs": ["X"],
        "graph": [{"name": "X", "operator": "Source"}, {"name": "S", "operator": "Sink", "inputs": ["X"]}],
    }
    actual, _ = logical(graph(SOURCE, call("C", "Comp"), composites={"Comp": composite}))
    assert ends(actual) == [("C.X", 0, "C.S", 0)]


def test_atomic_tags_reach_into_composites() -> None:
    composite = {
        "inputs": ["In"],
        "graph": [call("A", "Sink", ["In"]), call("B", "Sink", ["In"], annotations={"atomic": "own"})],
    }
    application = graph(SOURCE, call("C", "Comp", annotations={"atomic": "t"}), composites={"Comp": composite})
    assert [each.atomic for each in built(application).operators] == [None, "t", "own"]
