"""Partitions of Aggregate's windows are given up as they are when tuples are looked at one by one."""

from __future__ import annotations

import datetime
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract import Punctuation
from streams_orchestration.operators.standard.aggregate import Aggregate
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
    """Yield the submitted results tuple by tuple; sliding windows are looked at with every tuple."""
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
