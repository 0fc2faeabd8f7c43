"""Aggregate over all kinds of windows, against windows made tuple by tuple."""

from __future__ import annotations

import datetime
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.aggregation import window_groups
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators import naive_windows as naive
from streams_orchestration_tests.operators.harness import Bench, Row, division
from streams_orchestration_tests.runtime.applications import compiled, node, published, rows, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication

ROW = "p string, g string, n bigint, t bigint"
RESULT = "p string, g string, number bigint, total bigint, mean double"
OUTPUT = {"number": "Count()", "total": "Sum(n)", "mean": "Average(n * 0.1D)"}
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["x", "y", None]), st.sampled_from(["a", "b"]),
        st.one_of(st.none(), st.integers(-9, 9)), st.integers(-2, 12),
    ),
    max_size=14,
)  # fmt: skip
CUTS = st.lists(st.integers(0, 100), max_size=4)
SIZES = st.sampled_from([{"count": 1}, {"count": 2}, {"count": 5}, {"delta": 0}, {"delta": 3}])


def bench(window: str, **parameters: Any) -> Bench:
    given: dict[str, Any] = {"window": window, "groupBy": ["g"], "output": OUTPUT} | parameters
    return Bench(Aggregate, [ROW], [RESULT if "partitionBy" in given else RESULT.removeprefix("p string, ")], **given)


def policy(size: dict[str, float]) -> str:
    return f"count({size['count']})" if "count" in size else f"delta(t, {size['delta']})"


def summary(window: list[Row], *, partitioned: bool) -> list[Any]:
    """Return the tuples of one window's groups, in order of appearance."""
    groups: dict[Any, list[int | None]] = defaultdict(list)
    for p, g, n, _ in window:
        groups[(p, g) if partitioned else (g,)].append(n)
    tuples: list[Any] = []
    for key, numbers in groups.items():
        values = [n for n in numbers if n is not None]
        mean = sum(n * 0.1 for n in values) / len(values) if values else None
        tuples.append((*key, len(numbers), sum(values) if values else None, mean))
    return tuples


def run(aggregated: Bench, data: list[Row], cuts: list[int], restarts: bool) -> list[Any]:
    for part in division(data, cuts):
        aggregated.send(part)
        if restarts:
            aggregated.restart()
    return aggregated.end().items()


def time_of(row: Row) -> float:
    return row[3]


@given(ROWS, CUTS, SIZES, st.booleans(), st.booleans(), st.booleans())
@examples(120)
def test_tumbling_windows_are_those_of_the_definition(
    data: list[Row], cuts: list[int], size: dict[str, Any], partitioned: bool, incomplete: bool, restarts: bool
):
    more = {"partitionBy": ["p"]} if partitioned else {}
    clause = f"tumbling, {policy(size)}" + (", partitioned" if partitioned else "")
    actual = run(bench(clause, aggregateIncompleteWindows=incomplete, **more), data, cuts, restarts)
    expected: list[Any] = []
    parts: dict[Any, Any] = {}
    opened: dict[Any, int] = {}
    left: dict[Any, list[Row]] = {}
    for i, row in enumerate(data):
        key = row[0] if partitioned else ""
        parts.setdefault(key, []).append(row)
        closed, left[key] = list(naive.tumbling(parts[key], **size, value=time_of))[-1]
        if len(left[key]) == 1:
            opened[key] = i
        if closed:
            expected += [*summary(closed, partitioned=partitioned), Punctuation.WINDOW]
    if incomplete:
        for key in sorted(left, key=lambda key: opened.get(key, -1)):
            expected += summary(left[key], partitioned=partitioned)
    assert repr(actual) == repr(expected)


@given(ROWS, CUTS, SIZES, SIZES, st.booleans(), st.booleans())
@examples(120)
def test_sliding_windows_are_left_out_before_they_were_full_once(
    data: list[Row], cuts: list[int], evict: dict[str, Any], trigger: dict[str, Any], partitioned: bool, restarts: bool
):
    more: dict[str, Any] = {"partitionBy": ["p"]} if partitioned else {}
    clause = f"sliding, {policy(evict)}, {policy(trigger)}" + (", partitioned" if partitioned else "")
    actual = run(bench(clause, aggregateIncompleteWindows=False, **more), data, cuts, restarts)
    expected: list[Any] = []
    parts: dict[Any, Any] = defaultdict(list)
    for row in data:
        part = parts[row[0] if partitioned else ""]
        before = naive.full(part, evict, time_of)
        part.append(row)
        if before if "delta" in trigger else naive.full(part, evict, time_of):
            for window in list(naive.sliding(part, evict, trigger, time_of))[-1]:
                expected += [*summary(window, partitioned=partitioned), Punctuation.WINDOW]
    assert repr(actual) == repr(expected)


