"""A compilation reports the errors of all stages at once, each once, and no traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.compiling import compile_application, compile_spec
from streams_orchestration.compiler.parallel.parallel import expand
from streams_orchestration.model.application import Application
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration_tests.compiler.invocations import SOURCE, SUBMISSION, call
from streams_orchestration_tests.specs import PLAIN, cases, codes, graph, logical, read

SEVERAL = cases("several_errors.yaml")


def test_an_unused_definition_is_a_warning() -> None:
    application = graph(
        {**SOURCE, "outputs": ["Src"]},
        schemas={"T": "a int"},
        submission={"n": SUBMISSION["n"]},
        composites={"C": {"graph": [SOURCE]}},
    )
    diagnostics = compile_application(application).diagnostics
    texts = [each.message for each in diagnostics]
    assert {each.severity for each in diagnostics} == {"warning"}
    assert len(texts) == 6
    for part in ("stream Src", "value n", "schema T", "operator Sink", "operator Work", "composite C"):
        assert any(part in text for text in texts)


def test_errors_of_all_stages_in_one_run() -> None:
    application = graph(
        {**SOURCE, "annotations": {"consistent": {"trigger": "operatorDriven"}}},
        call("Two", "Source", (), annotations={"consistent": {"trigger": "operatorDriven"}}),
        call("R", annotations={"parallel": {"width": 2, "broadcast": ["Nothing"]}}),
        call("E", "Expecting", ["R"]),
        call("S", "Sink", ["Src", "Two"]),
        operators={"Expecting": {"inputs": [{"expectsWindowPunctuation": True}], "outputs": []}},
    )
    with pytest.raises(ApplicationError) as caught:
        compile_application(application)
    actual = set(codes(caught.value.diagnostics))
    assert {"CDISP0823E", "CDISP0819E", "CDISP0835E"} <= actual


@pytest.mark.parametrize("identity", SEVERAL)
def test_mistakes_are_reported_together_and_their_effects_are_not(identity: str, tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    waiting = "Waiting: {inputs: [{}, {}], waits: [{port: 0, for: 1}]}"
    path.write_text(PLAIN.replace("Sink: {", f"{waiting}, Sink: {{") + SEVERAL[identity]["spec"])
    with pytest.raises(ApplicationError) as caught:
        compile_spec(path)
    errors = {each.code for each in caught.value.diagnostics if each.severity == "error"}
    assert errors == set(SEVERAL[identity]["errors"])


def test_an_application_with_wrong_names_stops_there() -> None:
    application = Application(application="a", graph=({"name": "S", "operator": "FileSink", "inputs": ["Src"]},))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ApplicationError) as caught:
        compile_application(application)
    assert codes(caught.value.diagnostics) == ["SO0102"]


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("SO0113", {"graph": ()}),
        (
            "SO0106",
            {
                "graph": ({"name": "X", "operator": "C"},),
                "composites": {"C": {"graph": ({"name": "Y", "operator": "C"},)}},
            },
        ),
    ],
)
def test_an_application_built_in_python_is_checked_as_one_that_is_read(code: str, parts: dict[str, Any]) -> None:
    with pytest.raises(ApplicationError) as caught:
        compile_application(Application(application="a", **parts))
    assert codes(caught.value.diagnostics) == [code]


def test_deep_nesting_is_refused_without_a_traceback() -> None:
    composites: dict[str, Any] = {
        f"C{level}": {"graph": [{"name": "X", "operator": f"C{level + 1}"}]} for level in range(3000)
    }
    composites["C3000"] = {"graph": [SOURCE]}
    with pytest.raises(ApplicationError) as caught:
        graph({"name": "X", "operator": "C0"}, composites=composites)
    assert codes(caught.value.diagnostics) == ["SO0106"]


def test_composites_that_open_up_without_end_are_refused() -> None:
    composites: dict[str, Any] = {
        f"C{level}": {"graph": [{"name": name, "operator": f"C{level + 1}"} for name in "ABCDEFGHIJ"]}
        for level in range(9)
    }
    composites["C9"] = {"graph": [SOURCE]}
    with pytest.raises(ApplicationError) as caught:
        compile_application(graph({"name": "X", "operator": "C0"}, composites=composites))
    assert "SO0501" in codes(caught.value.diagnostics)


def test_a_fault_of_one_line_is_reported_once() -> None:
    text = """\
application: a
composites:
  C: {graph: [{name: A, operator: Beacon, parameters: {p: "${q}"}}]}
graph: [{name: X, operator: C}, {name: Y, operator: C}]
"""
    with pytest.raises(ApplicationError) as caught:
        compile_application(read(text))
    assert [(each.code, each.operator) for each in caught.value.diagnostics] == [("SO0201", "X.A")]


def test_expansion_of_a_graph_in_error_does_not_fail() -> None:
    logical_graph, diagnostics = logical(graph(SOURCE, call("R", annotations={"parallel": {"width": "${nothing}"}})))
    assert codes(diagnostics) == ["SO0201"]
    assert len(expand(logical_graph)[0].operators) == 2
