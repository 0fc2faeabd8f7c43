"""Attributes of unsigned integers and of times in nanoseconds, through expressions, texts, states and other systems."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.databases.columns import column_type, rows_of
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.standard.conversion.format import Format
from streams_orchestration.operators.standard.conversion.parse import Parse
from streams_orchestration.operators.standard.joining.join import Join
from streams_orchestration.operators.standard.transformation.deduplicate import DeDuplicate
from streams_orchestration.operators.standard.transformation.functor import Functor
from streams_orchestration.operators.tuples.arrow_types import (
    arrow_schema,
    batch_without_unsigned,
    ddl_without_unsigned,
    schema_ddl,
    schema_without_unsigned,
)
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench

BITS = {"a": 8, "b": 16, "c": 32, "d": 64}
DDL = "a utinyint, b usmallint, c uint, d ubigint, t timestamp_ns"
TIMES = st.integers(-(2**62), 2**62)
ROWS = st.lists(
    st.tuples(*(st.none() | st.integers(0, 2**bits - 1) for bits in BITS.values()), st.none() | TIMES), max_size=5
)
NOW = 1_700_000_000_123_456_789


def as_numbers(batch: TupleBatch) -> list[tuple[Any, ...]]:
    """Return the tuples, with times as nanoseconds."""
    columns = [
        (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
        for column in batch.arrow.columns
    ]
    return list(zip(*columns, strict=True))


def batch_of(rows: list[Any], ddl: str = DDL) -> TupleBatch:
    schema = arrow_schema(ddl)
    return TupleBatch.from_columns({name: [row[i] for row in rows] for i, name in enumerate(schema.names)}, schema)


def test_a_tuple_type_is_read_and_written_alike():
    assert schema_ddl(arrow_schema(f"{DDL}, n array<ubigint>, s struct<t: timestamp_ns>")).startswith(DDL)


@given(ROWS)
@examples(40)
def test_values_that_are_passed_on_are_exact(rows: list[Any]):
    named = f"{DDL}, e ubigint, u timestamp_ns"
    passing = Bench(Functor, [DDL], [named], output={"e": "d", "u": "t"}).send(batch_of(rows))
    found = [row for batch in passing.batches() for row in as_numbers(batch)]
    assert found == [(*row, row[3], row[4]) for row in rows]


def test_expressions_compute_in_the_next_wider_type():
    output = {
        "sum": "a + b", "less": "a - 1", "next": "c + 1", "high": "d > 9223372036854775807", "text": "string(d)",
        "cut": "CAST(d - 1 AS ubigint)", "micro": "t", "later": "t + INTERVAL 1 SECOND", "narrow": "n",
    }  # fmt: skip
    ddl = "sum int, less int, next uint, high boolean, text string, cut ubigint, micro timestamp, later timestamp_ns"
    functor = Bench(Functor, [f"{DDL}, n int"], [f"{ddl}, narrow utinyint"], output=output)
    functor.send(batch_of([(0, 65535, 2**32 - 2, 2**64 - 1, NOW, 200)], f"{DDL}, n int"))
    (row,) = as_numbers(functor.batches()[0])
    micro, later = NOW // 1000, NOW // 1000 * 1000 + 10**9
    assert row == (65535, -1, 2**32 - 1, True, str(2**64 - 1), 2**64 - 2, micro, later, 200)


@pytest.mark.parametrize(("expression", "kind"), [("n", "utinyint"), ("n * 300", "utinyint"), ("n - 1", "ubigint")])
def test_a_value_out_of_range_is_an_error_of_the_tuple(expression: str, kind: str):
    with pytest.raises(DataError, match=f"is beyond the range of {kind}"):
        Bench(Functor, ["n int"], [f"u {kind}"], output={"u": expression}).send([(-1,)])
    skipping = Bench(Functor, ["n int"], [f"u {kind}"], output={"u": expression}, onError="skip")
    assert len(skipping.send([(-1,), (-400,), (255,)]).rows()) == (expression != "n * 300")


def test_a_conversion_to_nanoseconds_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match="timestamp_ns is a type of attributes only"):
        Bench(Functor, ["s string"], ["t timestamp_ns"], output={"t": "CAST(s AS timestamp_ns)"})


@pytest.mark.parametrize("format", ["csv", "jsonl"])
@given(rows=ROWS)
@examples(25)
def test_texts_give_the_same_values(format: str, rows: list[Any]):
    written = Bench(Format, [DDL], ["line binary"], format=format, output={"line": "Output()"}).send(batch_of(rows))
    parsed = Bench(Parse, ["line binary"], [DDL], format=format).send([tuple(row) for row in written.rows()]).end()
    assert [row for batch in parsed.batches() for row in as_numbers(batch)] == rows


@pytest.mark.parametrize(("kind", "value", "most"), [("utinyint", 256, 255), ("ubigint", 2**64, 2**64 - 1)])
@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_a_text_out_of_range_is_named_with_the_range(format: str, kind: str, value: int, most: int):
    line = f'{{"u": {value}}}\n' if format == "jsonl" else f"{value}\n"
    with pytest.raises(DataError, match=f"is not a valid {kind}: it is out of the range 0 to {most}"):
        Bench(Parse, ["line binary"], [f"u {kind}"], format=format).send([(line.encode(),)]).end()


def test_windows_keys_and_sums_take_them():
    counting = Bench(
        Aggregate, ["d ubigint, t timestamp_ns"], ["d ubigint, n int, s ubigint, m timestamp_ns"],
        window="tumbling, time(1)", timeAttribute="t", groupBy=["d"], functions="streams",
        output={"n": "Count()", "s": "Sum(d)", "m": "Max(t)"},
    )  # fmt: skip
    rows = [(2**64 - 1, NOW), (2**64 - 1, NOW + 10**9), (2**64 - 1, NOW + 10**9 + 1)]
    counting.send(batch_of(rows, "d ubigint, t timestamp_ns")).restart().end()
    assert as_numbers(counting.batches()[0]) == [(2**64 - 1, 2, 2**64 - 2, NOW + 10**9)]
    of_spark = Bench(
        Aggregate, ["d ubigint"], ["s decimal(30, 0), m ubigint"], window="tumbling, punct()",
        output={"s": "Sum(d)", "m": "Max(d)"},
    )  # fmt: skip
    assert of_spark.send([(2**64 - 1,), (2,)]).mark().rows() == [(Decimal(2**64 + 1), 2**64 - 1)]
    seen = Bench(DeDuplicate, ["d ubigint, t timestamp_ns"], [None], key="d", delta=1, deltaAttribute="t")
    assert len(seen.send(batch_of(rows[:2], "d ubigint, t timestamp_ns")).rows()) == 1
    joined = Bench(
        Join, ["d ubigint", "d ubigint"], ["e ubigint"], window="sliding, count(2)", output={"e": "lhs_d"},
        equalityLHS=["d"], equalityRHS=["d"],
    )  # fmt: skip
    assert joined.send([(2**64 - 1,), (1,)]).send([(2**64 - 1,)], 1).rows() == [(2**64 - 1,)]


def test_systems_without_unsigned_types_get_the_next_wider_ones():
    assert ddl_without_unsigned(f"{DDL} NOT NULL, m map<uint, array<utinyint>>") == (
        "a smallint, b int, c bigint, d decimal(20, 0), t timestamp NOT NULL, m map<bigint, array<smallint>>"
    )
    schema = arrow_schema(DDL)
    assert [str(column_type(field.type)) for field in schema_without_unsigned(schema)] == [
        str(column_type(field.type)) for field in schema
    ]
    batch = batch_of([(1, 2, 3, 2**64 - 1, NOW)])
    time = datetime.datetime.fromtimestamp(NOW // 10**9, datetime.UTC).replace(microsecond=123456)
    assert batch_without_unsigned(batch.arrow).to_pylist()[0]["d"] == Decimal(2**64 - 1)
    ((row,),) = rows_of(batch, {name: name for name in schema.names}, "postgresql")
    assert row == {"a": 1, "b": 2, "c": 3, "d": Decimal(2**64 - 1), "t": time}


def test_results_and_parquet_keep_them(tmp_path: Path):
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_batches([batch_of([(1, 2, 3, 2**64 - 1, NOW)]).arrow]), tmp_path / "rows.parquet")
    assert schema_ddl(pq.read_schema(tmp_path / "rows.parquet")) == DDL
