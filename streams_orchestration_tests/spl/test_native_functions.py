"""Native functions: Python functions of the companion are called with Python values, and their results are checked."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.builder.testing import run_in_process
from streams_orchestration.cli.converting import convert
from streams_orchestration.compiler.checking.checked import checked
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compiling import compile_read, compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.reading import read_application, read_tree
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic
from streams_orchestration.runtime.stepping import StepError
from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.python_values import from_python, to_python
from streams_orchestration.spl.types.written import type_of_text

MODEL = """<functionModel xmlns="urn:function"><functionSet><functions>
  <function><prototype>public rstring code(rstring name)</prototype></function>
  <function><prototype><![CDATA[<any T> public stateful int32 times(T what)]]></prototype></function>
  <function><prototype><![CDATA[public int32 split(rstring text, mutable list<rstring> parts, mutable int32 n)]]>
  </prototype></function>
  <function><prototype><![CDATA[public void drop(mutable list<rstring> parts)]]></prototype></function>
  <function><prototype><![CDATA[public map<rstring, timestamp> when(list<tuple<int32 a>> all)]]></prototype></function>
</functions></functionSet></functionModel>"""
MAIN = """namespace app;
use com.acme::*;
composite Main {
  graph
    stream<int32 n, rstring name> Src = Beacon() {
      param iterations : 4;
      output Src : n = (int32) IterationCount(), name = "Name" + (rstring) (IterationCount() % 2ul);
    }
    stream<rstring code, int32 times> Coded = Functor(Src) {
      param filter : length(code(name)) > 0;
      output Coded : code = code(name), times = times(name);
    }
    stream<int32 n, list<rstring> parts, timestamp at> Placed = Custom(Src) {
      logic onTuple Src : {
        mutable list<rstring> parts = ["-"];
        mutable int32 count = 0;
        int32 many = split(name, parts, count);
        drop(parts);
        submit({n = many + count, parts = parts, at = when([{a = n}])["at"]}, Placed);
      }
    }
    () as Codes = FileSink(Coded) { param file : "coded.csv"; }
    () as Places = FileSink(Placed) { param file : "placed.csv"; }
}
"""
PYTHON = """import datetime as dt

CALLS, SEEN = [], {}


def code(name):
    CALLS.append(name)
    return name[0] + name[-1]


def times(what):
    SEEN[what] = SEEN.get(what, 0) + 1
    return SEEN[what]


def split(text, parts, n):
    return 10, [*parts, text[:2], text[2:]], n + len(text)


def drop(parts):
    return parts[1:]


def when(all):
    return {"at": dt.datetime(2024, 1, 1 + all[0]["a"], tzinfo=dt.UTC)}
