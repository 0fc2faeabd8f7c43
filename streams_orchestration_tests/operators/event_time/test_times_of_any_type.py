"""Panes of times of every type and unit, before 1970 too, and of days, weeks and months of any zone (EV28, EV55)."""

from __future__ import annotations

import datetime as dt
import functools
import zoneinfo
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END, Watermarks
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.event_time.naive_panes import NaiveIntervals, NaivePanes, NaiveSessions
from streams_orchestration_tests.operators.harness import division

TYPES = {"bigint": (1_000, 1_000_000, 1_000_000_000), "timestamp": (1_000_000,), "timestamp_ntz": (1_000_000,),
         "timestamp_ns": (1_000_000_000,)}  # fmt: skip
"""Type of the attribute -> ticks in a second."""
KINDS = st.sampled_from([(kind, ticks) for kind, units in TYPES.items() for ticks in units])
ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "America/Havana", "America/St_Johns",
    "America/Asuncion", "Atlantic/Azores", "Asia/Beirut", "Asia/Tehran", "Asia/Kathmandu", "Asia/Amman",
    "Africa/Cairo", "Africa/Monrovia", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kwajalein", "Pacific/Chatham",
)  # fmt: skip
"""Zones that change at midnight, by half an hour, by seconds, within the first minute of a day, or by a whole day."""
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
DAY, LATEST = 86_400, 2_000_000_000
RESULT = "s {0}, e {0}, timing string, nth bigint, back boolean, n bigint, total bigint, at {0}"
OUTPUT = {
    "s": "intervalStart()", "e": "intervalEnd()", "timing": "paneTiming()", "nth": "paneIndex()",
    "back": "isRetraction()", "n": "Count()", "total": "Sum(v)", "at": "paneTime()",
}  # fmt: skip
Row = tuple[int, str, int]


def local_date(second: int, zone: str) -> dt.date:
    return (EPOCH + dt.timedelta(seconds=second)).astimezone(zoneinfo.ZoneInfo(zone)).date()


def first_date(date: dt.date, unit: str) -> dt.date:
    """Return the first day of the unit with a date."""
    if unit == "week":
        return date - dt.timedelta(date.weekday())
    return date.replace(day=1) if unit == "month" else date


@functools.cache
def begin(date: dt.date, zone: str) -> int:
    """Return the first second with a local date, or a later one."""
    low = (date - EPOCH.date()).days * DAY - 30 * 3600
    near = next(second for second in range(low, low + 4 * DAY, 300) if local_date(second, zone) >= date)
    return next(second for second in range(near - 300, near + 1) if local_date(second, zone) >= date)


@functools.cache
def change_behind(second: int, zone: str) -> int:
    """Return the second of the next change of a zone's offset, or a second in the following 400 days."""

    def offset(at: int) -> dt.timedelta | None:
        return (EPOCH + dt.timedelta(seconds=at)).astimezone(zoneinfo.ZoneInfo(zone)).utcoffset()

    days = range(second, min(second + 400 * DAY, LATEST), DAY)
    low = next((day for day in days if offset(day) != offset(day + DAY)), None)
    if low is None:
        return second
    return next(at for at in range(low, low + DAY + 1, 60) if offset(at) != offset(low))


