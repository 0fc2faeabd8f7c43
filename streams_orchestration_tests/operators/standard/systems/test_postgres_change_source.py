"""PostgresChangeSource: the rows of a table and then each change once, whatever the divisions, crashes and writers."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from streams_orchestration.operators.contract.operator import Offset
from streams_orchestration.operators.databases.replication import is_visible
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.systems.postgres_change_source import PostgresChangeSource
from streams_orchestration_tests import postgresql as server_of
from streams_orchestration_tests.operators.change_slots import (
    SCHEMA,
    drained,
    events,
    operator_of,
    slot_of,
    source,
)
from streams_orchestration_tests.operators.harness import Bench, Row
from streams_orchestration_tests.targets import Target, target_of

pytestmark = pytest.mark.slow


@pytest.fixture
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    with target_of("postgresql", tmp_path, request) as made:
        made.run("CREATE TABLE events (id BIGINT PRIMARY KEY, k TEXT)")
        made.run("CREATE PUBLICATION changes FOR TABLE events")
        yield made


def test_the_rows_that_are_there_come_first_and_then_the_changes(target: Target):
    events(target, (1, "a"), (2, "b"))
    bench = source(target)
    offset = drained(bench)
    events(target, (3, "c"))
    target.run("UPDATE events SET k = 'B' WHERE id = 2")
    target.run("DELETE FROM events WHERE id = 1")
    target.run("UPDATE events SET id = 9 WHERE id = 3")
    target.run("TRUNCATE events")
    drained(bench, offset)
    assert bench.rows() == [
        *(("snapshot", 1, "a"), ("snapshot", 2, "b"), ("insert", 3, "c"), ("update", 2, "B"), ("delete", 1, None)),
        *(("delete", 3, None), ("insert", 9, "c"), ("truncate", None, None)),
    ]


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_a_replay_from_any_offset_gives_the_same_changes(target: Target, limit: int):
    bench = source(target, startAt="slot")
    offset = drained(bench)
    target.run("CREATE TABLE others (n INT)")
    with_several(target, "INSERT INTO events SELECT n, 'r' || n FROM generate_series(1, 3) n", "DELETE FROM events")
    target.run("INSERT INTO others VALUES (1)")
    with_several(target, "INSERT INTO events VALUES (1, 'x')", "UPDATE events SET id = 2")
    offsets: list[Offset] = [offset]
    runs: list[list[Row]] = []
    while True:
        bench = source(target, startAt="slot")  # another process each time
        produced = bench.produce(offsets[-1], limit)
        if produced.offset == offsets[-1]:
            break
        offsets.append(produced.offset)
        runs.append(bench.rows())
    assert sum(map(len, runs)) == 9
    for number, each in list(enumerate(offsets))[:: 2 if limit == 1 else 1]:
        again = source(target, startAt="slot")
        drained(again, each, 4)
        assert again.rows() == [row for run in runs[number:] for row in run]


def with_several(target: Target, *statements: str) -> None:
    """Statements in one transaction."""
    connection = target.connect()
    with connection:
        for statement in statements:
            connection.execute(statement)


def alone(target: Target, *statements: str) -> None:
    """Statements in no transaction."""
    connection = target.connect()
    connection.autocommit = True
    with connection:
        for statement in statements:
            connection.execute(statement)


def test_only_confirmed_changes_are_released_from_the_slot(target: Target):
    bench = source(target)
    offset = drained(bench)
    events(target, (1, "a"))
    first = drained(bench, offset)
    events(target, (2, "b"))
    second = drained(bench, first)
    operator_of(source(target)).confirm(first)
    operator_of(source(target)).confirm(offset)  # a host that woke up late
    again = source(target)
    assert drained(again, first) == second
    assert again.rows() == [("insert", 2, "b")]
    with pytest.raises(DataError, match=r"slot slot_\w+: it was advanced to .* by another reader.*onLostData: skip"):
        source(target).produce(offset)


@pytest.mark.parametrize("seed", range(4))
def test_commits_around_the_snapshot_come_once(target: Target, seed: int):
    """Transactions begin before, at or behind the slot and the snapshot, and end at any time."""
    chance = random.Random(seed)
    bench, offset, number = source(target), None, 0
    writers: list[psycopg.Connection[Any]] = []
    kept: set[int] = set()
    pending: dict[int, list[int]] = {}
    slot_is_there = False
    for _ in range(40):
        action = chance.choice(("begin", "write", "write", "commit", "commit", "rollback", "produce"))
        if action == "begin":
            writers.append(target.connect())
        elif action == "write" and writers:
            writer = chance.choice(writers)
            writer.execute("INSERT INTO events VALUES (%s, 'x')", (number,))
            pending.setdefault(id(writer), []).append(number)
            number += 1
        elif action in ("commit", "rollback") and writers:
            writer = writers.pop(chance.randrange(len(writers)))
            (writer.commit if action == "commit" else writer.rollback)()
            kept |= set(pending.pop(id(writer), ())) if action == "commit" else set()
            writer.close()
        elif action == "produce":
            if not slot_is_there and any(id(writer) in pending for writer in writers):
                continue  # making a slot waits for them
            slot_is_there = True
            offset = bench.produce(offset, 3).offset
    for writer in writers:
        writer.commit()
        kept |= set(pending.pop(id(writer), ()))
        writer.close()
    drained(bench, offset)
    assert sorted(row[1] for row in bench.rows()) == sorted(kept)


@pytest.mark.parametrize(
    ("number", "snapshot", "visible"),
    [(4, "5:9:5,8", True), (5, "5:9:5,8", False), (6, "5:9:5,8", True), (9, "5:9:", False), (7, "9:9:", True),
     (3, "4294967298:4294967301:4294967298", True), (2, "4294967298:4294967301:4294967298", False),
     (4294967295, "4294967298:4294967301:", True)],
)  # fmt: skip
def test_numbers_of_transactions_are_compared_around_their_turn(number: int, snapshot: str, visible: bool):
    assert is_visible(number, snapshot) is visible


def test_values_are_those_of_a_query(target: Target):
    target.run("DROP TABLE events")
    columns = (
        "id INT PRIMARY KEY, b BOOLEAN, r DOUBLE PRECISION, n NUMERIC(12,3), d DATE, t TIMESTAMPTZ, x BYTEA, j JSONB"
    )
    target.run(f"CREATE TABLE events ({columns})")
    target.run("ALTER PUBLICATION changes ADD TABLE events")
    schema = "id int, b boolean, r double, n decimal(12,3), d date, t timestamp, x binary, j string"
    rows = "(1, true, 0.1, 1.250, '2024-02-29', '2024-02-29 12:00:00.000001+02', '\\x00ff', '{\"a\": [1]}'), (2)"
    target.run("INSERT INTO events VALUES " + rows.partition(", (2)")[0])
    bench = source(target, schema, metadata={}, changes=["insert"])
    offset = drained(bench)
    target.run("INSERT INTO events SELECT 3, b, r, n, d, t, x, j FROM events")
    target.run("INSERT INTO events VALUES (4, NULL, 'NaN')")
    drained(bench, offset)
    first, second, nothing = bench.rows()
    assert first[1:] == second[1:]
    assert nothing[1] is None
    assert nothing[2] != nothing[2]


def test_metadata_name_the_transaction(target: Target):
    metadata = {"op": "change", "at": "committed", "lsn": "position", "xid": "transaction"}
    bench = source(target, "op string, id bigint, at timestamp, lsn bigint, xid bigint", metadata=metadata)
    offset = drained(bench)
    with_several(target, "INSERT INTO events VALUES (1)", "INSERT INTO events VALUES (2)")
    now = target.run("SELECT now()")[0][0]
    drained(bench, offset)
    (_, _, at, lsn, xid), (_, _, *others) = bench.rows()
    assert [at, lsn, xid] == others
    assert abs((now.replace(tzinfo=None) - at.replace(tzinfo=None)).total_seconds()) < 60
    assert lsn > offset["lsn"]


LARGE = "INSERT INTO events SELECT 1, string_agg(md5(n::text), '') FROM generate_series(1, 1000) n"


def test_a_large_value_that_an_update_leaves_alone_needs_the_full_row(target: Target):
    target.run("ALTER TABLE events ADD COLUMN n INT")
    bench = source(target, "op string, id bigint, k string, n int")
    offset = drained(bench)
    target.run(LARGE.replace("1, string", "1, string", 1).replace("events", "events (id, k)"))
    target.run("UPDATE events SET n = 1")
    with pytest.raises(DataError, match=r"update at .*, column k: .*ALTER TABLE events REPLICA IDENTITY FULL"):
        drained(bench, offset)
    other = source(target, "op string, id bigint, k string, n int", onBadTuple="stream")
    drained(other, offset)
    assert [row[0] for row in other.rows()] == ["insert"]
    assert [row[2] for row in other.rows(1)] == ["k"]
    target.run("ALTER TABLE events REPLICA IDENTITY FULL")
    target.run("UPDATE events SET n = 2")
    whole = source(target, "op string, id bigint, k string, n int", onBadTuple="drop")
    drained(whole, offset)
    assert [(op, n, len(k)) for op, _, k, n in whole.rows()] == [("insert", None, 32_000), ("update", 2, 32_000)]


def test_a_run_may_end_with_what_is_there(target: Target):
    events(target, (1, "a"))
    drained(source(target, startAt="slot"))
    events(target, (2, "b"))
    bench = source(target, startAt="slot", until="latest")
    offset = bench.produce(None).offset
    events(target, (3, "c"))
    while not (produced := bench.produce(offset)).exhausted:
        offset = produced.offset
    assert ("insert", 2, "b") in bench.rows()


def test_lost_changes_are_an_error_or_left_out(target: Target):
    bench = source(target)
    offset = drained(bench)
    events(target, (1, "a"))
    operator_of(bench).disconnect()
    target.run(f"SELECT pg_drop_replication_slot('{slot_of(target)}')")
    with pytest.raises(
        DataError, match=r"slot slot_\w+: it is gone, so changes of table events after .* are lost; .*--fr"
    ):
        source(target).produce(offset)
    skipping = source(target, onLostData="skip")
    offset = drained(skipping, offset)
    events(target, (2, "b"))
    drained(skipping, offset)
    assert skipping.rows() == [("insert", 2, "b")]
    assert skipping.metrics["lost"] == 1


def test_a_slot_that_the_server_gave_up_is_named_with_the_remedy(target: Target):
    bench = source(target)
    offset = drained(bench)
    events(target, (1, "a"))
    operator_of(bench).disconnect()
    alone(target, "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'", "SELECT pg_reload_conf()")
    try:
        for _ in range(4):
            alone(target, "SELECT pg_logical_emit_message(false, 'x', 'x')", "SELECT pg_switch_wal()")
        alone(target, "CHECKPOINT")
        with pytest.raises(
            DataError,
            match=r"slot slot_\w+: it was invalidated by the server because of max_slot_wal_keep_size, so .*--fr",
        ):
            source(target).produce(offset)
        skipping = source(target, onLostData="skip")
        offset = drained(skipping, offset)
        events(target, (2, "b"))
        drained(skipping, offset)
        assert skipping.rows() == [("insert", 2, "b")]
        operator_of(skipping).disconnect()
    finally:
        alone(target, "ALTER SYSTEM RESET max_slot_wal_keep_size", "SELECT pg_reload_conf()")


WRONG = [
    ("ALTER TABLE events RENAME TO former", {}, r"table events: there is no such table"),
    ("DROP PUBLICATION changes", {}, r"publication changes: .*; CREATE PUBLICATION changes FOR TABLE events"),
    (
        "ALTER PUBLICATION changes DROP TABLE events",
        {},
        r"does not contain table events; run ALTER PUBLICATION changes ADD",
    ),
    ("ALTER TABLE events RENAME k TO kk", {}, r"table events has no column k; the nearest is kk"),
    ("CREATE ROLE plain LOGIN", {"user": "plain"}, r"slot slot_\w+ .*ALTER ROLE … REPLICATION"),
]


@pytest.mark.parametrize(("statement", "changed", "error"), WRONG)
def test_a_wrong_set_up_of_the_database_is_reported_with_a_remedy(
    target: Target, statement: str, changed: Any, error: str
):
    target.run(statement)
    url = target.url.replace("streams@", f"{changed['user']}@") if changed else target.url
    try:
        with pytest.raises(DataError, match=error):
            drained(source(target, url=url))
    finally:
        if changed:
            target.run("DROP ROLE plain")


def test_a_server_without_changes_of_rows_says_how_to_have_them(
    target: Target, postgresql: server_of.Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(server_of, "LOGICAL", ())
    postgresql.stop()
    postgresql.start()
    try:
        with pytest.raises(DataError, match=r"wal_level is replica.*ALTER SYSTEM SET wal_level = logical"):
            drained(source(target))
    finally:
        monkeypatch.undo()
        postgresql.stop()
        postgresql.start()


def test_a_column_that_is_gone_is_named_with_the_transaction(target: Target):
    bench = source(target)
    offset = drained(bench)
    events(target, (1, "a"))
    target.run("ALTER TABLE events DROP COLUMN k")
    target.run("INSERT INTO events VALUES (2)")
    error = r"table events, transaction \d+ at .*: it no longer has the column k; its columns are id"
    with pytest.raises(DataError, match=error):
        drained(bench, offset)


def test_a_column_that_is_added_changes_nothing(target: Target):
    bench = source(target)
    offset = drained(bench)
    events(target, (1, "a"))
    target.run("ALTER TABLE events ADD COLUMN more INT DEFAULT 7")
    target.run("UPDATE events SET more = 8")
    drained(bench, offset)
    assert bench.rows() == [("insert", 1, "a"), ("update", 1, "a")]


def test_a_value_that_does_not_fit_names_the_change(target: Target):
    bench = source(target, "op string, id int, k string")
    offset = drained(bench)
    events(target, (1 << 40, "a"))
    with pytest.raises(
        DataError, match=r"table events, insert at \w+/\w+, column id: 1099511627776 is not a valid int"
    ):
        drained(bench, offset)


def test_a_server_that_crashes_loses_and_doubles_nothing(target: Target, postgresql: server_of.Server):
    bench = source(target)
    offset = drained(bench)
    events(target, (1, "a"))
    offset = drained(bench, offset)
    operator_of(bench).confirm(offset)
    postgresql.stop(signal.SIGQUIT)
    assert bench.produce(offset).offset == offset
    assert operator_of(bench).pause()
    postgresql.start()
    events(target, (2, "b"))
    drained(bench, offset)
    assert bench.rows() == [("insert", 1, "a"), ("insert", 2, "b")]


def test_the_lag_is_in_bytes_and_seconds(target: Target):
    bench = source(target, startAt="slot")
    offset = drained(bench)
    events(target, *((number, "x") for number in range(20)))
    produced = bench.produce(offset, 5)
    assert bench.metrics["lag_bytes"] > 0
    drained(bench, produced.offset)
    assert bench.metrics["lag_bytes"] == 0


REFUSED = [
    ({"metadata": {}}, r"name one with metadata"),
    ({"metadata": {"op": "kind"}}, r"kind is not one of change"),
    ({"metadata": {"op": "position"}, "changes": ["insert"]}, r"op is string; position is a bigint"),
    ({"metadata": {"op": "change", "no": "position"}}, r"metadata: the output stream has no attribute no"),
    ({"url": "mariadb://x@localhost/y"}, r"only PostgreSQL has replication slots"),
    ({"slot": "A slot"}, r"slot"),
]


@pytest.mark.parametrize(("parameters", "error"), REFUSED)
def test_wrong_parameters_of_a_change_source_are_refused_before_anything_starts(parameters: dict[str, Any], error: str):
    known: dict[str, Any] = {"url": "postgresql://x@localhost/y", "table": "t", "slot": "s", "publication": "p"}
    known |= {"metadata": {"op": "change"}} | parameters
    with pytest.raises(ValueError, match=error):
        Bench(PostgresChangeSource, [], [SCHEMA], **known)
