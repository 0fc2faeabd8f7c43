"""SqlSink: deliveries are written once, all or nothing, whoever writes them and how often."""

from __future__ import annotations

import datetime
import itertools
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlalchemy import URL, Engine, event

from streams_orchestration.operators.databases import table as table_module
from streams_orchestration.operators.databases.address import DatabaseUrlError
from streams_orchestration.operators.databases.connecting import engine_of
from streams_orchestration.operators.databases.errors import DatabaseError
from streams_orchestration.operators.databases.table import DatabaseTable
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.epoch_sink import EpochSink, read_batches
from streams_orchestration.operators.standard.systems.sql_sink import SqlSink
from streams_orchestration_tests.fake_functions import replace_function
from streams_orchestration_tests.operators.harness import Bench, Row
from streams_orchestration_tests.targets import Target, no_database, target_of

ROWS = [("a", 1), ("b", 2), ("a", 3)]


def key(epoch: int = 1, generation: int = 0, number: int | None = None) -> DeliveryKey:
    return DeliveryKey("life", "Out", -1, epoch, generation, epoch if number is None else number)


def sink(tmp_path: Path, target: Target, schema: str = "k string, n bigint", **parameters: Any) -> Bench:
    given = {"url": target.url, "table": "totals", "createTable": True} | parameters
    return Bench(SqlSink, [schema], results=tmp_path, **given)


def deliver(bench: Bench, rows: list[Row], delivery: DeliveryKey | None = None) -> None:
    """Write rows in a task, and deliver them from another process."""
    (file,) = bench.send(rows).commit()
    assert (file.final, file.rows) == (None, len(rows))
    assert SqlSink.unpublished(bench.context, bench.parameters) == (file.pending,)
    operator = bench.operator
    assert isinstance(operator, EpochSink)
    operator.open()
    try:
        operator.deliver(delivery or key(), read_batches(file.pending))
    finally:
        operator.close()
        file.pending.unlink()


def test_a_delivery_is_written_once_however_often_it_is_made(tmp_path: Path, target: Target):
    bench = sink(tmp_path, target)
    for epoch in (1, 1, 2, 1, 2):
        deliver(bench, [("a", epoch)], key(epoch))
    assert target.rows() == [("a", 1), ("a", 2)]
    assert target.run("SELECT life, operator, channel, number, epoch, d.rows FROM streams_deliveries d") == [
        ("life", "Out", -1, 2, 2, 2)
    ]


def test_another_life_writes_again(tmp_path: Path, target: Target):
    bench = sink(tmp_path, target)
    deliver(bench, ROWS)
    deliver(bench, ROWS, key()._replace(life="another"))
    assert target.rows() == sorted(2 * ROWS)


def test_batches_are_told_apart_by_the_generation_that_wrote_them(tmp_path: Path, target: Target):
    bench = sink(tmp_path, target, visibility="read_uncommitted")
    for delivery in (key(1, 1, 5), key(1, 2, 4), key(1, 2, 5), key(1, 1, 6), key(1, 2, 5)):
        deliver(bench, [("a", delivery.generation)], delivery)
    assert target.rows() == [("a", 1), ("a", 2), ("a", 2)]


def test_a_key_replaces_rows_and_the_last_tuple_counts(tmp_path: Path, target: Target):
    bench = sink(tmp_path, target, key=["k"])
    deliver(bench, ROWS)
    deliver(bench, [("b", 7), ("c", 8)], key(2))
    assert target.rows() == [("a", 3), ("b", 7), ("c", 8)]


def test_attributes_go_to_the_columns_that_are_named(tmp_path: Path, target: Target):
    target.run("CREATE TABLE totals (carrier TEXT, total BIGINT, noted TEXT DEFAULT 'x')")
    schema = "k string, n bigint, m bigint"
    bench = sink(tmp_path, target, schema, columns={"k": "carrier", "n": "total"}, suppress=["m"], createTable=False)
    deliver(bench, [("a", 1, 5)])
    assert target.rows() == [("a", 1, "x")]


def test_types_come_back(tmp_path: Path, target: Target):
    schema = "b boolean, i int, x double, s string, d date, t timestamp, u timestamp_ntz, y binary, q decimal(10, 2)"
    at = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901)
    given = (True, 5, 0.1, "ü'\"", at.date(), at.replace(tzinfo=datetime.UTC), at, b"\x00\xff", Decimal("12.30"))
    deliver(sink(tmp_path, target, schema), [given, (None,) * 9])
    actual, nothing = sorted(target.run("SELECT * FROM totals"), key=lambda row: row[0] is None)
    assert nothing == (None,) * 9
    if target.kind == "mariadb":  # MariaDB has no time zones
        assert actual == (1, *given[1:5], at, at, *given[7:])
    elif target.kind == "sqlite":  # SQLite has fewer types
        texts = ("2024-01-02", "2024-01-02 03:04:05.678901", "2024-01-02 03:04:05.678901")
        assert actual == (1, 5, 0.1, "ü'\"", *texts, b"\x00\xff", "12.30")
    else:
        assert actual == given


