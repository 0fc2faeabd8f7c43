"""Operator models describe ports and threads."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration_tests.compiler.invocations import FLIGHT, SOURCE, TYPED, built, call
from streams_orchestration_tests.specs import codes, graph, logical


def test_ports_of_operators() -> None:
    operators = {
        "Mutating": {
            "implementation": "a.b:C",
            "inputs": [{"mutable": True}, {"mutates": ["delay"]}, {"control": True}],
            "outputs": [{"mutable": True}, {"generatesWindowPunctuation": True}],
            "stateful": True,
            "waits": [{"port": 0, "for": 1}, {"port": 0, "for": 9}],
            "consistent": {"member": True, "start": False, "reason": "why"},
        }
    }
    actual = built(
        graph(
            TYPED,
            call("M", "Mutating", ["Src", "Src", "Src", {"streams": ["Src"], "name": "last"}], outputs=["M", "N", "O"]),
            call("C", "a.b:C", [{"streams": ["M"], "control": True}]),
            schemas={"Flight": FLIGHT["Flight"]},
            operators=operators,
        )
    )
    mutating, direct = actual.operators[1:3]
    assert mutating.implementation == direct.implementation == "a.b:C"
    assert [(port.name, port.mutable, port.mutates, port.control) for port in mutating.inputs] == [
        ("in0", True, None, False),
        ("in1", True, ("delay",), False),
        ("in2", False, None, True),
        ("last", False, None, True),
    ]
    assert [(port.mutable, port.generates_window_punctuation) for port in mutating.outputs] == [
        (True, False),
        (False, True),
        (False, True),
    ]
    assert (mutating.stateful, mutating.may_start, mutating.region_reason) == (True, False, "why")
    assert mutating.waits == ((0, 1),)
    assert [(port.mutable, port.control) for port in direct.inputs] == [(False, True)]
    assert direct.outputs[0].mutable


def test_unknown_mutated_attributes() -> None:
    operators = {"M": {"inputs": [{"mutates": ["dely"]}], "outputs": []}}
    application = graph(TYPED, call("X", "M"), schemas={"Flight": FLIGHT["Flight"]}, operators=operators)
    _, diagnostics = logical(application)
    assert codes(diagnostics) == ["SO0306"]
    assert "delay" in diagnostics[0].message


def test_a_custom_that_leaves_tuples_alone_has_an_immutable_port() -> None:
    """A Custom without outputs that leaves a port's tuples alone has that port immutable (rule 79)."""
    actual = built(
        graph(
            SOURCE,
            call(
                "A",
                "Custom",
                [{"streams": ["Src"], "mutates": []}, "Src", {"streams": ["Src"], "control": True}],
                outputs=[],
            ),
            call("B", "Custom", [{"streams": ["Src"], "mutates": []}]),
        )
    )
    sink, other = actual.operators[1:]
    assert [port.mutable for port in sink.inputs] == [False, True, True]
    assert sink.submits == (True, True, False)
    assert (other.inputs[0].mutable, other.inputs[0].mutates) == (True, ())


def test_declared_operators_take_the_place_of_standard_ones() -> None:
    actual = built(
        graph({"name": "F", "operator": "Filter"}, operators={"Filter": {"inputs": [], "implementation": "a:B"}})
    )
    assert (actual.operators[0].implementation, actual.operators[0].kind) == ("a:B", "Filter")


@pytest.mark.parametrize(
    ("operator", "window", "expected"),
    [
        ("Aggregate", "tumbling, count(5)", "Always"),
        ("Aggregate", "sliding, count(5), time(3)", "Never"),
        ("Aggregate", "sliding, time(5), count(3)", "Always"),
        ("Sort", "sliding, time(5), count(3)", "Never"),
        ("Sort", {"type": "sliding", "eviction": "count(5)", "trigger": {"time": 5}}, "Always"),
        ("Sort", {"eviction": {"time": 5}}, "Never"),
        ("Delay", None, "Never"),
        ("Filter", None, "Always"),
    ],
)
def test_single_threaded_with_windows(operator: str, window: Any, expected: str) -> None:
    parameters = {} if window is None else {"window": window}
    actual, _ = logical(graph(SOURCE, call("X", operator, parameters=parameters)))
    assert actual.operators[1].single_threaded == expected


def test_windows_by_port() -> None:
    windows = [{"in0": "sliding, time(1)", "in1": "sliding, count(1)"}, ["sliding, count(1)", "sliding, time(1)"]]
    for window in windows:
        application = graph(
            SOURCE, call("Two", "Source", ()), call("J", "Join", ["Src", "Two"], parameters={"window": window})
        )
        actual, _ = logical(application)
        assert actual.operators[2].single_threaded == "Never"
