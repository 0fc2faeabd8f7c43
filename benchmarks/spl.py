"""Programs of SPL against the same in SQL expressions, in a Custom in Python, and in a bare loop over dictionaries.

Each row filters tuples, writes a text in upper case and multiplies; the loops count as well. The processor time is that
of batches that are in memory, with Arrow in and out. The last row compiles an application of 500 lines.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from benchmarks.harness import Row, seconds
from streams_orchestration.compiler.checking.checked import checked
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.reading import load_application, read_tree
from streams_orchestration.operators.standard.transformation.custom import Custom
from streams_orchestration.operators.standard.transformation.functor import Functor
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.operators.tuples.batch import TupleBatch

SIZE = 20_000
INPUT = "n bigint NOT NULL, m bigint NOT NULL, x double NOT NULL, name string NOT NULL"
OUTPUT = "product bigint NOT NULL, upper string NOT NULL, y double NOT NULL, n bigint NOT NULL"
COUNTED = "product bigint NOT NULL, upper string NOT NULL, number bigint NOT NULL"
EXPRESSIONS: dict[str, tuple[str, dict[str, str], str, dict[str, str]]] = {
    "filter, texts and products": (
        *("n % 3 <> 0", {"product": "n * m", "upper": "upper(name)", "y": "x * 2.0D + 1.0D"}),
        *("In.n % 3l != 0l", {"product": "In.n * In.m", "upper": "upper(In.name)", "y": "In.x * 2.0 + 1.0"}),
    ),
    "comparisons": (
        *("n > 500 AND x < 0.5D", {"product": "m", "upper": "name", "y": "x"}),
        *("In.n > 500l && In.x < 0.5", {"product": "In.m", "upper": "In.name", "y": "In.x"}),
    ),
    "a choice and casts": (
        *("name = 'OR'", {"product": "CASE WHEN n > 500 THEN n ELSE m END", "upper": "name", "y": "CAST(n AS DOUBLE)"}),
        'In.name == "OR"',
        {"product": "In.n > 500l ? In.n : In.m", "upper": "In.name", "y": "(float64) In.n"},
    ),
}
"""For each case a filter and assignments in SQL, and the same in SPL."""
LOGIC = """if (In.n % 3l != 0l) {
  number++;
  submit({product = In.n * In.m, upper = upper(In.name), number = number}, Out);
}"""


def numbered(values: dict[str, Any], state: dict[str, Any]) -> dict[str, Any] | None:
    """Return the tuple that a Custom submits for a tuple, or None."""
    if values["n"] % 3 == 0:
        return None
    state["number"] = state.get("number", 0) + 1
    return {"product": values["n"] * values["m"], "upper": values["name"].upper(), "number": state["number"]}


def batch() -> TupleBatch:
    """Return tuples whose values repeat."""
    numbers = [number * 7919 % 1000 for number in range(SIZE)]
    columns = [
        pa.array(numbers),
        pa.array([number * 31 % 1000 for number in numbers]),
        pa.array([number * 17 % 1000 / 1000 for number in numbers]),
        pa.array([("OR", "Seattle", "New York City")[number % 3] for number in range(SIZE)]),
    ]
    return TupleBatch(pa.RecordBatch.from_arrays(columns, schema=arrow_schema(INPUT)))


def running(kind: Any, ddl: str, parameters: dict[str, Any], batches: int) -> Callable[[], list[Any]]:
    """Return what sends batches through an operator; it returns what the operator submits, each with its port."""
    harness, tuples = OperatorHarness(kind, [INPUT], [ddl], parameters=parameters), batch()

    def run() -> list[Any]:
        harness.sent.clear()
        for _ in range(batches):
            harness.operator.process(0, tuples)
        return list(harness.sent)

    return run


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios of the processor times of operators, and of compiling."""
    batches = 10 if quick else 40
    return [*by_columns(batches), *in_loops(batches), compiled()]


def by_columns(batches: int) -> list[Row]:
    """Return the ratios of functors in SPL to functors in SQL."""
    result = list[Row]()
    for what, (condition, output, spl_condition, spl_output) in EXPRESSIONS.items():
        sql = {"filter": condition, "output": output}
        spl = {"filter": {"spl": spl_condition}, "output": {name: {"spl": text} for name, text in spl_output.items()}}
        ours, theirs = (running(Functor, OUTPUT, each, batches) for each in (spl, sql))
        assert ours()[0][1].arrow.equals(theirs()[0][1].arrow), what
        own, other = seconds(ours, theirs, repeat=7)
        result.append(Row(f"Functor, {what}: SQL / SPL by columns", other, "s", own, 0.9, at_least=True))
    return result


def in_loops(batches: int) -> list[Row]:
    """Return the ratios of logic in SPL to a Custom in Python, and to a loop over dictionaries in memory."""
    ports = {"inputs": {"In": ""}, "outputs": {"Out": ""}}
    logic = {"state": "mutable int64 number = 0l;", "onTuple": {0: LOGIC}, **ports}
    spl = running(Custom, COUNTED, {"spl": logic}, batches)
    custom = running(Custom, COUNTED, {"onTuple": f"{__name__}:numbered"}, batches)
    given, state = batch().arrow.to_pylist(), dict[str, Any]()

    def bare() -> list[Any]:
        return [[found for row in given if (found := numbered(row, state))] for _ in range(batches)]

    assert spl()[0][1].arrow.to_pylist() == bare()[0]
    own, other, plain = seconds(spl, custom, bare, repeat=7)
    return [
        Row("Custom.onTuple in Python / logic in SPL", other, "s", own, 4, at_least=True),
        Row("a bare loop over dictionaries / logic in SPL", plain, "s", own, 0.7, at_least=True),
    ]


def application(functors: int) -> str:
    """Return an application in SPL with a chain of Functors, six lines each."""
    lines = ["composite Main {", "  graph", "    stream<int64 n, rstring name> F0 = Beacon() {"]
    lines += ["      param iterations : 10;", '      output F0 : n = (int64) IterationCount(), name = "a";', "    }"]
    for number in range(1, functors + 1):
        lines += [
            f"    stream<int64 n, rstring name> F{number} = Functor(F{number - 1}) {{",
            f"      param filter : n % {number + 1}l != {number}l;",
            f"      output F{number} :",
            f"        n = n * 2l + {number}l,",
            '        name = upper(name) + "x";',
            "    }",
        ]
    return "\n".join([*lines, f'    () as Out = FileSink(F{functors}) {{ param file : "out.csv"; }}', "}", ""])


def compiled() -> Row:
    """Compile 500 lines of SPL, and the spec in YAML that says the same."""
    with tempfile.TemporaryDirectory() as directory:
        source, spec = Path(directory, "Main.spl"), Path(directory, "main.yaml")
        source.write_text(application(82))
        document, diagnostics = read_tree(source)
        assert not diagnostics, diagnostics
        spec.write_text(yaml.safe_dump(json.loads(json.dumps(document))))
        paths = (source, spec)
        own, same = seconds(*(lambda path=path: checked(compile_application(load_application(path))) for path in paths))
    return Row("500 lines of SPL compile: more than the same in YAML / 0.1 s", own - same, "s", 0.1, 1)
