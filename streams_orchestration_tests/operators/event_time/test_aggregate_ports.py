"""Aggregate with windows of event time: types of times, ports, null and extreme times, and what is refused."""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.watermarks import Idle, Watermark
from streams_orchestration.operators.windows.calendar_grid import CalendarGrid
from streams_orchestration.operators.windows.interval_grid import IntervalGrid
from streams_orchestration_tests.examples import examples

TUPLE = "at bigint, v bigint"
INTERVAL = "timeInterval, intervalDuration(0.01)"
COUNTED = "n bigint, at bigint"
COUNT = {"n": "Count()", "at": "paneTime()"}
CALENDAR: dict[str, Any] = next(
    case
    for case in yaml.safe_load((Path(__file__).parents[2] / "cases" / "event_time_panes.yaml").read_text("utf-8"))
    if case["kind"] == "calendar"
)


def aggregate(
    window: str, output: dict[str, str], result: str, *ports: str, source: str = TUPLE, **more: Any
) -> OperatorHarness:
    role = more.pop("event_time", "at")
    parameters = {"window": window, "output": output, **more}
    return OperatorHarness(Aggregate, [source], [result, *ports], parameters=parameters, event_time=role)


def moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def test_days_of_a_zone_are_as_long_as_its_clocks_say():
    output = {"start": "intervalStart()", "end": "intervalEnd()", "n": "Count()"}
    result = "start timestamp, end timestamp, n bigint"
    times = [(moment(time),) for time in CALENDAR["times"]]
    for division in ([times], [[time] for time in times]):
        agg = aggregate(CALENDAR["window"], output, result, source="at timestamp")
        for part in division:
            agg.send(part).restart()
        agg.end()
        expected = [(moment(start), moment(end), n) for start, end, n in CALENDAR["expect"]["panes"]]
        assert agg.rows() == expected


ZONES = ["UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "Pacific/Kiritimati", "Africa/Cairo"]


@given(
    st.sampled_from(["day", "week", "month"]), st.sampled_from(ZONES),
    st.lists(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)), min_size=1, max_size=5),
)  # fmt: skip
@examples(200)
def test_a_time_is_in_the_pane_of_its_local_date(unit: Any, zone: str, times: list[dt.datetime]):
    grid, per_second = CalendarGrid(unit, zone, 1), 1_000_000_000
    ticks = np.array([int(time.replace(tzinfo=dt.UTC, microsecond=0).timestamp()) for time in times])
    panes = grid.slices(ticks)
    assert (grid.start(panes) <= ticks).all()
    assert (ticks < grid.end(panes)).all()
    assert CalendarGrid(unit, zone, per_second).slices(ticks * per_second).tolist() == panes.tolist()
    assert grid.complete(grid.end(panes)).tolist() == panes.tolist()
    assert grid.complete(grid.end(panes) - 1).tolist() == (panes - 1).tolist()
    for tick, start in zip(ticks.tolist(), grid.start(panes).tolist(), strict=True):
        here, first = (dt.datetime.fromtimestamp(each, zoneinfo.ZoneInfo(zone)).date() for each in (tick, start))
        if unit == "week":
            assert first.weekday() == 0
            assert here - first < dt.timedelta(7)
        else:
            assert first == (here.replace(day=1) if unit == "month" else here)


@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 19), st.lists(st.integers(-99, 99), min_size=1))
@examples(200)
def test_panes_and_slices_of_intervals_are_as_their_definition_reads(
    duration: int, period: int, offset: int, times: list[int]
):
    grid = IntervalGrid(duration, period, offset % period)
    for time in times:
        slices = grid.slices(np.array([time]))
        inside = grid.inside(np.array([time]))
        first, last = int(grid.first_pane(slices)[0]), int(grid.last_pane(slices)[0])
        starts = {pane: pane * period + offset % period for pane in range(-150, 150)}
        panes = np.array([pane for pane, start in starts.items() if start <= time < start + duration], np.int64)
        assert grid.start(panes).tolist() == [starts[pane] for pane in panes.tolist()]
        assert (grid.end(panes) - grid.start(panes) == duration).all()
        assert panes.tolist() == (list(range(first, last + 1)) if inside is None or inside[0] else [])
        assert all(low <= slices[0] <= high for low, high in zip(*grid.span(panes), strict=True))
        complete = int(grid.complete(np.array([time]))[0])
        assert starts[complete] + duration <= time < starts[complete + 1] + duration