def test_windows_that_no_marker_has_closed_are_dropped_at_the_end():
    data = [("x", "a", 1, 0), ("x", "a", 2, 0)]
    dropping = bench("tumbling, punct()", atEnd="drop").send(data[:1]).mark().send(data[1:]).end()
    assert [row[1] for row in dropping.rows()] == [1]


def test_windows_that_the_end_closes_come_in_one_batch():
    """There are no markers between them."""
    totals = bench("tumbling, count(9), partitioned", partitionBy=["p"], aggregateIncompleteWindows=True)
    totals.send([("x", "a", 1, 0), ("y", "a", 1, 0), ("z", "a", 1, 0)]).end()
    assert [len(batch) for batch in totals.batches()] == [3]


@given(ROWS, CUTS, SIZES, SIZES, st.booleans(), st.booleans())
@examples(150)
def test_sliding_windows_are_those_of_the_definition(
    data: list[Row], cuts: list[int], evict: dict[str, Any], trigger: dict[str, Any], partitioned: bool, restarts: bool
):
    more = {"partitionBy": ["p"]} if partitioned else {}
    clause = f"sliding, {policy(evict)}, {policy(trigger)}" + (", partitioned" if partitioned else "")
    actual = run(bench(clause, **more), data, cuts, restarts)
    expected: list[Any] = []
    parts: dict[Any, Any] = defaultdict(list)
    for row in data:
        part = parts[row[0] if partitioned else ""]
        part.append(row)
        for window in list(naive.sliding(part, evict, trigger, time_of))[-1]:
            expected += [*summary(window, partitioned=partitioned), Punctuation.WINDOW]
    assert repr(actual) == repr(expected)


@pytest.mark.parametrize("evict", ["count(3)", "delta(t, 4)"])
@pytest.mark.parametrize("trigger", ["count(2)", "delta(t, 3)"])
def test_a_restart_after_every_tuple_is_not_noticed(evict: str, trigger: str):
    data = [("x", "a", i, 2 * i) for i in range(9)]
    clause = f"sliding, {evict}, {trigger}"
    whole = run(bench(clause), data, [], restarts=False)
    assert len(whole) > 6
    assert run(bench(clause), data, list(range(1, 9)), restarts=True) == whole


def test_overlapping_windows_may_be_laid_out_in_parts(monkeypatch: pytest.MonkeyPatch):
    data = [("x", "a", i, i) for i in range(50)]
    whole = bench("sliding, count(7), count(2)").send(data).items()
    monkeypatch.setattr(window_groups, "ROWS_AT_ONCE", 10)
    assert bench("sliding, count(7), count(2)").send(data).items() == whole


@pytest.mark.parametrize("windows", [2, 2000])
def test_sums_are_added_in_the_order_of_arrival_whether_windows_are_few_or_many(windows: int):
    numbers = [(i * 7919 % 1000) * 0.1 for i in range(2000)]
    schemas: Any = ["x double"], ["total double, least double"]
    clause = f"sliding, count(700), count({2000 // windows})"
    output = {"total": "Sum(x)", "least": "Min(x)"}
    actual = Bench(Aggregate, *schemas, window=clause, output=output).send([(x,) for x in numbers]).rows()
    step = 2000 // windows
    expected: list[Any] = []
    for end in range(step, 2001, step):
        total = 0.0
        for x in numbers[max(end - 700, 0) : end]:
            total += x
        expected.append((total, min(numbers[max(end - 700, 0) : end])))
    assert repr(actual) == repr(expected)


def test_a_sum_beyond_bigint_is_an_error_of_the_data_in_sliding_windows_too():
    with pytest.raises(DataError, match="the sum is beyond the range of bigint"):
        bench("sliding, count(2)").send([("x", "a", 2**63 - 1, 0), ("x", "a", 1, 0)])


def test_the_trigger_of_a_sliding_window_is_every_tuple_unless_it_is_given():
    data = [("x", "a", 1, 0)] * 3
    assert [number for _, number, *_ in bench("sliding, count(2)").send(data).rows()] == [1, 2, 2]


def test_time_is_an_attribute_in_seconds():
    start = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    data = [(start + datetime.timedelta(seconds=s),) for s in (0, 1, 2.5, 2.6, 9)]
    schemas: Any = ["at timestamp"], ["number bigint"]
    more: dict[str, Any] = {"output": {"number": "Count()"}, "timeAttribute": "at"}
    tumbling = Bench(Aggregate, *schemas, window="tumbling, time(2.5)", **more).send(data)
    assert tumbling.rows() == [(3,), (1,)]
    sliding = Bench(Aggregate, *schemas, window="sliding, time(2.5), time(1)", **more).send(data)
    assert sliding.rows() == [(2,), (3,)]


