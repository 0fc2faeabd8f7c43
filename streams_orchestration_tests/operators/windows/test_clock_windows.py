"""Windows that go by the clock, against accounts that go from second to second."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.clock_operator import ClockOperator
from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.standard.joining.join import Join
from streams_orchestration.operators.standard.sorting.sort import Sort
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench

ROW, RESULT = "p string, n bigint", "p string, number bigint, total bigint"
OUTPUT = {"number": "Count()", "total": "Sum(n)"}
EVENTS = st.lists(
    st.tuples(st.integers(0, 5), st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 6)), max_size=3)),
    max_size=9,
)
"""Seconds since the last batch, and its tuples."""
EVICTIONS = st.sampled_from([("time", 4), ("count", 2), ("delta", 2)])
TRIGGERS = st.sampled_from([("time", 3), ("count", 1), ("count", 2), ("delta", 2)])
START = 1_700_000_000


class Account:
    """An Aggregate, tuple by tuple and second by second, as the rules of Streams read."""

    def __init__(
        self, evict: tuple[str, int], trigger: tuple[str, int], *, partitioned: bool, full_only: bool, age: int | None
    ) -> None:
        self.evict, self.trigger, self.age = evict, trigger, age
        self.partitioned, self.full_only = partitioned, full_only
        self.windows: dict[str, list[tuple[float, str, int]]] = {}
        self.since: dict[str, int] = {}
        self.mark: dict[str, int] = {}
        self.full: set[str] = set()
        self.seen: dict[str, int] = {}
        self.tick: int | None = None
        self.told: list[Any] = []

    def tell(self, p: str) -> None:
        window = self.windows.get(p, [])
        if self.full_only and p not in self.full:
            return
        totals: dict[str, list[int]] = {}
        for _, key, n in window:
            totals.setdefault(key, []).append(n)
        self.told += [(key, len(numbers), sum(numbers)) for key, numbers in totals.items()]
        self.told.append(Punctuation.WINDOW)

    def forget_old(self, now: int) -> None:
        for p in [each for each, at in self.seen.items() if self.age is not None and now - at > self.age]:
            self.windows.pop(p, None)
            for known in (self.since, self.mark, self.seen):
                known.pop(p, None)
            self.full.discard(p)

    def leave(self, now: int) -> None:
        if self.evict[0] == "time":
            self.windows = {
                p: left
                for p, each in self.windows.items()
                if (left := [t for t in each if now - t[0] <= self.evict[1]])
            }

    def time(self, now: int) -> None:
        if self.trigger[0] == "time":
            self.tick = now + self.trigger[1] if self.tick is None else self.tick
            if now >= self.tick:
                reached = self.tick + (now - self.tick) // self.trigger[1] * self.trigger[1]
                self.tick = reached + self.trigger[1]
                self.reach(reached)
        self.leave(now)

    def reach(self, at: int) -> None:
        self.forget_old(at)
        self.leave(at)
        for p in sorted(self.windows, key=lambda each: self.windows[each][0]):
            self.tell(p)
        known = not self.full_only or (not self.partitioned and self.full)
        if not self.windows and known:
            self.told.append(Punctuation.WINDOW)
        if self.evict[0] == "tick":
            self.windows.clear()

    def arrive(self, now: int, order: int, key: str, n: int) -> None:
        self.forget_old(now)
        p = key if self.partitioned else ""
        if self.trigger[0] == "delta":
            if p not in self.mark:
                self.mark[p] = n
            elif n - self.mark[p] > self.trigger[1]:
                self.mark[p] = n
                self.tell(p)
        window, size = self.windows.setdefault(p, []), self.evict[1]
        if self.evict[0] == "count":
            del window[: max(len(window) + 1 - size, 0)]
        while self.evict[0] == "delta" and window and n - window[0][2] > size:
            del window[0]
            self.full.add(p)
        window.append((now + order / 1000, key, n))
        self.seen[p] = now
        if self.evict[0] == "time" or (self.evict[0] == "count" and len(window) == size):
            self.full.add(p)
        self.since[p] = self.since.get(p, 0) + 1
        if self.trigger[0] == "count" and self.since[p] % self.trigger[1] == 0:
            self.tell(p)


def window_of(kind: str, evict: Any, trigger: Any, *, partitioned: bool, age: int | None) -> str:
    shown = [f"{name}({'n, ' if name == 'delta' else ''}{size})" for name, size in (evict, trigger)]
    given_up = [] if age is None else [f"partitionAge({age})"]
    return ", ".join(
        [kind, *shown[: 1 if kind == "tumbling" else 2], *(["partitioned"] if partitioned else []), *given_up]
    )


def run(bench: Bench, account: Account, events: list[Any], *, restarts: bool) -> None:
    now = START
    for number, (seconds, rows) in enumerate(events):
        now += seconds
        bench.at(now)
        account.time(now)
        bench.send(rows)
        for order, (key, n) in enumerate(rows):
            account.arrive(now, number * 10 + order, key, n)
        if restarts:
            bench.restart()
        operator = bench.operator
        assert isinstance(operator, ClockOperator)
        assert operator.wake() == account.tick
    assert bench.items() == account.told


@pytest.mark.slow
@given(EVENTS, EVICTIONS, TRIGGERS, st.booleans(), st.booleans(), st.booleans(), st.booleans())
@examples(300)
def test_sliding_windows_are_evicted_and_triggered_by_the_clock(
    events: list[Any], evict: Any, trigger: Any, partitioned: bool, full_only: bool, aged: bool, restarts: bool
):
    age = 5 if aged and partitioned else None
    if "time" not in (evict[0], trigger[0]) and age is None:
        trigger = ("time", 3)
    account = Account(evict, trigger, partitioned=partitioned, full_only=full_only, age=age)
    window = window_of("sliding", evict, trigger, partitioned=partitioned, age=age)
    keys: dict[str, Any] = {"partitionBy": ["p"]} if partitioned else {"groupBy": ["p"]}
    bench = Bench(
        Aggregate, [ROW], [RESULT], window=window, by="clock", output=OUTPUT, **keys,
        aggregateIncompleteWindows=not full_only,
    )  # fmt: skip
    run(bench, account, events, restarts=restarts)
    assert bench.end().items() == account.told


@given(EVENTS, st.booleans(), st.booleans(), st.booleans())
@examples(150)
def test_tumbling_windows_are_closed_by_the_clock(events: list[Any], partitioned: bool, aged: bool, restarts: bool):
    age = 2 if aged and partitioned else None
    account = Account(("tick", 0), ("time", 3), partitioned=partitioned, full_only=False, age=age)
    window = window_of("tumbling", ("time", 3), ("time", 3), partitioned=partitioned, age=age)
    keys: dict[str, Any] = {"partitionBy": ["p"]} if partitioned else {"groupBy": ["p"]}
    bench = Bench(Aggregate, [ROW], [RESULT], window=window, by="clock", output=OUTPUT, atEnd="drop", **keys)
    run(bench, account, events, restarts=restarts)
    assert bench.end().items() == account.told
    operator = bench.operator
    assert isinstance(operator, ClockOperator)
    bench.at(START + 1000)
    assert operator.wake() is None
    assert bench.items() == account.told


@given(EVENTS, st.booleans(), st.booleans())
@examples(100)
def test_sort_submits_its_windows_by_the_clock(events: list[Any], partitioned: bool, restarts: bool):
    more: dict[str, Any] = {"partitionBy": ["p"]} if partitioned else {}
    window = f"tumbling, time(3){', partitioned' if partitioned else ''}"
    bench = Bench(Sort, [ROW], [ROW], window=window, by="clock", sortBy=["n"], atEnd="drop", **more)
    now, tick, waiting, told = START, START + 3, list[tuple[str, int]](), list[Any]()
    for number, (seconds, rows) in enumerate(events):
        now += seconds
        if not number:
            tick = now + 3
        bench.at(now).send(rows)
        if now >= tick:
            tick += ((now - tick) // 3 + 1) * 3
            for p in dict.fromkeys(p for p, _ in waiting) if partitioned else "*":
                told += sorted((row for row in waiting if p in ("*", row[0])), key=lambda row: row[1])
                told.append(Punctuation.WINDOW)
            told += [] if waiting or not partitioned else [Punctuation.WINDOW]
            waiting = []
        waiting += rows
        if restarts:
            bench.restart()
    assert bench.end().items() == told


class ByLetter:
    """A route by the attribute `p`."""

    def __init__(self, width: int) -> None:
        self.width = width

    def attributes(self, port: int = 0) -> tuple[str, ...]:
        return ("p",)

    def channels(self, tuples: Any, port: int = 0) -> Any:
        return np.array([ord(letter) % self.width for letter in tuples.column("p").to_pylist()], np.int64)


@pytest.mark.parametrize("window", ["tumbling, time(3)", "sliding, time(9), time(3), partitioned"])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_other_channels_go_on_at_the_next_time_of_any(window: str, width: int):
    keys: dict[str, Any] = {"partitionBy": ["p"]} if "partitioned" in window else {"groupBy": ["p"]}

    def bench() -> Bench:
        return Bench(Aggregate, [ROW], [RESULT], window=window, by="clock", output=OUTPUT, **keys)

    one, other = bench().at(START), bench().at(START + 1)
    one.send([("a", 1), ("b", 2), ("a", 3)])
    other.send([("c", 10)])
    states = [each.operator.checkpoint() for each in (one, other)]
    found: list[Any] = []
    for state in one.operator.rescale(states, ByLetter(width)):
        channel = bench()
        channel.operator.restore(state)
        found += channel.at(START + 3).rows()
        operator = channel.operator
        assert isinstance(operator, ClockOperator)
        assert operator.wake() == START + 6
    assert sorted(found) == [("a", 2, 4), ("b", 1, 2), ("c", 1, 10)]


SIDES = st.sampled_from(["time(3)", "time(5)", "count(2)", "count(0)"])


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1), st.lists(st.integers(0, 2), max_size=3)), max_size=10),
    st.tuples(SIDES, SIDES).filter(lambda both: any("time" in each for each in both)),
    st.sampled_from(["inner", "leftOuter", "outer"]),
    st.booleans(),
)
@examples(150)
def test_tuples_meet_until_the_clock_evicts_them(events: list[Any], sides: Any, algorithm: str, restarts: bool):
    bench = Bench(
        Join, ["a bigint, x bigint", "b bigint, y bigint"], ["x bigint, y bigint"],
        window=[f"sliding, {each}" for each in sides], by="clock", equalityLHS=["a"], equalityRHS=["b"],
        algorithm=algorithm, atEnd="drop",
    )  # fmt: skip
    outer = (algorithm != "inner", algorithm == "outer")
    windows: list[list[list[Any]]] = [[], []]
    now, told = START, list[Any]()

    def lonely(port: int, entry: list[Any]) -> None:
        if outer[port] and not entry[3]:
            told.append((entry[2], None) if port == 0 else (None, entry[2]))

    def leave(port: int, count: int) -> None:
        while len(windows[port]) > count:
            lonely(port, windows[port].pop(0))

    for number, (seconds, port, keys) in enumerate(events):
        now += seconds
        old = [
            (entry[0] + int(sides[at][5]), at, entry)
            for at in (0, 1)
            for entry in windows[at]
            if "time" in sides[at] and now - entry[0] > int(sides[at][5])
        ]
        for _, at, entry in sorted(old, key=lambda each: each[0]):
            windows[at].remove(entry)
            lonely(at, entry)
        bench.at(now).send([(key, number * 10 + each) for each, key in enumerate(keys)], port)
        for each, key in enumerate(keys):
            entry = [now, key, number * 10 + each, False]
            met = [other for other in windows[1 - port] if other[1] == key]
            for other in met:
                other[3] = entry[3] = True
                told.append((entry[2], other[2]) if port == 0 else (other[2], entry[2]))
            windows[port].append(entry)
            if "count" in sides[port]:
                leave(port, int(sides[port][6]))
        if restarts:
            bench.restart()
        operator = bench.operator
        assert isinstance(operator, ClockOperator)
        wakes = [
            entry[0] + int(sides[at][5])
            for at in (0, 1)
            for entry in windows[at]
            if "time" in sides[at] and outer[at] and not entry[3]
        ]
        wake = operator.wake()
        assert (wake is None) == (not wakes)
        assert wake is None or wake == pytest.approx(min(wakes), abs=1e-6)
    assert bench.end().rows() == told


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (Aggregate, {"window": "tumbling, count(3)"}, "by: clock needs a window with time"),
        (
            Aggregate,
            {"window": "tumbling, time(3)", "timeAttribute": "t"},
            "timeAttribute cannot be combined with by: clock",
        ),
        (
            Aggregate,
            {"window": "timeInterval, intervalDuration(1.0)"},
            "by: clock cannot be combined with a window of event",
        ),
        (Sort, {"window": "tumbling, count(3)", "sortBy": ["n"]}, "by: clock needs a window with time"),
        (Sort, {"window": "eventTime", "sortBy": ["n"]}, "by: clock cannot be combined with the window eventTime"),
        (Join, {"window": "sliding, count(3)"}, "by: clock needs a window with time"),
        (Join, {"within": [0, 1]}, "by: clock cannot be combined with within"),
    ],
)
def test_parameters_that_exclude_the_clock_are_refused(kind: Any, parameters: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        kind.Parameters.model_validate({"by": "clock", **parameters})