def test_extremes_of_times_dates_and_texts_are_found_in_panes_that_overlap():
    window = "timeInterval, intervalDuration(4.0), creationPeriod(2.0)"
    output = {"least": "Min(at)", "most": "Max(day)", "text": "Max(s)", "last": "Last(s)", "end": "intervalEnd()"}
    agg = aggregate(
        window, output, "least timestamp, most date, text string, last string, end timestamp",
        source="at timestamp, day date, s string",
    )  # fmt: skip
    first, second = moment("2024-01-01T00:00:01+00:00"), moment("2024-01-01T00:00:03+00:00")
    agg.send([(second, dt.date(2024, 1, 1), "b"), (first, dt.date(2023, 1, 1), "a"), Watermark(second)]).end()
    ends = [moment(f"2024-01-01T00:00:0{end}+00:00") for end in (2, 4, 6)]
    assert agg.rows() == [
        (first, dt.date(2023, 1, 1), "a", "a", ends[0]),
        (first, dt.date(2024, 1, 1), "b", "a", ends[1]),
        (second, dt.date(2024, 1, 1), "b", "b", ends[2]),
    ]


def test_late_tuples_have_the_second_port_and_failed_ones_the_last():
    agg = aggregate(INTERVAL, {"n": "Sum(10 DIV v)", "at": "paneTime()"}, COUNTED, TUPLE, "v bigint, reason string",
                    onError="route")  # fmt: skip
    agg.send([(1, 5), Watermark(5), (4, 1), (6, 0), (7, 2), Watermark(20)])
    assert agg.items() == [Watermark(5), (7, 9), Punctuation.WINDOW, Watermark(20)]
    assert agg.items(1) == [Watermark(5), (4, 1), Watermark(20)]
    assert [row[0] for row in agg.rows(2)] == [0]
    assert agg.metrics["late_dropped"] == 1
    assert agg.metrics["late_taken"] == 0


def test_failed_tuples_have_the_second_port_if_there_is_none_for_late_ones():
    agg = aggregate(INTERVAL, {"n": "Sum(10 DIV v)", "at": "paneTime()"}, COUNTED, "v bigint", onError="route")
    agg.send([Watermark(5), (4, 1), (6, 0)])
    assert agg.rows(1) == [(0,)]


def test_taken_late_tuples_are_counted():
    agg = aggregate(f"{INTERVAL}, discardAge(0.01)", COUNT, COUNTED).send([Watermark(5), (4, 1), (6, 1)])
    assert agg.metrics["late_taken"] == 1


@pytest.mark.parametrize("window", [INTERVAL, "session, gap(0.01)"])
@pytest.mark.parametrize("age", [0, 4])
def test_a_tuple_is_too_late_below_the_watermark_less_the_age_and_not_at_it(window: str, age: int):
    agg = aggregate(f"{window}, discardAge({age / 1000})", COUNT, COUNTED, TUPLE)
    agg.send([Watermark(25), (25 - age, 1), (24 - age, 2)])
    assert agg.rows(1) == [(24 - age, 2)]


def test_a_pane_is_open_for_the_last_tuple_that_its_age_lets_in():
    agg = aggregate(f"{INTERVAL}, discardAge(0.004)", {"n": "Count()", "nth": "paneIndex()"}, "n bigint, nth bigint")
    agg.send([(0, 1), Watermark(13), (9, 2), Watermark(14), (9, 3), Watermark(15)])
    assert agg.rows() == [(1, 0), (2, 1)]


def test_partitions_come_by_their_first_tuple_though_it_is_in_a_later_slice():
    agg = aggregate(
        "timeInterval, intervalDuration(0.01), creationPeriod(0.005), partitioned", {"n": "Count()"},
        "k string, g string, n bigint", source="at bigint, k string, g string", partitionBy=["k"], groupBy=["g"],
    )  # fmt: skip
    agg.send([(6, "y", "a"), (1, "x", "a"), (2, "y", "b"), Watermark(10)])
    expected = [("x", "a", 1), ("y", "b", 1), ("y", "a", 1), ("y", "b", 1), ("x", "a", 1)]
    assert agg.rows() == expected


def test_a_null_time_is_an_error_that_shows_the_tuple():
    agg = aggregate(INTERVAL, COUNT, COUNTED)
    with pytest.raises(DataError, match=re.escape("at of tuple 2 of 2 is null: {at: None, v: 7}")):
        agg.send([(1, 1), (None, 7)])


def test_a_null_time_that_is_ignored_goes_to_the_port_for_late_tuples():
    role = EventTimeRole("at", 1000, "inputWatermark", 0, 0, (0,), (0, 1), on_null="ignore")
    agg = aggregate(INTERVAL, COUNT, COUNTED, TUPLE, event_time=role)
    agg.send([Watermark(20), (None, 7), (21, 1), (3, 2)]).end()
    assert agg.rows() == [(1, 29)]
    assert agg.rows(1) == [(None, 7), (3, 2)]
    assert agg.metrics["null_times"] == 1
    assert agg.metrics["late_dropped"] == 1


