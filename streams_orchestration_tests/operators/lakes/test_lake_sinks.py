"""Sinks of lake tables: an epoch is one commit, made once, by whomever and however often."""

from __future__ import annotations

import datetime
import importlib.util
import json
import math
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from streams_orchestration.operators.lakes import data_files, iceberg_table
from streams_orchestration.operators.lakes.errors import LakeError
from streams_orchestration.operators.lakes.iceberg_catalog import advice_of, check_catalog, without_secrets
from streams_orchestration.operators.sinks.epoch_sink import EpochSink, WaitingFileError
from streams_orchestration.operators.sinks.undeliverable import file_of
from streams_orchestration_tests.operators.lakes.lakes import LAKES, SCHEMA, Delta, Iceberg, deliver, delivery

pytestmark = pytest.mark.filterwarnings("ignore:Iceberg scan planning")
SQL = {"type": "sql", "uri": "sqlite:////data/catalog.db"}
ROWS = [("a", 1), ("b", 2), ("a", 3)]
AT = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901)


@pytest.fixture(params=LAKES)
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Delta:
    return LAKES[request.param](tmp_path)


def test_an_epoch_is_committed_once_however_often_it_is_delivered(lake: Delta):
    bench = lake.sink()
    for epoch in (1, 1, 2, 1, 2, 5):
        deliver(bench, [("a", epoch)], delivery(epoch))
    assert lake.rows() == lake.rows_of_duckdb() == [("a", 1), ("a", 2), ("a", 5)]
    named = [(each["streams.application"], each["streams.operator"], each["streams.epoch"]) for each in lake.commits()]
    assert named == [("app", "Out", 1), ("app", "Out", 2), ("app", "Out", 5)]


@pytest.mark.parametrize("other", [{"life": "another"}, {"operator": "Other"}, {"channel": 1}, {"application": "b"}])
def test_each_sink_has_a_mark_of_its_own(lake: Delta, other: dict[str, Any]):
    bench = lake.sink()
    for key in (delivery(), delivery(**other), delivery(), delivery(**other)):
        deliver(bench, ROWS, key)
    assert lake.rows() == sorted(2 * ROWS)


