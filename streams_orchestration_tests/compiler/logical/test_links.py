"""Imports, exports, job control planes."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration_tests.compiler.invocations import SOURCE, SUBMISSION, built, call
from streams_orchestration_tests.specs import codes, graph, logical


def test_imports_and_exports_become_links() -> None:
    imported = {"name": "I", "operator": "Import", "inputs": [], "parameters": {"subscription": 'k == "${s}"'}}
    composite = {
        "inputs": ["In"],
        "graph": [call("S", "Sink", ["In"]), call("E", "Export", ["In"], parameters={"streamId": "id"})],
    }
    actual = built(
        graph(
            {**imported, "annotations": {"autonomous": True}},
            SOURCE,
            call("C", "Comp", [["I", "Src"]]),
            composites={"Comp": {**composite, "graph": [composite["graph"][0]]}},
            submission={"s": SUBMISSION["s"]},
        )
    )
    assert [(each.kind, each.name, each.operator, each.port, each.autonomous) for each in actual.imports] == [
        ("import", "I", 1, 0, True)
    ]
    assert actual.imports[0].parameters == {"subscription": 'k == "text"'}
    actual = built(graph(SOURCE, call("C", "Comp"), composites={"Comp": composite}))
    assert [(each.name, each.operator, each.composites) for each in actual.exports] == [("C.E", 0, ("C",))]
    _, diagnostics = logical(
        graph(imported, call("C", "Comp", ["I"]), composites={"Comp": composite}, submission={"s": SUBMISSION["s"]})
    )
    assert codes(diagnostics) == ["SO0406"]


@pytest.mark.parametrize(
    ("invocation", "expected"),
    [
        ({"name": "I", "operator": "Import", "parameters": {"subscription": "x", "streamId": "y"}}, ["SO0405"]),
        ({"name": "I", "operator": "Import", "parameters": {"filter": "x"}}, ["SO0405"]),
        ({"name": "I", "operator": "Import", "parameters": {"subscripton": "x"}}, ["SO0405", "SO0405"]),
        (call("E", "Export", parameters={"properties": {"a": 1}, "streamId": "x"}), ["SO0405"]),
        (call("E", "Export", parameters={"streamId": "x", "visibility": "uncommitted"}), ["SO0405"]),
        (
            call("E", "Export", parameters={"streamId": "x", "congestionPolicy": "drop", "visibility": ""}),
            ["SO0405"] * 2,
        ),
        (
            {"name": "I", "operator": "Import", "parameters": {"streamId": "y", "visibility": "read_committed"}},
            ["SO0405"],
        ),
        (call("E", "Export", parameters={"streamId": "x"}, annotations={"parallel": {"width": 2}}), ["CDISP0815E"]),
        (
            call(
                "E", "Export", parameters={"streamId": "x"}, annotations={"consistent": {"trigger": "operatorDriven"}}
            ),
            ["CDISP0815E"],
        ),
        ({"name": "J", "operator": "JobControlPlane", "annotations": {"autonomous": True}}, ["CDISP0849E"]),
        ({"name": "J", "operator": "JobControlPlane", "annotations": {"parallel": {"width": 2}}}, ["CDISP0848E"]),
        (
            {
                "name": "J",
                "operator": "JobControlPlane",
                "annotations": {"consistent": {"trigger": "operatorDriven"}},
            },
            ["CDISP0849E"],
        ),
    ],
)
def test_wrong_links_are_diagnosed(invocation: dict[str, Any], expected: list[str]) -> None:
    with pytest.raises(ApplicationError) as caught:
        graph(SOURCE, invocation)
    assert codes(caught.value.diagnostics) == expected


def test_job_control_planes() -> None:
    plane = {"name": "J", "operator": "JobControlPlane"}
    actual = built(graph(SOURCE, plane))
    assert [operator.name for operator in actual.operators] == ["Src"]
    assert codes(logical(graph(SOURCE, plane, {**plane, "name": "K"}))[1]) == ["CDISP0847D", "CDISP0846E"]
    composite = {"graph": [plane]}
    application = graph(
        SOURCE,
        {"name": "C", "operator": "Comp", "annotations": {"parallel": {"width": 2}}},
        composites={"Comp": composite},
    )
    assert codes(logical(application)[1]) == ["CDISP0848E"]
