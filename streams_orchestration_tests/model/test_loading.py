"""Loading: shorthands, defaults, all errors at once with their lines, and no traceback whatever the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import compile_spec
from streams_orchestration.model.application import InputBinding, OutputBinding
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.model.loading import application_from_mapping, load_application, read_application
from streams_orchestration_tests.specs import findings, read

FULL = """\
specVersion: 1
application: flight_delays
description: Delay statistics per carrier
submission:
  width: {type: int32, default: 2}
  period: {type: float64, default: 10}
schemas:
  Flight: "carrier string, origin string, dep_delay double, sched_dep timestamp"
operators:
  Enrich:
    implementation: flights.operators:Enrich
    inputs: [{mutable: true}, {control: true}, {expectsWindowPunctuation: true}, {mutates: [dep_delay]}]
    outputs: [{mutable: true}, {generatesWindowPunctuation: true}, {preservesWindowPunctuation: true}]
    stateful: true
    singleThreaded: WindowBound
    consistent: {member: true, start: true, reason: ""}
    waits: [{port: 0, for: 1}]
composites:
  Comp1:
    inputs: [In, Other]
    outputs: [B]
    config: {placement: {partitionColocation: [byChannel(), x]}}
    annotations: {threading: {model: dynamic, threads: 4, elastic: false}}
    graph:
      - {name: A, operator: Filter, inputs: [In]}
      - name: B
        operator: Custom
        inputs: [A, [Other]]
        outputs: [{stream: B, schema: Flight}]
        config: {threadedPort: [{port: 0, congestionPolicy: Sys.DropFirst, queueSize: 10}]}
hostPools:
  - {name: ingest, tags: [kafka], size: 2}
graph:
  - name: Src
    operator: FileSource
    outputs: [{stream: Src, schema: Flight, rate: 5000}]
    parameters: {file: "x-${width}.csv"}
    annotations: {consistent: {trigger: periodic, period: "${period}", drainTimeout: 180}}
  - name: Out
    operator: Comp1
    inputs: [Src, {streams: [Src], name: Other}]
    annotations:
      parallel: {width: "${width}", partitionBy: [{port: In, attributes: [carrier]}], broadcast: [Other]}
    config:
      placement: {partitionExlocation: byReplica(), hostPool: ingest}
      restartable: true
      relocatable: true
  - name: Snk
    operator: FileSink
    inputs: [{streams: [Out], name: control0, control: true}]
    annotations: {autonomous: true, atomic: ledger}
    config: {checkpoint: {periodic: 5.0}}
"""


def test_a_full_spec() -> None:
    application = read(FULL)
    assert application.name == "flight_delays"
    source, out, sink = application.graph
    assert source.outputs == (OutputBinding(stream="Src", schema="Flight", rate=5000.0),)
    assert [binding.streams for binding in out.inputs] == [("Src",), ("Src",)]
    assert sink.inputs == (InputBinding(streams=("Out",), name="control0", control=True),)
    assert out.annotations.parallel is not None
    assert out.annotations.parallel.width == "${width}"
    assert source.annotations.consistent is not None
    assert source.annotations.consistent.drain_timeout == 180.0
    composite = application.composites["Comp1"]
    assert composite.config.placement is not None
    assert composite.config.placement.partition_colocation == ("byChannel()", "x")
    assert str(out.location("annotations", "parallel")) == "spec:43"
    assert str(application.location("schemas", "Flight")) == "spec:8"
    enrich = application.operators["Enrich"].signature()
    assert [enrich.input(port).is_mutable for port in range(6)] == [True, False, False, True, True, True]


def test_the_same_application_from_python(tmp_path: Path) -> None:
    path = tmp_path / "app.yaml"
    path.write_text(FULL)
    loaded = load_application(path)
    built = application_from_mapping(loaded.model_dump(exclude_unset=True))
    assert built == loaded
    assert built.graph[0].location() is None
    assert str(loaded.graph[0].location()) == f"{path}:34"


def problems(text: str) -> list[tuple[str, int, str]]:
    _, diagnostics = findings(text)
    return [(each.code, int(each.location.rpartition(":")[2]), each.message) for each in diagnostics]


def test_all_errors_at_once() -> None:
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
    found = problems(text)
    assert sorted((code, line) for code, line, _ in found) == sorted(
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
    messages = " | ".join(message for _, _, message in found)
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
        (f"application: a\n{GRAPH}\nsubmission: {{n-m: {{type: int32}}}}", ["SO0105"]),
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
        ("application: a\ngraph: [{name: 'a[0]', operator: Beacon}]", ["SO0105"]),
        ("application: a\ngraph: [{name: yes, operator: Beacon}, {name: 1, operator: Beacon}]", ["SO0009"]),
    ],
)
def test_single_errors(text: str, expected: list[str]) -> None:
    assert [code for code, _, _ in problems(text) if code != "SO0110"] == expected
    with pytest.raises(ApplicationError) as caught:
        read(text)
    assert {each.code for each in caught.value.diagnostics if each.severity == "error"} <= {*expected}


def invocation(body: str, declarations: str = "") -> list[tuple[str, int, str]]:
    text = f"""\
