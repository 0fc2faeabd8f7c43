"""Operators run expressions and logic of SPL that stand in a spec."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.builder import Application
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.operators.errors.errors import DataError, TupleError
from streams_orchestration.operators.standard.transformation.custom import Custom
from streams_orchestration.operators.standard.transformation.custom_source import CustomSource
from streams_orchestration.operators.standard.transformation.filter import Filter
from streams_orchestration.operators.testing import OperatorHarness

PRINTS = 'printString((rstring) n + " "); if (n == 2) println("two");'
"""Logic whose last line has no end."""
SPEC = """
specVersion: 1
application: numbers
graph:
  - name: Src
    operator: FileSource
    parameters: {file: numbers.csv}
    outputs: [{stream: Src, schema: "n int NOT NULL, s string NOT NULL"}]
  - name: Odd
    operator: Functor
    inputs: [Src]
    outputs: [{stream: Odd, schema: "n int NOT NULL, s string NOT NULL, seen int NOT NULL"}]
    parameters:
      filter: {spl: "Src.n % 2 == 1", at: "Main.spl:9:22"}
      output: {s: {spl: "upper(s)"}, seen: {spl: "seen"}}
      spl: {state: "mutable int32 seen = 0;", onTuple: {0: "seen++;"}, inputs: {Src: ""}, at: "Main.spl:8:48"}
  - name: Groups
    operator: Custom
    inputs: [Odd]
    outputs: [{stream: Groups, schema: "w string NOT NULL, c int NOT NULL, l array<int> NOT NULL"}]
    parameters:
      spl:
        state: "mutable map<rstring, list<int32>> m = {}; mutable int32 total = 10l;"
        functions: ["int32 twice(int32 x) { return 2 * x; }",
                    "void add(mutable list<int32> l, int32 x) { appendM(l, twice(x)); }"]
        onTuple:
          0: |
            {
              rstring k = n % 3 == 0 ? "three" : "other";
              if (!(k in m)) { m[k] = (list<int32>) []; }
              add(m[k], n);
              total += seen;
              submit({w = k, c = total, l = m[k]}, Groups);
            }
        onPunct: {0: "if (currentPunct() == Sys.FinalMarker) submit({w = (rstring) m, c = size(m), l = [1]}, Groups);"}
        at: "Main.spl:20:5"
  - name: Out
    operator: FileSink
    inputs: [Groups]
    parameters: {file: out.csv}
