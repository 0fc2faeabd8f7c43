"""IcebergSource: what each snapshot has added, in order, the same however often and wherever it goes on."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.types import LongType

from streams_orchestration.operators.contract import Offset
from streams_orchestration.operators.errors import DataError
from streams_orchestration.operators.lakes.errors import LakeError
from streams_orchestration.operators.standard.iceberg_source import IcebergSource
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench, Row
from streams_orchestration_tests.operators.lakes.lakes import SCHEMA, Iceberg


def add(lake: Iceberg, *rows: Row) -> None:
    data = {"k": [row[0] for row in rows], "n": pa.array([row[1] for row in rows], pa.int64())}
    lake.table().append(pa.table(data))


@pytest.fixture
def lake(tmp_path: Path) -> Iceberg:
    """Three snapshots of two rows each."""
    made = Iceberg(tmp_path)
    made.make_empty()
    for number in range(3):
        add(made, ("a", 2 * number), ("b", 2 * number + 1))
    return made


def snapshots(lake: Iceberg) -> list[int]:
    return [snapshot.snapshot_id for snapshot in lake.table().snapshots()]


def source(lake: Iceberg, schema: str = SCHEMA, **parameters: Any) -> Bench:
    return Bench(IcebergSource, [], [schema], **lake.source_parameters() | parameters)


def read(bench: Bench, offset: Offset | None = None, limit: int = 1000) -> Offset:
    """Until there is nothing more; gives the offset."""
    produced = bench.produce(offset, limit)
    while not produced.exhausted and bench.operator.pause() == 0:  # type: ignore[attr-defined]
        produced = bench.produce(produced.offset, limit)
    return produced.offset


def numbers(bench: Bench) -> list[int]:
    return [row[1] for row in bench.rows()]


STARTS: list[tuple[Any, list[int]]] = [
    ("snapshot", [0, 1, 2, 3, 4, 5, 6]),
    ("earliest", [0, 1, 2, 3, 4, 5, 6]),
    ("latest", [6]),
    (1, [2, 3, 4, 5, 6]),
    ({"time": "2000-01-01T00:00:00Z"}, [0, 1, 2, 3, 4, 5, 6]),
    ({"time": "2999-01-01T00:00:00Z"}, [6]),
]


@pytest.mark.parametrize(("start", "expected"), STARTS)
def test_reading_begins_where_it_is_to(lake: Iceberg, start: Any, expected: list[int]):
    bench = source(lake, startAt={"version": snapshots(lake)[start]} if isinstance(start, int) else start)
    offset = read(bench)
    add(lake, ("c", 6))
    read(bench, offset)
    assert sorted(numbers(bench)) == expected


@pytest.mark.parametrize("start", ["snapshot", "earliest", "latest"])
@pytest.mark.parametrize("empty", [True, False])
def test_a_run_up_to_the_latest_snapshot_ends_there(tmp_path: Path, lake: Iceberg, start: Any, empty: bool):
    if empty:
        lake.drop()
        lake.make_empty()
    bench = source(lake, startAt=start, until="latest")
    produced = bench.produce()
    add(lake, ("c", 6))
    while not produced.exhausted:
        produced = bench.produce(produced.offset)
    assert sorted(numbers(bench)) == ([] if empty or start == "latest" else [0, 1, 2, 3, 4, 5])


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Iceberg:
    made = Iceberg(tmp_path_factory.mktemp("lake"))
    made.make(pa.table({"k": ["a"] * 20 + ["b"] * 20, "n": list(range(40))}), ["k"])
    add(made, *(("a", 40 + number) for number in range(10)))
    return made


@examples(10)
@given(limits=st.lists(st.integers(5, 40), min_size=1, max_size=5), start=st.sampled_from(["snapshot", "earliest"]))
def test_rows_are_the_same_wherever_reading_goes_on(several: Iceberg, limits: list[int], start: str):
    """Each call is made by an instance that has read nothing before."""
    whole = source(several, startAt=start, until="latest")
    read(whole)
    assert len(whole.rows()) == 50
    bench = source(several, startAt=start, until="latest")
    produced = bench.produce()
    while not produced.exhausted:
        limits.append(limits.pop(0))
        produced = bench.restart().produce(produced.offset, limits[0])
    assert bench.rows() == whole.rows()


CHANGES: list[tuple[str, list[int] | None]] = [("fail", None), ("skip", [9]), ("rewritten", [0, 9])]


@pytest.mark.parametrize(("policy", "expected"), CHANGES)
def test_a_snapshot_that_deletes_rows(lake: Iceberg, policy: str, expected: list[int] | None):
    bench = source(lake, startAt="latest", onChange=policy)
    offset = read(bench)
    lake.table().delete("n = 1")
    add(lake, ("c", 9))
    if expected is None:
        with pytest.raises(DataError, match=r"deletes or updates rows \(overwrite\), .* onChange: skip"):
            read(bench, offset)
    else:
        read(bench, offset)
        assert numbers(bench) == expected


@pytest.mark.parametrize(("policy", "expected"), [("fail", None), ("skip", [0, 1, 4, 5])])
def test_snapshots_that_have_expired_are_named(lake: Iceberg, policy: str, expected: list[int] | None):
    bench = source(lake, startAt="earliest", onLostData=policy)
    offset = bench.produce(bench.produce().offset, 2).offset
    for snapshot in snapshots(lake)[:2]:
        lake.table().maintenance.expire_snapshots().by_id(snapshot).commit()
    if expected is None:
        with pytest.raises(DataError, match=r"lake.table: snapshots? .* cannot be read any more, .* onLostData: skip"):
            read(bench, offset)
    else:
        read(bench, offset)
        assert numbers(bench) == expected


def test_the_oldest_snapshot_that_can_be_read_is_the_earliest(lake: Iceberg):
    lake.table().maintenance.expire_snapshots().by_id(snapshots(lake)[0]).commit()
    bench = source(lake, startAt="earliest", until="latest")
    read(bench)
    assert sorted(numbers(bench)) == list(range(6))


def test_a_data_file_that_is_gone_is_named(lake: Iceberg):
    bench = source(lake)
    offset = bench.produce().offset
    for path in lake.files.rglob("*.parquet"):
        path.unlink()
    with pytest.raises(DataError, match=r"the data file .* of version \d+ cannot be read any more"):
        read(bench, offset)


def test_a_column_that_is_renamed_or_added_is_read_by_its_id(lake: Iceberg):
    with lake.table().update_schema() as update:
        update.rename_column("n", "number").add_column("m", LongType())
    bench = source(lake, "number bigint, m bigint", startAt="earliest", until="latest")
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
    bench = source(lake, ddl, until="latest")
    read(bench)
    assert sorted(bench.rows(), key=lambda each: each[0] is None) == [tuple(row.values()), (None,) * 7]


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("k string, m bigint", {}, r"has no column m; .*its columns are k, n"),
    ("k bigint", {}, r"the column k of .* is large_string, the attribute is int64"),
    (SCHEMA, {"startAt": {"version": 9}}, r"the table lake.table has no snapshot 9; its newest are \d+, \d+, \d+"),
]


@pytest.mark.parametrize(("schema", "parameters", "message"), WRONG)
def test_what_does_not_fit_is_named(lake: Iceberg, schema: str, parameters: dict[str, Any], message: str):
    with pytest.raises(DataError, match=message):
        source(lake, schema, **parameters).produce()


def test_a_table_that_is_not_there_is_named(lake: Iceberg):
    bench = source(lake)
    offset = read(bench)
    lake.drop()
    with pytest.raises(LakeError, match=r"there is no table lake\.table in the catalog"):
        read(bench, offset)


def test_there_is_no_feed_of_changes(lake: Iceberg):
    with pytest.raises(ValueError, match="'fail', 'skip' or 'rewritten'"):
        source(lake, onChange="feed")
