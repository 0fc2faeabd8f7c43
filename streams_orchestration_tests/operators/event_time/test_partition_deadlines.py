"""`completeAfter` of FileSink: the deadlines of partition directories, from their names and from tuples."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.files.partitions import partitioned
from streams_orchestration.operators.standard.files.file_sink import FileSink
from streams_orchestration.operators.standard.files.partition_deadlines import PartitionDeadlines
from streams_orchestration.operators.standard.files.sink_parameters import FileSinkParameters
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END, Watermarks

MINUTE = 60_000_000


def context(ddl: str, ticks: int = 1_000_000) -> OperatorContext:
    role = EventTimeRole("at", ticks, "inputWatermark", 0, 0, (0,), ())
    return OperatorContext("Out", inputs=(arrow_schema(ddl),), outputs=(), event_time=role)


def deadlines(ddl: str, names: list[str], text: str, ticks: int = 1_000_000) -> PartitionDeadlines:
    built = context(ddl, ticks)
    assert built.event_time is not None
    return PartitionDeadlines(built, names, text, built.event_time)


NINE = dt.datetime(2026, 5, 1, 9, tzinfo=dt.UTC)
NINE_US = int(NINE.timestamp()) * 1_000_000
CASES: dict[str, tuple[str, str, Any, int]] = {
    "an hour": ("timestamp", "h + INTERVAL 1 HOUR", NINE, NINE_US + 60 * MINUTE),
    "a part of a second": ("timestamp", "h", NINE + dt.timedelta(microseconds=7), NINE_US + 7),
    "before 1970": ("timestamp", "h", dt.datetime(1969, 12, 31, 23, 59, 59, 5, dt.UTC), -999_995),
    "a day": ("date", "CAST(date_add(h, 1) AS TIMESTAMP)", NINE.date(), NINE_US + 15 * 60 * MINUTE),
    "a text": ("string", "CAST(h AS TIMESTAMP)", "2026-05-01 09:00:00", NINE_US),
    "a text with signs": ("string", "CAST(replace(h, '%', ':') AS TIMESTAMP)", "2026-05-01 09%00%00", NINE_US),
    "null": ("timestamp", "h", None, END),
}


@pytest.mark.parametrize("case", CASES)
def test_the_deadline_of_a_directory_is_that_of_its_tuples(case: str):
    kind, text, value, wanted = CASES[case]
    found = deadlines(f"at timestamp, h {kind}, n bigint", ["h"], text)
    table = pa.table({"h": pa.array([value], arrow_schema(f"h {kind}").field(0).type), "n": pa.array([1])})
    ((directory, _),) = partitioned(table, ["h"])
    assert found.of(directory) == wanted


def test_several_attributes_and_ticks_that_are_no_microseconds():
    found = deadlines("at bigint, y int, d decimal(4,1), k string", ["y", "d", "k"], "y * 1000L + 1", 1_000_000_000)
    table = pa.table({"y": pa.array([3], pa.int32()), "d": [Decimal("2.5")], "k": ["a=b/c"], "n": [1]})
    ((directory, _),) = partitioned(table, ["y", "d", "k"])
    assert found.of(directory) == 4  # 3001 ns, rounded up


@pytest.mark.parametrize("directory", ["h=monday", "day=3", ""])
def test_a_directory_of_another_plan_is_complete_at_the_end(directory: str):
    assert deadlines("at bigint, h bigint", ["h"], "h + 10").of(directory) == END


def test_a_tuple_is_late_if_the_watermark_in_front_of_it_has_reached_its_deadline():
    found = deadlines("at bigint, h bigint", ["h"], "h + 10", 1_000)
    columns = {"at": pa.array([0] * 5), "h": pa.array([0, 0, 0, 10, 0])}
    rows = pa.RecordBatch.from_pydict(columns)
    assert found.late(TupleBatch(rows, watermarks=Watermarks.of((1, 9), (2, 10)))) == 2
    assert found.late(TupleBatch(rows)) == 4  # the watermark stays


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"partitionBy": ["h"]}, "closeMode: watermark needs completeAfter"),
        ({"completeAfter": "h"}, "closeMode: watermark needs partitionBy"),
        ({"partitionBy": ["h"], "completeAfter": "h", "epochsPerFile": 2}, "epochsPerFile cannot be combined with"),
        ({"partitionBy": ["h"], "completeAfter": "h", "visibility": "read_uncommitted"}, "visible at once"),
        ({"closeMode": None, "completeAfter": "h"}, "completeAfter needs closeMode: watermark"),
        ({"partitionBy": ["h"], "completeAfter": "n"}, "attributes that are not in partitionBy: h"),
        ({"partitionBy": ["h"], "completeAfter": "CAST(h AS STRING)"}, "is string, and the event time at is bigint"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(parameters: dict[str, Any], says: str):
    with pytest.raises(ValueError, match=says):
        FileSink.check(
            context("at bigint, h bigint, n bigint"),
            FileSinkParameters.model_validate({"file": "out", "closeMode": "watermark", **parameters}),
        )
