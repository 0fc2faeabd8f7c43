"""The clock of a source with partitions, its guard, and decisions to be idle that replay (EV51-EV53)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.event_time.clock import Clock
from streams_orchestration.operators.event_time.decision import IdleDecision
from streams_orchestration.operators.event_time.idleness import MAX_CALL_GAP_SECONDS, Idleness
from streams_orchestration.operators.event_time.partition_time import AheadGuard
from streams_orchestration.operators.event_time.partitions import merged_clocks
from streams_orchestration.operators.tuples.watermarks import END, IDLE, Watermarks
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.event_time.naive_clock import NaiveClock
from streams_orchestration_tests.specs import CASES

EVENT_TIME = {case["id"]: case for case in yaml.safe_load((CASES / "event_time.yaml").read_text())}
NAMES = ["a", "b", "c"]
TUPLE = st.tuples(st.sampled_from(NAMES), st.integers(-20, 60))
ITEM = st.one_of(
    TUPLE, TUPLE, TUPLE, TUPLE, st.lists(st.sampled_from(NAMES), max_size=2).map(tuple), st.sets(st.sampled_from(NAMES))
)
"""A tuple of a partition, partitions that become idle, or all partitions that are read from there on."""


@dataclass
class Trial:
    """A clock that takes the items of a stream in batches, with a new one from its state in front of each batch."""

    clock: Clock
    count: int = 0

    def enter(self, items: list[Any]) -> list[tuple[int, int]]:
        """Return the watermarks behind items, each with the number of tuples in front of it."""
        found: list[tuple[int, int]] = []
        tuples: list[tuple[str, int]] = []
        for item in [*items, None]:
            if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], int):
                tuples.append(item)
                continue
            if tuples:
                codes = np.array([NAMES.index(name) for name, _ in tuples])
                times = np.array([time for _, time in tuples], np.int64)
                found += [(self.count + p, v) for p, v in self.clock.advance(times, codes, NAMES) or ()]
                self.count += len(tuples)
                tuples = []
            if item is not None:
                steps = self.clock.assign(item) if isinstance(item, set) else self.clock.rest(item)
                found += [(self.count + p, v) for p, v in steps or ()]
        return found


def wanted_of(naive: NaiveClock, items: list[Any]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    count = 0
    for item in items:
        if isinstance(item, set):
            values = naive.assign(sorted(item))
        elif len(item) == 2 and isinstance(item[1], int):
            count += 1
            values = naive.tuple(*item)
        else:
            known = [name for name in item if name in naive.partitions and not naive.partitions[name].idle]
            values = naive.rest(known) if known else []
        found += [(count, value) for value in values]
    return found


@examples(200)
@given(
    st.lists(ITEM, max_size=40), st.integers(0, 5), st.integers(0, 6), st.lists(st.integers(0, 40)),
    st.one_of(st.none(), st.integers(5, 30)), st.integers(1, 3),
)  # fmt: skip
def test_a_clock_with_partitions_follows_the_rule_however_its_tuples_are_divided(
    items: list[Any], lag: int, gap: int, cuts: list[int], max_ahead: int | None, confirmations: int
):
    items = [set(NAMES[:2]), *items]
    wanted = wanted_of(NaiveClock(lag, gap, max_ahead, confirmations), items)
    guard = None if max_ahead is None else AheadGuard(max_ahead, confirmations)
    trial, made = Trial(Clock(lag, gap, guard)), []
    for first, last in pairwise(sorted({0, len(items), *(cut % (len(items) + 1) for cut in cuts)})):
        made += trial.enter(items[first:last])
        again = Clock(lag, gap, guard)
        again.load(trial.clock.dump())
        trial.clock = again
    assert made == wanted


@examples(100)
@given(st.lists(ITEM, max_size=30), st.integers(0, 30), st.integers(0, 4), st.lists(st.integers(0, 30)))
def test_decisions_are_repeated_behind_the_same_tuples(items: list[Any], cut: int, gap: int, cuts: list[int]):
    """Decisions behind a cut are repeated, though the replay is divided otherwise and decides nothing itself."""
    items = [item for item in items if not isinstance(item, set)]
    cut %= len(items) + 1
    trial = Trial(Clock(1, gap))
    trial.clock.assign(NAMES)
    trial.enter(items[:cut])
    state, count = trial.clock.dump(), trial.count
    trial.clock.partitions.made.clear()
    wanted = trial.enter(items[cut:])
    decisions = list(trial.clock.partitions.made)
    replay = Trial(Clock(1, gap), count)
    replay.clock.load(state)
    replay.clock.partitions.pending = decisions
    tuples = [item for item in items[cut:] if len(item) == 2 and isinstance(item[1], int)]
    found: list[tuple[int, int]] = []
    for first, last in pairwise(sorted({0, len(tuples), *(at % (len(tuples) + 1) for at in cuts)})):
        found += replay.enter(tuples[first:last])
    found += [(replay.count + p, v) for p, v in replay.clock.settle() or ()]
    assert found == wanted
    assert replay.clock.partitions.made == decisions
    assert replay.clock.dump() == trial.clock.dump()


def test_a_time_far_ahead_moves_the_watermark_only_when_it_is_confirmed():
    case = EVENT_TIME["W3"]
    note, rows = case["source"]["eventTime"], case["source"]["tuples"]
    guard = AheadGuard(note["maxAhead"], note["confirmations"])
    clock = Clock(note["lag"], note["minimumGap"], guard)
    found = clock.advance(np.array([at for at, *_ in rows], np.int64))
    assert [list(step) for step in found or ()] == case["expect"]["watermarks"]


def test_a_partition_without_tuples_holds_the_watermark_until_it_is_idle():
    clock = Clock(0, 1)
    assert clock.assign(["a", "b"]) is None
    assert clock.advance(np.array([5, 9]), np.array([0, 0]), ["a"]) is None
    assert [*(clock.rest(["b"]) or ())] == [(0, 9)]


def test_a_new_partition_begins_with_the_watermark_and_never_lowers_it():
    clock = Clock(0, 1)
    clock.assign(["a"])
    clock.advance(np.array([20]), np.array([0]), ["a"])
    assert clock.assign(["a", "b"]) is None
    assert clock.advance(np.array([30]), np.array([0]), ["a"]) is None
    assert clock.advance(np.array([10]), np.array([0]), ["b"]) is None
    assert [*(clock.advance(np.array([25]), np.array([0]), ["b"]) or ())] == [(1, 25)]


def test_a_source_without_partitions_is_idle_at_once_and_has_not_ended():
    clock = Clock(0, 1)
    assert [*(clock.assign([]) or ())] == [(0, IDLE)]
    assert clock.assign(["a"]) is None
    assert [*(clock.advance(np.array([7]), np.array([0]), ["a"]) or ())] == [(1, 7)]


@pytest.fixture
def clock() -> Clock:
    made = Clock(0, 1)
    made.assign(["a", "b"])
    return made


def declare_idle(idleness: Idleness, now: float, at_end: set[str] | None) -> list[Watermarks]:
    found = idleness.declare_idle(now, at_end)
    idleness.pause(0.5)
    return found


def values(found: list[Watermarks]) -> list[int]:
    return [value for steps in found for _, value in steps]


def test_a_partition_is_idle_when_it_was_at_its_end_for_long_enough(clock: Clock):
    idleness = Idleness(clock, 3.0)
    idleness.repeat([])
    clock.advance(np.array([5, 9, 6]), np.array([0, 0, 1]), ["a", "b"])
    assert declare_idle(idleness, 100.0, {"a", "b"}) == []
    clock.advance(np.array([12]), np.array([0]), ["a"])
    assert declare_idle(idleness, 101.0, {"a", "b"}) == []
    assert declare_idle(idleness, 102.0, {"b"}) == []
    assert values(declare_idle(idleness, 103.0, {"b"})) == [12]
    assert idleness.decisions(4) == [IdleDecision(0, ("b",), {"a": 3, "b": 1}, epoch=4)]


def test_time_does_not_pass_while_the_server_is_away_or_the_source_is_not_called(clock: Clock):
    idleness = Idleness(clock, 3.0)
    declare_idle(idleness, 100.0, {"a", "b"})
    assert declare_idle(idleness, 110.0, None) == []
    assert declare_idle(idleness, 200.0, {"a", "b"}) == []
    assert declare_idle(idleness, 300.0, {"a", "b"}) == [], f"counts for {0.5 + MAX_CALL_GAP_SECONDS} s only"
    assert values(declare_idle(idleness, 400.0, {"a", "b"})) == [IDLE]


def test_a_partition_that_was_at_its_end_only_for_a_moment_is_not_idle(clock: Clock):
    idleness = Idleness(clock, 1.0)
    for now in range(100, 110):
        assert declare_idle(idleness, now / 2, {"a", "b"} if now % 2 else set()) == []


def test_a_source_is_called_when_a_partition_may_become_idle(clock: Clock):
    idleness = Idleness(clock, 3.0)
    idleness.declare_idle(100.0, {"a"})
    assert idleness.pause(60.0) == 3.0
    assert idleness.pause(0.2) == 0.2
    assert idleness.pause(None) is None
    idleness.pause(60.0)
    idleness.declare_idle(103.0, {"a"})
    assert idleness.pause(60.0) == 60.0


def test_a_replay_decides_nothing_before_it_has_repeated_what_was_decided(clock: Clock):
    idleness = Idleness(clock, 1.0)
    pending = IdleDecision(0, ("b",), {"a": 2, "b": 1})
    idleness.repeat([pending])
    clock.advance(np.array([6]), np.array([0]), ["b"])
    declare_idle(idleness, 100.0, {"b"})
    assert declare_idle(idleness, 101.5, {"b"}) == []
    found = clock.advance(np.array([5, 9]), np.array([0, 0]), ["a"])
    assert [*(found or ())] == [(1, 5), (2, 6), (2, 9)]
    assert declare_idle(idleness, 102.0, {"b"}) == []


def test_a_decision_whose_tuples_are_gone_is_forgotten(clock: Clock):
    idleness = Idleness(clock, 1.0)
    idleness.repeat([IdleDecision(0, ("b",), {"a": 7, "b": 9})])
    clock.advance(np.array([6, 8]), np.array([1, 0]), ["a", "b"])
    declare_idle(idleness, 100.0, {"b"})
    assert values(declare_idle(idleness, 101.5, {"b"})) == [8]


@examples(100)
@given(
    rises=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 60)), min_size=1, max_size=8),
    gap=st.integers(1, 60),
    cut=st.integers(0, 480),
)
def test_watermarks_among_many_tuples_are_those_of_tuple_by_tuple(rises: list[tuple[int, int]], gap: int, cut: int):
    times = np.cumsum([rise for rise, count in rises for rise in (rise, *[0] * count)])
    clock, emitted, wanted = Clock(lag=3, minimum_gap=gap), None, list[tuple[int, int]]()
    for place, time in enumerate(times.tolist(), 1):
        if emitted is None or time - 3 >= emitted + gap:
            emitted = time - 3
            wanted.append((place, emitted))
    cut = min(cut, len(times))
    found = [*(clock.advance(times[:cut]) or ()), *((p + cut, v) for p, v in clock.advance(times[cut:]) or ())]
    assert found == wanted


@pytest.mark.parametrize("count", [1, 200], ids=["few tuples", "many tuples"])
def test_the_greatest_time_has_no_later_one(count: int):
    clock = Clock(lag=0, minimum_gap=5)
    assert [*(clock.advance(np.array([1] * count + [2, END, END])) or ())] == [(1, 1), (count + 2, END)]


def test_partitions_of_several_channels_become_idle_by_the_clock_anew():
    """Decisions that a replay had not repeated belong to channels that are gone."""
    channels = [Clock(0, 1), Clock(0, 1)]
    for clock, name, time in zip(channels, "ab", (30, 12), strict=True):
        clock.assign([name])
        clock.advance(np.array([time]), np.array([0]), [name])
    merged = merged_clocks([each.dump() for each in channels])
    clock = Clock(0, 1)
    clock.load({"watermark": 12} | merged)
    idleness = Idleness(clock, 1.0)
    idleness.repeat([])
    declare_idle(idleness, 100.0, {"b"})
    assert values(declare_idle(idleness, 100.5, {"b"})) == []
    assert values(declare_idle(idleness, 101.0, {"b"})) == [30]
