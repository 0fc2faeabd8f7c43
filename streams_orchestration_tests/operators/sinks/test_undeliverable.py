"""Tuples that a target can never take: named by row and column, or set aside once, with the others delivered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.operators.databases.errors import DatabaseError
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.epoch_sink import EpochSink, read_batches
from streams_orchestration.operators.sinks.undeliverable import count_set_aside
from streams_orchestration.operators.standard.systems.sql_sink import SqlSink
from streams_orchestration_tests.operators.harness import Bench, Row
from streams_orchestration_tests.targets import KINDS, Target, target_of

KEY = DeliveryKey("life", "Out", -1, 1, 0, 1)


def sink(tmp_path: Path, target: Target, schema: str, **parameters: Any) -> Bench:
    return Bench(SqlSink, [schema], results=tmp_path, url=target.url, table="totals", **parameters)


def deliver(bench: Bench, rows: list[Row], key: DeliveryKey = KEY) -> None:
    (file,) = bench.send(rows).commit()
    operator = bench.operator
    assert isinstance(operator, EpochSink)
    operator.open()
    try:
        operator.deliver(key, read_batches(file.pending))
    finally:
        operator.close()
        file.pending.unlink()


def aside(tmp_path: Path) -> list[dict[str, Any]]:
    files = sorted(tmp_path.rglob("undeliverable/**/*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


CASES = {
    "not null": ("k VARCHAR(9), n BIGINT NOT NULL", [("a", 1), ("b", None), ("c", 3)], "n"),
    "a check": ("k VARCHAR(9), n BIGINT CHECK (n < 100)", [("a", 1), ("b", 100), ("c", 3)], ""),
    "a key": ("k VARCHAR(9) UNIQUE, n BIGINT", [("a", 1), ("a", 2), ("c", 3)], ""),
    "a range": ("k VARCHAR(9), n SMALLINT", [("a", 1), ("b", 1 << 40), ("c", 3)], "n"),
    "a length": ("k VARCHAR(3), n BIGINT", [("a", 1), ("word", 2), ("c", 3)], "k"),
    "a NUL": ("k TEXT, n BIGINT", [("a", 1), ("b\0b", 2), ("c", 3)], "k"),
}


ONLY = {"a NUL": ("postgresql",), "a range": ("postgresql", "mariadb"), "a length": ("postgresql", "mariadb")}
"""Other databases take these."""
COMBINED = [(kind, case) for case in CASES for kind in ONLY.get(case, KINDS)]


@pytest.mark.parametrize(("target", "case"), COMBINED, indirect=["target"])
def test_a_row_that_a_database_never_takes_is_named_or_set_aside_and_the_others_are_there(
    tmp_path: Path, target: Target, case: str
):
    columns, rows, column = CASES[case]
    target.run(f"CREATE TABLE totals ({columns})")
    schema = "k string, n bigint"
    wanted = f"row 2 of epoch 1, column {column}" if column else "row 2 of epoch 1 "
    with pytest.raises(DatabaseError, match=f"table totals, {wanted}.*; onUndeliverable: route sets") as error:
        deliver(sink(tmp_path, target, schema), rows)
    assert "word" not in str(error.value)
    assert (target.rows(), aside(tmp_path)) == ([], [])
    bench = sink(tmp_path, target, schema, onUndeliverable="route")
    for _ in range(2):
        deliver(bench, rows)
    assert target.rows() == [rows[0], rows[2]]
    (left,) = aside(tmp_path)
    assert (left["operator"], left["epoch"], left["row"], left["column"]) == ("Out", 1, 2, column or None)
    assert left["tuple"] == dict(zip("kn", rows[1], strict=True))
    assert left["reason"]
    assert count_set_aside(bench.context, KEY) == 1
    (mark,) = target.run("SELECT d.rows FROM streams_deliveries d")
    assert mark == (2,)


def test_many_rows_are_found_among_many(tmp_path: Path, target: Target):
    target.run("CREATE TABLE totals (k VARCHAR(9), n BIGINT NOT NULL)")
    rows: list[Row] = [(f"k{number}", None if number % 700 == 1 else number) for number in range(12_000)]
    deliver(sink(tmp_path, target, "k string, n bigint", onUndeliverable="route"), rows)
    assert target.rows() == sorted(row for row in rows if row[1] is not None)
    assert [each["row"] for each in aside(tmp_path)] == [n + 1 for n, row in enumerate(rows) if row[1] is None]


def test_a_delivery_that_died_before_its_commit_and_that_fits_when_it_is_repeated_sets_nothing_aside(
    tmp_path: Path, target: Target, monkeypatch: pytest.MonkeyPatch
):
    target.run("CREATE TABLE totals (k VARCHAR(9), n BIGINT NOT NULL)")
    bench = sink(tmp_path, target, "k string, n bigint", onUndeliverable="route")
    rows: list[Row] = [("a", 1), ("b", None)]
    set_aside = EpochSink.set_aside

    def die(*arguments: Any) -> None:
        set_aside(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(EpochSink, "set_aside", die)
        with pytest.raises(KeyboardInterrupt):
            deliver(bench, rows)
    assert (target.rows(), len(aside(tmp_path))) == ([], 1)
    target.run("DROP TABLE totals")
    target.run("CREATE TABLE totals (k VARCHAR(9), n BIGINT)")
    deliver(bench, rows)
    assert (sorted(target.rows(), key=str), aside(tmp_path)) == ([("a", 1), ("b", None)], [])


def test_a_fault_of_the_table_sets_no_rows_aside(tmp_path: Path, target: Target):
    bench = sink(tmp_path, target, "k string, n bigint", onUndeliverable="route", createTable=True)
    deliver(bench, [("a", 1)])
    operator = bench.operator
    assert isinstance(operator, EpochSink)
    operator.open()
    target.run("DROP TABLE totals")
    (file,) = bench.send([("b", 2)]).commit()
    with pytest.raises(DatabaseError, match="table totals"):
        operator.deliver(KEY._replace(epoch=2, number=2), read_batches(file.pending))
    operator.close()
    assert aside(tmp_path) == []


def test_a_number_that_sqlite_would_store_as_null_is_named_or_set_aside(tmp_path: Path, request: pytest.FixtureRequest):
    with target_of("sqlite", tmp_path, request) as target:
        target.run("CREATE TABLE totals (k TEXT, n DOUBLE)")
        rows: list[Row] = [("a", 1.5), ("b", float("nan")), ("c", 3.0)]
        with pytest.raises(DatabaseError, match=r"row 2 of epoch 1, column n: a number is NaN, .*; onUndeliverable"):
            deliver(sink(tmp_path, target, "k string, n double"), rows)
        assert target.rows() == []
        deliver(sink(tmp_path, target, "k string, n double", onUndeliverable="route"), rows)
        assert target.rows() == [rows[0], rows[2]]
        assert [(each["row"], each["column"]) for each in aside(tmp_path)] == [(2, "n")]


DEFERRED = {
    "a key": ("k TEXT, n BIGINT UNIQUE DEFERRABLE INITIALLY DEFERRED", [("a", 1), ("b", 1), ("c", 3)], 2),
    "a reference": (
        "k TEXT, n BIGINT PRIMARY KEY, parent BIGINT REFERENCES totals (n) DEFERRABLE INITIALLY DEFERRED",
        [("a", 1, 2), ("b", 2, None), ("c", 3, 9)],
        3,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", DEFERRED)
def test_a_row_that_a_constraint_refuses_at_the_commit_is_named_or_set_aside(
    tmp_path: Path, request: pytest.FixtureRequest, case: str
):
    columns, rows, wrong = DEFERRED[case]
    schema = "k string, n bigint" + (", parent bigint" if len(rows[0]) == 3 else "")
    with target_of("postgresql", tmp_path, request) as target:
        target.run(f"CREATE TABLE totals ({columns})")
        for policy in ("fail", "route"):
            bench = sink(tmp_path, target, schema, onUndeliverable=policy)
            (file,) = bench.send(rows).commit()
            operator = bench.operator
            assert isinstance(operator, EpochSink)
            operator.open()
            if policy == "fail":
                with pytest.raises(DatabaseError, match=rf"table totals, row {wrong} of epoch 1.*; onUndeliverable: r"):
                    operator.deliver_files(KEY, [file.pending])
                assert target.rows() == []
            else:
                operator.deliver_files(KEY, [file.pending])
            operator.close()
        assert target.rows() == [row for number, row in enumerate(rows, 1) if number != wrong]
        assert [each["row"] for each in aside(tmp_path)] == [wrong]