application: a
operators: {{Work: {{}}, Replay: {{inputs: []}}}}
graph:
  - {{name: Src, operator: Beacon}}
  - {{name: X, operator: Work, inputs: [Src], {body}}}
{declarations}"""
    return [each for each in problems(text) if each[0] != "SO0110"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("annotations: {consistent: {trigger: periodic}}", ["CDISP0840E"]),
        ("annotations: {consistent: {trigger: operatorDriven, period: 5.0}}", ["CDISP0841E"]),
        ("annotations: {consistent: {trigger: periodic, period: 5}}", []),
        ("annotations: {consistent: {trigger: periodic, period: '5'}}", ["CDISP0811E"]),
        (
            "annotations: {consistent: {trigger: periodic, period: 5.0, maxConsecutiveResetAttempts: 2.0}}",
            ["CDISP0811E"],
        ),
        ("annotations: {consistent: {period: 5.0}}", ["CDISP0799E"]),
        ("annotations: {consistent: {trigger: periodic, period: 1.0, period: 2.0}}", ["CDISP0798E"]),
        ("annotations: {consistent: {trigger: periodic, period: 1.0, foo: 1}}", ["CDISP0797E"]),
        ("annotations: {consistent: {trigger: '${t}'}}", ["CDISP0678E"]),
        ("annotations: {consistent: {trigger: sometimes}}", ["SO0010"]),
        ("annotations: {consistant: {trigger: periodic, period: 1.0}}", ["CDISP0796E"]),
        ("annotations: {consistent: {trigger: periodic, period: 1.0}, autonomous: true}", ["CDISP0694E"]),
        ("annotations: {autonomous: 1}", ["CDISP0811E"]),
        ("annotations: {threading: {model: manual}}", ["CDISP0851E"]),
        ("annotations: {parallel: {width: 0}}", ["CDISP0821E"]),
        ("annotations: {parallel: {width: 2.0}}", ["CDISP0821E"]),
        ("annotations: {parallel: {}}", ["CDISP0799E"]),
        ("annotations: {parallel: {width: 2, partitionBy: []}}", ["CDISP0822E"]),
        ("annotations: {parallel: {width: 2, partitionBy: Src}}", ["CDISP0822E"]),
        ("annotations: {parallel: {width: 2, partitionBy: [{port: Src}]}}", ["CDISP0827E"]),
        ("annotations: {parallel: {width: 2, partitionBy: [{attributes: [a]}]}}", ["CDISP0827E"]),
        ("annotations: {parallel: {width: 2, partitionBy: [{port: Src, attributes: a}]}}", ["CDISP0829E"]),
        ("annotations: {parallel: {width: 2, partitionBy: [{port: Src, attributes: []}]}}", ["CDISP0829E"]),
        ("annotations: {parallel: {width: 2, replicateHostTags: kafka}}", ["CDISP0826E"]),
        ("annotations: {parallel: {width: 2, replicateHostTags: []}}", []),
        ("config: {checkpoint: {periodic: 0.0}}", ["CDISP0410E"]),
        ("config: {checkpoint: {periodic: 1.0, operatorDriven: true}}", ["CDISP0408E"]),
        ("config: {checkpoint: foo}", ["CDISP0407E"]),
        ("config: {checkpoint: {foo: 1}}", ["CDISP0407E"]),
        ("config: {checkpoint: operatorDriven}", []),
        ("config: {threadedPort: [{port: 0, queueSize: 0}]}", ["CDISP0090E"]),
        ("config: {threadedPort: [{port: 1}]}", ["SO0305"]),
        ("config: {threadedPort: [{port: 0}, {port: 0}]}", ["SO0403"]),
        ("config: {threadedPort: [{port: 0, congestionPolicy: Wait}]}", ["SO0010"]),
        ("config: {placement: {hostPool: nowhere}}", ["SO0404"]),
        ("config: {placement: {partitionColocation: ''}}", ["SO0009"]),
        ("config: {placement: {partitionColocation: 5}}", ["SO0009"]),
        ("config: {restartable: maybe}", ["SO0009"]),
        ("outputs: [{stream: X, rate: -1}]", ["SO0401"]),
        ("outputs: [{stream: X, schema: 'a int, a int'}]", ["SO0301"]),
        ("outputs: [X, X]", ["SO0104"]),
        ("outputs: [Src]", ["SO0104"]),
        ("parameters: {a: [{b: null, c: 1.5}]}", []),
    ],
)
def test_annotations_and_configs(body: str, expected: list[str]) -> None:
    found = invocation(body)
    assert [code for code, _, _ in found] == expected
    assert all(line == 5 for _, line, _ in found)


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
    found = sorted((code, line) for code, line, _ in problems(text))
    assert found == [("CDISP0489E", 6), ("CDISP0489E", 10), ("CDISP0812E", 5), ("SO0402", 5), ("SO0407", 10)]


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
    found = sorted((code, line) for code, line, _ in problems(text))
    assert [each for each in found if each[0] != "SO0110"] == [
        ("SO0102", 9),
        ("SO0106", 4),
        ("SO0107", 3),
        ("SO0108", 3),
        ("SO0303", 8),
        ("SO0303", 8),
    ]


def test_what_is_missing_because_of_an_error_is_not_reported_again() -> None:
    text = """\
