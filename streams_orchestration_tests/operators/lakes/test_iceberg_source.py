"""IcebergSource: what each snapshot has added, in order, the same however often and wherever it goes on."""

from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.types import LongType

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration_tests.operators.lakes.lakes import Iceberg, numbers, read


@pytest.fixture
def lake(tmp_path: Path) -> Iceberg:
    """Three snapshots of two rows each."""
    made = Iceberg(tmp_path)
    made.make_empty()
    for number in range(3):
        made.append(("a", 2 * number), ("b", 2 * number + 1))
    return made


@pytest.mark.parametrize("start", ["snapshot", "earliest", "latest"])
def test_a_run_up_to_the_latest_snapshot_of_an_empty_table_reads_nothing(tmp_path: Path, start: str):
    lake = Iceberg(tmp_path)
    lake.make_empty()
    bench = lake.source(startAt=start, until="latest")
    produced = bench.produce()
    lake.append(("c", 6))
    while not produced.exhausted:
        produced = bench.produce(produced.offset)
    assert numbers(bench) == []


@pytest.mark.parametrize(("policy", "expected"), [("fail", None), ("skip", [0, 1, 4, 5])])
def test_snapshots_that_have_expired_are_named(lake: Iceberg, policy: str, expected: list[int] | None):
    bench = lake.source(startAt="earliest", onLostData=policy)
    offset = bench.produce(bench.produce().offset, 2).offset
    for snapshot in lake.versions()[:2]:
        lake.table().maintenance.expire_snapshots().by_id(snapshot).commit()
    if expected is None:
        with pytest.raises(DataError, match=r"lake.table: snapshots? .* can no longer be read, .* onLostData: skip"):
            read(bench, offset)
    else:
        read(bench, offset)
        assert numbers(bench) == expected


def test_the_oldest_snapshot_that_can_be_read_is_the_earliest(lake: Iceberg):
    lake.table().maintenance.expire_snapshots().by_id(lake.versions()[0]).commit()
    bench = lake.source(startAt="earliest", until="latest")
    read(bench)
    assert sorted(numbers(bench)) == list(range(6))


def test_a_column_that_is_renamed_or_added_is_read_by_its_id(lake: Iceberg):
    with lake.table().update_schema() as update:
        update.rename_column("n", "number").add_column("m", LongType())
    bench = lake.source("number bigint, m bigint", startAt="earliest", until="latest")
    read(bench)
    assert bench.rows() == [(number, None) for number in range(6)]


def test_types_come_back(tmp_path: Path):
    lake = Iceberg(tmp_path)
    at = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901)
    row = {"s": "ü", "d": at.date(), "t": at.replace(tzinfo=datetime.UTC), "u": at, "x": 0.5, "b": True, "l": [1, 2]}
    types = [pa.string(), pa.date32(), pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.float64(), pa.bool_()]
    schema = pa.schema(list(zip(row, [*types, pa.list_(pa.int64())], strict=True)))
    lake.make(pa.Table.from_pylist([row, dict.fromkeys(row)], schema), ["s"])
    ddl = "s string, d date, t timestamp, u timestamp_ntz, x double, b boolean, l array<bigint>"
    bench = lake.source(ddl, until="latest")
    read(bench)
    assert sorted(bench.rows(), key=lambda each: each[0] is None) == [tuple(row.values()), (None,) * 7]


def test_a_snapshot_that_is_not_there_is_named(lake: Iceberg):
    with pytest.raises(DataError, match=r"the table lake.table has no snapshot 9; its newest are \d+, \d+, \d+"):
        lake.source(startAt={"version": 9}).produce()


def test_there_is_no_feed_of_changes(lake: Iceberg):
    with pytest.raises(ValueError, match="'fail', 'skip' or 'rewritten'"):
        lake.source(onChange="feed")
