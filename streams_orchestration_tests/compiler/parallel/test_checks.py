"""Checks around parallel regions: window punctuation, imports and exports, loops, size (rules 25, 26, 35, 39)."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.compiler.parallel.parallel import expand
from streams_orchestration_tests.compiler.parallel.annotated import SOURCE, region
from streams_orchestration_tests.specs import codes, graph, logical


def found_codes(*invocations: dict[str, Any], **parts: Any) -> list[str]:
    built, diagnostics = logical(graph(*invocations, **parts))
    return codes([*diagnostics, *expand(built)[1]])


EXPECTING = {
    "Expecting": {"inputs": [{"expectsWindowPunctuation": True}], "outputs": []},
    "Marking": {"inputs": [], "outputs": [{"generatesWindowPunctuation": True}]},
    "Keeping": {"outputs": [{"preservesWindowPunctuation": True}]},
}
MARKED = {"name": "Src", "operator": "Marking"}


def expecting(inputs: Any) -> dict[str, Any]:
    return {"name": "E", "operator": "Expecting", "inputs": inputs}


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ([expecting(["Src"])], []),
        ([region("R", 2, ["Src"], "Keeping"), expecting(["R"])], ["CDISP0819E"]),
        (
            [region("R", 2, ["Src"], "Keeping"), {**expecting(["R"]), "annotations": {"parallel": {"width": 2}}}],
            ["CDISP0820E"],
        ),
        (
            [
                region("R", 2, ["Src"], "Keeping"),
                {"name": "P", "operator": "Punctor", "inputs": ["R"]},
                expecting(["P"]),
            ],
            [],
        ),
        ([{**expecting(["Src"]), "annotations": {"parallel": {"width": 2}}}], []),
        ([{"name": "W", "operator": "Work", "inputs": ["Src"]}, expecting(["W"])], ["CDISP0111E"]),
        ([{"name": "Src2", "operator": "Marking"}, expecting([["Src", "Src2"]])], ["CDISP0110E"]),
        ([{"name": "K", "operator": "Keeping", "inputs": ["K"]}, expecting(["K"])], ["CDISP0729W", "CDISP0112E"]),
        (
            [{"name": "I", "operator": "Import", "parameters": {"subscription": "x == 1"}}, expecting(["I"])],
            ["CDISP0442E"],
        ),
        (
            [{"name": "G", "operator": "Aggregate", "inputs": ["Src"], "parameters": {"window": {"evict": "punct"}}}],
            [],
        ),
        (
            [
                region("R", 2, ["Src"], "Keeping"),
                {"name": "G", "operator": "Sort", "inputs": ["R"], "parameters": {"window": "tumbling, punct()"}},
            ],
            ["CDISP0819E"],
        ),
        (
            [
                region("R", 2, ["Src"], "Keeping"),
                {"name": "G", "operator": "Sort", "inputs": ["R"], "parameters": {"window": "tumbling, count(5)"}},
            ],
            [],
        ),
    ],
)
def test_window_punctuation_around_parallel_regions_is_checked(rest: list[dict[str, Any]], expected: list[str]) -> None:
    assert sorted(found_codes(MARKED, *rest, operators=EXPECTING)) == sorted(expected)


SUBSCRIBED = {"parameters": {"subscription": 'kind == "x"'}}


def test_imports_and_exports_share_the_region_of_what_they_touch() -> None:
    imported = {"name": "I", "operator": "Import", **SUBSCRIBED}
    exported = {"name": "E", "operator": "Export", "parameters": {"properties": {"kind": "x"}}}
    assert found_codes(imported, region("A", 2, ["I"], "Sink")) == ["CDISP0816E"]
    assert found_codes(SOURCE, region("A", 2, ["Src"]), {**exported, "inputs": ["A"]}) == ["CDISP0816E"]
    inside = {"outputs": ["A"], "graph": [imported, {"name": "A", "operator": "Work", "inputs": ["I"]}]}
    assert found_codes(region("C1", 2, [], "C"), composites={"C": inside}) == []


def test_feedback_is_a_warning_and_free_into_control_ports() -> None:
    loop = {"name": "A", "operator": "Work", "inputs": [["Src", "B"]]}
    back = {"name": "B", "operator": "Work", "inputs": ["A"], "annotations": {"parallel": {"width": 2}}}
    assert found_codes(SOURCE, loop, back) == ["CDISP0729W"]
    steered = {"name": "A", "operator": "Work", "inputs": ["Src", {"streams": ["B"], "control": True}]}
    assert found_codes(SOURCE, steered, back) == []
    custom = {**steered, "operator": "Custom"}
    assert found_codes(SOURCE, custom, back) == []


def test_an_application_that_would_be_too_large_is_refused() -> None:
    built, _ = logical(graph(SOURCE, region("A", 2**30, ["Src"]), region("B", 2**30, ["A"])))
    actual, diagnostics = expand(built)
    assert codes(diagnostics) == ["SO0501"]
    assert not actual.operators
