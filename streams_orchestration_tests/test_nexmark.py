"""Nexmark: the events depend on their numbers only, and the queries give what DuckDB does."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.nexmark.application import QUERIES, STREAMED, document, sql
from benchmarks.nexmark.events import events
from benchmarks.nexmark.expected import SQL, expected
from streams_orchestration.builder.testing import run_in_process, spark_engine
from streams_orchestration.compiler.options import Options
from streams_orchestration_tests.examples import examples

EVENTS, EVERY = 6_000, 10_000
"""A minute of events."""
ONE_PE = Options(fusion="manual", pes=1)


@given(first=st.integers(0, 10_000), counts=st.lists(st.integers(0, 120), min_size=1, max_size=4))
@examples(30)
def test_events_do_not_depend_on_where_slices_end(first: int, counts: list[int]):
    whole, parts, at = events(first, sum(counts)), [], first
    for count in counts:
        parts.append(events(at, count))
        at += count
    for kind, batch in enumerate(whole):
        assert pa.Table.from_batches([part[kind] for part in parts]).combine_chunks() == pa.Table.from_batches([batch])


def test_there_are_as_many_of_each_kind_as_in_the_field():
    made = events(0, 5_000)
    assert [batch.num_rows for batch in made] == [100, 300, 4_600]
    assert set(made.bids.column("auction").to_pylist()) <= set(made.auctions.column("id").to_pylist())
    assert set(made.bids.column("bidder").to_pylist()) <= set(made.people.column("id").to_pylist())
    assert set(made.auctions.column("seller").to_pylist()) <= set(made.people.column("id").to_pylist())


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    rounded = ([round(value, 6) if isinstance(value, float) else value for value in row.values()] for row in
               table.to_pylist())  # fmt: skip
    return sorted(map(tuple, rounded), key=repr)


def test_every_query_has_its_sql():
    assert QUERIES.keys() == SQL.keys()


@pytest.mark.parametrize("batch", [700, 3_000])
@pytest.mark.parametrize("query", sorted(QUERIES))
def test_a_query_gives_what_duckdb_does(query: str, batch: int):
    made = document(query, EVENTS, EVERY)
    (actual,) = run_in_process(deepcopy(made), {}, options=ONE_PE, batch=batch).values()
    wanted = rows(expected(query, events(0, EVENTS, EVERY)))
    assert wanted
    assert rows(actual) == wanted


@pytest.mark.java
@pytest.mark.deep
@pytest.mark.parametrize("query", sorted(QUERIES))
def test_sql_gives_in_batches_what_it_gives_at_once(query: str):
    made = events(0, EVENTS, EVERY)
    wanted = rows(expected(query, made))
    spark = spark_engine().session.newSession()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    for name, batch in zip(("People", "Auctions", "Bids"), made, strict=True):
        spark.createDataFrame(pa.Table.from_batches([batch])).createOrReplaceTempView(name)
    assert rows(spark.sql(sql(query, EVERY)[0]).toArrow()) == wanted
    if query in STREAMED:
        (actual,) = run_in_process(document(query, EVENTS, EVERY, how="sql"), {}, batch=3_000).values()
        assert rows(actual) == wanted
