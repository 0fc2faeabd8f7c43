"""The plan document: its form, its order, and the way of every stage through JSON."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from streams_orchestration.compiler.compilation import PlannedCompilation, Progress
from streams_orchestration.compiler.compiling import compile_application, compile_spec
from streams_orchestration.compiler.documents import dump, load
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.plan import compile_error_document, plan_document, plan_text, section
from streams_orchestration.compiler.stages import STAGES
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration_tests.specs import read

SPEC = """
specVersion: 1
application: plan
submission:
  width: {type: int32, default: 2}
  period: {type: float64, default: 3}
schemas: {Number: "n bigint"}
operators:
  Replay: {inputs: [], outputs: [{mutable: true, generatesWindowPunctuation: true}]}
  Mutate: {inputs: [{mutates: [n]}], outputs: [{mutable: true}]}
composites:
  Work:
    inputs: [In]
    outputs: [B]
    graph:
      - {name: A, operator: Mutate, inputs: [In], outputs: [{stream: A, schema: Number}]}
      - name: B
        operator: Filter
        inputs: [A]
        annotations: {parallel: {width: 2, partitionBy: [{port: A, attributes: [n]}]}}
graph:
  - name: Src
    operator: Replay
    outputs: [{stream: Src, schema: Number}]
    annotations: {consistent: {trigger: periodic, period: "${period}"}}
  - {name: Out, operator: Work, inputs: [Src], annotations: {parallel: {width: "${width}"}}}
  - {name: Snk, operator: FileSink, inputs: [Out], config: {placement: {partitionIsolation: true}}}
  - {name: Side, operator: Import, parameters: {subscription: 'kind == "x"'}}
  - {name: Other, operator: FileSink, inputs: [Side], annotations: {autonomous: true}}
  - {name: Ex, operator: Export, inputs: [Src], parameters: {properties: {kind: y}}, annotations: {autonomous: true}}