"""
EXPECTED = [
    {"w": "other", "c": 12, "l": [2]},
    {"w": "three", "c": 16, "l": [6]},
    {"w": "other", "c": 22, "l": [2, 10]},
    {"w": "other", "c": 30, "l": [2, 10, 14]},
    {"w": '{"other":[2,10,14],"three":[6]}', "c": 2, "l": [1]},
]
ROWS = [{"n": n, "s": f"w{n}"} for n in range(8)]


def application(path: Path, spec: str = SPEC) -> Application:
    file = path / "numbers.yaml"
    file.write_text(spec, encoding="utf-8")
    return Application.from_spec(file)


@pytest.mark.parametrize("batch", [1, 3, 1000])
def test_logic_gives_the_same_in_batches_of_every_size(tmp_path: Path, batch: int):
    results = application(tmp_path).test({"Src": ROWS}, batch=batch)
    assert results["Out"].to_pylist() == EXPECTED


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("Src.n % 2 == 1", "Src.m % 2 == 1", ["Main.spl:9:26", "m"]),
        ("Src.n % 2 == 1", "Src.n % 2l == 1", ["Main.spl:9:2", "int32 and int64"]),
        ("seen++;", "seem++;", ["Main.spl:8:48", "seem"]),
        ("total += seen;", "total += w;", ["Main.spl:24:", "w"]),
    ],
)
def test_a_mistake_is_an_error_at_its_place(tmp_path: Path, before: str, after: str, words: list[str]):
    with pytest.raises(ApplicationError) as raised:
        application(tmp_path, SPEC.replace(before, after)).test({"Src": ROWS})
    assert all(word in str(raised.value) for word in words)


CUSTOM: dict[str, Any] = {
    "spl": {
        "state": "mutable map<rstring, int32> counts = {}; mutable list<int32> last = []; mutable float64 sum = 0.0;",
        "onTuple": {
            "0": "{ if (!(s in counts)) counts[s] = 0; counts[s]++; appendM(last, n); sum += 0.1;"
            " if (n == 5) { clearM(last); removeM(counts, s); }"
            " else submit({s = s, c = counts[s], l = last, f = sum}, Out); }"
        },
    }
}


@pytest.mark.parametrize("cut", range(9))
def test_state_is_restored_anywhere(cut: int):
    rows = [(n, "ab"[n % 2]) for n in range(8)]
    inputs = ["n int NOT NULL, s string NOT NULL"]
    outputs = ["s string NOT NULL, c int NOT NULL, l array<int> NOT NULL, f double NOT NULL"]

    def harness() -> OperatorHarness:
        return OperatorHarness(Custom, inputs, outputs, parameters=CUSTOM)

    divided = harness().send(rows[:cut])
    divided.restart(divided.checkpoint())
    assert divided.send(rows[cut:]).rows() == harness().send(rows).rows()


TEXTS = {
    "a map whose keys go and come": (
        "map<rstring, int32>",
        "if (n % 3 == 0) removeM(x, (rstring) (n % 5)); x[(rstring) (n % 5)] = n;",
    ),
    "a set whose elements go and come": ("set<list<int32>>", "removeM(x, [n % 3]); insertM(x, [n % 3, n % 2]);"),
    "a map that is assigned in another order": (
        "map<int32, int32>",
        "x = n % 2 == 0 ? {1 : 1, 2 : 2} : {2 : 2, 1 : 1};",
    ),
    "zeros and NaN with a sign": (
        "map<int32, list<float64>>",
        "mutable float64 zero = 0.0; x[n % 2] = n % 3 == 0 ? [0.0] : [-zero, 1.0 / zero - 1.0 / zero];",
    ),
    "a set of floats": ("set<float64>", "mutable float64 z = 0.0; insertM(x, -z); insertM(x, 1.0 / z - 1.0 / z);"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_the_text_of_a_variable_is_the_same_after_restarts(case: str):
    type_, change = TEXTS[case]
    body = f"{{ {change} submit({{s = (rstring) x}}, Out); }}"
    parameters = {"spl": {"state": f"mutable {type_} x;", "onTuple": {"0": body}}}

    def harness() -> OperatorHarness:
        return OperatorHarness(Custom, ["n int NOT NULL"], ["s string NOT NULL"], parameters=parameters)

    rows = [(n,) for n in range(12)]
    restarted = harness()
    for row in rows:
        restarted.send([row]).restart()
    assert restarted.rows() == harness().send(rows).rows()


@pytest.mark.parametrize(
    ("column", "type_", "rows", "words"),
    [
        ("string NOT NULL", "decimal64", [("1.5",), ("x",)], "x cannot be read: 'x' is not a decimal number"),
        ("array<string> NOT NULL", "list<rstring>", [(["a"],), (["b", None],)], "type rstring is null"),
    ],
)
def test_a_value_that_is_none_of_its_type_is_the_failure_of_its_tuple(
    column: str, type_: str, rows: list[Any], words: str
):
    logic = {"onTuple": {"0": "submit({s = (rstring) x}, Out);"}, "inputs": {"In0": f"tuple<{type_} x>"}}
    harness = OperatorHarness(Custom, [f"x {column}"], ["s string NOT NULL"], parameters={"spl": logic})
    harness.send(rows[:1])
    with pytest.raises(TupleError) as raised:
        harness.send(rows)
    assert raised.value.position == 1
    assert words in str(raised.value.__cause__)


SEEN = {"state": "mutable int32 seen = 0;", "onTuple": {"0": "seen += n;"}, "inputs": {"In": ""}}
FILTERS: dict[str, tuple[dict[str, Any], list[list[int]]]] = {
    "a condition over the state": ({"filter": {"spl": "seen % 2 == 0"}, "spl": SEEN}, [[0, 3, 4, 7], [1, 2, 5, 6]]),
    "logic alone": ({"spl": SEEN}, [[*range(8)], []]),
    "functions alone": (
        {"filter": {"spl": "odd(n)"}, "spl": {"functions": ["boolean odd(int32 x) { return x % 2 == 1; }"]}},
        [[1, 3, 5, 7], [0, 2, 4, 6]],
    ),
    "logic for marks": (
        {"filter": {"spl": "seen == 0"}, "spl": SEEN | {"onTuple": {}, "onPunct": {"0": "seen = 1;"}}},
        [[0, 1, 2, 3], [4, 5, 6, 7]],
    ),
}


@pytest.mark.parametrize("cut", [0, 3, 5])
@pytest.mark.parametrize("case", FILTERS)
def test_a_filter_runs_its_logic_before_its_condition_and_keeps_its_variables(case: str, cut: int):
    parameters, expected = FILTERS[case]
    harness = OperatorHarness(Filter, ["n int NOT NULL"], ["n int NOT NULL"] * 2, parameters=parameters)
    for n in range(8):
        if n == cut:
            harness.restart(harness.checkpoint())
        if n == 4:
            harness.mark()
        harness.send([(n,)])
    assert [[row[0] for row in harness.rows(port)] for port in range(2)] == expected


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"filter": {"spl": "n"}, "spl": SEEN}, ["filter", "int32", "boolean"]),
        ({"filter": "n > 1", "spl": SEEN}, ["filter", "with logic in SPL", "expressions in SPL"]),
        ({"onError": "skip", "spl": SEEN}, ["onError", "skip", "logic"]),
    ],
)
def test_parameters_that_do_not_go_with_logic_are_refused(parameters: dict[str, Any], words: list[str]):
    with pytest.raises(ValueError, match=".*".join(words)):
        OperatorHarness(Filter, ["n int NOT NULL"], ["n int NOT NULL"], parameters=parameters)


def test_a_last_line_without_an_end_is_printed_at_the_end(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO)
    logic = {"onTuple": {"0": f"{{ {PRINTS} }}"}, "onPunct": {"0": 'printString("!");'}}
    bench = OperatorHarness(Custom, ["n int NOT NULL"], parameters={"spl": logic}).send([(1,), (2,), (3,)]).mark()
    printed = [each.getMessage() for each in caplog.records]
    bench.end()
    assert (printed, caplog.messages) == (["1 2 two"], ["1 2 two", "3 !!"])


def test_a_last_line_of_a_source_without_an_end_is_printed_at_the_end(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO)
    logic = {"onProcess": "for (int32 n in [1, 2, 3]) { " + PRINTS + " }"}
    OperatorHarness(CustomSource, [], ["n int NOT NULL"], parameters={"spl": logic}).produce()
    assert caplog.messages == ["1 2 two", "3 "]


def test_an_initialiser_without_a_value_is_a_fault_of_the_data():
    logic = {"state": {"spl": "list<int32> none = []; mutable int32 first = none[0];"}, "onTuple": {0: "first++;"}}
    with pytest.raises(DataError):
        OperatorHarness(Filter, ["n int NOT NULL"], ["n int NOT NULL"], parameters={"spl": logic})


def test_a_null_within_a_list_is_a_fault_of_the_data():
    logic = {"onTuple": {0: "submit({n = size(l)}, Out);"}}
    harness = OperatorHarness(Custom, ["l array<int> NOT NULL"], ["n int NOT NULL"], parameters={"spl": logic})
    with pytest.raises(TupleError) as raised:
        harness.send([([1, None],)])
    assert isinstance(raised.value.__cause__, DataError)
    assert "int32 is null" in str(raised.value.__cause__)