"""
CODED = [("N0", 1), ("N1", 1), ("N0", 2), ("N1", 2)]


def application(directory: Path, module: str, **python: str | None) -> Path:
    """Write an application with its toolkit, and a companion that names functions of a module; None leaves one out."""
    model = directory / "toolkit" / "com.acme" / "native.function" / "function.xml"
    model.parent.mkdir(parents=True)
    model.write_text(MODEL)
    (directory / "app").mkdir()
    (directory / "app" / f"{module}.py").write_text(PYTHON)
    main = directory / "app" / "Main.spl"
    main.write_text(MAIN)
    named = {name: f"{{python: '{module}:{name}'}}" for name in ("code", "times", "split", "drop", "when")} | python
    entries = "".join(f"  com.acme::{name}: {entry}\n" for name, entry in named.items() if entry is not None)
    companion = f"toolkits: [../toolkit]\nfunctions:\n{entries}" if entries else "toolkits: [../toolkit]\n"
    main.with_name("Main.spl.yaml").write_text(companion)
    return main


def results(file: Path) -> dict[str, list[dict[str, Any]]]:
    document, _ = read_tree(file)
    return {name: table.to_pylist() for name, table in run_in_process(document, {}).items()}


def test_functions_of_python_run_in_expressions_and_logic(tmp_path: Path):
    found = results(application(tmp_path, "natives_that_run"))
    assert sorted((row["code"], row["times"]) for row in found["Codes"]) == sorted(CODED)
    assert sorted((row["n"], row["parts"], row["at"].day) for row in found["Places"]) == [
        (15, ["Na", "me0"], 1),
        (15, ["Na", "me0"], 3),
        (15, ["Na", "me1"], 2),
        (15, ["Na", "me1"], 4),
    ]


def test_the_converted_application_calls_the_same_functions(tmp_path: Path):
    spec = tmp_path / "app" / "converted.yaml"
    assert convert(application(tmp_path, "natives_that_are_converted"), Options(), spec) == 0
    assert sorted((row["code"], row["times"]) for row in results(spec)["Codes"]) == sorted(CODED)


def test_a_pure_function_is_called_once_for_equal_values(tmp_path: Path):
    module = "natives_that_are_pure"
    results(application(tmp_path, module, code=f"{{python: '{module}:code', pure: true}}"))
    calls = __import__(module).CALLS
    assert sorted(calls) == ["Name0", "Name0", "Name1", "Name1"]  # once in the filter, once in the output


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise KeyError(name)", ["natives_{}:code raised KeyError: 'Name0'"]),
        ("return 5", ["natives_{}:code returned a wrong value: its result: 5 (int) is not a valid rstring"]),
    ],
)
def test_an_error_names_the_operator_the_line_the_function_and_the_tuple(tmp_path: Path, body: str, words: list[str]):
    module = f"natives_{body[:5]}n"
    main = application(tmp_path, module)
    (tmp_path / "app" / f"{module}.py").write_text(PYTHON.replace("return name[0] + name[-1]", body))
    with pytest.raises(StepError) as raised:
        results(main)
    text = str(raised.value)
    assert "operator Coded" in text
    assert f"{main}:10: com.acme::code: {words[0].format(body[:5] + 'n')}" in text
    assert "name = 'Name0'" in text


def test_a_function_that_is_not_pure_is_a_warning_in_a_consistent_region(tmp_path: Path):
    module = "natives_in_a_region"
    pure = f"{{python: '{module}:code', pure: true}}"
    main = application(tmp_path, module, code=pure, when=None)  # an error, so that all findings are reported
    region = "  graph\n    () as J = JobControlPlane() { }\n    @consistent(trigger = periodic, period = 1.0)\n"
    main.write_text(MAIN.replace("  graph\n", region))
    with pytest.raises(ApplicationError) as raised:
        deployable(compile_read(read_application(main)))
    found = [each for each in raised.value.diagnostics if each.code == "SO0721"]
    assert {(each.operator, each.severity, each.message.partition(" ")[0]) for each in found} == {
        ("Coded", "warning", "com.acme::times"),
        ("Placed", "warning", "com.acme::split"),
        ("Placed", "warning", "com.acme::drop"),
    }


def errors_here(main: Path) -> list[Diagnostic]:
    read = read_application(main)
    with pytest.raises(ApplicationError) as raised:
        deployable(compile_read(read))
    return [each for each in raised.value.diagnostics if each.severity == "error"]


def test_a_function_without_python_compiles_and_is_not_deployed(tmp_path: Path):
    main = application(tmp_path, "natives_without_python", code=None, split=None)
    (code, split) = read_application(main).diagnostics
    assert (code.code, code.severity, code.location) == ("SO0711", "warning", f"{main}:10:29")
    assert "Main.spl.yaml: functions: {com.acme::code: {python: package.module:name}}" in code.message
    assert split.location == f"{main}:17:22"
    found = errors_here(main)
    assert {(each.code, each.operator, each.location.partition(".spl:")[2]) for each in found} == {
        ("SO0711", "Coded", "10:22"),
        ("SO0711", "Coded", "11:29"),
        ("SO0711", "Placed", "14:13"),
    }


def test_a_function_that_is_not_there_has_the_signature_of_the_companion(tmp_path: Path):
    module = "natives_with_signatures"
    main = application(
        tmp_path, module, times=f"{{python: '{module}:times', signature: '<any T> int32 times(T what)'}}"
    )
    (tmp_path / "toolkit" / "com.acme" / "native.function" / "function.xml").unlink()
    companion = main.with_name("Main.spl.yaml")
    text = companion.read_text().replace("toolkits: [../toolkit]\n", "")
    for name, signature in {
        "code": "rstring code(rstring)",
        "split": "int32 split(rstring, mutable list<rstring>, mutable int32)",
        "drop": "void drop(mutable list<rstring>)",
        "when": "map<rstring, timestamp> when(list<tuple<int32 a>>)",
    }.items():
        text = text.replace(f"{module}:{name}'}}", f"{module}:{name}', signature: '{signature}'}}")
    companion.write_text(text)
    assert read_application(main).diagnostics == ()
    assert sorted((row["code"], row["times"]) for row in results(main)["Codes"]) == sorted(CODED)
    companion.write_text(text.replace(", signature: 'rstring code(rstring)'", ""))
    (finding,) = read_application(main).diagnostics
    assert (finding.code, finding.severity) == ("SO0711", "warning")
    assert "functions: {com.acme::code: {signature: TYPE code(TYPE, ...)}}" in finding.message
    assert {each.code for each in errors_here(main)} == {"SO0711"}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("nowhere_at_all:code", "the module cannot be imported"),
        ("{module}:cod", "the module has no cod; the nearest is code"),
        ("{module}:SEEN", "is not a function"),
        ("{module}:split", "cannot be called with 1 arguments"),
    ],
)
def test_python_that_cannot_be_called_is_found_when_compiling(tmp_path: Path, entry: str, words: str):
    module = "natives_that_are_wrong"
    main = application(tmp_path, module, code=f"'{entry.format(module=module)}'")
    with pytest.raises(ApplicationError) as raised:
        checked(compile_spec(main))
    first = raised.value.diagnostics[0]
    assert (first.code, first.severity, first.operator, first.location) == ("SO0711", "error", "Coded", f"{main}:10:22")
    assert words in first.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("functions: [a]", "functions is a mapping from names"),
        ("functions: {'a b': 'm:f'}", "a b: the name is written with its namespace"),
        ("functions: {'a::b': 'm.f'}", "a::b: python: a function is expected, package.module:name"),
        ("functions: {'a::b': [m]}", "a::b: a Python function is expected"),
        ("functions: {'a::b': {python: 'm:f', pur: true}}", "a::b: there is no key pur; the nearest is pure"),
        ("functions: {'a::b': {python: 'm:f', pure: 1}}", "a::b: pure: true or false is expected"),
        ("functions: {'a::b': {python: 'm:f', signature: 'int32'}}", "a::b: signature: one or more of"),
    ],
)
def test_mistakes_in_the_companion_are_found(tmp_path: Path, text: str, words: str):
    main = tmp_path / "Main.spl"
    main.write_text("composite Main { graph () as S = Custom() { } }")
    main.with_name("Main.spl.yaml").write_text(text)
    (finding,) = [each for each in read_application(main).diagnostics if each.code == "SO0009"]
    assert words in finding.message
    assert finding.location.startswith(f"{main}.yaml:1")


STAMP = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
NANOSECONDS = int(STAMP.timestamp()) * 10**9
VALUES = [
    ("int8", -128, -128),
    ("boolean", False, False),
    ("float64", 2.5, 2.5),
    ("rstring", "ä", "ä"),
    ("blob", b"ab", b"ab"),
    ("enum{a, b}", "b", "b"),
    ("timestamp", NANOSECONDS, STAMP),
    ("optional<int32>", None, None),
    ("list<timestamp>", [NANOSECONDS], [STAMP]),
    ("set<int32>", {1: None, 2: None}, {1, 2}),
    ("set<list<int32>>", {(1, 2): None}, [[1, 2]]),
    ("map<rstring, list<int32>>", {"a": [1]}, {"a": [1]}),
    ("map<list<int32>, int32>", {(1,): 2}, [([1], 2)]),
    ("tuple<int32 a, set<rstring> b>", {"a": 1, "b": {"x": None}}, {"a": 1, "b": {"x"}}),
]


@pytest.mark.parametrize(("written", "value", "python"), VALUES)
def test_a_value_goes_to_python_and_back(written: str, value: Any, python: Any):
    type_ = type_of_text(written)
    assert to_python(type_)(value) == python
    assert from_python(type_)(python) == value


@pytest.mark.parametrize(
    ("written", "python"),
    [
        ("int8", 128),
        ("int32", 1.0),
        ("int32", True),
        ("int32", None),
        ("uint32", -1),
        ("boolean", 1),
        ("float64", "1"),
        ("rstring", b"a"),
        ("rstring", "\ud800"),
        ("rstring[2]", "abc"),
        ("enum{a, b}", "c"),
        ("timestamp", 5),
        ("list<int32>", (value for value in (1, 2))),
        ("list<int32>", [1, None]),
        ("list<int32>[1]", [1, 2]),
        ("set<int32>", {1: 2}),
        ("map<rstring, int32>", [1]),
        ("tuple<int32 a>", {"a": 1, "b": 2}),
        ("tuple<int32 a>", {}),
    ],
)
def test_a_value_of_another_type_is_refused(written: str, python: Any):
    with pytest.raises(RunError):
        from_python(type_of_text(written))(python)


def test_functions_of_python_cannot_change_values_of_spl():
    value = {"a": [[1]]}
    python = to_python(type_of_text("tuple<list<list<int32>> a>"))(value)
    python["a"][0].append(2)
    assert value == {"a": [[1]]}


RECORDS = """use com.acme::*;
composite Main {
  graph
    stream<int32 n> Src = Beacon() { param iterations : 2; output Src : n = (int32) IterationCount(); }
    stream<rstring name, list<int32> all, int32 first> Records = Custom(Src) {
      logic state : int32 first = begin();
            onTuple Src : {
              mutable tuple<rstring name, list<int32> all> record = {};
              fill(record, n);
              submit({name = record.name, all = record.all, first = first}, Records);
            }
    }
    () as Out = FileSink(Records) { param file : "records.csv"; }
}
"""
FILLING = """BEGUN = []