"""


WRONG = [{"name": "Snk", "operator": "FileSink", "inputs": ["Nowhere"]}]


@pytest.fixture(scope="module")
def compilation() -> PlannedCompilation:
    return compile_application(read(SPEC), Options(fusion="legacy"))


@pytest.fixture(scope="module")
def plan(compilation: PlannedCompilation) -> dict[str, Any]:
    return plan_document(compilation)


def test_a_plan_has_its_keys_in_order(plan: dict[str, Any]) -> None:
    assert list(plan) == [
        *("planVersion", "application", "submission", "logicalGraph", "physicalGraph", "fusionPlan", "threadPlan"),
        *("copyPlan", "consistentRegionMap", "eventTimeMap", "diagnostics"),
    ]
    assert plan["submission"] == {"period": 3.0, "width": 2}
    assert compile_error_document("x", []).keys() == plan.keys()


@pytest.mark.parametrize("faithful", [True, False])
@pytest.mark.parametrize("scheme", ["legacy", "manual", "automatic"])
def test_each_row_of_a_plan_is_a_line_as_json_dumps_writes_it(scheme: Any, faithful: bool) -> None:
    """So plans can be compared by line; with names that need quoting, too."""
    kind = 'é"%\\'
    text = SPEC.replace("application: plan", "application: plan\ndescription: x").replace(
        "{kind: y}", f"{{kind: '{kind}'}}"
    )
    compiled = compile_application(read(text), Options(fusion=scheme, pes=3, faithful=faithful))
    text, plan = "".join(plan_text(compiled)), plan_document(compiled)
    assert plan["physicalGraph"]["exports"][0]["parameters"] == {"properties": {"kind": kind}}
    for key in ("logicalGraph", "physicalGraph", "fusionPlan", "threadPlan", "copyPlan"):
        for row in (row for rows in plan[key].values() if isinstance(rows, list) for row in rows):
            assert f"\n      {json.dumps(row, ensure_ascii=False)}" in text


@pytest.mark.parametrize(("zone", "key"), [("", None), ("UTC", None), ("Europe/Berlin", "Europe/Berlin")])
def test_a_time_zone_is_a_key_unless_it_is_utc(zone: str, key: str | None) -> None:
    text = SPEC.replace("application: plan", f"application: plan\ntimeZone: {zone}") if zone else SPEC
    compilation = compile_application(read(text))
    assert plan_document(compilation).get("timeZone") == key
    assert load(LogicalGraph, dump(compilation.logical)).time_zone == (zone or "UTC")


def test_keys_of_an_application_in_error(plan: dict[str, Any]) -> None:
    empty = compile_error_document("x", [Diagnostic.of("SO0102", "no stream", operator="A", location="f:3")])
    for key, value in plan.items():
        if isinstance(value, dict) and key != "submission":
            assert set(empty[key]) == set(value), key
    assert empty["diagnostics"] == [
        {"code": "SO0102", "severity": "error", "operator": "A", "message": "no stream", "location": "f:3"}
    ]


def test_a_plan_has_the_logical_graph(plan: dict[str, Any]) -> None:
    graph = plan["logicalGraph"]
    assert [each["name"] for each in graph["operators"]] == ["Other", "Out.A", "Out.B", "Snk", "Src"]
    assert graph["operators"][1] == {"name": "Out.A", "kind": "Mutate", "inputs": 1, "outputs": 1}
    assert graph["streams"] == [
        {"name": "Out", "from": {"operator": "Out.B", "port": 0}, "to": [{"operator": "Snk", "port": 0}]},
        {"name": "Out.A", "from": {"operator": "Out.A", "port": 0}, "to": [{"operator": "Out.B", "port": 0}]},
        {"name": "Src", "from": {"operator": "Src", "port": 0}, "to": [{"operator": "Out.A", "port": 0}]},
    ]


def test_a_plan_has_the_physical_graph(plan: dict[str, Any]) -> None:
    graph = plan["physicalGraph"]
    assert [each["index"] for each in graph["operators"]] == list(range(len(graph["operators"])))
    assert graph["operators"][0] == {
        "index": 0,
        "name": "Src",
        "logicalName": "Src",
        "channel": -1,
        "maxChannels": 0,
        "localChannel": -1,
        "localMaxChannels": 0,
    }
    last = graph["operators"][-2:]
    assert [(each["name"], each["channel"], each["localChannel"], each["maxChannels"]) for each in last] == [
        ("Out[1].B[2]", 2, 0, 4),
        ("Out[1].B[3]", 3, 1, 4),
    ]
    assert graph["connections"][0] == {
        "from": {"operator": "Src", "port": 0},
        "to": {"operator": "Out[0].A", "port": 0},
        "splitter": {"id": "Src:0>Out.In", "channel": 0},
    }
    assert graph["splitters"][1] == {
        "id": "Out[0].A:0>Out[0].B.in0",
        "operator": "Out[0].A",
        "port": 0,
        "regionPort": "Out.B.in0",
        "policy": "hash",
        "attributes": ["n"],
        "width": 2,
        "parent": None,
        "dropsWindowPunctuation": False,
    }
    assert graph["imports"] == [
        {"name": "Side", "operator": "Other", "port": 0, "parameters": {"subscription": 'kind == "x"'}}
    ]
    assert graph["exports"][0]["operator"] == "Src"


def test_fusion_threads_and_copies_cover_all_operators(plan: dict[str, Any], compilation: PlannedCompilation) -> None:
    names = {each["name"] for each in plan["physicalGraph"]["operators"]}
    assert {name for pe in plan["fusionPlan"]["pes"] for name in pe["operators"]} == names
    assert plan["fusionPlan"]["scheme"] == "legacy"
    assert set(plan["fusionPlan"]["pes"][0]) == {
        *("id", "operators", "host", "restartable", "relocatable", "inputPorts", "outputPorts")
    }
    assert {each["operator"] for each in plan["threadPlan"]["operators"]} == names
    assert len(plan["copyPlan"]["connections"]) == len(compilation.physical.connections)
    assert set(plan["copyPlan"]["connections"][0]) >= {"from", "to", "passing", "constness", "reason"}


def test_a_plan_has_the_consistent_regions(plan: dict[str, Any]) -> None:
    regions = plan["consistentRegionMap"]
    assert regions["logicalRegions"] == [
        {
            "index": 0,
            "trigger": "periodic",
            "period": 3.0,
            "drainTimeout": 180.0,
            "resetTimeout": 180.0,
            "maxConsecutiveResetAttempts": 5,
            "operators": regions["logicalRegions"][0]["operators"],
            "starts": ["Src"],
            "ends": ["Snk"],
            "autonomousPorts": regions["logicalRegions"][0]["autonomousPorts"],
        }
    ]
    assert sorted(regions["logicalRegions"][0]["operators"]) == ["Out.A", "Out.B", "Snk", "Src"]
    assert regions["regions"][0]["logicalIndex"] == 0
    assert "Out[1].A" in regions["regions"][0]["operators"]
    assert regions["autonomous"] == ["Other"]


def test_the_same_input_gives_the_same_bytes(plan: dict[str, Any]) -> None:
    again = plan_document(compile_application(read(SPEC), Options(fusion="legacy")))
    assert json.dumps(again) == json.dumps(plan)


def test_stages_go_through_json(compilation: PlannedCompilation) -> None:
    for stage in ("logical", "physical", "regions", "fusion", "threads", "copies", "options"):
        value = getattr(compilation, stage)
        assert load(type(value), dump(value)) == value
    assert load(PlannedCompilation, dump(compilation)) == compilation
    assert dump(load(PlannedCompilation, dump(compilation))) == dump(compilation)
    with pytest.raises(ValidationError):
        load(LogicalGraph, b'{"application": 5}')


def test_sections_need_no_later_stage(compilation: PlannedCompilation, plan: dict[str, Any]) -> None:
    whole, done = compilation.progress, Progress(compilation.options)
    for stage in STAGES:
        done = done.with_result(whole[stage.result])
        assert section(stage, done) == section(stage, whole) == plan.get(stage.key)


def test_compiling_a_file(tmp_path: Path) -> None:
    path = tmp_path / "app.yaml"
    path.write_text(SPEC)
    actual = compile_spec(path, Options(fusion="legacy", submission={"width": "3"}))
    assert len(actual.physical.operators) == 3 + 3 + 6
    assert not actual.diagnostics
    path.write_text(
        SPEC.replace("inputs: [In]\n    outputs", "input: [In]\n    outputs").replace("[Src], anno", "[Sr], anno")
    )
    with pytest.raises(ApplicationError) as caught:
        compile_spec(path)
    lines = [each.location.rpartition(":")[2] for each in caught.value.diagnostics]
    assert lines == sorted(lines, key=int)
    assert {"SO0007", "SO0102"} <= {each.code for each in caught.value.diagnostics}
    with pytest.raises(ApplicationError):
        compile_spec(tmp_path / "nothing.yaml")


def test_garbage_is_collected_after_a_compilation() -> None:
    compile_application(read(SPEC))
    assert gc.isenabled()
    with pytest.raises(ApplicationError):
        compile_application(application_from_mapping({"specVersion": 1, "application": "x", "graph": WRONG}))
    assert gc.isenabled()
