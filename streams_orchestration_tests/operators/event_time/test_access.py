"""Times as values of the event-time attribute, as operators see them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import pytest

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.event_time.access import EventTime
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.watermarks import END

BERLIN = dt.timezone(dt.timedelta(hours=2))


class Passing(Operator):
    def process(self, port: int, batch: Any) -> None:
        self.submit(batch)


def event_time(kind: str, attribute: str = "at") -> EventTime:
    found = OperatorHarness(Passing, [f"k string, {kind}"], [f"k string, {kind}"], event_time=attribute).operator
    assert found.event_time is not None
    return found.event_time


@pytest.mark.parametrize(
    ("kind", "value", "ticks"),
    [
        ("at bigint", 1500, 1500),
        ("at bigint", END, END),
        ("at timestamp", dt.datetime(1970, 1, 1, 0, 0, 1, 5, dt.UTC), 1_000_005),
        ("at timestamp_ntz", dt.datetime(1969, 12, 31, 23, 59, 59), -1_000_000),
        ("at timestamp_ntz", dt.datetime.max, 253402300799999999),
        ("at timestamp_ns", pd.Timestamp(1_000_000_005, tz="UTC"), 1_000_000_005),
    ],
)
def test_values_and_ticks_are_two_forms_of_a_time(kind: str, value: Any, ticks: int):
    times = event_time(kind)
    assert times.to_value(ticks) == value
    assert times.to_ticks(value) == ticks


def test_a_timestamp_of_any_zone_is_an_instant():
    assert event_time("at timestamp").to_ticks(dt.datetime(1970, 1, 1, 2, 0, 1, tzinfo=BERLIN)) == 1_000_000


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("at bigint", END),
        ("at timestamp", dt.datetime.max.replace(tzinfo=dt.UTC)),
        ("at timestamp_ntz", dt.datetime.max),
        ("at timestamp_ns", pd.Timestamp(END, tz="UTC")),
    ],
)
def test_the_end_is_the_greatest_value(kind: str, value: Any):
    assert event_time(kind).to_value(END) == value


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("at bigint", 1.5, r"the time is 1.5 \(float\), but at is bigint: give a whole number of 64 bits"),
        ("at bigint", True, "give a whole number"),
        ("at bigint", 2**63, "give a whole number of 64 bits"),
        ("at bigint", dt.datetime(2024, 1, 1), "but at is bigint"),
        ("at timestamp", 1500, "but at is timestamp: give a datetime with a time zone"),
        ("at timestamp", dt.datetime(2024, 1, 1), "give a datetime with a time zone"),
        ("at timestamp_ntz", dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "give a datetime without a time zone"),
        ("at timestamp_ns", dt.datetime(3000, 1, 1, tzinfo=dt.UTC), "but at is timestamp_ns: give one of 1678 to 2261"),
    ],
)
def test_a_value_of_another_type_is_named(kind: str, value: Any, message: str):
    with pytest.raises(DataError, match=message):
        event_time(kind).to_ticks(value)


def test_times_of_tuples_are_ticks_also_of_nested_attributes():
    harness = OperatorHarness(
        Passing, ["head struct<at: timestamp>"], ["head struct<at: timestamp>"], event_time="head.at"
    )
    harness.send([({"at": dt.datetime(1970, 1, 1, 0, 0, 2, tzinfo=dt.UTC)},)])
    times = harness.operator.event_time
    assert times is not None
    assert times.attribute == "head.at"
    assert times.times(harness.batches()[0]).tolist() == [2_000_000]


def test_outside_of_a_graph_there_is_no_event_time():
    assert OperatorHarness(Passing, ["at bigint"], ["at bigint"]).operator.event_time is None
