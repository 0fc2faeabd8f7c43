"""Aggregate with windows of event time: worked cases, and any stream against an account that goes tuple by tuple."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.watermarks import END, Watermark
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.event_time.naive_panes import NaiveIntervals, NaivePanes, NaiveSessions, Row
from streams_orchestration_tests.operators.harness import division

ALL_CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[2] / "cases" / "event_time_panes.yaml").read_text(encoding="utf-8")
)
CASES = [case for case in ALL_CASES if case["kind"] == "panes"]
TUPLE = "at bigint, k string, v bigint"
PANE = "start bigint, end bigint, timing string, nth bigint"
FUNCTIONS = {"start": "intervalStart()", "end": "intervalEnd()", "timing": "paneTiming()", "nth": "paneIndex()"}


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def items_of(case: dict[str, Any]) -> list[Row | Watermark]:
    """Return the tuples and watermarks of an Aggregate; without a lag there is a watermark at every new time."""
    items: list[Row | Watermark] = []
    if "items" in case:
        for each in case["items"]:
            items.append(
                Watermark(milliseconds(each["w"])) if isinstance(each, dict) else (milliseconds(each[0]), *each[1:])
            )
        return items
    assert case["source"]["eventTime"] == {"lag": 0, "minimumGap": 0}
    greatest = -(2**62)
    for time, *others in case["source"]["tuples"]:
        items.append((milliseconds(time), *others))
        if milliseconds(time) > greatest:
            greatest = milliseconds(time)
            items.append(Watermark(greatest))
    return [*items, Watermark(END)]


def aggregate(parameters: dict[str, Any], output: dict[str, str], types: str, **more: Any) -> OperatorHarness:
    """Return an Aggregate whose second port gets what is too late."""
    given_: dict[str, Any] = {**parameters, "output": {**FUNCTIONS, **output}}
    keys = dict.fromkeys([*parameters.get("partitionBy", ()), *parameters.get("groupBy", ())])
    result = "".join(f"{key} string, " for key in keys) + f"{PANE}, {types}"
    source = more.pop("source", TUPLE)
    return OperatorHarness(Aggregate, [source], [result, source], parameters=given_, event_time="at", **more)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_worked_cases_hold_at_every_division_and_with_a_restart_after_every_item(case: dict[str, Any]):
    items = items_of(case)
    keys = len({*case["aggregate"].get("partitionBy", ()), *case["aggregate"].get("groupBy", ())})
    panes = [
        (*pane[:keys], *map(milliseconds, pane[keys : keys + 2]), *pane[keys + 2 :]) for pane in case["expect"]["panes"]
    ]
    late = [(milliseconds(time), *others) for time, *others in case["expect"]["late"]]
    divisions = [[items[:at], items[at:]] for at in range(1, len(items))] + [[items], [[item] for item in items]]
    for parts, restarts in itertools.product(divisions, (False, True)):
        agg = aggregate(case["aggregate"], {"n": "Count()", "total": "Sum(v)"}, "n bigint, total bigint")
        for part in parts:
            agg.send(part)
            if restarts:
                agg.restart()
        assert agg.rows() == panes
        assert agg.rows(1) == late
        assert agg.metrics["late_dropped"] == len(late)


def test_a_result_with_the_last_tick_of_its_pane_is_not_late_for_panes_behind_it():
    case = next(case for case in ALL_CASES if case["kind"] == "cascade")
    first = aggregate(case["aggregate"], {"at": "paneTime()", "v": "Count()"}, "at bigint, v bigint")
    second = aggregate(case["then"], {"n": "Count()", "total": "Sum(v)"}, "n bigint, total bigint",
                       source=f"{PANE}, at bigint, v bigint")  # fmt: skip
    for item in items_of(case):
        first.send([item])
    for batch in first.batches():
        second.send(batch)
    seconds = [(*map(milliseconds, pane[:2]), *pane[2:]) for pane in case["expect"]["panes"]]
    assert second.rows() == [(*pane[:5], pane[5]) for pane in seconds]
    assert second.rows(1) == []


ITEMS = st.lists(
    st.one_of(
        st.tuples(st.integers(-25, 25), st.sampled_from(["x", "y", None]), st.sampled_from("ab"), st.integers(1, 9)),
        st.integers(1, 12),
    ),
    max_size=24,
)
"""Tuples, and by how much the watermark rises."""
CUTS = st.lists(st.integers(0, 100), max_size=5)
OUTPUT = {"back": "isRetraction()", "n": "Count()", "total": "Sum(v)", "least": "Min(v)", "text": "Max(g)"}
TYPES = "back boolean, n bigint, total bigint, least bigint, text string"


def streamed(items: Sequence[Any], first: int) -> list[Any]:
    """Items with watermarks that ascend from a first one on, and the end."""
    watermark, stream = first, list[Any]()
    for item in items:
        watermark += item if isinstance(item, int) else 0
        stream.append(Watermark(watermark) if isinstance(item, int) else item)
    return [*stream, Watermark(END)]


def account(panes: NaivePanes, stream: Sequence[Any]) -> list[Any]:
    """Return the items that an Aggregate submits: results, a marker behind each firing, the last watermark."""
    submitted: list[Any] = []
    for item in stream:
        if isinstance(item, Watermark):
            for results in panes.advance(item.value):
                submitted += [*results, Punctuation.WINDOW]
            submitted.append(item)
        else:
            panes.tuple(item)
    return submitted


def results_of(rows: Sequence[Row]) -> tuple[Any, ...]:
    values = [v for *_, v in rows]
    return len(rows), sum(values), min(values), max(g for _, _, g, _ in rows)


def results_by_arrival(rows: Sequence[Row]) -> tuple[Any, ...]:
    return *results_of(rows), rows[0][-1], rows[-1][-1]


BY_ARRIVAL = {"first": "First(v)", "last": "Last(v)"}
"""Functions for which panes that overlap cannot share their slices."""


def tried(agg: OperatorHarness, stream: list[Any], cuts: list[int], restarts: bool) -> OperatorHarness:
    for part in division(stream, cuts):
        agg.send(part)
        if restarts:
            agg.restart()
    return agg


def shown(items: Sequence[Any], keys: Sequence[str]) -> list[Any]:
    """Return the items of an Aggregate with the key of each group as one value, and without the time of its pane."""
    width = len(keys)
    return [(item[:width], *item[width:-1]) if isinstance(item, tuple) else item for item in items]


@st.composite
def intervals(draw: st.DrawFn) -> tuple[dict[str, Any], NaiveIntervals]:
    """Return the parameters of an Aggregate over intervals, and its account."""
    duration, period = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    offset, discard = draw(st.integers(0, 15)), draw(st.sampled_from([0, 1, 4, 30]))
    by_pane = draw(st.booleans())
    early = draw(st.one_of(st.none(), st.integers(1, 5)))
    refinement = draw(st.sampled_from(["accumulating", "discarding", "retracting"]))
    window = (
        f"timeInterval, intervalDuration({duration / 1000}), creationPeriod({period / 1000}), "
        f"intervalOffset({offset / 1000}), discardAge({discard / 1000}), discardBy({'pane' if by_pane else 'tuple'})"
    )
    window += f", early({early / 1000})" if early is not None else ""
    parameters, keys = draw(grouped(window))
    naive = NaiveIntervals(
        discard, draw(st.sampled_from([results_of, results_by_arrival])),
        lambda row: tuple(row[i] for i in keys[0]), lambda row: tuple(row[i] for i in keys[1]),
        refinement, early, duration=duration, period=period, offset=offset % period, by_pane=by_pane,
    )  # fmt: skip
    return parameters | {"refinement": refinement}, naive


@st.composite
def sessions(draw: st.DrawFn) -> tuple[dict[str, Any], NaiveSessions]:
    """Return the parameters of an Aggregate over sessions, and its account."""
    gap, discard = draw(st.integers(1, 8)), draw(st.sampled_from([0, 1, 4, 30]))
    refinement = draw(st.sampled_from(["accumulating", "discarding", "retracting"]))
    parameters, keys = draw(grouped(f"session, gap({gap / 1000}), discardAge({discard / 1000})"))
    naive = NaiveSessions(
        discard, results_of, lambda row: tuple(row[i] for i in keys[0]), lambda row: tuple(row[i] for i in keys[1]),
        refinement, gap=gap,
    )  # fmt: skip
    return parameters | {"refinement": refinement}, naive


@st.composite
def grouped(draw: st.DrawFn, window: str) -> tuple[dict[str, Any], tuple[list[int], list[int]]]:
    """Return the parameters with partitions and groups, and the positions of their attributes."""
    partitioned, by_group = draw(st.booleans()), draw(st.booleans())
    parameters: dict[str, Any] = {"window": window}
    if partitioned:
        parameters |= {"window": f"{window}, partitioned", "partitionBy": ["k"]}
    if by_group:
        parameters |= {"groupBy": ["g"]}
    partition = [1] if partitioned else []
    return parameters, (partition, partition + ([2] if by_group else []))


@given(st.one_of(intervals(), sessions()), ITEMS, CUTS, st.integers(-30, 10), st.booleans())
@examples(600)
def test_any_stream_in_any_division_gives_what_the_account_gives(
    window: tuple[dict[str, Any], NaivePanes], items: list[Any], cuts: list[int], first: int, restarts: bool
):
    parameters, naive = window
    stream = streamed(items, first)
    more, types = ({}, "") if naive.result is results_of else (BY_ARRIVAL, "first bigint, last bigint, ")
    agg = aggregate(
        parameters, {**OUTPUT, **more, "at": "paneTime()"}, f"{TYPES}, {types}at bigint",
        source="at bigint, k string, g string, v bigint",
    )  # fmt: skip
    tried(agg, stream, cuts, restarts)
    keys = [*parameters.get("partitionBy", ()), *parameters.get("groupBy", ())]
    assert shown(agg.items(), keys) == account(naive, stream)
    assert agg.rows(1) == naive.late
    assert (agg.metrics["late_dropped"], agg.metrics["late_taken"]) == (len(naive.late), naive.taken)


@pytest.mark.parametrize(
    ("refinement", "wanted"),
    [
        ("accumulating", [("paneEarly", 0, 1), ("paneOnComplete", 1, 1), ("paneLate", 2, 2)]),
        ("discarding", [("paneEarly", 0, 1), ("paneLate", 2, 1)]),
    ],
)
def test_a_complete_pane_fires_every_partition_whether_it_has_new_tuples_or_not(refinement: str, wanted: list[Any]):
    window = "timeInterval, intervalDuration(0.01), discardAge(0.1), early(0.002)"
    agg = aggregate({"window": window, "refinement": refinement}, {"n": "Count()"}, "n bigint")
    agg.send([(1, "x", 5), Watermark(3), Watermark(10), (4, "x", 5), Watermark(12)])
    assert [row[2:] for row in agg.rows()] == wanted
    assert agg.items().count(Punctuation.WINDOW) == 3


@pytest.mark.parametrize("refinement", ["accumulating", "discarding", "retracting"])
@pytest.mark.parametrize("discard", [0, 30])
@pytest.mark.parametrize(("duration", "period", "early"), [(8, 8, 4), (12, 8, 4), (8, 12, 4), (12, 12, 8)])
def test_early_firings_among_many_watermarks_of_a_batch(
    duration: int, period: int, early: int, discard: int, refinement: str
):
    random = Random(f"{duration} {period} {early} {discard} {refinement}")
    stream, watermark = list[Any](), -20
    for _ in range(150):
        if random.random() < 0.4:
            watermark += random.choice((1, 1, 2, 5))
            stream.append(Watermark(watermark))
        else:
            stream.append((watermark + random.randint(-10, 20), random.choice("xy"), "a", random.randint(1, 9)))
    stream.append(Watermark(END))
    naive = NaiveIntervals(
        discard, results_of, lambda row: (row[1],), lambda row: (row[1],), refinement, early,
        duration=duration, period=period, offset=2,
    )  # fmt: skip
    window = (
        f"timeInterval, intervalDuration({duration / 1000}), creationPeriod({period / 1000}), intervalOffset(0.002), "
        f"discardAge({discard / 1000}), early({early / 1000}), partitioned"
    )
    agg = aggregate(
        {"window": window, "partitionBy": ["k"], "refinement": refinement},
        {**OUTPUT, "at": "paneTime()"}, f"{TYPES}, at bigint", source="at bigint, k string, g string, v bigint",
    )  # fmt: skip
    tried(agg, stream, [50, 80], restarts=False)
    assert shown(agg.items(), ["k"]) == account(naive, stream)


@pytest.mark.parametrize("window", ["timeInterval, intervalDuration(0.004)", "session, gap(0.004)"])
def test_a_tuple_at_the_watermark_less_the_discard_age_is_not_too_late(window: str):
    agg = aggregate({"window": f"{window}, discardAge(0.005)"}, {"n": "Count()"}, "n bigint")
    agg.send([Watermark(10), (10, "x", 1), (5, "x", 1), (4, "x", 1), Watermark(END)])
    assert agg.rows(1) == [(4, "x", 1)]
    assert (agg.metrics["late_taken"], agg.metrics["late_dropped"]) == (1, 1)
