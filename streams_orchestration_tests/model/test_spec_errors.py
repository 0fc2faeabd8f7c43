"""Errors of a spec: all at once, each with its line."""

from __future__ import annotations

import pytest

from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration_tests.model.spec_texts import problems
from streams_orchestration_tests.specs import read


def test_errors_of_a_spec_are_reported_together() -> None:
    text = """\
specVersion: 1
application: a b
schemas:
  Flight: "carrier strng"
operatrs: {}
graph:
  - {name: Src, operator: FileSorce, outputs: [{stream: Src, schema: Flght}]}
  - {name: Late, operator: Filter, inputs: [Sr]}
  - name: Out
    operator: Filter
    inptus: [Late]
    inputs: [Late]
    annotations: {parallel: {width: 0}}
  - {operator: FileSink, inputs: [Out]}
  - {name: X, operator: FileSink, inputs: 7}
  - {name: X, operator: FileSink, inputs: [[Out, Late]]}
"""
    actual = problems(text)
    assert sorted((code, line) for code, line, _ in actual) == sorted(
        [
            ("SO0105", 2),
            ("SO0301", 4),
            ("SO0007", 5),
            ("SO0101", 7),
            ("SO0302", 7),
            ("SO0110", 7),
            ("SO0102", 8),
            ("SO0007", 11),
            ("CDISP0821E", 13),
            ("SO0008", 14),
            ("SO0009", 15),
            ("SO0103", 16),
        ]
    )
    messages = " | ".join(message for _, _, message in actual)
    for part in (
        "the nearest is operators",
        "the nearest is inputs",
        "the nearest is FileSource",
        "the nearest is Src",
        "the nearest is Flight",
        "graph[4].inputs: a list is expected, not 7",
        "graph[3]: the key name is missing",
    ):
        assert part in messages


GRAPH = "graph: [{name: Src, operator: Beacon}, {name: Snk, operator: FileSink, inputs: [Src]}]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["SO0003"]),
        ("# nothing", ["SO0003"]),
        ("[1]", ["SO0009"]),
        ("text", ["SO0009"]),
        (f"application: a\n{GRAPH}\nspecVersion: 2", ["SO0010"]),
        (f"application: a\n{GRAPH}\nspecVersion: '1'", ["SO0010"]),
        (GRAPH, ["SO0008"]),
        (f"application: 5\n{GRAPH}", ["SO0009"]),
        (f"application: a\n{GRAPH}\nsubmission: {{n: {{type: int32, default: x}}}}", ["SO0203"]),
        (f"application: a\n{GRAPH}\nsubmission: {{n: {{type: int32, default: 3000000000}}}}", ["SO0203"]),
        (f"application: a\n{GRAPH}\nsubmission: {{n: {{type: int, default: 3}}}}", ["SO0010"]),
        (f"application: a\n{GRAPH}\nsubmission: {{1n: {{type: int32}}}}", ["SO0105"]),
        (f"application: a\n{GRAPH}\noperators: {{O: {{singleThreaded: Sometimes}}}}", ["SO0010"]),
        (f"application: a\n{GRAPH}\noperators: {{O: {{implementation: x.y}}}}", ["SO0105"]),
        (f"application: a\n{GRAPH}\noperators: {{O: {{inputs: [{{mutable: false, mutates: [a]}}]}}}}", ["SO0307"]),
        (f"application: a\n{GRAPH}\nhostPools: [{{name: p}}, {{name: p}}]", ["SO0112"]),
        (f"application: a\n{GRAPH}\nhostPools: [{{name: p, size: 0}}]", ["SO0401"]),
        ("application: a\ngraph: []", ["SO0113"]),
        (f"application: a\n{GRAPH}\nspecVersion: true", ["SO0010"]),
        (f"application: a\n{GRAPH}\nspecVersion: 1.0", ["SO0010"]),
        (f"application: a\n{GRAPH}\nschemas: {{T: 5}}", ["SO0009"]),
        (f"application: a\n{GRAPH}\nschemas: [T]", ["SO0009"]),
        ("application: a\ngraph: [{name: S, operator: Beacon, inputs: []}, null]", ["SO0009"]),
        (
            "application: a\ngraph: [{name: S, operator: Beacon},"
            " {name: F, operator: FileSink, inputs: [{streams: [S], mutates: [a]}]}]",
            ["SO0408"],
        ),
        ("application: a\ngraph: [{name: a.b, operator: Beacon}]", ["SO0105"]),
        (f"application: {'a' * 64}\n{GRAPH}", ["SO0105"]),
        ("application: a\ngraph: [{name: 'a[0]', operator: Beacon}]", ["SO0105"]),
        ("application: a\ngraph: [{name: yes, operator: Beacon}, {name: 1, operator: Beacon}]", ["SO0009"]),
    ],
)
def test_a_wrong_spec_has_exactly_its_errors(text: str, expected: list[str]) -> None:
    assert [code for code, _, _ in problems(text) if code != "SO0110"] == expected
    with pytest.raises(ApplicationError) as caught:
        read(text)
    assert {each.code for each in caught.value.diagnostics if each.severity == "error"} <= {*expected}


def test_definitions_take_no_annotations_of_invocations() -> None:
    text = """\
application: a
composites:
  C:
    inputs: [In]
    annotations: {consistent: {trigger: operatorDriven}, threading: {model: manual, threads: 3}}
    config: {threadedPort: [{port: 0}]}
    graph: [{name: S, operator: FileSink, inputs: [In]}]
graph:
  - {name: Src, operator: Beacon}
  - {name: Out, operator: C, inputs: [Src], parameters: {x: 1}, config: {threadedPort: [{port: 0}]}}
"""
    actual = sorted((code, line) for code, line, _ in problems(text))
    assert actual == [("CDISP0489E", 6), ("CDISP0489E", 10), ("CDISP0812E", 5), ("SO0402", 5), ("SO0407", 10)]


def test_names_in_composites() -> None:
    text = """\
application: a
composites:
  C: {inputs: [In, In], outputs: [B, Q], graph: [{name: B, operator: Filter, inputs: [In]}]}
  D: {graph: [{name: E, operator: E}]}
  E: {graph: [{name: D, operator: D}]}
graph:
  - {name: Src, operator: Beacon}
  - {name: Out, operator: C, inputs: [Src]}
  - {name: Snk, operator: FileSink, inputs: [B]}
"""
    actual = sorted((code, line) for code, line, _ in problems(text))
    assert [each for each in actual if each[0] != "SO0110"] == [
        ("SO0102", 9),
        ("SO0106", 4),
        ("SO0107", 3),
        ("SO0108", 3),
        ("SO0303", 8),
        ("SO0303", 8),
    ]


def test_a_name_that_is_missing_because_of_an_error_is_not_reported_again() -> None:
    text = """\
application: a
graph:
  - {name: Src, operator: Beacon, outputs: [Numbers], anotations: {}}
  - {operator: Filter, inputs: [Numbers], outputs: [Few]}
  - {name: Snk, operator: FileSink, inputs: [Few]}
"""
    assert [(code, line) for code, line, _ in problems(text)] == [("SO0007", 3), ("SO0008", 4), ("SO0110", 3)]
