"""Changes of event time between two plans, as previews and comparisons say them."""

from __future__ import annotations

from typing import Any

from streams_orchestration.compiler.fingerprint import difference, fingerprint
from streams_orchestration.compiler.redeployment.comparison import compare, plain_rows
from streams_orchestration.compiler.redeployment.event_time import EventTimeChange, event_time_changes
from streams_orchestration.compiler.redeployment.preview import preview
from streams_orchestration_tests.compiler.event_time.annotated import TYPE, compiled, source

AT = {"eventTimeAttribute": "at"}


def plan(note: dict[str, Any] | None, *, width: int = 1, kind: str = "Filter") -> Any:
    between = {
        "name": "F",
        "operator": kind,
        "inputs": ["A"],
        "outputs": [{"stream": "F", "schema": "T"}],
        "parameters": {"filter": "v > 0"} if kind == "Filter" else {},
        "annotations": {"parallel": {"width": width}},
    }
    last = {"name": "K", "operator": "FileSink", "inputs": ["F"], "parameters": {"file": "k", "format": "jsonl"}}
    operators = {} if kind == "Filter" else {kind: {}}
    return compiled({"schemas": {"T": TYPE}, "operators": operators, "graph": [source("A", note), between, last]})


def test_a_new_annotation_and_another_lag_are_changes_of_all_that_they_reach():
    none, five, nine = plan(None), plan({**AT, "lag": 5}), plan({**AT, "lag": 9, "idleAfter": 30})
    at = "by at (bigint, Milliseconds)"
    assert event_time_changes(none, five) == (
        EventTimeChange("A", "", f"outputEventTime {at}, lag 5 s, minimumGap 0.1 s"),
        EventTimeChange("F", "", f"inputWatermark {at}, from A, lag 5 s, minimumGap 0.1 s"),
        EventTimeChange("K", "", f"inputWatermark {at}, from F, lag 5 s, minimumGap 0.1 s"),
    )
    (first, *_) = event_time_changes(five, nine)
    assert first.after == f"outputEventTime {at}, lag 9 s, minimumGap 0.1 s, idleAfter 30.0"


def test_another_width_is_no_change_of_event_time():
    assert event_time_changes(plan(AT), plan(AT, width=3)) == ()


def test_a_preview_says_what_changes():
    sentence = preview(plan(AT), plan({**AT, "lag": 5})).sentence
    assert "Event time changes: A: outputEventTime by at (bigint, Milliseconds), lag 0 s" in sentence
    assert preview(plan(AT), plan(AT)).event_time == ()


def test_an_application_that_compiles_only_is_compared_too():
    old, new = plan(AT, kind="Own"), plan({**AT, "minimumGap": 3}, kind="Own")
    comparison = compare(old, new, old)
    assert comparison.outcome is None
    assert [row[1] for row in plain_rows(comparison) if row[0] == "event time"] == ["A", "F", "K"]
    assert len(comparison.document()["eventTime"]) == 3


def test_another_annotation_is_another_application():
    assert fingerprint(plan(AT)) == fingerprint(plan(AT))
    assert fingerprint(plan(AT)) != fingerprint(plan({**AT, "lag": 5}))
    assert difference(plan(AT), plan({**AT, "idleAfter": 5})) == "the eventTime of operator A changed"
