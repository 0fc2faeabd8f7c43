"""The source of a view gives Spark partitions, and tasks read their tuples: no server is needed."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.engine.spark.descriptor import MARKER
from streams_orchestration.runtime.engine.spark.frames.descriptors import BatchRecord, FrameBatch, PortBatch
from streams_orchestration.runtime.engine.spark.frames.reading import FEW_BYTES, FEW_ROWS
from streams_orchestration.runtime.engine.spark.frames.source import PortReader
from streams_orchestration.runtime.queries.scratch import Launched, Scratch
from streams_orchestration.runtime.storage.directories import Directories, directories_of
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.transport.segments import SegmentError, write_segment

PLAIN = "n bigint, ts timestamp"
BEFORE, BATCH = {"batch": 6}, {"batch": 7}


@dataclass(frozen=True)
class Port:
    """The source of a port of a query, for one batch of which the segments were planned."""

    reader: PortReader
    planned: PortBatch

    @property
    def handed(self) -> list[tuple[Any, ...]] | None:
        """The rows that Spark gets with the partitions; None when tasks read them."""
        taken = self.reader.getCache(BEFORE, BATCH)
        return None if taken is None else rows_of(list(taken))


def port(
    directory: Path,
    sizes: list[int],
    ddl: str = PLAIN,
    *,
    time: str = "",
    marker: int | None = None,
    text: str = "",
    filters: dict[str, str] | None = None,
) -> Port:
    home = Home(directory / "home")
    directories = directories_of(home, "app", 0)
    scratch = Scratch.create(directory / "scratch", Launched(cast(Any, None), directories))
    segments = tuple(segment(directories, ddl, size, number, text) for number, size in enumerate(sizes))
    planned, record = PortBatch(segments, filters or {}, marker), BatchRecord(scratch)
    record.lead()
    record.plan(BATCH["batch"], FrameBatch({"0:0": planned}))
    options = {
        "scratch": scratch.path,
        "operator": "0",
        "port": "0",
        "attributes": ddl,
        "time": time,
        "timezone": "UTC",
    }
    return Port(PortReader(options), planned)


def segment(directories: Directories, ddl: str, size: int, number: int, text: str) -> Any:
    columns: dict[str, list[Any]] = {"n": list(range(number, number + size)), "ts": [number] * size, "k": [text] * size}
    columns["many"] = [[number]] * size
    schema = arrow_schema(ddl)
    arrays = [pa.array(columns[field.name], None if field.name != "ts" else pa.int64()) for field in schema]
    batch = pa.RecordBatch.from_arrays(
        [each.cast(field.type) for each, field in zip(arrays, schema, strict=True)], schema=schema
    )
    return write_segment(directories.store, directories.streams, "Rows", schema, [TupleBatch(batch)])


def rows_of(batches: list[pa.RecordBatch]) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def read(reader: PortReader) -> list[tuple[Any, ...]]:
    """Return the rows that the tasks read."""
    return [row for each in reader.partitions(BEFORE, BATCH) for row in rows_of(list(reader.read(each)))]


@given(
    st.lists(st.integers(0, 2 * FEW_ROWS // 3), max_size=4),
    st.sampled_from(["", "ts"]),
    st.one_of(st.none(), st.integers(0, 10**15)),
)
def test_spark_gets_the_same_rows_either_way(sizes: list[int], time: str, marker: int | None):
    with tempfile.TemporaryDirectory() as directory:
        of = port(Path(directory), sizes, time=time, marker=marker if time else None)
        rows = read(of.reader)
        marked = [row for row in rows if time and row[-1] == 1]
        assert len(rows) == sum(sizes) + len(marked)
        assert len(marked) == (marker is not None and time != "")
        handed = of.handed
        assert (handed is not None) == (sum(sizes) <= FEW_ROWS and len(rows) + len(sizes) > 0)
        if handed is not None:
            assert handed == rows
            assert len(of.reader.partitions(BEFORE, BATCH)) == 1, "Spark takes rows with one partition only"


@pytest.mark.parametrize(
    ("ddl", "sizes", "text"),
    [
        ("n bigint, k string", [10], "x" * (FEW_BYTES // 10)),
        ("n bigint, many array<bigint>", [10], ""),
        (PLAIN, [FEW_ROWS, 1], ""),
        (PLAIN, [], ""),
    ],
    ids=["many bytes", "nested attributes", "many rows", "nothing"],
)
def test_tasks_read_what_is_not_small_and_plain(tmp_path: Path, ddl: str, sizes: list[int], text: str):
    of = port(tmp_path, sizes, ddl, text=text)
    assert len(read(of.reader)) == sum(sizes)
    assert of.handed is None


def test_a_source_that_begins_hands_over_nothing(tmp_path: Path):
    of = port(tmp_path, [3])
    assert of.reader.partitions(BATCH, BATCH) == []
    assert of.handed is None


def test_the_rows_of_a_batch_are_not_those_of_the_next(tmp_path: Path):
    of = port(tmp_path, [3])
    read(of.reader)
    of.reader.partitions(BATCH, BATCH)
    assert of.handed is None


def test_the_newest_time_is_reported_by_whoever_reads(tmp_path: Path):
    of = port(tmp_path, [3], time="ts")
    of.reader.partitions(BEFORE, BATCH)
    (answer,) = (tmp_path / "scratch" / "answers").glob("7-0-*.json")
    assert '"0:0":{"time":0}' in answer.read_text()


def test_a_lost_segment_is_the_failure_of_a_task(tmp_path: Path):
    of = port(tmp_path, [3])
    for path in (tmp_path / "home").rglob("*.arrow"):
        path.unlink()
    (partition,) = of.reader.partitions(BEFORE, BATCH)
    assert of.handed is None
    with pytest.raises(SegmentError, match="stream Rows: the segment"):
        list(of.reader.read(partition))


def test_a_filter_without_a_value_for_a_tuple_is_the_failure_of_a_task(tmp_path: Path):
    of = port(tmp_path, [3], filters={"Rows": "1 / n > 0"})
    (partition,) = of.reader.partitions(BEFORE, BATCH)
    assert of.handed is None
    with pytest.raises(DataError):
        list(of.reader.read(partition))


def test_a_row_for_the_watermark_is_marked(tmp_path: Path):
    of = port(tmp_path, [1], time="ts", marker=5)
    (partition,) = of.reader.partitions(BEFORE, BATCH)
    batches = list(of.reader.read(partition))
    assert [batch.column(MARKER).to_pylist() for batch in batches] == [[0], [1]]
