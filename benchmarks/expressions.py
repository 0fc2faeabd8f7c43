"""Filters and projections of flights and Nexmark: expressions of the product against the same ones in Polars.

Polars wraps around where a number is too large and fails at no tuple, so it pays for no check. A row of the table
compares processor time over one batch; `checked` rows are of expressions that may fail at a tuple. JSON lines are read
and written by both. The last row compiles a large application with expressions and one without.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable
from typing import Any, cast

import polars as pl
import pyarrow as pa

from benchmarks.harness import Row, seconds
from streams_orchestration.compiler.checking.checked import checked
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.expressions.times import UTC
from streams_orchestration.model.application import Application
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.operators.expressions.evaluation import evaluate, parse_expression
from streams_orchestration.operators.formats.json_reading import read_lines
from streams_orchestration.operators.formats.json_writing import write_json_objects
from streams_orchestration.operators.tuples.arrow_types import arrow_schema

FLIGHTS = "month int, carrier string, dep_delay double"
BIDS = "auction bigint, bidder bigint, price bigint, moment timestamp, state string, category bigint"
UNCHECKED = (
    (FLIGHTS, "dep_delay IS NOT NULL", "dep_delay IS NOT NULL"),
    (FLIGHTS, "dep_delay > 15", "dep_delay > 15"),
    (FLIGHTS, "upper(carrier)", "UPPER(carrier)"),
    (BIDS, "price * 0.908D", "price * 0.908e0"),
    (BIDS, "auction % 123 = 0", "auction % 123 = 0"),
    (BIDS, "state IN ('OR', 'ID', 'CA')", "state IN ('OR', 'ID', 'CA')"),
    (BIDS, "category = 10", "category = 10"),
    (BIDS, "unix_micros(moment) DIV 2000000", "CAST(moment AS BIGINT) // 2000000"),
    (
        BIDS,
        "CASE WHEN price > 500 THEN 'much' ELSE 'little' END",
        "CASE WHEN price > 500 THEN 'much' ELSE 'little' END",
    ),
)
CHECKED = (
    (BIDS, "price + bidder", "price + bidder"),
    (BIDS, "price * 2 - bidder", "price * 2 - bidder"),
    (BIDS, "CAST(price AS INT)", "CAST(price AS INT)"),
)
"""Schema, expression, and the one of Polars that gives the same values here."""
JSON = "auction bigint, bidder int, price double, state string"


def batch(schema: pa.Schema, count: int) -> pa.RecordBatch:
    """Return tuples whose values repeat; every ninth number is missing."""
    texts = ["OR", "UA", "CA", "AA", "WA", "ID"]
    columns: list[pa.Array] = []
    for number, field in enumerate(schema):
        cycle = itertools.islice(itertools.cycle(range(1, 998 + number)), count)
        if pa.types.is_string(field.type):
            columns.append(pa.array([texts[value % 6] for value in cycle]))
        elif pa.types.is_timestamp(field.type):
            columns.append(pa.array([value * 1_000_003 for value in cycle], pa.int64()).cast(field.type))
        else:
            columns.append(pa.array([None if value % 9 == 0 else value for value in cycle], field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def in_polars(text: str, tuples: pa.RecordBatch) -> Callable[[], Any]:
    """Return what evaluates an expression of Polars for a batch, to an Arrow array."""
    expression = pl.sql_expr(text)
    names = list(dict.fromkeys(expression.meta.root_names()))

    def run() -> Any:
        frame = cast("pl.DataFrame", pl.from_arrow(tuples.select(names)))
        return frame.select(expression.alias("value"))["value"].to_arrow()

    return run


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios of the processor times of expressions over a batch."""
    count, result = 100_000 if quick else 1_000_000, list[Row]()
    for cases, target in ((UNCHECKED, 0.95), (CHECKED, 0.6)):
        ours, theirs = 0.0, 0.0
        for ddl, text, other in cases:
            schema = arrow_schema(ddl)
            tuples = batch(schema, count)
            expression, peer = parse_expression(text, schema, "p", UTC), in_polars(other, tuples)
            assert evaluate(expression, tuples).to_pylist()[:1000] == peer().to_pylist()[:1000], text
            own, polars = seconds(lambda e=expression, t=tuples: evaluate(e, t), peer)
            ours, theirs = ours + own, theirs + polars
            result.append(Row(f"{text}: Polars / ours", polars, "s", own, at_least=True))
        what = "all of these" if cases is UNCHECKED else "all that are checked"
        result.append(Row(f"{what}: Polars / ours", theirs, "s", ours, target, at_least=True))
    return [*result, *json_lines(count), compiled(2_000 if quick else 20_000)]


def written(tuples: pa.RecordBatch) -> bytes:
    """Return a batch as JSON lines, as a FileSink writes them."""
    file = io.BytesIO()
    write_json_objects(file, tuples)
    return file.getvalue()


def json_lines(count: int) -> list[Row]:
    """Return the ratios of the processor times of writing a batch as JSON lines and of reading it back."""
    schema = arrow_schema(JSON)
    tuples = batch(schema, count)
    frame = cast("pl.DataFrame", pl.from_arrow(tuples))
    content = written(tuples)
    assert read_lines(content, count, schema).equals(tuples)
    types = frame.schema
    read = seconds(lambda: read_lines(content, count, schema), lambda: pl.read_ndjson(content, schema=types))
    write = seconds(lambda: written(tuples), frame.write_ndjson)
    return [
        Row(f"JSON lines, {what}: Polars / ours", theirs, "s", ours, at_least=True)
        for what, (ours, theirs) in (("read", read), ("written", write))
    ]


def application(operators: int, *, expressions: bool) -> Application:
    """Return an application of chains of 100 Functors, each with two expressions of its own, or with none."""
    graph: list[dict[str, Any]] = []
    for number in range(operators):
        before = "Source" if number % 100 == 0 else f"F{number - 1}"
        given = {"filter": f"n <> {number}", "output": {"m": f"(n + {number}) % 1000"}} if expressions else {}
        graph.append({"name": f"F{number}", "operator": "Functor", "inputs": [before], "parameters": given,
                      "outputs": [{"stream": f"F{number}", "schema": "n bigint, m bigint"}]})  # fmt: skip
    source = {"name": "Source", "operator": "Beacon", "parameters": {"iterations": 1},
              "outputs": [{"stream": "Source", "schema": "n bigint, m bigint"}]}  # fmt: skip
    ends = [f"F{number}" for number in range(operators) if number % 100 == 99]
    last = {"name": "Out", "operator": "FileSink", "inputs": [ends], "parameters": {"file": "out.csv"}}
    return application_from_mapping({"specVersion": 1, "application": "many", "graph": [source, *graph, last]})


def compiled(operators: int) -> Row:
    """Return the processor time of compiling and checking an application with expressions, against one without."""
    given, bare = (application(operators, expressions=each) for each in (True, False))
    own, without = seconds(
        lambda: checked(compile_application(given)), lambda: checked(compile_application(bare)), repeat=2
    )
    return Row(f"{operators:,} operators with two expressions each compile: with / without", own, "s", without)