def test_a_marker_closes_the_windows_of_all_partitions_in_the_order_of_their_beginning():
    aggregated = bench("tumbling, punct(), partitioned", partitionBy=["p"])
    aggregated.send([("y", "a", 1, 0), ("x", "a", 2, 0), ("y", "a", 3, 0)]).mark()
    assert [row[:4] if isinstance(row, tuple) else row for row in aggregated.items()] == [
        ("y", "a", 2, 4),
        Punctuation.WINDOW,
        ("x", "a", 1, 2),
        Punctuation.WINDOW,
    ]


def test_a_null_time_is_an_error_of_the_data():
    with pytest.raises(DataError, match="window: t is null"):
        bench("tumbling, delta(t, 5)").send([("x", "a", 1, None)])


@pytest.mark.parametrize(
    ("window", "parameters", "message"),
    [
        ("tumblng, count(5)", {}, "'tumblng, count.5.' is not a window.*tumbling"),
        ("tumbling", {}, "a tumbling window has one policy"),
        ("tumbling, count(5), count(1)", {}, "a tumbling window has one policy"),
        ("sliding, count(5), count(1), count(1)", {}, "a sliding window has an eviction and a trigger"),
        ("sliding, punct()", {}, "punct.. is for tumbling windows only"),
        ("tumbling, cuont(5)", {}, "is not a policy.*count"),
        ("tumbling, count(0)", {}, "'0' in count.* is not a positive integer"),
        ("tumbling, count(1.5)", {}, "'1.5' in count.* is not a positive integer"),
        ("tumbling, time(-1)", {}, "'-1' in time.* is not a number"),
        ("tumbling, delta(t)", {}, "write count"),
        ("tumbling, count()", {}, "write count"),
        ("tumbling, delta(tt, 5)", {}, "window: the input stream has no attribute tt.*t"),
        ("tumbling, delta(g, 5)", {}, "window: g is string, but a number or a timestamp is expected"),
        ("tumbling, time(5)", {}, "time.5. needs timeAttribute"),
        ("tumbling, time(5)", {"timeAttribute": "t"}, "timeAttribute: t is bigint, but a timestamp is expected"),
        ("tumbling, count(5)", {"timeAttribute": "t"}, "timeAttribute: the window has no time"),
        ("tumbling, count(5), partitioned", {}, "partitionBy and a window that is 'partitioned' require each other"),
        (
            "tumbling, count(5)",
            {"partitionBy": ["p"]},
            "partitionBy and a window that is 'partitioned' require each other",
        ),
        ("tumbling, count(5), partitioned", {"partitionBy": ["q"]}, "partitionBy: the input stream has no attribute q"),
        (
            "tumbling, punct()",
            {"aggregateIncompleteWindows": True, "atEnd": "drop"},
            "submits windows at the end, but atEnd: drop drops them",
        ),
        ("tumbling, count(5)", {"aggregateEvictedPartitions": True}, "tumbling windows whose partitions are evicted"),
        (
            "sliding, count(5), partitioned, partitionCout(5)",
            {},
            "is not a policy that evicts.*partitionCount",
        ),
        ("sliding, count(5), partitioned, partitionCount(0)", {}, "'0' in partitionCount.* is not a positive integer"),
        ("sliding, count(5), partitioned, tupleCount(1), tupleCount(1)", {}, "may have one policy after it"),
        ("sliding, count(5), partitioned, partitionAge(5)", {"partitionBy": ["p"]}, "time.5. needs timeAttribute"),
    ],
)
def test_wrong_windows_of_aggregate_are_refused(window: str, parameters: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        bench(window, **parameters)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 7, 100])
def test_windows_run_in_an_application_whatever_its_batches(tmp_path: Path, limit: int):
    file = write_rows(tmp_path / "rows.parquet", 50)
    parameters = {
        "window": "sliding, count(3), count(2), partitioned",
        "partitionBy": ["k"],
        "output": {"number": "Count()", "total": "Sum(n)"},
    }
    graph = [
        source("Rows", file),
        node("Latest", "Aggregate", "Rows", schema="Total", parameters=parameters),
        sink("Out", "Latest"),
    ]
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph), limit)
    local.run()
    parts: dict[str, list[Row]] = defaultdict(list)
    for row in rows(50):
        parts[row[0]].append(row)
    expected = [
        (key, len(window), sum(n for _, n in window))
        for key, part in parts.items()
        for fired in naive.sliding(part, {"count": 3}, {"count": 2})
        for window in fired
    ]
    assert published(local.published("Out")) == sorted(expected)