def test_the_time_may_be_a_field():
    agg = aggregate(INTERVAL, {"n": "Sum(v)"}, "n bigint", source="a struct<at: bigint>, v bigint", event_time="a.at")
    agg.send([({"at": 1}, 5), ({"at": 11}, 6)]).watermark(10)
    assert agg.rows() == [(5,)]


@pytest.mark.parametrize(
    ("window", "time"),
    [
        (INTERVAL, 2**63 - 3), (INTERVAL, -(2**63)), (f"{INTERVAL}, creationPeriod(0.004)", 2**63 - 4),
        ("session, gap(1.0)", 2**63 - 5), ("session, gap(1.0)", -(2**63) + 5),
        ("calendar, unit(day), zone(Europe/Berlin)", 2**62),
    ],
)  # fmt: skip
def test_a_time_whose_pane_is_out_of_range_is_an_error_that_shows_the_tuple(window: str, time: int):
    agg = aggregate(window, COUNT, COUNTED)
    with pytest.raises(DataError, match=re.escape(f"the tuple {{at: {time}, v: 2}} is in a pane that begins or ends")):
        agg.send([(1, 1), (time, 2)])


def test_the_greatest_times_that_have_a_pane_are_taken():
    last = 2**63 - 1
    agg = aggregate("timeInterval, intervalDuration(0.001)", COUNT, COUNTED).send([(last - 1, 1)])
    agg.watermark(last - 1)
    assert agg.rows() == []
    assert agg.end().rows() == [(1, last - 1)]


def test_an_idle_stream_fires_nothing_and_is_passed_on():
    agg = aggregate(INTERVAL, COUNT, COUNTED).send([(1, 1), Idle(), (12, 1), Watermark(12)])
    assert agg.items() == [Idle(), (1, 9), Punctuation.WINDOW, Watermark(12)]


def test_a_port_without_event_time_gets_no_watermarks():
    agg = aggregate(INTERVAL, {"n": "Count()"}, "n bigint", "v bigint").send([(1, 1), Watermark(12), (2, 5)]).end()
    assert agg.items() == [(1,), Punctuation.WINDOW]
    assert agg.items(1) == [(5,)]


REFUSED = {
    "'paneIndx..' is not an output function; the nearest is paneIndex": {"output": {"n": "paneIndx()"}},
    "timeAttribute cannot be combined with a window of event time": {"timeAttribute": "at"},
    "aggregateIncompleteWindows cannot be combined with": {"aggregateIncompleteWindows": True},
    "partitionBy and a window that is 'partitioned' require each other": {"partitionBy": ["v"]},
    "paneIndex.. takes no argument": {"output": {"n": "paneIndex(v)"}},
    "the value is string, but the output stream's attribute is bigint": {"output": {"n": "paneTiming()"}},
    "the value is boolean": {"output": {"n": "isRetraction()"}},
    "refinement: retracting is for windows of event time": {"window": "tumbling, count(2)",
                                                              "refinement": "retracting"},
    "intervalStart.. needs a window of event time": {"window": "tumbling, count(2)",
                                                        "output": {"n": "intervalStart()"}},
    "depends on the order of arrival, which session windows do not preserve": {"window": "session, gap(1.0)",
                                                                         "output": {"n": "First(v)"}},
    "0.0001 s is not a whole number of ticks": {"window": "timeInterval, intervalDuration(0.0001)"},
    "is a window of Sort": {"window": "eventTime"},
}  # fmt: skip


@pytest.mark.parametrize("reason", REFUSED)
def test_wrong_parameters_of_aggregate_are_refused(reason: str):
    with pytest.raises(ValueError, match=reason):
        aggregate(**{"window": INTERVAL, "output": {"n": "Count()"}, "result": "n bigint", **REFUSED[reason]})


def test_a_port_for_late_tuples_has_their_attributes_and_needs_a_window_of_event_time():
    with pytest.raises(ValueError, match=r"output port 1 gets .* too late, .* it has w bigint"):
        aggregate(INTERVAL, COUNT, COUNTED, "w bigint")
    with pytest.raises(
        ValueError,
        match="output port 1 gets the tuples that are too late, and only a window of event time finds late tuples",
    ):
        aggregate("tumbling, count(2)", {"n": "Count()"}, "n bigint", TUPLE)


def test_an_aggregate_without_event_time_says_where_times_come_from():
    with pytest.raises(ValueError, match=r"'timeInterval, .*' needs event time, but the stream has none; name"):
        OperatorHarness(Aggregate, [TUPLE], ["n bigint"], parameters={"window": INTERVAL, "output": {"n": "Count()"}})
