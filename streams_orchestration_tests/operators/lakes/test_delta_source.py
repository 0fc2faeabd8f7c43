"""DeltaSource: what each version has added, in order, the same however often and wherever it goes on."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from deltalake.schema import PrimitiveType
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.systems.delta_source import DeltaSource
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench, Row
from streams_orchestration_tests.operators.lakes.lakes import SCHEMA, check_replays, numbers, read


def add(table: Path, *rows: Row, **more: Any) -> None:
    data = pa.table({"k": [row[0] for row in rows], "n": pa.array([row[1] for row in rows], pa.int64())})
    deltalake.write_deltalake(table, data, mode="append", **more)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Versions 0, 1 and 2 of two rows each."""
    place = tmp_path / "table"
    for version in range(3):
        add(place, ("a", 2 * version), ("b", 2 * version + 1))
    return place


def source(table: Path, schema: str = SCHEMA, **parameters: Any) -> Bench:
    return Bench(DeltaSource, [], [schema], table=str(table), **parameters)


def test_reading_begins_with_the_first_version_of_a_time(table: Path):
    at = deltalake.DeltaTable(table).history()[1]["timestamp"] / 1000
    moment = datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat()
    bench = source(table, startAt={"time": moment}, until="latest")
    read(bench)
    assert numbers(bench)[-4:] == [2, 3, 4, 5]


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Versions of several files and groups of rows."""
    place = tmp_path_factory.mktemp("lake") / "table"
    properties = deltalake.WriterProperties(max_row_group_size=5)
    for version in range(2):
        add(place, *((letter, 20 * version + n) for n in range(17) for letter in "ab"), partition_by=["k"],
            writer_properties=properties)  # fmt: skip
    return place


@examples(10)
@given(limits=st.lists(st.integers(5, 40), min_size=1, max_size=5), start=st.sampled_from(["snapshot", "earliest"]))
def test_rows_are_the_same_wherever_reading_goes_on(several: Path, limits: list[int], start: str):
    check_replays(lambda: source(several, startAt=start, until="latest"), 2 * 34, limits)


def test_values_of_partitions_come_back(tmp_path: Path):
    at = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.UTC)
    data = pa.table({"n": [1, 2], "s": ["ü/ %=", None], "d": [at.date(), None], "t": [at, None], "i": [7, None]})
    for _ in range(2):
        deltalake.write_deltalake(tmp_path, data, mode="append", partition_by=["s", "d", "t", "i"])
    for start in ("snapshot", {"version": 1}):
        bench = source(tmp_path, "i bigint, n bigint, s string, d date, t timestamp", startAt=start, until="latest")
        read(bench)
        rows = [(7, 1, "ü/ %=", at.date(), at), (None, 2, None, None, None)]
        assert sorted(bench.rows(), key=lambda row: row[1]) == sorted(
            rows * (2 if start == "snapshot" else 1), key=lambda r: r[1]
        )


def test_a_version_that_only_moves_rows_adds_none(table: Path):
    bench = source(table, startAt="earliest")
    offset = read(bench)
    deltalake.DeltaTable(table).optimize.compact()
    add(table, ("c", 6))
    read(bench, offset)
    assert numbers(bench) == list(range(7))


CHANGES: list[tuple[str, list[int] | None]] = [("fail", None), ("skip", [9]), ("rewritten", [101, 9])]


@pytest.mark.parametrize(("policy", "expected"), CHANGES)
def test_a_version_that_updates_rows(table: Path, policy: str, expected: list[int] | None):
    bench = source(table, startAt="latest", onChange=policy)
    offset = read(bench)
    deltalake.DeltaTable(table).update({"n": "n + 100"}, predicate="n = 1")
    add(table, ("c", 9))
    if expected is None:
        with pytest.raises(DataError, match=r"version 3 of .* deletes or updates rows \(UPDATE\), .* onChange: skip"):
            read(bench, offset)
    else:
        read(bench, offset)
        assert [number for number in numbers(bench) if number] == expected


def test_changes_are_read_as_such(table: Path):
    bench = source(table, f"{SCHEMA}, _change_type string, _commit_version bigint", onChange="feed")
    offset = read(bench)
    assert {(kind, version) for *_, kind, version in bench.rows()} == {("insert", 2)}
    deltalake.DeltaTable(table).delete("n = 1")
    add(table, ("c", 9))
    read(bench, offset)
    changes = [(n, kind, version) for _, n, kind, version in bench.rows()]
    assert (1, "delete", 3) in changes
    assert changes[-1] == (9, "insert", 4)


def test_versions_whose_log_is_gone_are_named(table: Path):
    bench = source(table, startAt={"version": 0})
    offset = bench.produce().offset
    offset = bench.produce(offset, 1).offset
    deltalake.DeltaTable(table).create_checkpoint()
    for version in (1, 2):
        (table / "_delta_log" / f"{version:020}.json").unlink()
    with pytest.raises(DataError, match=r"the log of versions 1 to 2 can no longer be read, .* onLostData: skip"):
        read(bench, offset)


def test_a_version_that_is_lost_is_left_out_by_permission(table: Path):
    deltalake.DeltaTable(table).create_checkpoint()
    add(table, ("c", 6))
    bench = source(table, startAt={"version": 0}, onLostData="skip")
    offset = bench.produce(bench.produce().offset, 2).offset
    (table / "_delta_log" / f"{1:020}.json").unlink()
    read(bench, offset)
    assert numbers(bench) == [0, 1, 4, 5, 6]
    assert bench.metrics["lost"] == 1


def test_the_oldest_version_that_can_be_read_is_the_earliest(table: Path):
    deltalake.DeltaTable(table).create_checkpoint()
    for version in (0, 1):
        (table / "_delta_log" / f"{version:020}.json").unlink()
    add(table, ("c", 6))
    bench = source(table, startAt="earliest", until="latest")
    read(bench)
    assert sorted(numbers(bench)) == list(range(7))


def test_a_column_that_comes_later_is_null_before(table: Path):
    deltalake.DeltaTable(table).alter.add_columns([deltalake.Field("m", PrimitiveType("long"))])
    bench = source(table, f"{SCHEMA}, m bigint", startAt={"version": 2}, until="latest")
    read(bench)
    assert bench.rows() == [("a", 4, None), ("b", 5, None)]


def test_a_column_that_is_dropped_in_the_middle_is_named(table: Path):
    bench = source(table)
    offset = read(bench)
    deltalake.write_deltalake(table, pa.table({"k": ["c"]}), mode="overwrite", schema_mode="overwrite")
    with pytest.raises(DataError, match="has no column n"):
        read(bench, offset)


def test_a_table_that_was_recreated_is_named(table: Path):
    bench = source(table)
    offset = read(bench)
    shutil.rmtree(table)
    add(table, ("a", 1))
    with pytest.raises(DataError, match="has only the versions up to 0, but 2 was read; was it created again"):
        read(bench, offset)


def test_a_table_that_was_recreated_with_as_many_versions_is_named(table: Path):
    offset = read(source(table))
    shutil.rmtree(table)
    for number in range(4):
        add(table, ("a", number))
    with pytest.raises(
        DataError, match=r"is another table than the one that was read up to version 2.*Start over with --fresh"
    ):
        read(source(table), offset)


def test_a_table_that_is_replaced_in_place_is_read_on(table: Path):
    bench = source(table, onChange="rewritten")
    offset = read(bench)
    replaced = pa.table({"k": ["c"], "n": pa.array([9], pa.int64())})
    deltalake.write_deltalake(table, replaced, mode="overwrite", schema_mode="overwrite")
    add(table, ("d", 10))
    following = bench.produce(offset).offset
    again = source(table, onChange="rewritten")
    read(again, offset)
    read(source(table, onChange="rewritten"), following)
    assert numbers(again) == [9, 10]


PARAMETERS: list[tuple[dict[str, Any], str]] = [
    ({"startAt": {"version": 1, "time": "2024-01-01T00:00:00Z"}}, "startAt has a version or a time"),
    ({"startAt": {"time": "2024-01-01T00:00:00"}}, "a time needs its time zone"),
    ({"startAt": {"version": -1}}, "greater than or equal to 0"),
]


@pytest.mark.parametrize(("parameters", "message"), PARAMETERS)
def test_parameters_that_do_not_fit_are_named(table: Path, parameters: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        source(table, **parameters)


def test_a_version_that_is_not_there_yet_is_named(table: Path):
    with pytest.raises(DataError, match="has no version 9 yet; its newest is 2"):
        source(table, startAt={"version": 9}).produce()


def test_attributes_of_changes_need_the_feed(table: Path):
    with pytest.raises(ValueError, match="_change_type: set onChange: feed"):
        source(table, f"{SCHEMA}, _change_type string")
