"""Partitions of windows are given up as they are when tuples are checked one by one."""

from __future__ import annotations

import datetime
from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.standard.joining.join import Join
from streams_orchestration.operators.standard.sorting.sort import Sort
from streams_orchestration.operators.states import state as state_module
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench, Row, division

ROW = "p string, n bigint, t timestamp"
START = datetime.datetime(2013, 1, 1, tzinfo=datetime.UTC)
ROWS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 9), st.integers(0, 20).map(lambda s: START + _seconds(s))),
    max_size=30,
)
POLICIES = st.sampled_from(
    [("partitionCount", 1), ("partitionCount", 2), ("tupleCount", 1), ("tupleCount", 4), ("partitionAge", 3)]
)
SIZES = st.sampled_from([("count", 1), ("count", 3), ("time", 4)])
CUTS = st.lists(st.integers(0, 100), max_size=5)


def _seconds(number: float) -> datetime.timedelta:
    return datetime.timedelta(seconds=number)


@pytest.fixture(autouse=True)
def always_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_module, "SMALL", 0)
    monkeypatch.setattr(state_module, "SHARE", 1000)


def account(rows: list[Row], tumbling: bool, size: Any, policy: Any, evicted: bool) -> Iterator[Any]:
    """Yield the submitted results tuple by tuple; sliding windows are checked with every tuple."""
    windows: OrderedDict[str, list[Row]] = OrderedDict()
    seen: dict[str, datetime.datetime] = {}
    now = START

    def told(p: str, window: list[Row]) -> Iterator[Any]:
        yield (p, len(window), sum(n for _, n, _ in window))
        yield Punctuation.WINDOW

    def give_up() -> Iterator[Any]:
        p, window = windows.popitem(last=False)
        if tumbling and evicted and window:
            yield from told(p, window)

    for row in rows:
        p, _, time = row
        now = max(now, time)
        while policy[0] == "partitionAge" and windows and now - seen[next(iter(windows))] > _seconds(policy[1]):
            yield from give_up()
        while policy[0] == "partitionCount" and p not in windows and len(windows) >= policy[1]:
            yield from give_up()
        window = windows.setdefault(p, [])
        windows.move_to_end(p)
        seen[p] = now
        if size[0] == "time":
            if tumbling and window and time - window[0][2] > _seconds(size[1]):
                yield from told(p, window)
                window.clear()
            while not tumbling and window and time - window[0][2] > _seconds(size[1]):
                del window[0]
        elif not tumbling:
            del window[: max(len(window) + 1 - size[1], 0)]
        window.append(row)
        if not tumbling:
            yield from told(p, window)
        elif size[0] == "count" and len(window) == size[1]:
            yield from told(p, window)
            window.clear()
        while policy[0] == "tupleCount" and sum(map(len, windows.values())) > policy[1]:
            yield from give_up()


@pytest.mark.slow
@given(ROWS, CUTS, st.booleans(), SIZES, POLICIES, st.booleans(), st.booleans())
@examples(250)
def test_partitions_are_given_up_wherever_batches_end(
    rows: list[Row], cuts: list[int], tumbling: bool, size: Any, policy: Any, evicted: bool, restarts: bool
):
    clause = f"{'tumbling' if tumbling else 'sliding'}, {size[0]}({size[1]}), partitioned, {policy[0]}({policy[1]})"
    timed: dict[str, Any] = {"timeAttribute": "t"} if "time" in size or "partitionAge" in policy else {}
    more: dict[str, Any] = {"aggregateEvictedPartitions": evicted} if tumbling else {}
    bench = Bench(
        Aggregate, [ROW], ["p string, number bigint, total bigint"], window=clause, partitionBy=["p"],
        output={"number": "Count()", "total": "Sum(n)"}, **timed, **more,
    )  # fmt: skip
    for part in division(rows, cuts):
        bench.send(part)
        if restarts:
            bench.restart()
    assert bench.items() == list(account(rows, tumbling, size, policy, evicted))