def test_a_failed_delivery_leaves_neither_rows_nor_the_mark(tmp_path: Path, target: Target):
    target.run("CREATE TABLE totals (k TEXT, n BIGINT CHECK (n < 3))")
    bench = sink(tmp_path, target)
    with pytest.raises(
        DatabaseError, match=r"table totals.*; a constraint refuses the rows; correct the rows, the table"
    ):
        deliver(bench, ROWS)
    assert target.rows() == []
    target.run("DROP TABLE totals")
    deliver(bench, ROWS)
    assert target.rows() == sorted(ROWS)


def test_two_publishers_at_once_do_not_both_write(tmp_path: Path, target: Target):
    both = [sink(tmp_path, target) for _ in range(2)]
    files = [bench.send(ROWS).commit()[0].pending for bench in both]
    together, errors = threading.Barrier(2), []

    def publish(bench: Bench, file: Path) -> None:
        operator = bench.operator
        assert isinstance(operator, EpochSink)
        try:
            operator.open()
            for epoch in range(1, 6):
                together.wait()
                operator.deliver(key(epoch), read_batches(file))
        except Exception as error:  # noqa: BLE001  checked by the test
            errors.append(error)
            together.abort()
        finally:
            operator.close()

    threads = [threading.Thread(target=publish, args=pair, daemon=True) for pair in zip(both, files, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert target.rows() == sorted(5 * ROWS)


def prepare_while_somebody_makes_the_table(target: Target, statement: int) -> bool:
    """Return True if the table was made before that statement of the preparation: there may be fewer."""
    schema = pa.schema([("k", pa.string()), ("n", pa.int64())])
    numbers = itertools.count()
    made: list[int] = []

    def make(*_: Any) -> None:
        if next(numbers) == statement:
            made.append(statement)
            target.run("CREATE TABLE IF NOT EXISTS totals (k TEXT, n BIGINT)")

    def listened(url: URL) -> Engine:
        engine = engine_of(url)
        event.listen(engine, "before_cursor_execute", make)
        return engine

    with pytest.MonkeyPatch.context() as patch:
        replace_function(patch, table_module, "engine_of", listened)
        table = DatabaseTable(target.url, "totals", {"k": "k", "n": "n"}, schema, ())
    table.prepare(create=True)
    table.close()
    return bool(made)


def test_a_table_that_somebody_makes_meanwhile_is_found_whole(target: Target):
    for statement in itertools.count():
        target.run("DROP TABLE IF EXISTS totals")
        made = prepare_while_somebody_makes_the_table(target, statement)
        assert target.rows() == []
        if not made:
            break


WORDS = ("a", "A", "a ", "ä", "b")


@pytest.mark.parametrize("made", [True, False])
def test_tuples_with_other_keys_are_other_rows(tmp_path: Path, target: Target, made: bool):
    if not made:
        collation = " CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin" if target.kind == "mariadb" else ""
        target.run(f"CREATE TABLE totals (k VARCHAR(9){collation} UNIQUE, n INTEGER)")
    deliver(sink(tmp_path, target, "k string, n int", key=["k"]), [(word, n) for n, word in enumerate(WORDS)])
    assert len(target.rows()) == len(WORDS)


def test_a_key_may_be_0_and_all_that_there_is(tmp_path: Path, target: Target):
    bench = sink(tmp_path, target, "n bigint", key=["n"])
    for epoch in (1, 2):
        deliver(bench, [(0,), (1,), (0,)], key(epoch))
    assert target.rows() == [(0,), (1,)]


@pytest.mark.parametrize("definition", ["k VARCHAR(9), n INT", "k CHAR(9), n SMALLINT"])
def test_a_value_that_does_not_fit_is_refused_and_not_cut(
    tmp_path: Path, request: pytest.FixtureRequest, mariadb: object, definition: str
):
    with target_of("mariadb", tmp_path, request) as target:
        target.run("SET GLOBAL sql_mode = ''")
        target.run(f"CREATE TABLE totals ({definition})")
        for row, reason in ((("ten letters", 1), "Data too long"), (("a", 1 << 40), "Out of range")):
            with pytest.raises(DatabaseError, match=rf"table totals.*{reason}.*check the table's columns"):
                deliver(sink(tmp_path, target), [("b", 2), row])
        assert target.rows() == []


NOT_FOR_MARIADB = [
    (
        "CREATE TABLE totals (k VARCHAR(9), n BIGINT) ENGINE = MyISAM",
        {},
        "MyISAM, has no transactions",
    ),
    ("CREATE TABLE totals (k VARCHAR(9) UNIQUE, n BIGINT UNIQUE)", {"key": ["k"]}, r"another unique key, \(n\)"),
]


@pytest.mark.parametrize(("definition", "parameters", "message"), NOT_FOR_MARIADB)
def test_tables_and_parameters_that_are_unsafe_in_mariadb_are_refused(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    mariadb: object,
    definition: str,
    parameters: dict[str, Any],
    message: str,
):
    with target_of("mariadb", tmp_path, request) as target:
        target.run(definition)
        with pytest.raises(DatabaseError, match=message):
            deliver(sink(tmp_path, target, **parameters), ROWS)


def test_a_number_that_the_database_counts_up_needs_no_attribute(tmp_path: Path, target: Target):
    counted = {"sqlite": "INTEGER PRIMARY KEY", "postgresql": "BIGSERIAL PRIMARY KEY"}
    target.run(
        f"CREATE TABLE totals (id {counted.get(target.kind, 'BIGINT AUTO_INCREMENT PRIMARY KEY')}, k CHAR(1), n INT)"
    )
    target.run("CREATE UNIQUE INDEX by_k ON totals (k)")
    deliver(sink(tmp_path, target, "k string, n int", key=["k"]), [("a", 1), ("b", 2), ("a", 3)])
    assert sorted(row[1:] for row in target.rows()) == [("a", 3), ("b", 2)]


def test_the_values_of_a_row_that_is_refused_stand_in_no_error(tmp_path: Path, target: Target):
    target.run("CREATE TABLE totals (k VARCHAR(20) UNIQUE, n INT)")
    with pytest.raises(DatabaseError, match="a constraint refuses the rows") as raised:
        deliver(sink(tmp_path, target, "k string, n int"), [("confidential", 1), ("confidential", 2)])
    assert "confidential" not in str(raised.value)


WRONG = [
    (
        {"createTable": False},
        None,
        "there is no table totals; set createTable: true, or create it: CREATE TABLE totals",
    ),
    ({}, "CREATE TABLE totals (kk TEXT, n BIGINT)", "the table totals has no column k; the nearest is kk;"),
    ({}, "CREATE TABLE totals (k TEXT, n BIGINT, m BIGINT NOT NULL)", "the column m of totals is NOT NULL"),
    (
        {"key": ["k"]},
        "CREATE TABLE totals (k TEXT, n BIGINT)",
        r"no unique key of \(k\); create one: CREATE",
    ),
]


@pytest.mark.parametrize(("parameters", "definition", "message"), WRONG)
def test_a_table_that_does_not_fit_is_named_with_the_remedy(
    tmp_path: Path, target: Target, parameters: dict[str, Any], definition: str | None, message: str
):
    if definition:
        target.run(definition)
    with pytest.raises(DatabaseError, match=message):
        deliver(sink(tmp_path, target, **parameters), ROWS)


CHANGED = [
    (["DROP TABLE totals"], "there is no table totals"),
    (["DROP TABLE totals", "CREATE TABLE totals (k TEXT)"], "the table totals has no column n"),
]


@pytest.mark.parametrize(("changes", "message"), CHANGED)
def test_a_table_that_is_changed_in_the_middle_is_named(
    tmp_path: Path, target: Target, changes: list[str], message: str
):
    deliver(sink(tmp_path, target), ROWS)
    for statement in changes:
        target.run(statement)
    with pytest.raises(DatabaseError, match=message):
        deliver(sink(tmp_path, target, createTable=False), ROWS, key(2))


def test_a_database_that_is_not_there_is_named_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET_OF_THE_TEST", "p@ss/word")
    nowhere = Target(f"postgresql://me:{{env:SECRET_OF_THE_TEST}}@/db?host={tmp_path}", no_database)
    bench = sink(tmp_path, nowhere)
    with pytest.raises(DatabaseError, match="check that it is up") as raised:
        deliver(bench, ROWS)
    assert "p@ss" not in str(raised.value)
    assert SqlSink.destination(bench.context, bench.parameters) == "totals in postgresql:///db"


def test_a_variable_that_is_not_set_is_named(tmp_path: Path):
    with pytest.raises(DatabaseUrlError, match="the environment variable NO_SUCH_VARIABLE is not set in the host's"):
        deliver(sink(tmp_path, Target("{env:NO_SUCH_VARIABLE}", no_database)), ROWS)


URLS = [
    ("postgresql://me:secret@host/db", "it contains a password"),
    ("oracle://me@host/db", "oracle is not supported; sqlite, postgresql, mariadb and mysql are"),
    ("postgresql://me@host/db?password=secret", "it contains a password"),
    ("no url", "this is not an SQLAlchemy URL"),
]


@pytest.mark.parametrize(("url", "message"), URLS)
def test_a_url_that_cannot_be_used_is_refused_before_anything_starts(url: str, message: str):
    with pytest.raises(ValueError, match=message) as raised:
        Bench(SqlSink, ["n int"], url=url, table="t")
    assert "secret" not in str(raised.value)


PARAMETERS = [
    ({"columns": {"m": "x"}}, "columns: the input stream has no attribute m"),
    ({"key": ["m"]}, "key: the input stream has no attribute m"),
    ({"key": ["n"], "suppress": ["n"]}, "key: n is not written"),
    ({"suppress": ["n", "l"]}, "suppress: no attribute is left"),
    ({"columns": {"n": "l"}}, "two attributes go to the column l"),
    ({}, "the attribute l: it is array<.*>, which no column can hold"),
]


@pytest.mark.parametrize(("parameters", "message"), PARAMETERS)
def test_attributes_that_do_not_fit_are_named(parameters: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        Bench(SqlSink, ["n int, l array<int>"], url="sqlite:///x.db", table="t", **parameters)
