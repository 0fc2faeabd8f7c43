"""Watermarks as they are made, merged, and kept at their places (EV15-EV20, EV25, EV51)."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from streams_orchestration.operators.event_time.calling import call_between
from streams_orchestration.operators.event_time.clock import Clock
from streams_orchestration.operators.event_time.combined_watermark import CombinedWatermark
from streams_orchestration.operators.event_time.holder import Holder
from streams_orchestration.operators.event_time.operator_watermark import OperatorWatermark
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END, IDLE, Watermarks
from streams_orchestration_tests.specs import CASES

EVENT_TIME = {case["id"]: case for case in yaml.safe_load((CASES / "event_time.yaml").read_text())}
TIMES = st.lists(st.integers(-50, 50), max_size=30)


def ticks(seconds: float) -> int:
    return round(seconds * 1000)


def numbers(count: int, watermarks: Watermarks | None = None) -> TupleBatch:
    batch = pa.RecordBatch.from_arrays([pa.array(range(count), pa.int64())], ["n"])
    return TupleBatch(batch, watermarks=watermarks)


def divided(count: int, cuts: list[int]) -> list[tuple[int, int]]:
    return [*pairwise(sorted({0, count, *(cut % (count + 1) for cut in cuts)}))]


@given(st.lists(st.sampled_from([True, False, None]), max_size=300), st.lists(st.integers(0, 300)), st.integers(0, 70))
def test_watermarks_stay_behind_the_tuples_that_pass_a_mask(passes: list[bool | None], cuts: list[int], skipped: int):
    places = sorted(cut % (len(passes) + 1) for cut in cuts)
    watermarks = Watermarks(np.array(places, np.int64), np.arange(len(places)))
    part = pa.array([*([True] * skipped), *passes], pa.bool_()).slice(skipped)
    without_nulls = pa.array([each is True for each in passes], pa.bool_())
    wanted = [passes[:place].count(True) for place in places]
    assert watermarks.filtered(part).places.tolist() == watermarks.filtered(without_nulls).places.tolist() == wanted


@pytest.mark.parametrize("case", ["W1", "W2"])
def test_watermarks_of_a_source(case: str):
    given_, wanted = EVENT_TIME[case]["source"], EVENT_TIME[case]["expect"]["watermarks"]
    clock = Clock(ticks(given_["eventTime"]["lag"]), ticks(given_["eventTime"]["minimumGap"]))
    times = np.array([ticks(at) for at, *_ in given_["tuples"]], np.int64)
    assert [*(clock.advance(times) or ())] == [(place, ticks(value)) for place, value in wanted]


@given(TIMES, st.integers(0, 9), st.integers(0, 9), st.lists(st.integers(0, 30)))
def test_watermarks_of_a_source_follow_the_rule_however_its_tuples_are_divided(
    times: list[int], lag: int, gap: int, cuts: list[int]
):
    wanted: list[tuple[int, int]] = []
    for place in range(1, len(times) + 1):
        own = max(times[:place]) - lag
        if not wanted or (own > wanted[-1][1] and own >= wanted[-1][1] + gap):
            wanted.append((place, own))
    clock, made = Clock(lag, gap), []
    for first, last in divided(len(times), cuts):
        made += [(first + p, v) for p, v in clock.advance(np.array(times[first:last], np.int64)) or ()]
        again = Clock(lag, gap)
        again.load(clock.dump())
        clock = again
    assert made == wanted


def test_times_near_the_least_number_do_not_wrap_around():
    marks = Clock(lag=1000, minimum_gap=1).advance(np.array([-(2**63) + 5], np.int64))
    assert [*(marks or ())] == [(1, IDLE + 1)]


def test_the_end_of_a_stream_comes_once():
    clock = Clock(lag=0, minimum_gap=1)
    assert [*(clock.end() or ())] == [(0, END)]
    assert clock.end() is None
    assert clock.advance(np.array([5], np.int64)) is None


def arrivals_of(case: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, item) for name, item in case["arrivals"]]


def test_the_least_of_two_connections_counts():
    case = EVENT_TIME["W4"]
    entries, seen = CombinedWatermark(["A", "B"]), []
    for connection, item in arrivals_of(case):
        if isinstance(item, list):
            steps = entries.enter(connection, None, 1)
            seen.append(item)
        else:
            value = IDLE if item == "idle" else ticks(item["w"])
            steps = entries.enter(connection, Watermarks.of((0, value)), 0)
        seen += [{"w": value / 1000} for _, value in steps or ()]
    assert seen == case["expect"]["seen"]


BATCHES = st.lists(
    st.tuples(st.sampled_from("ab"), st.lists(st.one_of(st.none(), st.just(IDLE), st.integers(0, 20)), max_size=8)),
    max_size=8,
)
"""Batches of two connections: tuples (None) and watermarks."""


def steps_of(entries: CombinedWatermark, connection: str, items: list[int | None]) -> list[tuple[int, int]]:
    """Return the steps that a batch of a connection causes, each with the number of tuples in front of it."""
    places = list(accumulate((item is None for item in items), initial=0))
    marks = [(places[number], item) for number, item in enumerate(items) if item is not None]
    return [*(entries.enter(connection, Watermarks.of(*marks) if marks else None, places[-1]) or ())]


@given(BATCHES)
@example([("a", [3, IDLE]), ("a", [None, IDLE])])
def test_the_steps_of_a_merge_do_not_depend_on_where_batches_end(batches: list[tuple[str, list[int | None]]]):
    whole, single = CombinedWatermark("ab"), CombinedWatermark("ab")
    for connection, items in batches:
        one_by_one, tuples = list[tuple[int, int]](), 0
        for item in items:
            one_by_one += [(tuples + place, value) for place, value in steps_of(single, connection, [item])]
            tuples += item is None
        assert steps_of(whole, connection, items) == one_by_one


ITEMS = st.lists(
    st.tuples(st.sampled_from("abc"), st.one_of(st.none(), st.just(IDLE), st.integers(0, 20))), max_size=40
)


@given(ITEMS, st.lists(st.integers(0, 40)))
def test_entries_take_batches_as_they_take_items_one_by_one(items: list[tuple[str, int | None]], cuts: list[int]):
    """None stands for a tuple."""
    single, whole = CombinedWatermark("abc"), CombinedWatermark("abc")
    wanted: list[int] = []
    for connection, item in items:
        steps = single.enter(connection, None if item is None else Watermarks.of((0, item)), item is None)
        wanted += [value for _, value in steps or ()]
    made: list[int] = []
    for first, last in divided(len(items), cuts):
        again = CombinedWatermark("abc")
        again.load(whole.dump())
        whole = again
        runs: list[tuple[str, list[int | None]]] = []
        for connection, item in items[first:last]:
            if not runs or runs[-1][0] != connection:
                runs.append((connection, []))
            runs[-1][1].append(item)
        for connection, run in runs:
            marks: list[tuple[int, int]] = []
            tuples = 0
            for item in run:
                if item is None:
                    tuples += 1
                else:
                    marks.append((tuples, item))
            made += [v for _, v in whole.enter(connection, Watermarks.of(*marks) if marks else None, tuples) or ()]
    assert made == wanted


def test_a_tuple_kept_by_an_operator_that_places_its_watermarks_holds_them():
    watermark = OperatorWatermark(EventTimeRole("n", 1000, "heldInput", 0, 1, (0,), (0,)), ["A"])
    watermark.entered(numbers(1, Watermarks.of((1, 20))), "A")
    watermark.submitted(0, numbers(0, Watermarks.of((0, 7))))
    watermark.keeps(7)
    assert (watermark.value, watermark.holder) == (7, Holder("tuple", ticks=7, inputs=1))
    watermark.submitted(0, numbers(1, Watermarks.of((1, 20))))
    watermark.keeps(None)
    assert (watermark.value, watermark.holder) == (20, Holder("connection", "A", 20, inputs=1))


def test_a_connection_that_a_new_plan_adds_begins_with_the_watermark():
    entries = CombinedWatermark("ab")
    entries.load({"watermark": 10})
    assert entries.values == {"a": 10, "b": 10}
    assert entries.enter("a", Watermarks.of((1, 20)), 1) is None
    assert [*(entries.enter("b", Watermarks.of((0, 15)), 0) or ())] == [(0, 15)]


@given(st.lists(st.booleans(), max_size=20), st.lists(st.integers(0, 20), max_size=8))
def test_watermarks_stay_between_the_same_tuples(mask: list[bool], cuts: list[int]):
    places = sorted(cut % (len(mask) + 1) for cut in cuts)
    batch = numbers(len(mask), Watermarks.of(*((place, number) for number, place in enumerate(places))))
    kept = [n for n, keep in enumerate(mask) if keep]
    wanted = [sum(n < place for n in kept) for place in places]
    for chosen in (batch.filter(np.array(mask, bool)), batch.take(np.array(kept, np.int64))):
        assert [place for place, _ in chosen.watermarks or ()] == wanted
    half = len(mask) // 2
    parts = [batch.slice(0, half), batch.slice(half)] if half else [batch.slice(0)]
    there = [(part.watermarks, at) for part, at in zip(parts, (0, half), strict=False)]
    assert [(place + at, value) for marks, at in there for place, value in marks or ()] == [*(batch.watermarks or ())]


@given(st.integers(0, 12), st.lists(st.integers(0, 12), max_size=8))
def test_an_operator_is_called_between_watermarks(count: int, cuts: list[int]):
    marks = Watermarks.of(*((place, place) for place in sorted(cut % (count + 1) for cut in cuts)))
    seen: list[Any] = []

    def reached(steps: Watermarks) -> None:
        seen.extend(("w", value) for _, value in steps)

    call_between(numbers(count, marks), lambda part: seen.extend(part.column("n").tolist()), reached)
    wanted: list[Any] = []
    for n in range(count + 1):
        wanted += [("w", n)] * int((marks.places == n).sum()) + ([n] if n < count else [])
    assert seen == wanted


@pytest.mark.parametrize(("ticks", "value"), [(1_000, 5_000), (1_000_000, 5_000_000), (1_000_000_000, 5_000_000_999)])
def test_watermarks_of_a_sink_are_microseconds_in_every_resolution(ticks: int, value: int):
    sink = OperatorWatermark(EventTimeRole("at", ticks, "inputWatermark", 0, 1, (0,)), ["A", "B", "C"])
    sink.entries.enter("A", Watermarks.of((0, value)), 0)
    sink.entries.enter("B", Watermarks.of((0, END)), 0)
    assert sink.microseconds() == {"A": 5_000_000, "B": END, "C": IDLE}


def test_an_idle_connection_does_not_hold_back_what_a_sink_has_reached():
    sink = OperatorWatermark(EventTimeRole("at", 1_000, "inputWatermark", 0, 1, (0,)), ["A", "B"])
    sink.entries.enter("A", Watermarks.of((0, 10)), 0)
    sink.entries.enter("B", Watermarks.of((0, 5)), 0)
    sink.entries.enter("B", Watermarks.of((0, IDLE)), 0)
    sink.entries.enter("A", Watermarks.of((0, 20)), 0)
    assert min(sink.microseconds().values()) == 20_000
    sink.entries.enter("B", Watermarks.of((0, 8)), 1)
    assert min(sink.microseconds().values()) == 20_000, "it never falls"


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 9))
        | st.tuples(st.just("own"), st.integers(0, 9))
        | st.dictionaries(st.sampled_from("ab"), st.booleans()),
        max_size=12,
    )
)
def test_connections_of_imports_come_and_go_and_the_watermark_is_the_least_of_those_there_are(
    events: list[tuple[str, int] | dict[str, bool]],
):
    entries, reached, watermark = CombinedWatermark(["own"], imports=True), dict[str, int | None](own=None), None
    entries.connect({})
    for event in events:
        if isinstance(event, dict):
            steps = entries.connect(event)
            there = {name: END if ended else reached.get(name, watermark) for name, ended in event.items()}
            reached = {"own": reached["own"]} | there
        else:
            name, value = event
            if name not in reached:
                continue
            steps = entries.enter(name, Watermarks.of((0, value)), 0)
            reached[name] = max(value, reached[name] or 0)
        known = [value for value in reached.values() if value is not None]
        least = min(known) if len(known) == len(reached) else None
        rises = least is not None and (watermark is None or least > watermark)
        watermark = least if rises else watermark
        assert [*(steps or ())] == ([(0, watermark)] if rises else [])
        again = CombinedWatermark(["own"], imports=True)
        again.load(entries.dump())
        again.connect(entries.imported or {})
        assert again.dump() == entries.dump()
        entries = again


def test_an_operator_without_any_connection_is_idle_and_no_longer_when_it_gets_one():
    entries = CombinedWatermark([], imports=True)
    assert [*(entries.connect({}) or ())] == [(0, IDLE)]
    assert entries.holder().kind == "unconnected"
    assert entries.connect({"a": False}) is None
    assert [*(entries.enter("a", Watermarks.of((0, 5)), 0) or ())] == [(0, 5)]
    assert [*(entries.connect({}) or ())] == [(0, IDLE)]
    assert [*(entries.connect({"b": False}) or ())] == [(0, 5)]  # no longer idle, and held at 5
    assert entries.enter("b", Watermarks.of((0, 3)), 0) is None