def begin():
    BEGUN.append(1)
    return len(BEGUN)


def fill(record, n):
    assert record == {"name": "", "all": []}
    return {"name": f"number {n}", "all": [n]}
"""


def test_initialisers_run_once_and_no_check_runs_them(tmp_path: Path):
    main = tmp_path / "Main.spl"
    main.write_text(RECORDS)
    (tmp_path / "natives_that_begin.py").write_text(FILLING)
    main.with_name("Main.spl.yaml").write_text(
        """functions:
  com.acme::begin: {python: "natives_that_begin:begin", signature: "int32 begin()"}
  com.acme::fill:
    python: natives_that_begin:fill
    signature: void fill(mutable tuple<rstring name, list<int32> all> record, int32 n)
"""
    )
    deployable(compile_read(read_application(main)))
    assert __import__("natives_that_begin").BEGUN == []
    assert sorted(results(main)["Out"], key=str) == [
        {"name": "number 0", "all": [0], "first": 1},
        {"name": "number 1", "all": [1], "first": 1},
    ]


def test_empty_braces_are_a_tuple_of_defaults(tmp_path: Path):
    (tmp_path / "Main.spl").write_text(
        """composite Main {
  graph
    stream<int32 n> Src = Beacon() { param iterations : 1; }
    stream<int32 n, rstring s, list<int32> l> Made = Custom(Src) {
      logic onTuple Src : { submit({}, Made); mutable Made made = {}; made.n = 5; submit(made, Made); }
    }
    () as Out = FileSink(Made) { param file : "made.csv"; }
}
"""
    )
    assert results(tmp_path / "Main.spl")["Out"] == [{"n": 0, "s": "", "l": []}, {"n": 5, "s": "", "l": []}]
