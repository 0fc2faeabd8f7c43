"""Window markers: every operator hands them on, makes its own, or is one behind which no window can wait for them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.model.standard import STANDARD as MODELS
from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.standard import STANDARD
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.runtime.applications import compiled, node, published, sink, source
from streams_orchestration_tests.runtime.local import LocalApplication

ROW = "k string, n bigint"
ROWS = [("a", 1), ("b", 2)]
BYTES = "data binary"
TIMED = "t timestamp"
OPERATORS: dict[str, dict[str, Any]] = {
    "Aggregate": {"window": "tumbling, count(1)", "groupBy": ["k"], "output": {"n": "Sum(n)"}},
    "Barrier": {"inputs": [ROW, ROW], "outputs": ["m bigint"], "output": {"m": "in0_n"}},
    "CharacterTransform": {"inputs": [BYTES], "outputs": [BYTES], "convert": {"data": ["utf-8", "utf-16"]},
                           "rows": [(b"a",)]},
    "Compress": {"inputs": [BYTES], "outputs": [BYTES], "compression": "gzip", "flushOnPunct": True,
                 "rows": [(b"a",)]},
    "Custom": {"function": "streams_orchestration_tests.operators.custom_functions:numbered"},
    "DeDuplicate": {},
    "Decompress": {"inputs": [BYTES], "outputs": [BYTES], "compression": "gzip", "flushOnPunct": True,
                   "rows": [(gzip.compress(b"a"),)]},
    "Delay": {"inputs": [TIMED], "outputs": [TIMED], "delay": 0, "timeAttribute": "t", "rows": []},
    "DynamicFilter": {"inputs": [ROW, "k string"], "key": "k", "addKey": "k"},
    "Filter": {"filter": "n > 0"},
    "Format": {"outputs": [BYTES], "format": "csv"},
    "Functor": {},
    "Gate": {"inputs": [ROW, "count int"], "maxUnackedTupleCount": 10},
    "Join": {"inputs": [ROW, "k string, m bigint"], "window": "sliding, count(10)", "equalityLHS": ["k"],
             "equalityRHS": ["k"], "outputs": ["n bigint, m bigint"], "windowMarkers": True},
    "Merge": {"inputs": [ROW, ROW], "orderBy": "n"},
    "Pair": {"inputs": [ROW, ROW]},
    "Parse": {"inputs": [BYTES], "format": "csv", "rows": [(b"a,1\n",)]},
    "Punctor": {"punctuate": "n = 1", "position": "after"},
    "ReplayableStart": {},
    "Sort": {"window": "tumbling, count(1)", "sortBy": ["n"]},
    "Split": {"index": "n"},
    "Switch": {"inputs": [ROW, "closed boolean"], "status": "closed", "initialStatus": True},
    "ThreadedSplit": {},
    "Throttle": {"rate": 1e9},
    "Union": {"inputs": [ROW, ROW]},
    "XMLParse": {"inputs": ["d string"], "outputs": ["x string"], "trigger": "/a", "paths": {"p": "."},
                 "output": {"x": "p"}, "rows": [("<a/>",)]},
}  # fmt: skip
"""Operator -> parameters; `inputs`, `outputs` and `rows` of it where others go in or come out."""
ELSEWHERE = frozenset(("DataFrame", "Lookup", "Sql"))
"""Operators that need files or Spark."""
SOURCES = {"Beacon", "FileSource", "PostgresChangeSource", "SqlSource"}
"""Sources that make markers, which tests of their own show."""


def bench_of(name: str) -> tuple[Bench, list[Any]]:
    given = dict(OPERATORS[name])
    inputs, outputs, rows = given.pop("inputs", [ROW]), given.pop("outputs", [ROW]), given.pop("rows", ROWS)
    return Bench(import_operator(STANDARD[name]), inputs, outputs, **given), rows


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_an_operator_treats_window_markers_as_its_model_says(name: str):
    model = MODELS[name].output(0)
    bench, rows = bench_of(name)
    marks = bench.send(rows).mark().items().count(Punctuation.WINDOW)
    if model.preserves_window_punctuation:
        assert bench.operator.passes_marks or marks == 1, "it is handed on, by the runtime or by the operator"
    elif model.generates_window_punctuation:
        assert marks or name in ("Join", "Pair"), "it makes some, which tuples of one port alone do not show"
    else:
        assert marks == 0


def test_all_operators_are_in_the_table():
    implemented = {name for name in STANDARD if MODELS[name].inputs and MODELS[name].outputs}
    assert implemented - {"FileSource", "FileSink"} == OPERATORS.keys() | ELSEWHERE
    sources = {name for name in STANDARD if name.endswith("Source") or name in ("Beacon", "DirectoryScan")}
    assert {name for name in sources if MODELS[name].output(0).generates_window_punctuation} == SOURCES


def test_a_pair_makes_a_marker_behind_it():
    bench, rows = bench_of("Pair")
    assert bench.send(rows[:1], 0).send(rows[:1], 1).items().count(Punctuation.WINDOW) == 1


CLOSED_BY_MARKERS = {"window": "tumbling, punct()", "output": {"n": "Count()"}}


@pytest.mark.parametrize("custom", [False, True])
@pytest.mark.parametrize("name", ["HttpSource", "KafkaSource", "RedisSource", "DeltaSource"])
def test_a_window_that_no_marker_reaches_is_named_by_the_compiler(tmp_path: Path, name: str, custom: bool):
    graph = [
        source("S", tmp_path) | {"operator": name, "parameters": {}},
        node("C", "Custom", "S", parameters=OPERATORS["Custom"]),
        node("W", "Aggregate", "C" if custom else "S", parameters=CLOSED_BY_MARKERS),
    ]
    try:
        found = compiled(graph).diagnostics
    except ApplicationError as error:
        found = error.diagnostics
    assert [each.code for each in found if each.operator == "W" and each.code != "SO0110"] == [
        "SO0308" if custom else "CDISP0111E"
    ]


SUBMITS = {"onTuple": {"0": "submit(P, C);"}}
MARKS = {**SUBMITS, "onPunct": {"0": "if (currentPunct() == Sys.WindowMarker) submit(Sys.WindowMarker, C);"}}


NAMED = {
    "onTuple": {"0": '{ // WindowMarker\n /* Sys.WindowMarker */ submit({k = k + "WindowMarker", n = n}, C); }'},
    "onPunct": {"0": "if (currentPunct() == Sys.WindowMarker) { n++; }"},
    "state": "mutable int32 n = 0;",
}
FINAL = {**SUBMITS, "onPunct": {"0": "submit(Sys.FinalMarker, C);"}}
AS_IT_CAME = {**SUBMITS, "onPunct": {"0": "submit(currentPunct(), C);"}}
CHOSEN = {"onTuple": {"0": "{ enum{WindowMarker, FinalMarker} m = Sys.WindowMarker; submit(m, (uint32) n); }"}}
ELSEWHERE_ONLY = {"onTuple": {"3": "submit(P, C);"}}
"""Logic for a port that does not exist, which is an error of its own."""


@pytest.mark.parametrize(
    ("logic", "warned"),
    [(SUBMITS, True), (MARKS, False), (NAMED, True), (FINAL, True), (AS_IT_CAME, False), (CHOSEN, False),
     (ELSEWHERE_ONLY, False)],
)  # fmt: skip
def test_a_custom_in_spl_passes_markers_on_only_if_its_logic_submits_them(
    tmp_path: Path, logic: dict[str, Any], *, warned: bool
):
    graph = [
        source("S", tmp_path / "rows.csv"),
        node("P", "Punctor", "S", parameters={"punctuate": "true", "position": "after"}),
        node("C", "Custom", "P", parameters={"spl": logic}),
        node("W", "Aggregate", "C", parameters=CLOSED_BY_MARKERS),
    ]
    found = [each for each in compiled(graph).diagnostics if each.operator == "W" and each.code != "SO0110"]
    assert [each.code for each in found] == ["SO0308"] * warned
    assert all("the logic of C submits no window markers" in each.message for each in found)


@pytest.mark.parametrize(("port", "warned"), [("A", False), ("B", True)])
def test_markers_of_one_port_are_not_those_of_another(tmp_path: Path, port: str, *, warned: bool):
    logic = {"onTuple": {"0": "submit(Sys.WindowMarker, A);"}, "outputs": {"A": "", "B": ""}}
    custom = node("C", "Custom", "S", parameters={"spl": logic})
    custom["outputs"] = [{"stream": "A", "schema": ROW}, {"stream": "B", "schema": ROW}]
    graph = [
        source("S", tmp_path / "rows.csv"),
        custom,
        node("W", "Aggregate", port, parameters=CLOSED_BY_MARKERS),
    ]
    found = [each for each in compiled(graph).diagnostics if each.operator == "W" and each.code != "SO0110"]
    assert [each.code for each in found] == ["SO0308"] * warned


def test_windows_behind_a_function_are_closed_by_the_markers_in_front_of_it(tmp_path: Path):
    files = tmp_path / "rows"
    files.mkdir()
    for number, count in enumerate((2, 3)):
        (files / f"{number}.csv").write_text("k,n\n" + "a,1\n" * count)
    graph = [
        {"name": "Rows", "operator": "FileSource", "outputs": [{"stream": "Rows", "schema": ROW}],
         "parameters": {"file": str(files)}, "annotations": {"consistent": {"trigger": "periodic", "period": 1.0}}},
        {"name": "Mapped", "operator": "Custom", "inputs": ["Rows"], "outputs": [{"stream": "Mapped", "schema": ROW}],
         "parameters": OPERATORS["Custom"]},
        {"name": "Counts", "operator": "Aggregate", "inputs": ["Mapped"],
         "outputs": [{"stream": "Counts", "schema": "n bigint"}],
         "parameters": CLOSED_BY_MARKERS},
        sink("Out", "Counts"),
    ]  # fmt: skip
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=1), 10)
    local.run()
    assert published(local.published("Out")) == [(2,), (3,)]