@dataclass
class NaiveCalendar(NaivePanes):
    """`calendar`, by the local date of each time."""

    zone: str = "UTC"
    unit: str = "day"
    ticks: int = 1

    def panes_at(self, time: int) -> list[tuple[int, int]]:
        first = first_date(local_date(time // self.ticks, self.zone), self.unit)
        while begin(self._following(first), self.zone) * self.ticks <= time:  # a date may come twice
            first = self._following(first)
        bounds = begin(first, self.zone), begin(self._following(first), self.zone)
        return [(bounds[0] * self.ticks, bounds[1] * self.ticks)]

    def _following(self, first: dt.date) -> dt.date:
        days = {"day": 1, "week": 7, "month": 31}[self.unit]
        return first_date(first + dt.timedelta(days), self.unit)


class Window(NamedTuple):
    """A window, its account, and times in ticks around which it is interesting."""

    text: str
    naive: NaivePanes
    center: int
    spread: int


def count_and_sum(rows: Any) -> tuple[int, int]:
    return len(rows), sum(v for *_, v in rows)


def key_of(row: Row) -> str:
    return row[1]


def seconds(length: int, ticks: int) -> str:
    """Return a length in ticks as an exact decimal number of seconds."""
    return f"{length // ticks}.{length % ticks:0{len(str(ticks)) - 1}d}"


@st.composite
def windows(draw: st.DrawFn, ticks: int, refinement: str) -> Window:
    """Return windows of the three kinds."""
    given: dict[str, Any] = {
        "result": count_and_sum, "partition_of": key_of, "group_of": key_of, "refinement": refinement,
    }  # fmt: skip
    kind = draw(st.sampled_from(["calendar", "timeInterval", "session"]))
    if kind == "calendar":
        zone, unit = draw(st.sampled_from(ZONES)), draw(st.sampled_from(["day", "day", "week", "month"]))
        age = draw(st.sampled_from([0, 0, 3600, DAY])) * ticks
        center = change_behind(draw(st.integers(-LATEST // DAY, LATEST // DAY)) * DAY, zone) * ticks
        text = f"calendar, unit({unit}), zone({zone}), discardAge({seconds(age, ticks)})"
        naive = NaiveCalendar(age, **given, zone=zone, unit=unit, ticks=ticks)
        return Window(text, naive, center, 3600 * ticks * (24 if unit == "month" else 1))
    tick = draw(st.sampled_from([1, 7, ticks // 100]))
    age = draw(st.sampled_from([0, 0, 4, 9])) * tick
    center = draw(st.sampled_from([0, -500, 400])) * tick
    lengths = {name: draw(st.integers(1, 12)) * tick for name in ("duration", "period", "offset", "gap")}
    if kind == "session":
        text = f"session, gap({seconds(lengths['gap'], ticks)}), discardAge({seconds(age, ticks)})"
        return Window(text, NaiveSessions(age, **given, gap=lengths["gap"]), center, tick)
    duration, period, offset = lengths["duration"], lengths["period"], lengths["offset"]
    text = (
        f"timeInterval, intervalDuration({seconds(duration, ticks)}), creationPeriod({seconds(period, ticks)}), "
        f"intervalOffset({seconds(offset, ticks)}), discardAge({seconds(age, ticks)})"
    )
    naive = NaiveIntervals(age, **given, duration=duration, period=period, offset=offset % period)
    return Window(text, naive, center, tick)


@st.composite
def streams(draw: st.DrawFn, window: Window) -> list[Row | int]:
    """Return tuples, and watermarks that rise, near the times of a window."""
    items: list[Row | int] = []
    last = None
    for number in range(draw(st.integers(1, 20))):
        time = window.center + draw(st.integers(-30, 30)) * window.spread + draw(st.sampled_from([0, 0, 0, -1, 1]))
        if draw(st.integers(0, 2)):
            items.append((time, draw(st.sampled_from("ab")), number))
        elif last is None or time > last:
            last = time
            items.append(time)
    return [*items, END]


def ticks_of(batches: Any, *times: str) -> list[tuple[Any, ...]]:
    """Return tuples with their times in ticks."""
    found: list[tuple[Any, ...]] = []
    for batch in batches:
        columns = [batch.arrow.column(name) for name in batch.arrow.schema.names]
        plain = [
            (each.cast(pa.int64()) if name in times else each).to_pylist()
            for name, each in zip(batch.arrow.schema.names, columns, strict=True)
        ]
        found += zip(*plain, strict=True)
    return found


@given(
    KINDS, st.sampled_from(["accumulating", "discarding", "retracting"]), st.data(),
    st.lists(st.integers(0, 100), max_size=4), st.booleans(),
)  # fmt: skip
@examples(300)
def test_panes_of_every_type_and_zone_are_those_of_the_account(
    kind: tuple[str, int], refinement: str, data: st.DataObject, cuts: list[int], restarts: bool
):
    type_, ticks = kind
    window = data.draw(windows(ticks, refinement))
    items: list[Any] = data.draw(streams(window))
    source = f"at {type_}, k string, v bigint"
    parameters = {
        "window": f"{window.text}, partitioned", "partitionBy": ["k"], "refinement": refinement, "output": OUTPUT,
    }  # fmt: skip
    agg = OperatorHarness(
        Aggregate, [source], [f"k string, {RESULT.format(type_)}", source], parameters=parameters,
        event_time=EventTimeRole("at", ticks, "inputWatermark", 0, 1, (0,), (0, 1)),
    )  # fmt: skip
    for part in division(items, cuts):
        agg.send(batch_of(part, agg.context.inputs[0]))
        if restarts:
            agg.restart()
    wanted: list[tuple[Any, ...]] = []
    for item in items:
        if isinstance(item, tuple):
            window.naive.tuple(item)
        else:
            wanted += [row for results in window.naive.advance(item) for row in results]
    assert ticks_of(agg.batches(), "s", "e", "at") == [(*row, row[2] - 1) for row in wanted]
    assert ticks_of(agg.batches(1), "at") == window.naive.late


def batch_of(items: Any, schema: pa.Schema) -> TupleBatch:
    """Return tuples and the watermarks among them as one batch."""
    rows, marks = list[Row](), list[tuple[int, int]]()
    for item in items:
        if isinstance(item, tuple):
            rows.append(item)
        else:
            marks.append((len(rows), item))
    times = pa.array([row[0] for row in rows], pa.int64()).cast(schema.field("at").type)
    batch = TupleBatch.from_columns({"at": times, "k": [row[1] for row in rows], "v": [row[2] for row in rows]}, schema)
    return batch.with_watermarks(Watermarks.of(*marks)) if marks else batch
