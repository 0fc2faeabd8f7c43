"""SqlSource: rows in the order of a column that grows, each once, whatever the divisions and whoever commits late."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Offset
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.systems.sql_source import SqlSource
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.growing_tables import drained, events, source
from streams_orchestration_tests.operators.harness import Bench, Row
from streams_orchestration_tests.stepped_clock import SteppedClock
from streams_orchestration_tests.targets import Target


def test_rows_come_in_the_order_of_the_column_and_then_those_that_are_added(target: Target):
    events(target, (3, "c"), (1, "a"), (2, "b"))
    bench = source(target)
    offset, _ = drained(bench, limit=2)
    events(target, (4, "d"))
    drained(bench, offset)
    assert bench.rows() == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


@given(values=st.lists(st.integers(0, 6), max_size=30), limits=st.lists(st.integers(1, 9), min_size=1, max_size=5))
@examples(12)
def test_rows_with_the_same_value_are_neither_lost_nor_doubled(
    tmp_path_factory: pytest.TempPathFactory, values: list[int], limits: list[int]
):
    file = tmp_path_factory.mktemp("sqlite") / "x.db"
    target = sqlite(file)
    rows = [(value, f"r{number}") for number, value in enumerate(values)]
    events(target, *rows)
    offset: Offset | None = None
    got: list[Row] = []
    for turn in range(len(rows) + 2):
        bench = source(target)  # another process each time
        produced = bench.produce(offset, limits[turn % len(limits)])
        replay = source(target)
        replay.produce(offset, limits[turn % len(limits)])
        assert replay.rows() == bench.rows()
        got += bench.rows()
        offset = produced.offset
    assert got == sorted(rows)


def sqlite(file: Path) -> Target:
    import sqlite3

    return Target(f"sqlite:///{file}", lambda: sqlite3.connect(file))


def test_a_transaction_that_commits_late_is_waited_for(target: Target, stepped: SteppedClock):
    events(target, (1, "a"), (3, "c"))
    bench = source(target, settle=2)
    offset = bench.produce(None).offset
    assert bench.rows() == []
    pause = bench.operator.pause()  # pyright: ignore[reportAttributeAccessIssue]
    assert 0 < pause <= 1
    stepped.now += 1.9
    events(target, (2, "b"))
    offset = bench.produce(offset).offset
    assert bench.rows() == []
    stepped.now += 0.1
    offset, _ = drained(bench, offset)
    assert bench.rows() == [(1, "a"), (2, "b"), (3, "c")]


def test_a_row_that_comes_behind_the_position_is_no_silent_loss(target: Target, stepped: SteppedClock):
    events(target, (1, "a"), (3, "c"))
    bench = source(target)
    offset, _ = drained(bench)
    events(target, (2, "b"), (4, "d"))
    stepped.now += 10
    with pytest.raises(DataError, match=r"table events: 1 rows with id up to 3 became visible .*increase settle"):
        bench.produce(offset)
    bench = source(target, onLostData="skip")
    offset, _ = drained(bench, offset)
    stepped.now += 10
    drained(bench, offset)
    assert bench.rows() == [(4, "d")]
    assert bench.metrics["late"] == 1


def test_rows_that_are_deleted_or_changed_after_they_were_read_do_no_harm(target: Target, stepped: SteppedClock):
    events(target, (1, "a"), (2, "b"), (3, "c"))
    bench = source(target)
    offset, _ = drained(bench)
    target.run("DELETE FROM events WHERE id > 1")
    stepped.now += 10
    offset, _ = drained(bench, offset)
    events(target, (2, "x"), (4, "d"))
    stepped.now += 10
    drained(bench, offset)
    assert bench.rows()[3:] == [(4, "d")]


@pytest.mark.parametrize(("start", "wanted"), [("earliest", "abcd"), ("latest", "d"), (1, "bcd"), ("2", "cd")])
def test_start_at_chooses_the_first_row(target: Target, start: Any, wanted: str):
    events(target, (1, "a"), (2, "b"), (3, "c"))
    bench = source(target, startAt=start)
    offset, _ = drained(bench)
    events(target, (4, "d"))
    drained(bench, offset)
    assert "".join(row[1] for row in bench.rows()) == wanted


def test_a_finite_run_ends_with_what_was_there_when_it_began(target: Target, stepped: SteppedClock):
    events(target, (1, "a"), (2, "b"), (3, "c"))
    bench = source(target, until="latest", settle=1)
    offset = bench.produce(None, 2).offset
    events(target, (4, "d"))
    stepped.now += 1
    offset, exhausted = drained(bench, offset, 2)
    assert exhausted
    assert bench.rows() == [(1, "a"), (2, "b"), (3, "c")]
    assert drained(source(target, until="latest"), offset)[1]
    target.run("DELETE FROM events")
    assert drained(source(target, until="latest"))[1], "there is nothing to wait for"


def test_a_query_gives_what_a_table_gives(target: Target):
    events(target, (1, "a"), (2, "b"), (3, "c"), (4, "b:c"))
    query = "SELECT id AS number, k FROM events WHERE k LIKE '%b%' OR k = 'x:y';"
    bench = source(target, "n bigint, k string", query=query, column="number", columns={"n": "number"})
    drained(bench)
    assert bench.rows() == [(2, "b"), (4, "b:c")]


AT = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901)
COLUMNS = {
    "sqlite": "BOOLEAN, INT, BIGINT, DOUBLE, TEXT, DATE, TIMESTAMP, TIMESTAMP, BLOB, DECIMAL(10,2)",
    "postgresql": "BOOLEAN, INT, BIGINT, DOUBLE PRECISION, TEXT, DATE, TIMESTAMPTZ, TIMESTAMP, BYTEA, NUMERIC(10,2)",
    "mariadb": "BOOLEAN, INT, BIGINT, DOUBLE, TEXT, DATE, TIMESTAMP(6) NULL, DATETIME(6), BLOB, DECIMAL(10,2)",
}
SCHEMA = (
    "b boolean, i int, n bigint, x double, s string, d date, t timestamp, u timestamp_ntz, y binary, q decimal(10,2)"
)
VALUES = (True, 5, 1 << 40, 0.1, "ü'\"", AT.date(), AT.replace(tzinfo=datetime.UTC), AT, b"\x00\xff", Decimal("12.30"))


def test_types_come_back(target: Target):
    names = [word.split()[0] for word in SCHEMA.split(", ")]
    kinds = COLUMNS[target.kind].split(", ")
    definition = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds, strict=True))
    plain: dict[str, Callable[[Any], Any]] = {
        "sqlite": lambda value: str(value) if isinstance(value, Decimal | datetime.date) else value,
        "postgresql": lambda value: value,
        "mariadb": lambda value: value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value,
    }
    stored = tuple(map(plain[target.kind], VALUES))
    events(target, (1, *stored), (2, *(None,) * 10), definition=f"id INT NOT NULL, {definition}")
    bench = source(target, SCHEMA)
    drained(bench)
    assert bench.rows() == [VALUES, (None,) * 10]


GROWING = {
    "a text": ("VARCHAR(9)", ["a", "b", "ba", "c"]),
    "a decimal": ("DECIMAL(20, 2)", [Decimal("1.10"), Decimal(2), Decimal("10.5"), Decimal(11)]),
    "a date": ("DATE", [datetime.date(2024, 1, day) for day in (1, 2, 3, 4)]),
    "a time": ("TIMESTAMP", [datetime.datetime(2024, 1, day, 5) for day in (1, 2, 3, 4)]),
}


@pytest.mark.parametrize("kind", GROWING)
def test_columns_of_ordered_types_can_be_followed(target: Target, kind: str):
    definition, values = GROWING[kind]
    plain = float if kind == "a decimal" else str
    stored = [plain(value) if target.kind == "sqlite" and kind != "a text" else value for value in values]
    if target.kind == "sqlite" and kind == "a decimal":
        pytest.skip("SQLite has no decimals")
    events(target, *zip(stored, "abcd", strict=True), definition=f"v {definition}, k CHAR(1)")
    bench = source(target, "k string", column="v")
    offset: Offset | None = None
    for _ in values:
        offset = bench.produce(offset, 1).offset
        bench = source(target, "k string", column="v") if len(bench.rows()) > 9 else bench
    assert bench.rows() == [("a",), ("b",), ("c",), ("d",)]


WRONG = [
    ("id INT, kk VARCHAR(9)", (), {}, "table events has no column k; the nearest is kk"),
    ("idd INT, k VARCHAR(9)", (), {}, "table events has no column id; the nearest is idd"),
    ("id DOUBLE PRECISION, k VARCHAR(9)", (1.5, "a"), {}, "table events, column id: its values are float"),
    ("id INT, k VARCHAR(9)", (None, "a"), {}, "table events, column id: a row has NULL there, so it would never"),
    ("id INT, k INT", (7, 5), {}, "table events, id 7, column k: 5 is not a valid string; with onBadTuple: drop"),
    ("id BIGINT, k VARCHAR(9)", (1 << 40, "a"), {"schema": "id int"}, "table events, id .*, .*is not a valid int"),
    ("id INT, k VARCHAR(9)", (1, "a"), {"table": "nothing"}, "table nothing .*nothing.*; check the table's columns"),
    ("id INT, k VARCHAR(9)", (1, "a"), {"query": "SELECT nonsense FROM events"}, "the query .*nonsense.*; check the"),
]  # fmt: skip


@pytest.mark.parametrize(("definition", "row", "parameters", "message"), WRONG)
def test_a_wrong_table_or_column_is_named(
    target: Target, definition: str, row: Row, parameters: dict[str, Any], message: str
):
    events(target, *([row] if row else []), definition=definition)
    parameters = {"schema": "id bigint, k string"} | parameters
    bench = source(target, **parameters)
    with pytest.raises(DataError, match=message):
        drained(bench)


def test_rows_that_do_not_fit_are_dropped_or_sent_elsewhere(target: Target):
    events(target, (1, "1"), (2, "x"), (3, "3"))
    schema = {"schema": "id bigint, k int"}
    dropping = source(target, **schema, query="SELECT id, CASE WHEN k = 'x' THEN NULL ELSE id END AS k FROM events")
    drained(dropping)
    assert dropping.rows() == [(1, 1), (2, None), (3, 3)]
    dropping = source(target, **schema, onBadTuple="drop")
    drained(dropping)
    assert (dropping.rows(), dropping.metrics["dropped"]) == ([], 3)
    sending = source(target, **schema, onBadTuple="stream")
    drained(sending)
    assert sending.metrics["bad"] == 3
    assert sending.rows(1)[1] == ("table events", "id 2", "k", "'x' is not a valid int", '{"id": 2, "k": "x"}')


def test_a_row_without_a_required_value_does_not_fit(target: Target):
    events(target, (1, "a"), (2, None))
    schema = {"schema": "id bigint, k string NOT NULL"}
    dropping = source(target, **schema, onBadTuple="drop")
    drained(dropping)
    assert (dropping.rows(), dropping.metrics["dropped"]) == ([(1, "a")], 1)
    with pytest.raises(DataError, match="id 2, column k: it is null, but the attribute is NOT NULL; with"):
        drained(source(target, **schema))


def test_a_growing_column_with_values_of_several_types_is_an_error_that_names_it(tmp_path: Path):
    """SQLite keeps any value in any column; a whole number is below a text."""
    target = sqlite(tmp_path / "x.db")
    target.run("CREATE TABLE events (id, k TEXT)")
    target.run("INSERT INTO events VALUES (1.5, 'a'), ('z', 'b')")
    with pytest.raises(DataError, match="table events, column id: its values are float; a growing column holds"):
        source(target, settle=0, onBadTuple="drop").produce(None, 1)


@pytest.mark.parametrize("target", ["postgresql"], indirect=True)
def test_a_time_that_python_lacks_is_a_row_that_does_not_fit(target: Target):
    target.run("CREATE TABLE events (id BIGINT PRIMARY KEY, t TIMESTAMP, d DATE)")
    target.run("INSERT INTO events VALUES (1, 'infinity', NULL), (2, NULL, '0044-03-15 BC'), (3, NULL, '2020-01-01')")
    bench = source(target, schema="id bigint, t timestamp, d date", onBadTuple="drop")
    drained(bench)
    assert bench.rows() == [(3, None, datetime.date(2020, 1, 1))]
    assert bench.metrics["dropped"] == 2


def test_the_log_has_the_first_rows_that_do_not_fit(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    target = sqlite(tmp_path / "x.db")
    events(target, *((number, "x") for number in range(100)), definition="id BIGINT PRIMARY KEY, k VARCHAR(9)")
    bench = source(target, schema="id bigint, k int", onBadTuple="drop")
    drained(bench, limit=10)
    assert bench.metrics["dropped"] == 100
    assert [record.getMessage() for record in caplog.records] == [
        f"table events, id {number}, column k: 'x' is not a valid int" for number in range(5)
    ]


def test_a_table_that_is_dropped_is_named(target: Target):
    events(target, (1, "a"))
    bench = source(target)
    offset, _ = drained(bench)
    target.run("DROP TABLE events")
    with pytest.raises(DataError, match=r"table events .*; check the table's columns"):
        drained(source(target), offset)


def test_a_column_that_is_gone_in_the_middle_is_named(target: Target):
    events(target, (1, "a"))
    offset, _ = drained(source(target))
    target.run("DROP TABLE events")
    events(target, (2,), definition="id BIGINT NOT NULL")
    with pytest.raises(DataError, match=r"(?s)events.*\bk\b"):
        drained(source(target), offset)


def test_the_lag_of_a_sql_source_is_measured(target: Target, stepped: SteppedClock):
    events(target, *((number, "a") for number in range(10)))
    bench = source(target, settle=5)
    offset = bench.produce(None, 4).offset
    stepped.now += 4
    bench.produce(offset, 4)
    assert (bench.metrics["lag"], bench.metrics["lag_seconds"]) == (10, 4)
    stepped.now += 4
    offset, _ = drained(bench, offset)
    stepped.now += 4
    drained(bench, offset)
    assert (bench.metrics["lag"], bench.metrics["lag_seconds"]) == (0, 0)


@pytest.mark.parametrize(
    ("key", "warned"), [("", 1), (", PRIMARY KEY (k, id)", 1), (", PRIMARY KEY (id, k)", 0), (", UNIQUE (id)", 0)]
)
def test_a_column_without_an_index_is_warned_of_once(
    target: Target, stepped: SteppedClock, caplog: pytest.LogCaptureFixture, key: str, warned: int
):
    events(target, (1, "a"), definition=f"id BIGINT NOT NULL, k VARCHAR(9) NOT NULL{key}")
    bench = source(target)
    offset, _ = drained(bench)
    stepped.now += 10
    drained(bench, offset)
    warnings = [message for message in caplog.messages if "CREATE INDEX" in message]
    assert len(warnings) == warned
    assert all("table events: no index begins with the column id" in each for each in warnings)


def test_a_database_that_is_away_holds_up_with_growing_pauses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET_OF_THE_TEST", "p@ss/word")
    nowhere = f"postgresql://me:{{env:SECRET_OF_THE_TEST}}@/db?host={tmp_path}"
    bench = Bench(SqlSource, [], ["id bigint"], url=nowhere, table="events", column="id")
    pauses: list[float] = []
    for _ in range(3):
        produced = bench.produce({"value": 5, "since": 4, "rows": 1})
        assert produced.offset == {"value": 5, "since": 4, "rows": 1}
        pauses.append(bench.operator.pause())  # pyright: ignore[reportAttributeAccessIssue]
    assert pauses == sorted(set(pauses))
    assert bench.metrics["errors"] == 3


def test_several_channels_do_not_read_the_same_rows():
    bench = source(sqlite(Path("x.db")))
    bench.context.max_channels = 2
    with pytest.raises(DataError, match="every channel of a parallel region would read all of its rows"):
        bench.operator.setup()


PARAMETERS = [
    ({}, "SqlSource reads either a table or a query: set one of the two"),
    ({"table": "t", "query": "SELECT 1"}, "SqlSource reads either a table or a query: set one of the two"),
    ({"table": "t", "columns": {"m": "x"}}, "columns: the output stream has no attribute m"),
    ({"table": "t", "onBadTuple": "stream"}, "and a second output port"),
    ({"table": "t", "url": "postgresql://me:secret@host/db"}, "it contains a password"),
]


@pytest.mark.parametrize(("parameters", "message"), PARAMETERS)
def test_parameters_that_do_not_fit_are_named(parameters: dict[str, Any], message: str):
    given_: dict[str, Any] = {"url": "sqlite:///x.db", "column": "id"} | parameters
    with pytest.raises(ValueError, match=message) as raised:
        Bench(SqlSource, [], ["id bigint"], **given_)
    assert "secret" not in str(raised.value)


@pytest.mark.slow
def test_transactions_that_commit_late_within_settle_lose_nothing(tmp_path: Path, stepped: SteppedClock):
    chance, target = random.Random(5), sqlite(tmp_path / "x.db")
    events(target)
    bench, offset, number, got = source(target, settle=3), None, 0, list[Row]()
    uncommitted: list[tuple[float, Row]] = []
    for _ in range(200):
        stepped.now += chance.random()
        for _ in range(chance.randrange(4)):
            number += 1
            uncommitted.append((stepped.now + 2.5 * chance.random(), (number, "k")))
        events(target, *(row for at, row in uncommitted if at <= stepped.now))
        uncommitted = [(at, row) for at, row in uncommitted if at > stepped.now]
        if chance.random() < 0.1:
            got += bench.rows()
            bench = source(target, settle=3)
        offset = bench.produce(offset, chance.randrange(1, 9)).offset
    got += bench.rows()
    assert len(got) > 100
    assert [row[0] for row in got] == list(range(1, len(got) + 1))
