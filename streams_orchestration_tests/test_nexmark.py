"""Nexmark: the events depend on their numbers only, and the queries give what DuckDB does."""

from __future__ import annotations

from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.nexmark.application import ALIKE, EVENT_TIME, QUERIES, STREAMED, Way, document, sql
from benchmarks.nexmark.events import Events, events, numbered, out_of_order, write_events
from benchmarks.nexmark.expected import ON_TIME, SQL, arrivals, expected
from benchmarks.nexmark.throughput import compare, total
from streams_orchestration.builder.testing import run_in_process, spark_engine
from streams_orchestration.compiler.options import Options
from streams_orchestration_tests.examples import examples

pytestmark = pytest.mark.slow

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


def _rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(round(value, 6) if isinstance(value, float) else value for value in row)


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((_rounded(tuple(row.values())) for row in table.to_pylist()), key=repr)


def test_every_query_has_its_sql():
    assert QUERIES.keys() == SQL.keys()


@pytest.mark.parametrize("batch", [700, pytest.param(3_000, marks=pytest.mark.deep)])
@pytest.mark.parametrize(
    ("query", "how"), [*((query, "operators") for query in sorted(QUERIES)), *((query, "in_order") for query in ALIKE)]
)
def test_a_query_gives_what_duckdb_does(query: str, how: Way, batch: int):
    made = document(query, EVENTS, EVERY, how=how)
    (actual,) = run_in_process(deepcopy(made), {}, options=ONE_PE, batch=batch).values()
    wanted = rows(expected(query, events(0, EVENTS, EVERY)))
    assert wanted
    assert rows(actual) == wanted


@pytest.mark.parametrize("query", EVENT_TIME)
def test_windows_of_event_time_give_what_duckdb_does_whatever_the_order_of_events(query: str, tmp_path: Path):
    numbers = out_of_order(EVENTS, EVERY, late=0.0)
    write_events(tmp_path / "events", EVENTS, 1_000, EVERY, numbers=numbers)
    made = document(query, EVENTS, EVERY, how="event_time", files=str(tmp_path / "events"))
    (actual,) = run_in_process(made, {}, options=ONE_PE).values()
    wanted = rows(expected(query, events(0, EVENTS, EVERY)))
    assert (numbers[1:] < numbers[:-1]).any()
    assert wanted
    assert rows(actual) == wanted


@pytest.mark.java
@pytest.mark.parametrize("query", EVENT_TIME)
def test_windows_of_event_time_give_what_sql_in_batches_does_without_late_events(query: str, tmp_path: Path):
    every, seed = 20_000, 37  # so that late events would change the result of every query
    numbers = out_of_order(EVENTS, every, seed=seed)
    write_events(tmp_path / "events", EVENTS, 1_000, every, numbers=numbers)
    made = document(query, EVENTS, every, how="event_time", files=str(tmp_path / "events"))
    for source in made["graph"][: len(QUERIES[query]["reads"])]:
        source["annotations"]["eventTime"]["minimumGap"] = 0.0  # the watermark of SQL rises with every event
    (actual,) = run_in_process(made, {}, options=ONE_PE).values()
    arrived = numbered(numbers, every)
    assert rows(actual) == rows(by_spark(query, arrived)) == rows(expected(query, arrived, in_order=False))
    assert rows(actual) != rows(expected(query, arrived))


def by_spark(query: str, arrived: Events) -> pa.Table:
    """Return the result of a query that Spark runs at once over the events that are not late."""
    spark = spark_engine().session.newSession()
    for name, value in {"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "1"}.items():
        spark.conf.set(name, value)
    made = arrivals(arrived)
    for stream in QUERIES[query]["reads"]:
        spark.createDataFrame(made[stream.lower()]).createOrReplaceTempView(f"arrived_{stream}")
        spark.sql(ON_TIME.replace("$arrived", f"arrived_{stream}")).createOrReplaceTempView(stream)
    return spark.sql(sql(query, EVERY)[0]).toArrow()


def test_slices_of_files_are_the_events(tmp_path: Path):
    write_events(tmp_path / "events", EVENTS, 1_000, EVERY)
    made = document("q4", EVENTS, EVERY, files=str(tmp_path / "events"))
    (actual,) = run_in_process(made, {}, options=ONE_PE).values()
    assert rows(actual) == rows(expected("q4", events(0, EVENTS, EVERY)))


@pytest.mark.skipif(find_spec("bytewax") is None, reason="Bytewax comes with make bench, where it has a wheel")
def test_bytewax_gives_what_duckdb_does(tmp_path: Path):
    from benchmarks.peers import nexmark_bytewax

    write_events(tmp_path, EVENTS, 1_000, EVERY)
    for query in nexmark_bytewax.FLOWS:
        matches, _ = nexmark_bytewax.run(query, str(tmp_path), EVENTS // 1_000)
        wanted = rows(expected(query, events(0, EVENTS, EVERY)))
        assert sorted((_rounded(row) for row in matches), key=repr) == wanted, query


@pytest.mark.parametrize(("other", "same"), [([2, 1, 1], True), ([1, 2, 2], False), ([1, 2], False)])
def test_results_are_compared_row_by_row(other: list[int], same: bool, tmp_path: Path):
    for name, values in {"one": [1, 1, 2], "other": other}.items():
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"auction": values, "price": values}), tmp_path / name / "part.parquet")
    if same:
        compare("q2", tmp_path / "one", tmp_path / "other")
    else:
        with pytest.raises(AssertionError, match=r"q2: [12] rows of one are others"):
            compare("q2", tmp_path / "one", tmp_path / "other")


def test_a_total_is_of_the_queries_that_both_have_one_after_another():
    assert total({"q0": 100.0, "q1": 50.0, "q2": 1.0}, {"q0": 10.0, "q1": 10.0}) == (pytest.approx(2 / 0.03), 10.0)


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
