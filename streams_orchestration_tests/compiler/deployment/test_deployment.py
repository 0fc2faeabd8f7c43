"""The deployment plan of an application, and the reasons why an application has none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import Compilation, PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.deployment_plan import DeploymentPlan, Sink
from streams_orchestration.compiler.documents import dump, load
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.plan import compile_error_document, plan_document
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration_tests.examples import examples

SCHEMAS = {"Reading": "sensor string, value double"}
SOURCE = {"name": "Src", "operator": "Beacon", "outputs": [{"stream": "Src", "schema": "Reading"}]}
SINK = {"name": "Out", "operator": "FileSink", "inputs": ["Src"], "parameters": {"file": "out"}}
REGION = {"annotations": {"consistent": {"trigger": "periodic", "period": 1.0}}}
ALONE = {"config": {"placement": {"partitionIsolation": True}}}


def compiled(*graph: dict[str, Any], options: Options | None = None, **parts: Any) -> PlannedCompilation:
    spec = {"specVersion": 1, "application": "app", "schemas": SCHEMAS, "graph": list(graph), **parts}
    return compile_application(application_from_mapping(spec), options)


def plan_of(*graph: dict[str, Any], **parts: Any) -> DeploymentPlan:
    plan = compiled(*graph, **parts).deployment
    assert plan is not None
    return plan


def test_the_section_of_what_can_run() -> None:
    compilation = compiled(SOURCE | REGION, SINK | ALONE)
    section = {
        "pes": [
            {"id": 0, "unit": "region-0", "host": 0, "tasks": 1, "levels": 1},
            {"id": 1, "unit": "region-0", "host": 0, "tasks": 1, "levels": 1},
        ],
        "units": [{"name": "region-0", "pes": [0, 1]}],
        "sinks": [{"operator": "Out", "kind": "FileSink", "address": "out"}],
    }
    document = plan_document(compilation)
    assert document["deploymentPlan"] == section
    assert list(document)[-2:] == ["deploymentPlan", "diagnostics"]


def test_hosts_require_machines() -> None:
    source = SOURCE | {"config": {"placement": {"host": "north", "partitionIsolation": True}}}
    target = SINK | {"config": {"placement": {"hostPool": "fast", "partitionIsolation": True}}}
    assert plan_document(compiled(source, target, hostPools=[{"name": "fast", "tags": ["ssd", "gpu"]}]))[
        "deploymentPlan"
    ]["hosts"] == [
        {"id": 1, "machine": "north", "tags": []},
        {"id": 2, "machine": None, "tags": ["ssd", "gpu"]},
    ]


def test_hosts_say_which_others_they_share_no_machine_with() -> None:
    placements = (
        {"partitionIsolation": True, "hostExlocation": ["x", "only here"]},
        {"partitionIsolation": True, "hostExlocation": ["x"], "host": "north"},
        {"hostIsolation": True},
    )
    passing = {
        "name": "Same",
        "operator": "Filter",
        "inputs": ["Src"],
        "outputs": [{"stream": "Same", "schema": "Reading"}],
    }
    graph = [SOURCE, passing, SINK | {"inputs": ["Same"]}]
    placed = [node | {"config": {"placement": each}} for node, each in zip(graph, placements, strict=True)]
    assert plan_document(compiled(*placed))["deploymentPlan"]["hosts"] == [
        {"id": 0, "machine": None, "tags": [], "exlocation": ["x"]},
        {"id": 1, "machine": "north", "tags": [], "exlocation": ["x"]},
        {"id": 2, "machine": None, "tags": [], "isolated": True},
    ]


def test_an_application_on_one_host_asks_for_no_distance() -> None:
    source = SOURCE | {"config": {"placement": {"hostExlocation": ["x"], "hostIsolation": True}}}
    assert "hosts" not in plan_document(compiled(source, SINK))["deploymentPlan"]


def test_sources_have_the_positions_from_which_they_begin() -> None:
    plan = plan_of(SOURCE, SINK | ALONE)
    assert [pe.initial for pe in plan.pes] == [{"Src": {"iteration": 0}}, {}]
    assert [unit.name for unit in plan.units] == ["pe-0", "pe-1"]


@pytest.mark.parametrize(
    ("url", "address"),
    [
        (
            "postgresql://gertrude:{env:PASSWORD}@db.example:5432/sales",
            "readings in postgresql://db.example:5432/sales",
        ),
        ("{env:DATABASE}", "readings in {env:DATABASE}"),
    ],
)
def test_an_address_has_no_secrets(url: str, address: str) -> None:
    sink = {"name": "Out", "operator": "SqlSink", "inputs": ["Src"], "parameters": {"url": url, "table": "readings"}}
    compilation = compiled(SOURCE, sink)
    (actual,) = compilation.deployment.sinks
    assert actual == Sink("Out", "SqlSink", actual.address)
    assert actual.address.replace("+psycopg", "") == address
    assert "gertrude" not in json.dumps(plan_document(compilation))


OTHER = {**SINK, "operator": "Other", "parameters": {}}
HERE = "streams_orchestration_tests.compiler.deployment"
STEERED = {
    "implementation": "streams_orchestration_tests.runtime.sample_operators:Marks",
    "inputs": [{}, {"control": True}],
    "outputs": [{}],
}
REFUSED: dict[str, tuple[tuple[dict[str, Any], ...], dict[str, Any], str]] = {
    "no implementation": ((SOURCE, OTHER), {"operators": {"Other": {"outputs": []}}}, "operator Out: Other has no"),
    "no schema": (({**SOURCE, "outputs": ["Src"]}, SINK), {}, "operator Out: the stream Src on input port 0 has no"),
    "no module": (
        (SOURCE, OTHER),
        {"operators": {"Other": {"outputs": [], "implementation": "nowhere.at_all:Other"}}},
        "nowhere.at_all:Other: the module cannot be imported",
    ),
    "a module that ends the process": (
        (SOURCE, OTHER),
        {"operators": {"Other": {"outputs": [], "implementation": f"{HERE}.ending:Other"}}},
        "the module cannot be imported: SystemExit: 3",
    ),
    "a loop in a region": (
        (
            {**SOURCE, "annotations": {"consistent": {"trigger": "periodic", "period": 1.0}}},
            {
                "name": "Sum",
                "operator": "Steered",
                "inputs": ["Src", "Back"],
                "outputs": [{"stream": "Sum", "schema": "Reading"}],
            },
            {
                "name": "Back",
                "operator": "Filter",
                "inputs": ["Sum"],
                "outputs": [{"stream": "Back", "schema": "Reading"}],
            },
            {**SINK, "inputs": ["Sum"]},
        ),
        {"operators": {"Steered": STEERED}, "options": Options(fusion="manual", pes=1)},
        "a loop goes through",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_deployment_has_a_reason_and_no_section_of_the_plan(case: str) -> None:
    graph, parts, reason = REFUSED[case]
    compilation = compiled(*graph, **parts)
    assert reason in compilation.deployment.refusal
    assert compilation.deployment == DeploymentPlan(refusal=compilation.deployment.refusal)
    assert "deploymentPlan" not in plan_document(compilation)


def test_an_application_with_errors_has_no_section() -> None:
    assert "deploymentPlan" not in compile_error_document("app", ())


def test_text_that_a_module_prints_stays_out_of_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    operators = {"Other": {"outputs": [], "implementation": f"{HERE}.talking:Other"}}
    assert not plan_of(SOURCE, OTHER, operators=operators).refusal
    assert capsys.readouterr().out == ""


GRAPHS = st.fixed_dictionaries(
    {
        "width": st.integers(1, 3),
        "apart": st.booleans(),
        "region": st.booleans(),
        "policy": st.sampled_from(["hash", "roundRobin"]),
        "threading": st.sampled_from([None, "manual", "dedicated"]),
    }
)


@given(GRAPHS)
@examples(42)
def test_a_plan_goes_through_json(shape: dict[str, Any]) -> None:
    parallel: dict[str, Any] = {"width": shape["width"]}
    if shape["policy"] == "hash":
        parallel["partitionBy"] = [{"port": "Src", "attributes": ["sensor"]}]
    middle = {
        "name": "Mid",
        "operator": "Functor",
        "inputs": ["Src"],
        "outputs": [{"stream": "Mid", "schema": "Reading"}],
        "parameters": {"output": {"value": "value * 2"}, "filter": "value > 0.5"},
        "annotations": {"parallel": parallel},
    }
    graph = (SOURCE | (REGION if shape["region"] else {}), middle, {**SINK, "inputs": ["Mid"]} | ALONE)
    compilation = compiled(*graph, options=Options(threading=shape["threading"]))
    plan = compilation.deployment
    assert not plan.refusal
    levels = [program.levels for program in plan.programs]
    again = load(DeploymentPlan, dump(plan))
    assert again == plan
    assert dump(again) == dump(plan)
    assert [program.levels for program in again.programs] == levels
    assert load(PlannedCompilation, dump(compilation)) == compilation


def test_a_compilation_can_be_written_without_its_plan() -> None:
    compilation = compiled(SOURCE, SINK)
    written = dump(compilation, Compilation)
    assert json.loads(dump(compilation)).keys() - json.loads(written).keys() == {"deployment"}
    assert load(Compilation, written).with_plan(compilation.deployment) == compilation
