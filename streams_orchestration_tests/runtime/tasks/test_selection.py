"""Filters of Imports choose the tuples of streams of other applications."""

from __future__ import annotations

import datetime as dt

import pytest

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.tasks.selection import selected

DDL = "n int, at timestamp"
HOURS = [dt.datetime(2024, 6, 30, hour, tzinfo=dt.UTC) for hour in (20, 21, 22, 23)]
BATCH = TupleBatch.from_columns({"n": [0, 1, None, 3], "at": HOURS}, arrow_schema(DDL))


@pytest.mark.parametrize(
    ("condition", "zone", "chosen"),
    [
        ("hour(at) < 2", "UTC", []),
        ("hour(at) < 2", "Europe/Berlin", [None, 3]),
        ("at >= '2024-07-01'", "UTC", []),
        ("at >= '2024-07-01'", "Europe/Berlin", [None, 3]),
        ("at >= TIMESTAMP '2024-07-01 00:00:00'", "Asia/Kolkata", [0, 1, None, 3]),
        ("at >= TIMESTAMP '2024-06-30 22:00:00Z'", "Asia/Kolkata", [None, 3]),
        ("CAST(at AS DATE) = DATE '2024-07-01'", "Europe/Berlin", [None, 3]),
        ("n < 2", "Europe/Berlin", [0, 1]),
    ],
)
def test_a_filter_is_in_the_time_zone_of_the_application_that_imports(
    condition: str, zone: str, chosen: list[int | None]
):
    assert selected(BATCH, condition, DDL, zone).arrow.column("n").to_pylist() == chosen


def test_a_filter_without_a_value_for_a_tuple_stops_the_application():
    with pytest.raises(DataError, match=r"filter: '1 DIV n = 1': division by zero; the tuple has n = 0"):
        selected(BATCH, "1 DIV n = 1", DDL, "UTC")