application: a
graph:
  - {name: Src, operator: Beacon, outputs: [Numbers], anotations: {}}
  - {operator: Filter, inputs: [Numbers], outputs: [Few]}
  - {name: Snk, operator: FileSink, inputs: [Few]}
"""
    assert [(code, line) for code, line, _ in problems(text)] == [("SO0007", 3), ("SO0008", 4), ("SO0110", 3)]


def test_the_error_says_where_what_and_which_operator(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("application: a\ngraph:\n  - name: Src\n    operator: Becon\n")
    with pytest.raises(ApplicationError) as caught:
        load_application(path)
    assert str(caught.value) == f"{path}:4: Src: error SO0101: there is no operator Becon; the nearest is Beacon"
    application, diagnostics = read_application(path)
    assert application is not None
    assert [each.code for each in diagnostics] == ["SO0101"]


@pytest.mark.parametrize("value", [None, 5, "x", [1], {"graph": 5}, {"application": "a", "graph": ({},)}])
def test_any_python_value_is_refused_cleanly(value: Any) -> None:
    with pytest.raises(ApplicationError):
        application_from_mapping(value)


LINES = [str(line) for line in FULL.splitlines()]
PIECES = [
    "null",
    "[]",
    "{}",
    "5",
    "-1",
    "x",
    "''",
    "[a, b]",
    "{a: b}",
    "true",
    "1e9",
    "${width}",
    "*a",
    "&a",
    "!!int x",
]
PIECES += [
    ":",
    "- ",
    "  ",
    "]",
    "}",
    '"',
    "byChannel()",
    "${getChannel()}",
    "Src",
    "Out",
    "Comp1",
    "parallel",
    "\t",
    "é",
]


@st.composite
def edited(draw: st.DrawFn) -> str:
    """The full spec with some lines and words dropped, doubled, moved or replaced."""
    lines: list[str] = list(LINES)
    for _ in range(draw(st.integers(1, 4))):
        line = draw(st.integers(0, len(lines) - 1))
        match draw(st.integers(0, 5)):
            case 0:
                del lines[line]
            case 1:
                lines.insert(line, lines[draw(st.integers(0, len(lines) - 1))])
            case 2:
                lines[line] = draw(st.sampled_from(["", " ", "   "])) + lines[line]
            case 3:
                head, colon, _ = lines[line].partition(":")
                lines[line] = head + colon + " " + draw(st.sampled_from(PIECES))
            case 4:
                words = lines[line].split(" ")
                words[draw(st.integers(0, len(words) - 1))] = draw(st.sampled_from(PIECES))
                lines[line] = " ".join(words)
            case _:
                place = draw(st.integers(0, len(lines[line])))
                lines[line] = lines[line][:place] + draw(st.characters()) + lines[line][place + 1 :]
        if not lines:
            break
    return "\n".join(lines)


@settings(max_examples=300, deadline=None)
@given(edited())
def test_edited_specs_compile_or_are_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "edited.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        compilation = compile_spec(path)
    except ApplicationError as error:
        found = error.diagnostics
        assert any(each.severity == "error" for each in found)
    else:
        found = compilation.diagnostics
        assert all(each.severity == "warning" for each in found)


def test_the_full_spec_compiles(tmp_path: Path) -> None:
    path = tmp_path / "full.yaml"
    path.write_text(FULL)
    found = compile_spec(path).diagnostics
    assert [each.code for each in found] == ["SO0111"]
