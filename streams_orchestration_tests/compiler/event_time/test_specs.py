"""Event-time graphs of applications with composites, nested regions, several ports, loops, Imports and Exports."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.compiler.checking.checked import with_findings_of_operators
from streams_orchestration.compiler.checking.checking import check_operators
from streams_orchestration.compiler.compilation import CompileError
from streams_orchestration.compiler.drawing.drawing import EVENT_TIME, draw_svg, draw_text
from streams_orchestration.compiler.drawing.picture import picture
from streams_orchestration.compiler.explain.decisions import decisions
from streams_orchestration.compiler.explain.questions import explain
from streams_orchestration.compiler.logical_graph import EventTimeAnnotation
from streams_orchestration.compiler.plan import plan_document
from streams_orchestration_tests.compiler.event_time.annotated import (
    AT,
    SCHEMAS,
    compiled,
    connections,
    outputs,
    roles,
    sink,
    sound,
    source,
    through,
)


def test_event_time_goes_through_composites():
    composite = {"inputs": ["I"], "outputs": ["O"], "graph": [through("O", "I")]}
    done = sound(
        {
            "composites": {"C": composite},
            "graph": [source("A", AT), {"name": "U", "operator": "C", "inputs": ["A"]}, sink("K", "U")],
        }
    )
    assert connections(done) == ["A:0 -> U.O:0", "U.O:0 -> K:0"]


def test_an_annotation_within_a_composite_starts_in_each_instance():
    inner = through("O", "I", annotations={"eventTime": {**AT, "lag": 4}})
    done = sound(
        {
            "composites": {"C": {"inputs": ["I"], "outputs": ["O"], "graph": [inner]}},
            "graph": [
                source("A"),
                {"name": "U", "operator": "C", "inputs": ["A"]},
                {"name": "V", "operator": "C", "inputs": ["A"]},
                sink("K", "U", "V"),
            ],
        }
    )
    assert outputs(done) == ["U.O:0", "V.O:0"]
    assert [len(graph.sources) for graph in done.event_time.graphs] == [2]
    assert roles(done)["K"] == {"mode": "inputWatermark", "lag": 4.0, "minimumGap": 0.1}


def test_every_replica_of_nested_regions_is_in_the_graph():
    inner = {"inputs": ["I"], "outputs": ["O"], "graph": [through("O", "I", annotations={"parallel": {"width": 2}})]}
    done = sound(
        {
            "composites": {"C": inner},
            "graph": [
                source("A", AT),
                {"name": "U", "operator": "C", "inputs": ["A"], "annotations": {"parallel": {"width": 3}}},
                sink("K", "U"),
            ],
        }
    )
    assert len([each for each in connections(done) if each.startswith("A:0 -> U")]) == 6
    assert len([each for each in connections(done) if each.endswith("-> K:0")]) == 6
    assert len(done.event_time.operators) == 8


def test_an_annotated_operator_in_a_region_is_a_source_for_each_replica():
    annotations = {"parallel": {"width": 2}, "eventTime": AT}
    done = sound({"graph": [source("A"), through("F", "A", annotations=annotations), sink("K", "F")]})
    assert roles(done).keys() == {"F[0]", "F[1]", "K"}
    assert {name: role["mode"] for name, role in roles(done).items() if name != "K"} == {
        "F[0]": "outputEventTime",
        "F[1]": "outputEventTime",
    }
    assert [graph.sources for graph in done.event_time.graphs] == [(1,)]


def test_two_graphs_that_do_not_meet_are_two():
    graph = [source("A", AT), source("B", {**AT, "resolution": "Microseconds"}), sink("K", "A"), sink("L", "B")]
    done = sound({"graph": graph})
    assert [(each.resolution, each.sources, each.operators) for each in done.event_time.graphs] == [
        ("Milliseconds", (0,), (0, 2)),
        ("Microseconds", (1,), (1, 3)),
    ]


def test_equal_annotations_that_do_not_meet_are_two_graphs_numbered_by_declaration():
    graph = [source("B", {**AT, "lag": 3}), sink("L", "B"), source("A", AT), sink("K", "A")]
    done = sound({"graph": graph})
    section = plan_document(done)["eventTimeMap"]
    assert [(each["index"], each["sources"], each["operators"]) for each in section["graphs"]] == [
        (0, ["B"], ["B", "L"]),
        (1, ["A"], ["A", "K"]),
    ]
    assert section["operators"][1] == {
        "operator": "L",
        "graph": 0,
        "mode": "inputWatermark",
        "lag": 3.0,
        "minimumGap": 0.1,
        "connections": [{"from": {"operator": "B", "port": 0}, "to": {"operator": "L", "port": 0}}],
        "outputs": [],
    }


def test_a_lag_comes_from_submission():
    note = {**AT, "lag": "${lag}", "minimumGap": "${gap}"}
    submission = {"lag": {"type": "float64", "default": 2.5}, "gap": {"type": "float64", "default": 1.0}}
    done = sound({"submission": submission, "graph": [source("A", note), sink("K", "A")]})
    assert roles(done)["K"] == {"mode": "inputWatermark", "lag": 2.5, "minimumGap": 1.0}
    done = sound({"submission": submission, "graph": [source("A", note), sink("K", "A")]}, submission={"lag": 9})
    assert roles(done)["K"]["lag"] == 9.0


def test_all_keys_are_kept_in_the_logical_graph():
    note = {
        **AT,
        "lag": 1,
        "idleAfter": 30,
        "maxAhead": 3600,
        "confirmations": 5,
        "aheadOf": "dt",
        "onNull": "ignore",
        "maxDrift": 60,
    }
    annotation = sound({"graph": [source("A", note), sink("K", "A")]}).logical.operators[0].event_time
    assert annotation == EventTimeAnnotation("at", None, 1.0, 0.1, 30.0, 3600.0, 5, "dt", "ignore", 60.0)


@pytest.mark.parametrize("lag", [5, 7])
def test_a_guard_that_all_tuples_in_order_would_meet_is_refused(lag: float):
    with pytest.raises(CompileError) as refusal:
        compiled({"schemas": SCHEMAS, "graph": [source("A", {**AT, "lag": lag, "maxAhead": 5}), sink("K", "A")]})
    (found,) = [each for each in refusal.value.diagnostics if each.severity == "error"]
    assert found.code == "SO0401"
    assert f"maxAhead (5 s) is not above the lag ({lag} s)" in found.message


def test_a_control_port_that_closes_no_loop_counts():
    gate = {
        "name": "G",
        "operator": "Gate",
        "inputs": ["A", {"streams": ["B"], "control": True}],
        "parameters": {"maxUnackedTupleCount": 5},
    }
    done = sound({"graph": [source("A", AT), source("B", {**AT, "lag": 8}), gate, sink("K", "G")]})
    assert connections(done) == ["A:0 -> G:0", "B:0 -> G:1", "G:0 -> K:0"]
    assert roles(done)["G"] == {"mode": "heldInput", "lag": 8.0, "minimumGap": 0.1}


def test_own_operators_have_the_mode_that_their_declaration_says():
    modes = {"Sets": "manual", "Keeps": "heldInput", "Plain": None}
    declared = {
        name: {"inputs": [{}], "outputs": [{}], **({"watermarkMode": mode} if mode else {})}
        for name, mode in modes.items()
    }
    graph = [
        source("A", AT),
        *(
            {"name": name, "operator": name, "inputs": ["A"], "outputs": [{"stream": name, "schema": "T"}]}
            for name in modes
        ),
        sink("K", *modes),
    ]
    done = sound({"operators": declared, "graph": graph})
    assert {name: roles(done)[name]["mode"] for name in modes} == {
        "Sets": "manual",
        "Keeps": "heldInput",
        "Plain": "inputWatermark",
    }


def test_an_import_with_event_time_begins_a_graph():
    parameters = {"application": "other", "streamId": "i", "eventTime": {"attribute": "at"}}
    streams = [{"stream": "I", "schema": "T"}]
    imported = {"name": "I", "operator": "Import", "outputs": streams, "parameters": parameters}
    composite = {"outputs": ["F"], "graph": [imported, through("F", "I")]}
    region = {"name": "C", "operator": "C", "outputs": ["F"], "annotations": {"parallel": {"width": 2}}}
    done = sound({"composites": {"C": composite}, "graph": [region, sink("K", "F")]})
    assert connections(done) == ["C[0].F:0 -> K:0", "C[1].F:0 -> K:0"]
    section = plan_document(done)["eventTimeMap"]
    assert section["graphs"][0]["imports"] == ["C.I"]
    assert section["graphs"][0]["sources"] == []
    assert {each["operator"]: each.get("imports") for each in section["operators"]} == {
        "C[0].F": ["C[0].I"],
        "C[1].F": ["C[1].I"],
        "K": None,
    }


def test_an_exported_stream_is_a_use():
    export = {"name": "E", "operator": "Export", "inputs": ["A"], "parameters": {"streamId": "e"}}
    done = sound({"graph": [source("A", AT), export]})
    assert done.diagnostics == ()
    assert outputs(done) == ["A:0"]


@pytest.mark.parametrize(
    ("a_source", "a_sink"),
    [
        ({}, {"config": {"completeWithin": 5.0}}),
        ({"parameters": {"file": "d", "format": "jsonl", "interleave": True}}, {}),
    ],
)
def test_promises_and_interleaved_files_are_uses(a_source: dict[str, Any], a_sink: dict[str, Any]):
    done = sound({"graph": [source("A", AT) | a_source, sink("K", "A") | a_sink]})
    assert done.diagnostics == ()


def test_the_section_is_there_and_empty_without_event_time():
    assert plan_document(sound({"graph": [source("A"), sink("K", "A")]}))["eventTimeMap"] == {
        "graphs": [],
        "operators": [],
    }


WRONG = (
    "timeInterval, intervalDuration(0)",
    "timeInterval, intervalDuration(0.0005)",
    "calendar, unit(day), zone(UTC), discardAge(0.0005)",
    "tumbling, count(5), discardAge(1.0)",
    "session, gap(1), partitioned, partitionAge(1)",
)


@pytest.mark.parametrize("window", WRONG)
def test_a_fault_of_a_window_is_reported_once(window: str):
    graph = [
        source("A", AT),
        {
            "name": "G",
            "operator": "Aggregate",
            "inputs": ["A"],
            "outputs": [{"stream": "G", "schema": "n bigint"}],
            "parameters": {"window": window, "output": {"n": "Count()"}},
        },
        sink("K", "G"),
    ]
    with pytest.raises(CompileError) as refusal:
        compiled({"schemas": SCHEMAS, "graph": graph})
    found = with_findings_of_operators(refusal.value, deploys=True).diagnostics
    assert len([each for each in found if each.severity == "error" and each.operator == "G"]) == 1


QUERY = {"name": "Q", "operator": "Sql", "outputs": [{"stream": "Q", "schema": "T"}]}
PANES = {
    "name": "G",
    "operator": "Aggregate",
    "inputs": ["Q"],
    "outputs": [{"stream": "G", "schema": "n bigint"}],
    "parameters": {"window": "timeInterval, intervalDuration(5.0)", "output": {"n": "Count()"}},
}


@pytest.mark.parametrize(
    ("behind", "annotated", "refused"),
    [([PANES, sink("K", "G")], True, True), ([PANES, sink("K", "G")], False, False), ([sink("K", "Q")], True, False)],
)
def test_a_query_that_would_have_to_make_watermarks_of_its_results_is_refused(
    behind: list[dict[str, Any]], annotated: bool, refused: bool
):
    query = {**QUERY, "inputs": ["A"], "parameters": {"query": "SELECT * FROM A"}}
    if annotated:
        query["annotations"] = {"eventTime": AT}
    done = sound({"graph": [source("A", None if annotated else AT), query, *behind]})
    found = [each for each in check_operators(done.progress) if each.code == "SO5012"]
    assert [each.operator for each in found] == ["Q"] * refused


def test_a_drawing_shows_where_event_time_begins_and_goes():
    cut = {
        "name": "Cut",
        "operator": "Functor",
        "inputs": ["A"],
        "outputs": [{"stream": "Cut", "schema": "k string"}],
        "parameters": {},
    }
    done = sound({"graph": [source("A", AT), cut, sink("K", "Cut")]})
    shown = picture(done.progress)
    assert [box.lines[0] for box in shown.operators if box.clock] == ["A"]
    assert [wire.tip.splitlines()[0] for wire in shown.wires if wire.event_time] == ["A[0] → Cut[0]"]
    drawn = draw_svg(done.progress)
    assert drawn.count(EVENT_TIME) == 3 + 3  # a circle, its hands and a line, and all of them in the legend
    assert "event time begins" in drawn
    assert EVENT_TIME not in draw_svg(sound({"graph": [source("A"), sink("K", "A")]}).progress)
    assert "→ Cut  (reference, event time)" in draw_text(done.progress)


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("F", "event time comes by A -> F [EV5]"),
        ("F", "from the annotations of A and B [EV8]"),
        ("F", "lag 7 s, the greatest, from B [EV8]"),
        ("F", "it begins again at N, which is annotated [EV10]"),
        ("A", "it is annotated with eventTime, lag 1 s, minimumGap 0.1 s [EV4]"),
        ("F", "downstream, it ends at C: output port 0 has no attribute at [EV5, EV7]"),
        ("B", "downstream, it begins again at N, which is annotated [EV10]"),
        ("C", "it ends here: output port 0 has no attribute at [EV5, EV7]"),
        ("K", "no event time reaches it: it ends at C: output port 0 has no attribute at [EV24]"),
        ("L", "it ends here: there is no output port [EV7]"),
    ],
)
def test_an_explanation_names_path_lag_and_end(what: str, says: str):
    cut = {"name": "C", "operator": "Functor", "inputs": ["F"], "outputs": [{"stream": "C", "schema": "k string"}]}
    graph = [
        source("A", {**AT, "lag": 1}),
        source("B", {**AT, "lag": 7}),
        through("F", ["A", "B"]),
        cut,
        through("N", "F", annotations={"eventTime": AT}),
        sink("K", "C"),
        sink("L", "N"),
    ]
    answer = explain(sound({"graph": graph}), what)
    facts = [f"{fact.text} [{fact.rules}]" for section in answer.sections for fact in section.facts]
    assert says in facts


def test_the_stage_is_explained_graph_by_graph():
    done = sound({"graph": [source("A", AT), sink("K", "A")]})
    (section,) = decisions(done)["event_time_map"]
    assert section.title == "Event-time graph 0 by at (bigint, Milliseconds)"
    assert [fact.text for fact in section.facts] == [
        "A: it is annotated with eventTime, lag 0 s, minimumGap 0.1 s",
        "2 operators: A and K",
        "K: it ends here: there is no output port",
    ]


def test_times_of_panes_have_the_type_of_the_event_time_attribute():
    graph = [
        source("A", AT),
        {
            "name": "G",
            "operator": "Aggregate",
            "inputs": ["A"],
            "outputs": [{"stream": "G", "schema": "start string"}],
            "parameters": {"window": "session, gap(1.0)", "output": {"start": "intervalStart()"}},
        },
        sink("K", "G"),
    ]
    found = [each.message for each in check_operators(sound({"graph": graph}).progress) if each.operator == "G"]
    assert found == ["output.start: the value is bigint, but the output stream's attribute is string"]
