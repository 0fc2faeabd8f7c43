"""The state of an Aggregate with windows of event time: channels divided anew, sums, and what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import StateError
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.standard.aggregation.parameters import AggregateParameters
from streams_orchestration.operators.states.rescaling import Sharding
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.watermarks import END, Watermark
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import division

TUPLE = "at bigint, k string, v double"
RESULT = "k string, start bigint, nth bigint, n bigint, total double, at bigint"
OUTPUT = {
    "start": "intervalStart()", "nth": "paneIndex()", "n": "Count()", "total": "Sum(v)", "at": "paneTime()"
}  # fmt: skip
WINDOWS = st.sampled_from(
    [
        "timeInterval, intervalDuration(0.01)",
        "timeInterval, intervalDuration(0.01), creationPeriod(0.004), discardAge(0.01)",
        "timeInterval, intervalDuration(0.01), discardAge(0.02), early(0.003)",
        "session, gap(0.004), discardAge(0.01)",
    ]
)
REFINEMENTS = st.sampled_from(["accumulating", "retracting"])
ITEMS = st.lists(
    st.one_of(
        st.tuples(st.integers(-25, 25), st.sampled_from(["x", "y", "z", None]), st.floats(-1e9, 1e9)),
        st.integers(1, 9),
    ),
    max_size=24,
)
GROUPS = st.sampled_from([[], ["v"]])
KEYED = {"partitionBy": ["k"]}


@dataclass
class Channels:
    """A route that sends tuples to channels by their key, or to the first one if they have none."""

    width: int

    def attributes(self, port: int = 0) -> tuple[str, ...]:
        return ("k",)

    def channels(self, tuples: pa.RecordBatch, port: int = 0) -> np.ndarray:
        return np.array([self.channel(key) for key in tuples.column("k").to_pylist()], np.int64)

    def channel(self, key: Any) -> int:
        return sum(map(ord, key or "n")) % self.width


def aggregate(parameters: dict[str, Any], types: str = RESULT, **more: Any) -> OperatorHarness:
    given_ = {"output": OUTPUT, **parameters}
    return OperatorHarness(Aggregate, [TUPLE], [types], parameters=given_, event_time="at", **more)


def streamed(items: Sequence[Any]) -> list[Any]:
    watermark, stream = -20, list[Any]()
    for item in items:
        watermark += item if isinstance(item, int) else 0
        stream.append(Watermark(watermark) if isinstance(item, int) else item)
    return [*stream, Watermark(END)]


@given(WINDOWS, REFINEMENTS, ITEMS, st.lists(st.integers(0, 100), max_size=5), st.booleans())
@examples(100)
def test_sums_have_the_same_bits_in_every_division(
    window: str, refinement: str, items: list[Any], cuts: list[int], partitioned: bool
):
    parameters: dict[str, Any] = {"window": window, "groupBy": ["k"], "refinement": refinement}
    if partitioned:
        parameters |= {"window": f"{window}, partitioned", **KEYED}
    whole, parts = aggregate(parameters).send(streamed(items)), aggregate(parameters)
    for part in division(streamed(items), cuts):
        parts.send(part)
        parts.restart()
    assert [tuple(map(repr, row)) for row in parts.rows()] == [tuple(map(repr, row)) for row in whole.rows()]


@pytest.mark.slow
@given(WINDOWS, REFINEMENTS, GROUPS, ITEMS, st.integers(0, 24), st.integers(1, 3), st.integers(1, 3))
@examples(200)
def test_panes_move_with_their_partitions_when_channels_are_divided_anew(
    window: str, refinement: str, groups: list[str], items: list[Any], at: int, before: int, after: int
):
    parameters = {"window": f"{window}, partitioned", "refinement": refinement, "groupBy": groups, **KEYED}
    stream = streamed(items)
    one = aggregate(parameters).send(stream)
    old, new = ([aggregate(parameters) for _ in range(width)] for width in (before, after))
    spread(stream[:at], old)
    states = old[0].operator.rescale([each.operator.checkpoint() for each in old], Channels(after))
    for harness, state in zip(new, states, strict=True):
        if state:
            harness.operator.restore(state)
            keys = harness.operator.keys_of(state)[0].values
            assert {Channels(after).channel(key) for key in keys.column("k").to_pylist()} <= {new.index(harness)}
    spread(stream[at:], new)
    rows = [row for harness in (*old, *new) for row in harness.rows()]
    assert sorted(rows, key=repr) == sorted(one.rows(), key=repr)


def spread(stream: Sequence[Any], harnesses: Sequence[OperatorHarness]) -> None:
    """Send each tuple to its channel, and each watermark to all (EV26)."""
    for item in stream:
        for channel, harness in enumerate(harnesses):
            if isinstance(item, Watermark) or Channels(len(harnesses)).channel(item[1]) == channel:
                harness.send([item])


@given(WINDOWS, ITEMS, st.integers(0, 24), st.sampled_from([None, ["k"], ["k", "v"]]))
@examples(100)
def test_panes_of_one_partition_are_merged_when_channels_are_put_together(
    window: str, items: list[Any], at: int, partition: list[str] | None
):
    parameters: dict[str, Any] = {"window": window, "groupBy": ["k"], "output": OUTPUT | {"total": "Max(v)"}}
    if partition is not None:
        parameters |= {"window": f"{window}, partitioned", "partitionBy": partition}
    stream = [item for item in streamed(items) if not isinstance(item, Watermark)]
    one = aggregate(parameters).send([*stream, Watermark(END)])
    old, new = [aggregate(parameters) for _ in range(2)], aggregate(parameters)
    for number, item in enumerate(stream[:at]):
        old[number % 2].send([item])
    states = old[0].operator.rescale([each.operator.checkpoint() for each in old], Channels(1))
    new.operator.restore(states[0])
    new.send([*stream[at:], Watermark(END)])
    assert sorted(new.rows(), key=repr) == sorted(one.rows(), key=repr)


def test_more_channels_without_partitions_leave_the_panes_where_they_are():
    parameters = {"window": "timeInterval, intervalDuration(0.01)", "groupBy": ["k"]}
    old = aggregate(parameters).send([(1, "a", 1.0), (2, "b", 2.0)])
    assert Aggregate.sharding(old.context, old.parameters) == Sharding(anyhow=True)
    states = old.operator.rescale([old.operator.checkpoint()], Channels(3))
    assert [len(state["cells"]) for state in states] == [2, 0, 0]


def test_after_a_change_of_few_groups_little_is_stored():
    parameters = {"window": "timeInterval, intervalDuration(10.0), partitioned", **KEYED}
    agg = aggregate(parameters)
    agg.send([(number, f"key {number}", 1.0) for number in range(5000)])
    whole = len(agg.checkpoint()[-1][1])
    agg.send([(9, "key 9", 1.0), Watermark(10)])
    assert len(agg.checkpoint()[-1][1]) < whole / 20


def test_closed_panes_leave_nothing_in_the_state():
    parameters = {"window": "timeInterval, intervalDuration(0.01), discardAge(0.005)", "groupBy": ["k"]}
    agg = aggregate({**parameters, "refinement": "retracting"})
    agg.send([(1, "a", 1.0), (12, "b", 1.0), Watermark(15)])
    state = agg.operator.checkpoint()
    assert {name: len(part) for name, part in state.items() if hasattr(part, "keys_table")} == {
        "cells": 1, "keys": 1, "panes": 0, "sent": 0
    }  # fmt: skip


def test_a_state_of_another_attribute_or_unit_is_refused():
    parameters = {"window": "timeInterval, intervalDuration(0.01)"}
    result = RESULT.removeprefix("k string, ")
    stored = aggregate(parameters, result).send([(1, "a", 1.0)]).checkpoint()
    other = OperatorHarness(
        Aggregate, [TUPLE.replace("bigint", "timestamp")], [result.replace("bigint, nth", "timestamp, nth").replace(
            "at bigint", "at timestamp")], parameters={"output": OUTPUT, **parameters}, event_time="at",
    )  # fmt: skip
    with pytest.raises(StateError, match="time by at, with 1,000 ticks a second; event time now is at, with 1,000,000"):
        other.restart(stored)


KEEPING = {
    "discardAge": ("timeInterval, intervalDuration(10)", "timeInterval, intervalDuration(10), discardAge(5)", True),
    "discardBy": ("timeInterval, intervalDuration(9)", "timeInterval, intervalDuration(9), discardBy(pane)", True),
    "duration": ("timeInterval, intervalDuration(10)", "timeInterval, intervalDuration(20)", False),
    "period": (
        "timeInterval, intervalDuration(9)", "timeInterval, intervalDuration(9), creationPeriod(3)", False
    ),
    "offset": ("timeInterval, intervalDuration(9)", "timeInterval, intervalDuration(9), intervalOffset(3)", False),
    "early, panes apart": ("timeInterval, intervalDuration(9)", "timeInterval, intervalDuration(9), early(3)", True),
    "early, panes that overlap": (
        "timeInterval, intervalDuration(9), creationPeriod(3)",
        "timeInterval, intervalDuration(9), creationPeriod(3), early(3)", False,
    ),
    "gap": ("session, gap(5)", "session, gap(6)", False),
    "age of sessions": ("session, gap(5)", "session, gap(5), discardAge(6)", True),
    "unit": ("calendar, unit(day), zone(UTC)", "calendar, unit(week), zone(UTC)", False),
    "zone": ("calendar, unit(day), zone(UTC)", "calendar, unit(day), zone(Europe/Berlin)", False),
    "kind": ("session, gap(5)", "timeInterval, intervalDuration(5)", False),
    "from tuples": ("tumbling, count(5)", "timeInterval, intervalDuration(5)", False),
}  # fmt: skip


@pytest.mark.parametrize("case", KEEPING)
def test_which_parts_of_a_window_leave_its_panes_as_they_are(case: str):
    before, after, kept = KEEPING[case]
    old, new = (AggregateParameters.model_validate({"window": window}) for window in (before, after))
    assert Aggregate.keeps_state(old, new) is kept


def test_the_refinement_may_change_while_panes_are_open_whose_next_firing_shows_all_once_more():
    window = "timeInterval, intervalDuration(0.01), discardAge(0.01)"
    parameters = {"window": window, "output": OUTPUT | {"back": "isRetraction()"}}
    result = f"{RESULT.removeprefix('k string, ')}, back boolean"
    before = aggregate(parameters, result).send([(1, "a", 1.0), Watermark(10)])
    after = aggregate(parameters | {"refinement": "discarding"}, result)
    assert Aggregate.keeps_state(before.parameters, after.parameters)
    after.restart(before.checkpoint())
    after.send([Watermark(10), (2, "a", 5.0), Watermark(11), (3, "a", 7.0), Watermark(12)])
    assert [row[:4] for row in before.rows()] == [(0, 0, 1, 1.0)]
    assert [row[:4] for row in after.rows()] == [(0, 1, 2, 6.0), (0, 2, 1, 7.0)]


@given(st.sampled_from([(10, 10, 0), (10, 4, 10), (10, 4, 0), (4, 10, 3)]), ITEMS, st.booleans())
@examples(100)
def test_panes_that_have_tuples_and_are_not_closed_are_counted(
    window: tuple[int, int, int], items: list[Any], early: bool
):
    duration, period, age = window
    clause = f"timeInterval, intervalDuration({duration / 1000}), creationPeriod({period / 1000})"
    clause += f", discardAge({age / 1000})" + (", early(0.002)" if early else "")
    watermark, ends = -20, set[int]()
    for item in items:
        if isinstance(item, int):
            watermark += item
        elif watermark == -20 or item[0] >= watermark - age:
            ends |= {
                end for end in range(-60, 60) if (end - duration) % period == 0 and end - duration <= item[0] < end
            }
        ends = {end for end in ends if watermark == -20 or end + age > watermark}
    harness = aggregate({"window": clause, "groupBy": ["k"]}).send(streamed(items)[:-1])
    assert harness.metrics.get("open_panes", 0) == len(ends)
