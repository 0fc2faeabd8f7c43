"""Widths of parallel regions, and how their ports are routed."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.compiler.logical_graph import Routing
from streams_orchestration_tests.compiler.invocations import FLIGHT, PLAIN_SOURCE, SOURCE, TYPED, built, call
from streams_orchestration_tests.specs import codes, graph, logical

WIDTHS = {
    "w": {"type": "int32", "default": 4},
    "t": {"type": "rstring", "default": "five"},
    "f": {"type": "float64", "default": 2},
}


def width(value: Any, **options: Any) -> tuple[int, list[str]]:
    application = graph(SOURCE, call("R", annotations={"parallel": {"width": value}}), submission=WIDTHS)
    logical_graph, diagnostics = logical(application, **options)
    return logical_graph.regions[0].width, codes(diagnostics)


def test_a_width_comes_from_the_spec_a_submission_value_or_an_option() -> None:
    assert width(3) == (3, [])
    assert width("${w}") == (4, [])
    assert width("${w}", submission={"w": "6"}) == (6, [])
    assert width("${w}", submission={"w": "6"}, widths=(("R", 7),)) == (7, [])
    assert width(3, widths=(("R*", 7), ("R", 8))) == (7, [])
    assert width(3, widths=(("Q.*", 7),)) == (3, ["SO0207"])
    assert width("${w}", submission={"w": "0"}) == (1, ["CDISR1164E"])
    assert width(3, widths=(("*", 0),)) == (1, ["CDISR1164E"])
    assert width("${t}") == (1, ["CDISP0809E"])
    assert width("${t}", submission={"t": "5"}) == (5, [])
    assert width("${t}", submission={"t": "x"}) == (1, ["CDISR1164E"])
    assert width("${f}") == (1, ["CDISP0809E"])
    assert width("${nothing}") == (1, ["SO0201"])
    assert width("${getChannel()}") == (1, ["CDISP0682E"])


def test_width_origin_and_order_of_regions() -> None:
    """Per composite its own operators first, then what is inside each composite, then that composite (rule 4)."""
    inner = {
        "inputs": ["In"],
        "outputs": ["A"],
        "graph": [call("A", inputs=["In"], annotations={"parallel": {"width": "${w}"}})],
    }
    actual = built(
        graph(
            SOURCE,
            call("C", "Comp", annotations={"parallel": {"width": 2, "replicateHostTags": ["x"]}}),
            call("B", inputs=["C"], annotations={"parallel": {"width": 3}}),
            composites={"Comp": inner},
            submission={"w": WIDTHS["w"]},
        )
    )
    assert [(each.name, each.width, each.parents, each.width_submission) for each in actual.regions] == [
        ("B", 3, (), ""),
        ("C.A", 4, (2,), "w"),
        ("C", 2, (), ""),
    ]
    assert [operator.regions for operator in actual.operators] == [(), (2, 1), (0,)]
    assert actual.regions[2].replicate_host_tags == ("x",)


def routing(**parallel: Any) -> tuple[dict[str, Routing], list[str]]:
    application = graph(
        TYPED,
        PLAIN_SOURCE,
        {"name": "Three", "operator": "Source"},
        call(
            "R",
            inputs=["Src", {"streams": ["Two"], "name": "Named"}, ["Three"]],
            annotations={"parallel": {"width": 2, **parallel}},
        ),
        schemas=FLIGHT,
    )
    logical_graph, diagnostics = logical(application)
    return logical_graph.regions[0].routing, codes(diagnostics)


def test_ports_are_routed_as_annotated() -> None:
    hashed = Routing("hash", ("delay", "carrier"))
    by = {"port": "in0", "attributes": ["delay", "carrier"]}
    assert routing() == ({}, [])
    assert routing(partitionBy=[by], broadcast=["Named"]) == ({"in0": hashed, "Named": Routing("broadcast")}, [])
    assert routing(partitionBy=[{**by, "port": "Src"}]) == ({"in0": hashed}, [])
    assert routing(partitionBy=[{**by, "port": "main.Src"}]) == ({"in0": hashed}, [])
    assert routing(broadcast=["Two"]) == ({"Named": Routing("broadcast")}, [])
    # Nothing is known of the third stream, so its attributes are not checked.
    assert routing(partitionBy=[{"port": "Three", "attributes": ["x"]}])[1] == []


@pytest.mark.parametrize(
    ("parallel", "expected"),
    [
        ({"partitionBy": [{"port": "Sorc", "attributes": ["delay"]}]}, ["CDISP0823E"]),
        ({"broadcast": ["Sorc"]}, ["CDISP0823E"]),
        ({"partitionBy": [{"port": "Src", "attributes": ["dely"]}]}, ["CDISP0824E"]),
        ({"partitionBy": [{"port": "Named", "attributes": ["delay"]}]}, ["CDISP0824E"]),
        ({"partitionBy": [{"port": "Src", "attributes": ["delay", "delay"]}]}, ["CDISP0825E"]),
        ({"broadcast": ["Src", "in0"]}, ["CDISP0852E"]),
        ({"broadcast": ["Src"], "partitionBy": [{"port": "in0", "attributes": ["delay"]}]}, ["CDISP0853E"]),
        (
            {"partitionBy": [{"port": "Src", "attributes": ["delay"]}, {"port": "in0", "attributes": ["carrier"]}]},
            ["CDISP0854E"],
        ),
    ],
)
def test_wrong_routing_is_diagnosed(parallel: dict[str, Any], expected: list[str]) -> None:
    assert routing(**parallel)[1] == expected


def test_attributes_of_a_composites_port() -> None:
    composite = {"inputs": ["In"], "graph": [call("S", "Sink", ["In"])]}
    annotation = {"parallel": {"width": 2, "partitionBy": [{"port": "In", "attributes": ["delay"]}]}}
    application = graph(
        TYPED,
        call("F", "Filter"),
        call("R", "Comp", ["F"], annotations=annotation),
        composites={"Comp": composite},
        schemas={"Flight": "carrier string"},
    )
    assert codes(logical(application)[1]) == ["CDISP0824E"]
