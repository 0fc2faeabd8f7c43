"""Operators run expressions and logic of SPL that stand in a spec."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.builder import Application
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.operators.standard.custom import Custom
from streams_orchestration.operators.testing import OperatorHarness

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
