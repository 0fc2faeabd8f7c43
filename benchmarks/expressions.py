"""Filters and projections of flights and Nexmark: expressions of the product against the same ones in Polars.

Polars wraps around where a number is too large and fails at no tuple, so it pays for no check. A row of the table
compares processor time over one batch; `checked` rows are of expressions that may fail at a tuple.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, cast

import polars as pl
import pyarrow as pa

from benchmarks.harness import Row, seconds
from streams_orchestration.expressions.times import UTC
from streams_orchestration.operators.arrow_types import arrow_schema
from streams_orchestration.operators.expressions import evaluate, parse_expression

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
    """Processor time of expressions over a batch."""
    count, result = 100_000 if quick else 1_000_000, list[Row]()
    for cases, target in ((UNCHECKED, 0.95), (CHECKED, 0.9)):
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
    return result
