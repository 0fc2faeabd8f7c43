"""The worked cases of event-time graphs and their diagnostics."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from streams_orchestration.compiler.compiling import broken_conditions
from streams_orchestration.compiler.plan import plan_document
from streams_orchestration_tests.compiler.event_time.annotated import (
    TYPE,
    codes,
    compiled,
    connections,
    findings,
    outputs,
    roles,
    sink,
    source,
)
from streams_orchestration_tests.specs import CASES

WORKED = yaml.safe_load((CASES / "event_time.yaml").read_text(encoding="utf-8"))
GRAPHS = {case["id"]: case for case in WORKED if case["kind"] == "graph"}
REFUSED = [spec for case in WORKED if case["kind"] == "diagnostics" for spec in case["specs"]]
OWN = {case["id"]: case for case in yaml.safe_load((CASES / "event_time_findings.yaml").read_text(encoding="utf-8"))}


@pytest.mark.parametrize("case", GRAPHS.values(), ids=GRAPHS)
def test_the_graph_is_the_worked_one(case: dict[str, Any]):
    done = compiled(case["spec"])
    assert connections(done) == sorted(case["expect"]["connections"])
    assert outputs(done) == sorted(case["expect"]["outputs"])
    assert roles(done) == case["expect"]["operators"]
    assert broken_conditions(done) is None


@pytest.mark.parametrize("case", GRAPHS.values(), ids=GRAPHS)
def test_the_plan_says_the_same(case: dict[str, Any]):
    section = plan_document(compiled(case["spec"]))["eventTimeMap"]
    ends = [each for operator in section["operators"] for each in operator["connections"]]
    shown = [
        f"{each['from']['operator']}:{each['from']['port']} -> {each['to']['operator']}:{each['to']['port']}"
        for each in ends
    ]
    assert sorted(shown) == sorted(case["expect"]["connections"])
    for each in section["operators"]:
        worked = case["expect"]["operators"][each["operator"]]
        assert {key: each[key] for key in ("mode", "lag", "minimumGap")} == worked
    assert [graph["index"] for graph in section["graphs"]] == [*range(len(section["graphs"]))]


def refused(case: dict[str, Any]) -> dict[str, Any]:
    """Return the application of one line of D1."""
    note, composites = case.get("note"), {}
    graph = [] if case.get("target") == "import" else [source("A", None if case.get("target") else note)]
    if case.get("target") == "composite":
        composites = {"C": {"inputs": ["I"], "outputs": ["O"], "graph": [filtered("O", "I")]}}
        graph.append({"name": "U", "operator": "C", "inputs": ["A"], "annotations": {"eventTime": note}})
    elif case.get("target") == "import":
        graph.append(
            {
                "name": "I",
                "operator": "Import",
                "outputs": [{"stream": "I", "schema": "T"}],
                "parameters": {"application": "other", "streamId": "i"},
                "annotations": {"eventTime": note},
            }
        )
        graph.append(filtered("U", "I"))
    elif "second" in case:
        graph.append(source("B", case["second"]))
        graph.append(
            {"name": "U", "operator": "Union", "inputs": ["A", "B"], "outputs": [{"stream": "U", "schema": "T"}]}
        )
    elif "window" in case:
        partition = {"partitionBy": ["k"]} if "partitioned" in case["window"] else {}
        graph.append(
            {
                "name": "U",
                "operator": "Aggregate",
                "inputs": ["A"],
                "outputs": [{"stream": "U", "schema": "k string, n bigint, at bigint"}],
                "parameters": {
                    "window": case["window"],
                    "groupBy": ["k"],
                    "output": {"n": "Count()", "at": "Max(at)"},
                    **partition,
                },
            }
        )
    else:
        graph.append(filtered("U", "A"))
    return {"schemas": {"T": TYPE}, "composites": composites, "graph": [*graph, sink("Snk", "U")]}


def filtered(name: str, stream: str) -> dict[str, Any]:
    return {"name": name, "operator": "Filter", "inputs": [stream], "parameters": {"filter": "v > 0"}}


@pytest.mark.parametrize("case", REFUSED, ids=[str(number) for number in range(len(REFUSED))])
def test_a_wrong_annotation_or_window_has_its_code(case: dict[str, Any]):
    assert codes(findings(refused(case))) == case["codes"]


@pytest.mark.parametrize("case", OWN.values(), ids=OWN)
def test_findings_are_those_that_are_due(case: dict[str, Any]):
    found = findings({"schemas": {"T": TYPE}} | case["spec"], **case.get("options", {}))
    assert codes(found) == case["codes"]
    for text in case.get("says", ()):
        assert any(text in str(each) for each in found), [str(each) for each in found]


@pytest.mark.parametrize(
    ("kind", "parameters", "mode"),
    [
        ("Sort", {"window": "eventTime"}, "heldInput"),
        ("Sort", {"window": "tumbling, count(3)", "sortBy": ["v"]}, "heldInput"),
        ("Sort", {"window": "session, gap(3.0)", "sortBy": ["v"]}, "heldInput"),
        ("Delay", {"by": "watermark", "delay": 1.0}, "heldInput"),
        ("Delay", {"delay": 1.0, "timeAttribute": "dt"}, "heldInput"),
    ],
)
def test_every_sort_and_delay_holds_its_watermark(kind: str, parameters: dict[str, Any], mode: str):
    waits = {"name": "U", "operator": kind, "inputs": ["A"], "parameters": parameters}
    graph = [source("A", {"eventTimeAttribute": "at"}), waits, sink("Snk", "U")]
    assert roles(compiled({"schemas": {"T": TYPE}, "graph": graph}))["U"]["mode"] == mode


@pytest.mark.parametrize(
    "note",
    [
        {"eventTimeAttribute": "nowhere"},
        {"eventTimeAttribute": "s"},
        {"eventTimeAttribute": "dt", "resolution": "Milliseconds"},
        {"eventTimeAttribute": "at", "lag": 5.0, "maxAhead": 1.0},
    ],
)
def test_a_wrong_annotation_is_reported_alone(note: dict[str, Any]):
    found = findings(refused({"note": note, "window": "timeInterval, intervalDuration(10.0)"}))
    assert [each.operator for each in found if each.severity == "error"] == ["A"]


def test_a_wrong_window_is_not_reported_as_missing_use_of_event_time():
    found = findings(refused({"note": {"eventTimeAttribute": "at"}, "window": "timeInterval, creationPeriod(10.0)"}))
    assert [each.code for each in found] == ["CDISP0878E"]
