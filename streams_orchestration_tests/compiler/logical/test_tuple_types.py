"""Tuple types of streams."""

from __future__ import annotations

from streams_orchestration_tests.compiler.invocations import FLIGHT, PLAIN_SOURCE, TYPED, built, by_name, call
from streams_orchestration_tests.specs import codes, graph, logical


def test_standard_operators_keep_tuple_types() -> None:
    actual = built(
        graph(
            TYPED,
            call("F", "Filter", outputs=["F", "G"]),
            call("D", "Delay", ["G"]),
            call("W", inputs=["D"]),
            call("T", "Throttle", ["W"]),
            {"name": "U", "operator": "Union", "inputs": ["F", "D"]},
            call("N", "Functor", ["U"], outputs=[{"stream": "N", "schema": "a  INT"}]),
            schemas={"Flight": FLIGHT["Flight"]},
        )
    )
    kept = "carrier string, delay double"
    types = {name: [output.schema for output in each.outputs] for name, each in by_name(actual).items()}
    assert types == {
        "Src": [kept],
        "F": [kept, kept],
        "D": [kept],
        "W": [None],
        "T": [None],
        "U": [kept],
        "N": ["a int"],
    }


def test_tuple_types_pass_loops_and_composites() -> None:
    composite = {
        "inputs": ["In"],
        "outputs": ["B"],
        "graph": [call("A", "Filter", [["In", "B"]]), call("B", "Throttle", ["A"])],
    }
    actual, _ = logical(graph(TYPED, call("C", "Comp"), composites={"Comp": composite}, schemas={"Flight": "x int"}))
    assert by_name(actual)["C.B"].outputs[0].schema == "x int"


def test_streams_of_one_port_have_one_type() -> None:
    application = graph(TYPED, PLAIN_SOURCE, call("S", "Sink", [["Src", "Two"]]), schemas=FLIGHT)
    assert codes(logical(application)[1]) == ["SO0304"]