def test_marks_in_an_iceberg_table_do_not_become_ever_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A mark that was not moved for long goes with the next commit."""
    lake = Iceberg(tmp_path)
    bench = lake.sink()
    deliver(bench, ROWS, delivery(life="first"))
    monkeypatch.setattr(iceberg_table, "MARK_RETENTION", datetime.timedelta(days=-1))
    for life in ("second", "second", "third"):
        deliver(bench, ROWS, delivery(life=life))
    marks = sorted(name for name in lake.table().properties if name.startswith(iceberg_table.MARK))
    assert marks == [f"{iceberg_table.MARK}app/third/Out/-1"]
    assert lake.rows() == sorted(3 * ROWS)


def test_small_files_of_an_epoch_and_a_partition_become_one(lake: Delta):
    rows = [(letter, number) for number in range(10) for letter in "abc"]
    deliver(lake.sink(partitionBy=["k"]), rows, batches=7)
    assert lake.rows_of_duckdb() == lake.rows() == sorted(rows)
    assert len(list(lake.files.rglob("part-*.parquet"))) == 3


def test_files_of_an_epoch_with_the_same_tuples_are_all_there(lake: Delta, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(data_files, "MERGED_BYTES", 1)
    deliver(lake.sink(), [("a", 1)] * 3, batches=3)
    assert lake.rows() == lake.rows_of_duckdb() == [("a", 1)] * 3


def test_large_files_are_taken_as_they_are(lake: Delta, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(data_files, "SMALL_BYTES", 1)
    deliver(lake.sink(), ROWS, batches=3)
    assert lake.rows() == sorted(ROWS)
    assert len(list(lake.files.rglob("part-*.parquet"))) == 3


def test_a_repeated_delivery_leaves_no_files_behind(lake: Delta, monkeypatch: pytest.MonkeyPatch):
    """A publisher dies between its files and its commit; what it has left is what the next one brings."""
    bench = lake.sink()
    deliver(bench, ROWS)
    files = [file.pending for rows in (ROWS, ROWS) for file in bench.send(rows).commit()]
    operator = bench.operator
    assert isinstance(operator, EpochSink)

    def dies(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    operator.open()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(*lake.commit, dies)
        operator.deliver_files(delivery(2), files)
    operator.close()
    operator.open()
    operator.deliver_files(delivery(2), files)
    assert lake.rows() == sorted(3 * ROWS)
    assert len(list(lake.files.rglob("part-*.parquet"))) == 2
    assert not list((lake.directory / "_outputs" / "_merging").rglob("*.*"))


def test_types_come_back(lake: Delta):
    schema = "b boolean, i int, x double, s string, d date, t timestamp, u timestamp_ntz, y binary, q decimal(10, 2)"
    row = (True, 5, 0.1, "ü'\"", AT.date(), AT.replace(tzinfo=datetime.UTC), AT, b"\x00\xff", Decimal("12.30"))
    deliver(lake.sink(schema), [row, (None,) * 9], batches=2)
    assert lake.rows() == [(None,) * 9, row]


def test_nested_types_come_back(lake: Delta):
    deliver(lake.sink("l array<int>, z struct<a: int, b: string>"), [([1, 2], {"a": 1, "b": "x"})])
    assert lake.rows() == [([1, 2], {"a": 1, "b": "x"})]


def test_tables_are_partitioned_by_values_of_columns(lake: Delta):
    schema = "n int, b boolean, i int, s string, d date, t timestamp, q decimal(10, 2)"
    at = AT.replace(tzinfo=datetime.UTC)
    rows = [
        (1, True, 5, "ü'\" a/b=%:d", AT.date(), at, Decimal("12.30")),
        (2, None, None, None, None, None, None),
        (3, False, -5, "__", AT.date(), at, Decimal("-0.01")),
    ]
    bench = lake.sink(schema, partitionBy=["b", "i", "s", "d", "q"])
    deliver(bench, rows)
    assert lake.rows() == rows


def test_a_key_replaces_rows_and_the_last_tuple_counts(lake: Delta):
    bench = lake.sink("k string, l int, n bigint", key=["k", "l"])
    for epoch, rows in enumerate([[("a", 1, 1), ("b", 1, 2), ("a", 1, 3)], [("b", 1, 7), ("a", 2, 8)]], 1):
        deliver(bench, rows, delivery(epoch))
    deliver(bench, [("b", 1, 100)], delivery(2))
    assert lake.rows() == [("a", 1, 3), ("a", 2, 8), ("b", 1, 7)]


def test_a_key_of_all_columns_adds_what_is_not_there(lake: Delta):
    bench = lake.sink(key=["k", "n"])
    for epoch in (1, 2):
        deliver(bench, ROWS, delivery(epoch))
    assert lake.rows() == sorted(ROWS)


def test_attributes_go_to_the_columns_that_are_named(lake: Delta):
    lake.make(pa.table({"carrier": ["x"], "total": [1], "noted": ["y"]}))
    bench = lake.sink("k string, n bigint, m bigint", columns={"k": "carrier", "n": "total"}, suppress=["m"])
    deliver(bench, [("a", 1, 5)])
    assert lake.rows() == [("a", 1, None), ("x", 1, "y")]


def test_columns_are_added_by_permission(lake: Delta):
    lake.make(pa.table({"k": ["x"]}))
    with pytest.raises(LakeError, match=r"has no column n; .*addColumns: true adds it"):
        deliver(lake.sink(), ROWS)
    deliver(lake.sink(addColumns=True), ROWS)
    assert lake.rows() == [*sorted(ROWS), ("x", None)]


def test_a_column_that_comes_in_the_middle_is_null(lake: Delta):
    bench = lake.sink()
    deliver(bench, [("a", 1)])
    lake.add_column("m")
    deliver(bench, [("b", 2)], delivery(2))
    assert lake.rows() == [("a", 1, None), ("b", 2, None)]


@pytest.mark.parametrize("key", [[], ["k"]])
def test_values_become_wider_ones_of_the_table(lake: Delta, key: list[str]):
    lake.make(pa.table({"k": ["x"], "n": [2**40], "p": [7]}), partition_by=["p"])
    bench = lake.sink("k string, n int, p int", partitionBy=["p"], key=key)
    deliver(bench, [("a", 1, 2), ("b", 2, None), ("c", None, 2)])
    assert lake.rows() == [("a", 1, 2), ("b", 2, None), ("c", None, 2), ("x", 2**40, 7)]


REQUIRED = pa.schema([pa.field("k", pa.string()), pa.field("n", pa.int64()), pa.field("z", pa.int64(), nullable=False)])
TABLES: list[tuple[dict[str, Any], pa.Table | None, list[str], str]] = [
    ({"createTable": False}, None, [], "there is no .*; set createTable: true"),
    ({}, pa.table({"kk": ["x"], "n": [1]}), [], "has no column k; the nearest is kk;"),
    ({}, pa.table({"K": ["x"], "n": [1]}), [], "has a column K, and the tuples have k"),
    (
        {},
        pa.table({"k": ["x"], "n": ["y"]}),
        [],
        "the column n of .* is (large_)?string, but the tuples have bigint; cha",
    ),
    (
        {},
        pa.table({"k": ["x"], "n": [1]}),
        ["k"],
        r"is partitioned by k, the operator by nothing; set partitionBy: \[k",
    ),
    ({"partitionBy": ["n"]}, pa.table({"k": ["x"], "n": [1]}), ["k"], "is partitioned by k, the operator by n;"),
    (
        {},
        pa.table({"k": ["x"], "n": [1], "z": [1]}, REQUIRED),
        [],
        "the column z of .* may not be null, and no attribute is written to it",
    ),
]


@pytest.mark.parametrize(("parameters", "table", "partitions", "message"), TABLES)
def test_a_table_that_does_not_fit_is_named_with_the_remedy(
    lake: Delta, parameters: dict[str, Any], table: pa.Table | None, partitions: list[str], message: str
):
    if table is not None:
        lake.make(table, partitions)
    with pytest.raises(LakeError, match=message) as raised:
        deliver(lake.sink(**parameters), ROWS)
    assert lake.place in str(raised.value)


@pytest.mark.parametrize("key", [[], ["k"]])
def test_a_column_that_may_not_be_null_gets_no_null(lake: Delta, key: list[str]):
    schema = pa.schema([pa.field("k", pa.string()), pa.field("n", pa.int64(), nullable=False)])
    lake.make(pa.table({"k": ["x"], "n": [1]}, schema))
    with pytest.raises(LakeError, match=r"the column n of .* may not be null, and a tuple has null for it"):
        deliver(lake.sink(key=key), [("a", None)])
    deliver(lake.sink(key=key), [("a", 2)])
    assert lake.rows() == [("a", 2), ("x", 1)]


@pytest.mark.parametrize("key", [[], ["k"]])
@pytest.mark.parametrize("rows", [[("a", 2), ("b", None), ("c", 3)], [("b", None)]], ids=["some", "all"])
def test_tuples_with_null_for_such_a_column_are_named_or_set_aside_once(
    lake: Delta, tmp_path: Path, key: list[str], rows: list[Any]
):
    schema = pa.schema([pa.field("k", pa.string()), pa.field("n", pa.int64(), nullable=False)])
    lake.make(pa.table({"k": ["x"], "n": [1]}, schema))
    number = rows.index(("b", None)) + 1
    with pytest.raises(LakeError, match=rf"null for it \(row {number} of epoch 1\); .*; onUndeliverable: route sets"):
        deliver(lake.sink(key=key), rows)
    bench = lake.sink(key=key, onUndeliverable="route")
    for _ in range(2):
        deliver(bench, rows)
    assert lake.rows() == [*(row for row in rows if row[1] is not None), ("x", 1)]
    (line,) = file_of(bench.context, delivery()).read_text().splitlines()
    left = json.loads(line)
    assert (left["row"], left["column"], left["tuple"]) == (number, "n", {"k": "b", "n": None})


def test_a_key_of_zero_replaces_its_row(lake: Delta):
    bench = lake.sink("k double, n bigint", key=["k"])
    deliver(bench, [(-0.0, 1), (1.5, 3)], delivery(1))
    deliver(bench, [(0.0, 4), (-0.0, 6)], delivery(2))
    assert sorted(map(repr, lake.rows())) == ["(0.0, 6)", "(1.5, 3)"]


def test_a_key_of_nan_replaces_its_row_where_the_format_can_look_for_it(lake: Delta):
    bench = lake.sink("k double, n bigint", key=["k"])
    nan, other = math.nan, math.copysign(math.nan, -1)
    if type(lake) is not Delta:
        with pytest.raises(
            LakeError, match=r"key: a tuple has null or NaN for k, which matches no row of .*; give it a value"
        ):
            deliver(bench, [(other, 5)])
        return
    deliver(bench, [(nan, 2)], delivery(1))
    deliver(bench, [(other, 5)], delivery(2))
    assert list(map(repr, lake.rows())) == ["(nan, 5)"]


def test_two_publishers_at_once_do_not_both_write(lake: Delta):
    both = [lake.sink() for _ in range(2)]
    files = [bench.send(ROWS).commit()[0].pending for bench in both]
    together, errors = threading.Barrier(2), []
    both[0].operator.open()  # type: ignore[attr-defined]

    def publish(operator: EpochSink, file: Path) -> None:
        try:
            operator.open()
            for epoch in range(1, 6):
                together.wait()
                operator.deliver_files(delivery(epoch), [file])
        except Exception as error:  # noqa: BLE001  checked by the test
            errors.append(error)
            together.abort()

    threads = [
        threading.Thread(target=publish, args=(bench.operator, file), daemon=True)
        for bench, file in zip(both, files, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert lake.rows() == sorted(5 * ROWS)


def test_a_table_that_is_dropped_in_the_middle_is_named(lake: Delta):
    bench = lake.sink(createTable=False)
    lake.make(pa.table({"k": ["x"], "n": [1]}))
    deliver(bench, ROWS)
    lake.drop()
    with pytest.raises(LakeError, match="there is no"):
        deliver(bench, ROWS, delivery(2))


def test_a_file_that_is_gone_is_named(lake: Delta):
    bench = lake.sink()
    (file,) = bench.send(ROWS).commit()
    file.pending.unlink()
    operator = bench.operator
    assert isinstance(operator, EpochSink)
    operator.open()
    with pytest.raises(WaitingFileError) as raised:
        operator.deliver_files(delivery(), [file.pending])
    assert raised.value.path == file.pending


def test_a_library_that_is_missing_is_named_with_the_extra(lake: Delta, monkeypatch: pytest.MonkeyPatch):
    original = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == lake.library else original(name))
    with pytest.raises(ValueError, match=rf"{lake.library}, .* pip install 'streams-orchestration\[{lake.extra}\]'"):
        lake.sink()


PARAMETERS = [
    ({"columns": {"m": "x"}}, "columns: the input stream has no attribute m"),
    ({"key": ["m"]}, "key: the input stream has no attribute m"),
    ({"partitionBy": ["m"]}, "partitionBy: no column m is written"),
    ({"partitionBy": ["k", "k"]}, "partitionBy: a column is named twice"),
    ({"partitionBy": ["k", "n"]}, "partitionBy: no column is left"),
    ({"partitionBy": ["l"]}, "partitionBy: l is array"),
    ({"suppress": ["n", "l", "k"]}, "suppress: no attribute is left"),
]


@pytest.mark.parametrize(("parameters", "message"), PARAMETERS)
def test_parameters_that_do_not_fit_are_named(lake: Delta, parameters: dict[str, Any], message: str):
    schema = f"{SCHEMA}, l array<int>" if "l" in str(parameters) else SCHEMA
    with pytest.raises(ValueError, match=message):
        lake.sink(schema, **parameters)


CATALOGS: list[tuple[dict[str, str], str]] = [
    ({"type": "sql"}, "catalog: uri is missing"),
    ({"uri": "http://x", "token": "gertrude"}, "catalog: token: it contains a secret"),
    ({"uri": "http://x", "s3.secret-access-key": "gertrude"}, "catalog: s3.secret-access-key: it contains a secret"),
    ({"uri": "http://x", "header.Authorization": "Bearer gertrude"}, "header.Authorization: it contains a secret"),
    ({"uri": "http://x", "adls.connection-string": "AccountKey=gertrude"}, "connection-string: it contains a secret"),
    ({"uri": "postgresql://me:gertrude@x/db"}, "catalog: uri: it contains a password"),
]


@pytest.mark.parametrize(("catalog", "message"), CATALOGS)
def test_a_catalog_that_cannot_be_used_is_refused(tmp_path: Path, catalog: dict[str, str], message: str):
    with pytest.raises(ValueError, match=message) as raised:
        Iceberg(tmp_path).sink(catalog=catalog)
    assert "gertrude" not in str(raised.value)


def test_secrets_among_other_words_are_taken_out_of_errors(monkeypatch: pytest.MonkeyPatch):
    catalog = {"uri": "http://x", "header.Authorization": "Bearer ${env:HIDDEN}", "token": "${env:EMPTY}"}
    check_catalog(catalog)
    monkeypatch.setenv("HIDDEN", "gertrude")
    monkeypatch.setenv("EMPTY", "")
    assert without_secrets("gertrude was\nrefused", catalog) == "*** was refused"


def test_secrets_of_a_catalog_are_read_where_they_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HIDDEN", "gertrude")
    catalog = {
        "type": "rest",
        "uri": "http://127.0.0.1:9/${env:HIDDEN}",
        "token": "${env:HIDDEN}",
    }
    bench = Iceberg(tmp_path).sink(catalog=catalog)
    with pytest.raises(LakeError, match=r"the catalog http://127.0.0.1:9/\$\{env:HIDDEN\} cannot be") as raised:
        deliver(bench, ROWS)
    assert "gertrude" not in str(raised.value)


@pytest.mark.parametrize("named", [SQL | {"name": "lake"}, {"type": "rest", "uri": "https://catalog.example.com"}])
def test_a_catalog_in_a_sql_database_is_to_have_a_name(named: dict[str, str]):
    assert advice_of(named) is None
    for unnamed in (SQL, {"uri": SQL["uri"]}):
        assert "sqlite:////data/catalog.db is a SQL catalog without a name" in str(advice_of(unnamed))
