"""Applications of SPL as cases: a directory with `Main.spl` and the plan or the mistakes that are expected."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.builder.testing import run_in_process
from streams_orchestration.cli.converting import convert
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compiling import compile_read, compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.plan import plan_document
from streams_orchestration.compiler.reading import read_application, read_tree
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic, errors_of
from streams_orchestration.model.spl_options import SplOptions, spl_options
from streams_orchestration.spl.application import bodies
from streams_orchestration_tests.spl.applications import CASES, EXPECTED, MISTAKES, of_kind

PLACE = re.compile(r"^.*\.spl(mm)?:")
"""The name of a file in front of its place."""
UNREAD = "SO0110"
"""A warning about a stream that nobody reads."""


def chosen(name: str) -> Path:
    spl_options.set(SplOptions(main=EXPECTED[name].get("main")))
    return CASES / name / "Main.spl"


@pytest.mark.parametrize("name", of_kind("plan"))
def test_the_plan_is_that_of_streams(name: str):
    expected = EXPECTED[name]["plan"]
    plan = plan_document(compile_spec(chosen(name)))
    assert {each["name"]: each["kind"] for each in plan["logicalGraph"]["operators"]} == expected["operators"]
    connections = {
        (f"{each['from']['operator']}.{each['from']['port']}", f"{to['operator']}.{to['port']}")
        for each in plan["logicalGraph"]["streams"]
        for to in each["to"]
    }
    assert connections == {tuple(each) for each in expected["connections"]}
    pes = {operator: pe["id"] for pe in plan["fusionPlan"]["pes"] for operator in pe["operators"]}
    assert all(len({pes[each] for each in together}) == 1 for together in expected.get("together", ()))
    assert all(len({pes[each] for each in apart}) == len(apart) for apart in expected.get("apart", ()))


@pytest.mark.parametrize("name", of_kind("diagnostics"))
def test_mistakes_stand_where_streams_places_them(name: str):
    mistakes = errors_of(read_application(chosen(name)).diagnostics)
    found = [str(each) for each in mistakes]
    places = [tuple(map(int, each.location.split(":")[1:])) for each in mistakes]
    for wanted in EXPECTED[name]["diagnostics"]:
        first, last = wanted["columns"]
        here = [
            text
            for text, (line, column) in zip(found, places, strict=True)
            if line == wanted["line"] and first <= column <= last
        ]
        assert any(all(word.lower() in text.lower() for word in wanted["names"]) for text in here), (wanted, found)
    assert len(found) <= EXPECTED[name].get("most", 100)


@pytest.mark.parametrize("name", of_kind("run", "plan"))
def test_an_application_that_is_converted_has_the_same_plan(name: str, tmp_path: Path):
    options = Options(submission=given(name))
    spec = tmp_path / "Main.yaml"
    assert convert(chosen(name), options, spec) == 0
    spl_options.set(SplOptions())
    assert without_places(plan_document(compile_spec(spec, options))) == without_places(
        plan_document(compile_spec(chosen(name), options))
    )


def given(name: str) -> dict[str, str]:
    """Return the submission values of a case."""
    return dict(each.split("=") for each in EXPECTED[name].get("arguments", []) if "=" in each)


def without_places(value: Any) -> Any:
    """Return a plan without the names and lines of files, which differ between SPL and YAML."""
    if isinstance(value, dict):
        return {key: without_places(each) for key, each in value.items() if key not in ("location", "spec")}
    return [without_places(each) for each in value] if isinstance(value, list) else value


SOURCE = "composite Src(output S) { graph stream<int32 n> S = Beacon() { param iterations : %s; } }"
MAIN = 'composite Main { graph stream<int32 n> S = Src() { } () as K = FileSink(S) { param file : "k"; } }'


@pytest.mark.parametrize(
    ("directives", "found"),
    [
        (f"{SOURCE % 1} ", 1),  # the file, before other files of its namespace
        ("", 2),  # the namespace
        ("use b::*; ", 2),  # the namespace, before namespaces that are used with a star
        ("use b::Src; ", 3),  # a named use, before the namespace
        (f"use b::Src; {SOURCE % 1} ", 1),
    ],
)
def test_an_operator_is_the_one_of_the_closest_scope(directives: str, found: int, tmp_path: Path):
    files = {"a/Main.spl": f"namespace a; {directives}{MAIN}", "a/A.spl": f"namespace a; {SOURCE % 2}"}
    files["b/B.spl"] = f"namespace b; public {SOURCE % 3}"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    logical = compile_spec(tmp_path / "a/Main.spl").logical
    assert [each.parameters["iterations"] for each in logical.operators if each.kind == "Beacon"] == [found]


def findings(file: Path, stage: str) -> Sequence[Diagnostic]:
    """Return the findings of reading a file, or those of `streams check`, which knows the code of operators."""
    read = read_application(file)
    if stage == "reading":
        return read.diagnostics
    assert errors_of(read.diagnostics) == []
    with pytest.raises(ApplicationError) as raised:
        deployable(compile_read(read))
    return raised.value.diagnostics


@pytest.mark.parametrize("case", MISTAKES, ids=[each["name"] for each in MISTAKES])
def test_the_mistakes_of_an_application_are_found(case: dict[str, Any], tmp_path: Path):
    for name, text in case["files"].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    spl_options.set(SplOptions(main=case.get("main")))
    found = findings(tmp_path / next(iter(case["files"])), case.get("found", "reading"))
    listed = [f"{PLACE.sub('', each.location)} {each.code}" for each in found if each.code != UNREAD]
    assert listed == case["findings"]


@pytest.mark.slow
@pytest.mark.parametrize("name", of_kind("run"))
def test_an_application_gives_the_tuples_that_streams_gives(name: str):
    case = EXPECTED[name]
    document, _ = read_tree(chosen(name))
    tables = run_in_process(document, {}, options=Options(submission=given(name)))
    for sink, wanted in case["results"].items():
        rows = [[row[column] for column in wanted["columns"]] for row in tables[sink].to_pylist()]
        assert sorted(map(repr, rows)) == sorted(map(repr, wanted["rows"]))


def test_composites_that_multiply_one_another_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(bodies, "MOST_BODIES", 20)
    twice = "composite C{}(input I; output O) {{ graph stream<I> X = C{}(I) {{ }} stream<I> O = C{}(X) {{ }} }}\n"
    text = "".join(twice.format(each, each + 1, each + 1) for each in range(40))
    text += "composite C40(input I; output O) { graph stream<I> O = Functor(I) { } }\n"
    text += "composite Main { graph stream<int32 n> A = Beacon() { } stream<int32 n> B = C0(A) { } }"
    file = tmp_path / "Main.spl"
    file.write_text(text)
    assert [each.code for each in read_application(file).diagnostics] == ["SO0707"]


def test_defaults_of_submission_time_values_are_computed_from_constants(tmp_path: Path):
    arguments = {
        '"a" + lower("B"), (rstring) ($n + 1)': ("ab", "6"),
        '"c", substring("text", 0, 2)': ("c", "te"),
        '"d", "xyz"[1]': ("d", "y"),
        '"e", $n > 4 ? "x" : "y"': ("e", "x"),
    }
    calls = "".join(f"getSubmissionTimeValue({each}) + " for each in arguments)
    calls += 'getSubmissionTimeListValue("f", ["u", (rstring) $n])[0]'
    file = tmp_path / "Main.spl"
    file.write_text(
        "composite Main { param expression<int32> $n : 5; graph stream<rstring s> A = Beacon() { }"
        f'() as K = FileSink(A) {{ param file : {calls} + "k"; }} }}'
    )
    document, findings = read_tree(file)
    assert errors_of(findings) == []
    defaults = {name: entry["default"] for name, entry in document["submission"].items()}
    assert defaults == dict(arguments.values()) | {"f": '["u", "5"]'}


def test_parameters_before_the_tuples_read_constant_variables_of_the_logic(tmp_path: Path):
    state = 'int32 c = 2 + 1; int32 twice = 2 * c; mutable int32 m = 0; rstring name = "in.csv";'
    beacon = f"A = Beacon() {{ logic state : {{ {state} }} param iterations : twice; output A : n = m++ + c; }}"
    source = f"B = FileSource() {{ logic state : {{ {state} }} param file : name; }}"
    (tmp_path / "in.csv").write_text("7\n")
    file = tmp_path / "Main.spl"
    sink = '() as K = FileSink(A, B) { param file : "k"; }'
    file.write_text(f"composite Main {{ graph stream<int32 n> {beacon} stream<int32 n> {source} {sink} }}")
    document, _ = read_tree(file)
    tables = run_in_process(document, {}, options=Options())
    assert sorted(tables["K"].column("n").to_pylist()) == [3, 4, 5, 6, 7, 7, 8]


def test_windows_by_differences_name_attributes_with_or_without_their_ports(tmp_path: Path):
    file = tmp_path / "Main.spl"
    file.write_text(
        "composite Main { graph stream<int32 n, timestamp t> A = Beacon() { }"
        "stream<A> B = Aggregate(A as I) { window I : sliding, delta(I.t, 1.0), delta(n, 2); output B : n = Max(n); }"
        "stream<A> C = Join(A; B as R) { window A : sliding, delta(A.n, 3); R : sliding, delta(t, 4.0);"
        "  output C : n = A.n, t = A.t; }"
        '() as K = FileSink(C) { param file : "k"; } }'
    )
    document, findings = read_tree(file)
    assert errors_of(findings) == []
    windows = [node["parameters"].get("window") for node in document["graph"][1:3]]
    assert windows == ["sliding, delta(t, 1.0), delta(n, 2)", ["sliding, delta(n, 3)", "sliding, delta(t, 4.0)"]]


def test_files_of_sinks_outside_of_the_data_directory_are_beside_it(tmp_path: Path):
    (tmp_path / "data").mkdir()
    file = tmp_path / "Main.spl"
    names = {"A": "a.csv", "B": "../b.csv", "C": "c/../../c.csv", "D": "d/../d.csv", "E": "/e.csv"}
    sinks = "".join(f'() as {sink} = FileSink(S) {{ param file : "{name}"; }}' for sink, name in names.items())
    file.write_text(f"composite Main {{ graph stream<int32 n> S = Beacon() {{ }} {sinks} }}")
    document, findings = read_tree(file)
    assert errors_of(findings) == []
    beside = {"B": str(tmp_path / "b.csv"), "C": str(tmp_path / "c.csv")}
    assert {node["name"]: node["parameters"]["file"] for node in document["graph"][1:]} == names | beside


def test_random_numbers_differ_between_attributes_operators_and_channels(tmp_path: Path):
    file = tmp_path / "Main.spl"
    logic = "logic state : mutable float64 m = 0.0; onTuple A : m = random();"
    file.write_text(
        "composite Main { graph stream<float64 x, float64 y> A = Beacon() { param iterations : 3;"
        "  output A : x = random(), y = random(); }"
        f"@parallel(width = 2) stream<A> B = Functor(A) {{ {logic} output B : x = m, y = random(); }}"
        "stream<A> C = Custom(A) { logic onTuple A : submit({x = random(), y = random()}, C); }"
        "stream<A> D = Custom() { logic onProcess : { int32 n = 3; submit({x = random(), y = random()}, D); } }"
        '() as K = FileSink(A, B, C, D) { param file : "k"; } }'
    )
    document, _ = read_tree(file)
    rows = run_in_process(document, {}, options=Options())["K"].to_pylist()
    assert len({value for row in rows for value in row.values()}) == 2 * len(rows) == 20


def test_an_alias_hides_the_stream_of_another_port(tmp_path: Path):
    file = tmp_path / "Main.spl"
    file.write_text(
        "composite Main { graph stream<int32 n> A = Beacon() { param iterations : 1; }"
        "(stream<int32 n> D as E; stream<int32 n> E as D) = Functor(A) { output E : n = 1; D : n = 2; }"
        "(stream<int32 n> F as G; stream<int32 n> G as F) = Custom(A) {"
        "  logic onTuple A : { submit({n = 3}, G); submit({n = 4}, F); } }"
        + "".join(f'() as K{each} = FileSink({each}) {{ param file : "{each}"; }}' for each in "DEFG")
        + "}"
    )
    document, _ = read_tree(file)
    tables = run_in_process(document, {}, options=Options())
    rows = {sink: table.column("n").to_pylist() for sink, table in tables.items() if sink.startswith("K")}
    assert rows == {"KD": [1], "KE": [2], "KF": [3], "KG": [4]}


def test_a_stream_may_come_to_two_ports_of_an_operator(tmp_path: Path):
    file = tmp_path / "Main.spl"
    file.write_text(
        "composite Both(input X, Y; output O) { graph stream<int32 l, int32 r> O = Barrier(X; Y) {"
        "  output O : l = X.n, r = -Y.n; } }"
        "composite Main { graph stream<int32 n> A = Beacon() { param iterations : 2; output A : n = 1; }"
        "stream<int32 n> B = Union(A; A) { } stream<int32 n> C = Pair(A; A; A) { }"
        "stream<int32 l, int32 r> D = Both(A; A) { }"
        "stream<int32 n> E = Custom(A as I; A) { logic onTuple A : submit(A, E); onTuple I : submit({n = 9}, E); }"
        "stream<int32 l, int32 r> F = Join(A as I; A) { window I : sliding, count(5); A : sliding, count(5);"
        "  param equalityLHS : I.n; equalityRHS : A.n + 0; output F : l = I.n, r = A.n; }"
        + "".join(f'() as K{each} = FileSink({each}) {{ param file : "{each}"; }}' for each in "BCDEF")
        + "}"
    )
    document, findings = read_tree(file)
    assert errors_of(findings) == []
    tables = run_in_process(document, {}, options=Options())
    rows = {sink: sorted(tuple(row.values()) for row in table.to_pylist()) for sink, table in tables.items()}
    ones, pairs = [(1,)], [(1, 1)]
    assert {sink: rows[sink] for sink in ("KB", "KC", "KE")} == {
        "KB": ones * 4,
        "KC": ones * 6,
        "KE": [*ones * 2, (9,), (9,)],
    }
    assert {sink: rows[sink] for sink in ("KD", "KF")} == {"KD": [(1, -1)] * 2, "KF": pairs * 4}


def test_sinks_of_the_network_write_literals_as_in_streams(tmp_path: Path):
    file = tmp_path / "Main.spl"
    source = "stream<int32 n, set<int32> s> I = Beacon() { }"
    tcp = "() as T = TCPSink(I) { param role : server; port : 9000u; retryFailedSends : true; suppress : s; }"
    udp = '() as U = UDPSink(I) { param address : "h"; port : 9001u; format : txt; }'
    file.write_text(f"composite Main {{ graph {source} {tcp} {udp} }}")
    document, findings = read_tree(file)
    assert [(each.code, each.message.split()[0]) for each in findings] == [("SO0723", "retryFailedSends")]
    types = {"s": "set<int32>"}
    assert [node["parameters"] for node in document["graph"][1:]] == [
        {"address": "0.0.0.0", "format": "splCsv", "port": 9000, "role": "server", "suppress": ["s"], "types": types},
        {"address": "h", "format": "splTxt", "port": 9001, "types": types},
    ]


def test_sources_of_the_network_read_the_formats_of_streams(tmp_path: Path):
    file = tmp_path / "Main.spl"
    csv = "stream<int32 n, set<int32> s> T = TCPSource() { param role : server; port : 9000u; parsing : permissive; }"
    line = 'stream<rstring s> U = UDPSource() { param address : "h"; port : 9001u; format : line; parsing : strict; '
    packed = "stream<enum{a, b} e> B = TCPSource() { param role : server; port : 9002u; format : bin; }"
    block = 'stream<blob b> V = TCPSource() { param role : client; address : "h"; port : 9003u; format : block; '
    more = f'{line} encoding : "latin-1"; }} {packed} {block} blockSize : 10u; compression : gzip; }}'
    file.write_text(f'composite Main {{ graph {csv} {more} () as K = FileSink(T) {{ param file : "k"; }} }}')
    document, findings = read_tree(file)
    assert errors_of(findings) == []
    csv = {"format": "splCsv", "types": {"s": "set<int32>"}, "onBadTuple": "drop"}
    assert [node["parameters"] for node in document["graph"][:4]] == [
        csv | {"address": "0.0.0.0", "port": 9000, "role": "server"},
        {"address": "h", "format": "line", "onBadTuple": "fail", "port": 9001, "encoding": "latin-1"},
        {"address": "0.0.0.0", "port": 9002, "role": "server", "format": "bin", "types": {"e": "enum{a, b}"}},
        {"address": "h", "port": 9003, "role": "client", "format": "block", "blockSize": 10, "compression": "gzip"},
    ]
    compiled = compile_read(read_application(file))
    assert errors_of(compiled.diagnostics) == []
    deployable(compiled)


def test_an_import_names_an_application_as_it_is_deployed(tmp_path: Path):
    file = tmp_path / "Main.spl"
    text = 'stream<int32 n> I = Import() { param applicationName : "com.acme.shop::Main"; streamId : "orders"; }'
    file.write_text(
        f'composite Main {{ graph {text} () as K = FileSink(I) {{ param file : "k"; closeMode : never; }} }}'
    )
    document, findings = read_tree(file)
    assert findings == []
    assert [node["parameters"].get("application") for node in document["graph"]] == ["com_acme_shop_Main", None]
    assert "closeMode" not in document["graph"][1]["parameters"]
