"""A table, slot or server that was created again is told from the one that was read, and not read on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streams_orchestration.operators.contract.operator import Offset
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.systems.sql_source import SqlSource
from streams_orchestration_tests.operators import change_slots
from streams_orchestration_tests.operators.growing_tables import drained, events, source
from streams_orchestration_tests.operators.harness import Row
from streams_orchestration_tests.targets import Target, target_of


def recreated(target: Target, *rows: Row) -> None:
    """Drop the table, and create it again, in another second of the database's clock.

    MariaDB takes the time of the table's file, which is some milliseconds behind `NOW()`.
    """
    if target.kind == "mariadb":
        moment = target.run("SELECT NOW()")
        while target.run("SELECT NOW()") == moment:
            pass
        while target.run("SELECT MICROSECOND(NOW(6)) < 50000") == target.run("SELECT TRUE"):
            pass
    target.run("DROP TABLE events")
    events(target, *rows)


def test_a_table_that_was_recreated_is_named_and_not_read_on(target: Target):
    events(target, (1, "a"), (5, "b"))
    offset, _ = drained(source(target))
    recreated(target, (2, "c"), (6, "d"))
    lost = (
        r"table events was dropped and created again since it was read up to id 5: .*; with onLostData: skip, .*--fresh"
    )
    with pytest.raises(DataError, match=lost):
        drained(source(target), offset)


def test_a_table_that_was_recreated_is_read_from_its_first_row_on(target: Target):
    events(target, (1, "a"), (5, "b"))
    bench = source(target, onLostData="skip")
    offset, _ = drained(bench)
    recreated(target, (2, "c"), (6, "d"))
    again = source(target, onLostData="skip")
    offset, _ = drained(again, offset)
    events(target, (7, "e"))
    drained(again, offset)
    assert again.rows() == [(2, "c"), (6, "d"), (7, "e")]
    assert again.metrics["recreated"] == 1


@pytest.mark.parametrize("statement", ["ALTER TABLE events ADD COLUMN more INT", "DELETE FROM events WHERE id < 5"])
def test_a_table_that_was_altered_or_whose_rows_were_deleted_is_the_same(target: Target, statement: str):
    events(target, (1, "a"), (5, "b"))
    offset, _ = drained(source(target))
    target.run(statement)
    target.run("INSERT INTO events (id, k) VALUES (6, 'c')")
    bench = source(target)
    drained(bench, offset)
    assert bench.rows() == [(6, "c")]


def test_after_a_savepoint_a_copy_of_the_table_may_stand_for_it(target: Target):
    events(target, (1, "a"))
    offset, _ = drained(source(target))
    recreated(target, (1, "a"), (2, "b"))
    bench = source(target)
    drained(bench, SqlSource.restored(offset))
    assert bench.rows() == [(2, "b")]


@pytest.fixture
def changed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    with target_of("postgresql", tmp_path, request) as made:
        made.run("CREATE TABLE events (id BIGINT PRIMARY KEY, k TEXT)")
        made.run("CREATE PUBLICATION changes FOR TABLE events")
        yield made


def with_a_new_slot(target: Target, offset: Offset) -> Offset:
    target.run(f"SELECT pg_drop_replication_slot('{change_slots.slot_of(target)}')")
    target.run(f"SELECT pg_create_logical_replication_slot('{change_slots.slot_of(target)}', 'pgoutput')")
    return offset


CHANGED: dict[str, tuple[Callable[[Target, Offset], Offset], str]] = {
    "a slot that was created again": (
        with_a_new_slot,
        r"was advanced to .* by another reader, or dropped and created again",
    ),
    "another server": (lambda _, offset: offset | {"server": "1"}, "now belongs to another server"),
    "a server of yesterday": (
        lambda _, offset: offset | {"lsn": offset["lsn"] + (1 << 40)},
        "belongs to a server whose log ends at .*; it may have been restored from an earlier copy",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CHANGED)
def test_a_slot_or_server_in_the_place_of_the_one_that_was_read_is_named(changed: Target, case: str):
    bench = change_slots.source(changed)
    offset = change_slots.drained(bench)
    change_slots.events(changed, (1, "a"))
    change_slots.operator_of(bench).disconnect()
    change, what = CHANGED[case]
    offset = change(changed, offset)
    with pytest.raises(DataError, match=rf"slot slot_\w+: it {what}, so changes of table events after .* are lost"):
        change_slots.source(changed).produce(offset)
    skipping = change_slots.source(changed, onLostData="skip")
    offset = change_slots.drained(skipping, offset)
    change_slots.events(changed, (2, "b"))
    change_slots.drained(skipping, offset)
    assert skipping.rows()[-1] == ("insert", 2, "b")
    assert skipping.metrics["lost"] == 1