@pytest.mark.parametrize("policy", [("partitionCount", 2), ("tupleCount", 4)], ids=lambda policy: policy[0])
def test_a_partition_that_comes_again_has_none_of_its_former_tuples_where_states_are_stored_whole(
    policy: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(state_module, "SMALL", 1_000_000)
    rows = [("a" if n % 4 == 0 else "b" if n % 3 == 0 else "c", n, START) for n in range(40)]
    bench = Bench(
        Aggregate, [ROW], ["p string, number bigint, total bigint"], partitionBy=["p"],
        output={"number": "Count()", "total": "Sum(n)"},
        window=f"sliding, count(3), partitioned, {policy[0]}({policy[1]})",
    )  # fmt: skip
    for row in rows:
        bench.send([row]).checkpoint()
    assert bench.items() == list(account(rows, False, ("count", 3), policy, False))


def test_a_marker_empties_all_windows_but_their_partitions_stay():
    bench = Bench(
        Aggregate, ["p string"], ["p string, number bigint"], window="tumbling, punct(), partitioned, tupleCount(3)",
        partitionBy=["p"], output={"number": "Count()"}, aggregateEvictedPartitions=True,
    )  # fmt: skip
    bench.send([("a",), ("b",), ("b",)]).mark().restart()
    bench.send([("a",), ("a",), ("b",)]).restart().send([("b",)]).end()
    assert [item for item in bench.items() if item is not Punctuation.WINDOW] == [
        ("a", 1),
        ("b", 2),
        ("a", 2),
        ("b", 2),
    ]


def test_partitions_that_are_given_up_leave_no_state():
    bench = Bench(
        Aggregate, ["p bigint"], ["p bigint, number bigint"], partitionBy=["p"], output={"number": "Count()"},
        window="sliding, count(2), partitioned, partitionCount(10)",
    )  # fmt: skip
    for start in range(0, 5000, 1000):
        bench.send([(n,) for n in range(start, start + 1000)])
    state: Any = bench.operator.checkpoint()
    assert [len(state[name]) for name in ("known", "partitions", "tuples")] == [10, 10, 10]


# --- Sort and Join drop the tuples of evicted partitions


def sorted_account(rows: list[Row], tumbling: bool, size: Any, policy: Any) -> Iterator[Any]:
    """Yield the submitted tuples and markers tuple by tuple, then at the end what waits in sliding windows."""
    windows: OrderedDict[str, list[Row]] = OrderedDict()
    seen: dict[str, datetime.datetime] = {}
    now = START

    def in_order(window: list[Row]) -> list[Row]:
        return sorted(window, key=lambda row: row[1])

    def told(window: list[Row]) -> Iterator[Any]:
        yield from in_order(window)
        yield Punctuation.WINDOW
        window.clear()

    for row in rows:
        p, _, time, _ = row
        now = max(now, time)
        while policy[0] == "partitionAge" and windows and now - seen[next(iter(windows))] > _seconds(policy[1]):
            windows.popitem(last=False)
        while policy[0] == "partitionCount" and p not in windows and len(windows) >= policy[1]:
            windows.popitem(last=False)
        window = windows.setdefault(p, [])
        windows.move_to_end(p)
        seen[p] = now
        if size[0] == "time" and window and time - window[0][2] > _seconds(size[1]):
            yield from told(window)
        if not tumbling and len(window) == size[1]:
            yield in_order(window)[0]
            window.remove(in_order(window)[0])
        window.append(row)
        if tumbling and size[0] == "count" and len(window) == size[1]:
            yield from told(window)
        while policy[0] == "tupleCount" and sum(map(len, windows.values())) > policy[1]:
            windows.popitem(last=False)
    left = [row for window in windows.values() for row in window]
    yield from [] if tumbling else in_order(sorted(left, key=lambda row: row[3]))


@pytest.mark.slow
@given(ROWS, CUTS, st.booleans(), SIZES, POLICIES, st.booleans())
@examples(100)
def test_sort_drops_the_tuples_of_evicted_partitions_wherever_batches_end(
    rows: list[Row], cuts: list[int], tumbling: bool, size: Any, policy: Any, restarts: bool
):
    size = size if tumbling else ("count", size[1])
    rows = [(p, n, time, place) for place, (p, n, time) in enumerate(rows)]
    clause = f"{'tumbling' if tumbling else 'sliding'}, {size[0]}({size[1]}), partitioned, {policy[0]}({policy[1]})"
    timed: dict[str, Any] = {"timeAttribute": "t"} if "time" in size or "partitionAge" in policy else {}
    row = f"{ROW}, place bigint"
    bench = Bench(Sort, [row], [row], window=clause, partitionBy=["p"], sortBy=["n"], atEnd="drop", **timed)
    for part in division(rows, cuts):
        bench.send(part)
        if restarts:
            bench.restart()
    bench.end()
    expected = list(sorted_account(rows, tumbling, size, policy))
    found = [item for item in bench.items() if item is not Punctuation.FINAL]
    last = len(found) if tumbling else len([item for item in expected if item is not Punctuation.WINDOW])
    assert found[:last] == expected[:last]
    assert Counter(found) == Counter(expected)


ARRIVALS = st.lists(st.tuples(st.integers(0, 1), st.sampled_from("abc"), st.integers(0, 4)), max_size=24)
JOINED = st.sampled_from([("count", 0), ("count", 1), ("count", 2), ("delta", 3)])


def joined_account(arrivals: list[Any], sizes: list[Any], policies: list[Any]) -> Iterator[Row]:
    """Yield the pairs of an outer join, and tuples that leave their windows alone, tuple by tuple."""
    windows: list[list[list[Any]]] = [[], []]
    used: list[OrderedDict[str, int]] = [OrderedDict(), OrderedDict()]
    newest = [0, 0]

    def give_up(port: int) -> None:
        p, _ = used[port].popitem(last=False)
        windows[port] = [each for each in windows[port] if each[0] != p]

    for place, (port, p, t) in enumerate(arrivals):
        own, (kind, size), (policy, limit) = used[port], sizes[port], policies[port]
        entry = [p, t, place, False]
        for other in windows[1 - port]:
            entry[3] = other[3] = True
            yield (place, other[2]) if port == 0 else (other[2], place)
        if (kind, size) == ("count", 0):
            if not entry[3]:
                yield (place, None) if port == 0 else (None, place)
            continue
        newest[port] = max(newest[port], t)
        while policy == "partitionAge" and own and newest[port] - next(iter(own.values())) > limit:
            give_up(port)
        while policy == "partitionCount" and p not in own and len(own) >= limit:
            give_up(port)
        mine = [each for each in windows[port] if each[0] == p]
        leaving = mine[: max(len(mine) + 1 - size, 0)] if kind == "count" else []
        for each in mine if kind == "delta" else ():
            if place - each[2] <= size:
                break
            leaving.append(each)
        for each in leaving:
            windows[port].remove(each)
            if not each[3]:
                yield (each[2], None) if port == 0 else (None, each[2])
        windows[port].append(entry)
        own[p] = newest[port]
        own.move_to_end(p)
        while policy == "tupleCount" and len(windows[port]) > limit:
            give_up(port)


@pytest.mark.slow
@given(ARRIVALS, st.sets(st.integers(0, 24)), st.tuples(JOINED, JOINED), st.tuples(POLICIES, POLICIES), st.booleans())
@examples(120)
def test_join_drops_the_tuples_of_evicted_partitions_wherever_batches_end(
    arrivals: list[Any], cuts: set[int], sizes: Any, policies: Any, restarts: bool
):
    windows = [
        f"sliding, {f'delta(place, {size[1]})' if size[0] == 'delta' else f'count({size[1]})'}, partitioned, "
        f"{policy[0]}({policy[1]})"
        for size, policy in zip(sizes, policies, strict=True)
    ]
    aged = any(policy[0] == "partitionAge" for policy in policies)
    timed: dict[str, Any] = {"timeAttribute": "t"} if aged else {}
    bench = Bench(
        Join, ["p string, a bigint, place bigint, t timestamp", "p string, b bigint, place bigint, t timestamp"],
        ["a bigint, b bigint"], window=windows, algorithm="outer", atEnd="drop", partitionByLHS=["p"],
        partitionByRHS=["p"], **timed,
    )  # fmt: skip
    held: list[Any] = []
    for number, (port, p, t) in enumerate(arrivals):
        held.append((p, number, number, START + _seconds(t)))
        if number in cuts or number + 1 == len(arrivals) or arrivals[number + 1][0] != port:
            bench.send(held, port)
            held = []
            if restarts:
                bench.restart()
    assert bench.rows() == list(joined_account(arrivals, sizes, list(policies)))


AGED: dict[str, tuple[Any, list[Any]]] = {
    "Sort": (
        Bench(Sort, ["p string"], ["p string"], window="tumbling, punct(), partitioned, partitionAge(5)",
              partitionBy=["p"], sortBy=["p"], by="clock"),
        [("b",), Punctuation.WINDOW, Punctuation.WINDOW],
    ),
    "a sliding Sort": (
        Bench(Sort, ["p string"], ["p string"], window="sliding, count(2), partitioned, partitionAge(5)",
              partitionBy=["p"], sortBy=["p"], by="clock"),
        [("b",), ("c",)],
    ),
    "Aggregate": (
        Bench(Aggregate, ["p string"], ["p string"], window="tumbling, punct(), partitioned, partitionAge(5)",
              partitionBy=["p"], by="clock", atEnd="drop"),
        [("b",), Punctuation.WINDOW, Punctuation.WINDOW],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", AGED)
def test_partitions_that_are_too_old_by_the_clock_are_evicted_before_a_tuple_and_a_marker(case: str):
    bench, expected = AGED[case]
    bench.at(100.0).send([("a",), ("a",)])
    bench.at(104.0).send([("b",)]).restart()
    bench.at(106.0).mark()
    bench.at(109.0).send([("c",)]).restart()
    bench.at(115.0).mark()
    assert [each for each in bench.end().items() if each is not Punctuation.FINAL] == expected
