"""Timers of operators of one's own: worked case X1, and any stream against an account that goes timer by timer."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Operator, Parameters
from streams_orchestration.operators.errors.errors import DataError, ResultError
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.states import timers as timers_module
from streams_orchestration.operators.states.conversion import converted
from streams_orchestration.operators.states.rescaling import StateKeys
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.timers import DueTimers, Timers
from streams_orchestration.operators.testing import OperatorHarness, Row, same_at_any_division
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END, Watermark
from streams_orchestration_tests.specs import CASES

EVENT_TIME = {case["id"]: case for case in yaml.safe_load((CASES / "event_time.yaml").read_text())}
TUPLE = "at bigint, k string, v bigint"
FIRED = "k string, at bigint"
LEAST = -(2**63) + 1


class After(Parameters):
    after: int | None = None


class Alarms(Operator):
    """Sets the timer of k to at + v, or takes it back where v is below 0; some timers set themselves again."""

    Parameters = After
    stateful = True
    state_keys: ClassVar[StateKeys] = {"timers": "k"}

    def setup(self) -> None:
        self.timers = Timers("k string")

    def process(self, port: int, batch: TupleBatch) -> None:
        assert self.event_time is not None
        after = self.parameters.after
        for place, v in enumerate(batch.column("v").tolist()):
            one = batch.slice(place, 1)
            if v < 0:
                self.timers.delete_many(one)
            else:
                self.timers.set_many(one, self.event_time.times(one) + (v if after is None else after))

    def on_timer(self, key: Any, time: int) -> None:
        self.submit(TupleBatch.from_columns({"k": [key], "at": [time]}, self.context.output_schema()))
        for other, again in chained(key, time) if self.parameters.after is None else ():
            if again is None:
                self.timers.delete(other)
            else:
                self.timers.set(other, again)

    def checkpoint(self) -> State:
        return {"timers": self.timers}

    def restore(self, state: State) -> None:
        self.timers = state["timers"]


class TogetherAlarms(Alarms):
    """The same for all timers of a step at once."""

    def on_timers(self, due: DueTimers) -> None:
        keys, times = due.keys.column("k").tolist(), due.times.tolist()
        self.submit(TupleBatch.from_columns({"k": keys, "at": times}, self.context.output_schema()))
        for key, time in zip(keys, times, strict=True):
            for other, again in chained(key, time):
                self.timers.delete(other) if again is None else self.timers.set(other, again)


def chained(key: str, time: int) -> list[tuple[str, int | None]]:
    """Return the timers that a timer changes when it fires: it sets another one, or takes one back."""
    if time % 3 == 0:
        return [(key, time + 1 + time % 5)]
    if time % 7 == 0:
        return [("b", None), ("c", time + 1)]
    return []


class Account:
    """The rule EV60, with a dictionary."""

    def __init__(self, *, together: bool) -> None:
        self.timers: dict[str, tuple[int, int]] = {}
        self.orders = itertools.count()
        self.together = together
        self.seen: list[Any] = []

    def take(self, item: Row | Watermark) -> None:
        if isinstance(item, Watermark):
            self.reach(item.value)
            self.seen.append(item)
            return
        at, key, v = item
        self.change(key, None if v < 0 else at + v)

    def change(self, key: str, time: int | None) -> None:
        self.timers.pop(key, None)
        if time is not None:
            self.timers[key] = time, next(self.orders)

    def reach(self, watermark: int) -> None:
        while due := sorted((timer, key) for key, timer in self.timers.items() if timer[0] <= watermark):
            fired = due if self.together else due[:1]
            for _, key in fired:
                del self.timers[key]
            for (time, _), key in fired:
                self.seen.append((key, time))
            for (time, _), key in fired:
                for other, again in chained(key, time):
                    self.change(other, again)


def harness(kind: type[Operator] = Alarms, **parameters: Any) -> OperatorHarness:
    return OperatorHarness(kind, [TUPLE], [FIRED], parameters=parameters, event_time="at")


def test_worked_case_x1_holds_at_every_division_with_restarts():
    case = EVENT_TIME["X1"]
    items: list[Row | Watermark] = []
    for at, *others in case["source"]["tuples"]:
        items += [(at * 1000, *others), Watermark(at * 1000)]
    items.append(Watermark(END))
    after = round(case["timers"]["after"] * 1000)
    done = same_at_any_division(lambda: harness(after=after), [(0, item) for item in items])
    assert done.rows() == [(key, at * 1000) for key, at in case["expect"]["fired"]]
    for cut in range(len(items) + 1):
        assert harness(after=after).send(items[:cut]).restart().send(items[cut:]).items() == done.items()


KEYS = st.sampled_from("abcd")
ITEMS = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 40), KEYS, st.integers(-2, 20)),
        st.integers(0, 8),
    ),
    max_size=40,
)


@pytest.mark.parametrize("kind", [Alarms, TogetherAlarms])
@given(ITEMS, st.integers(0, 1000))
def test_timers_fire_as_the_rule_says_however_the_stream_is_divided(
    kind: type[Operator], drawn: list[Row | int], seed: int
):
    """A number stands for a watermark that is so much above the one before."""
    reached, items = 0, list[Row | Watermark]()
    for item in drawn:
        if isinstance(item, int):
            reached += item + 1
        items.append(Watermark(reached) if isinstance(item, int) else item)
    items.append(Watermark(END))
    account = Account(together=kind is TogetherAlarms)
    for item in items:
        account.take(item)
    done = same_at_any_division(lambda: harness(kind), [(0, item) for item in items], tries=3, seed=seed)
    assert done.items() == account.seen


def test_timers_fire_with_the_first_watermark_that_reaches_them_and_see_it():
    seen: list[Any] = []

    class Seeing(Alarms):
        def on_timer(self, key: Any, time: int) -> None:
            assert self.event_time is not None
            seen.append((key, time, self.event_time.watermark))

        def on_watermark(self, watermark: int) -> None:
            seen.append(watermark)

    alarms = harness(Seeing, after=10)
    event_time = alarms.operator.event_time
    assert event_time is not None
    assert event_time.watermark is None
    alarms.send([(5, "a", 1), (7, "b", 1)]).watermark(14).watermark(15)
    assert seen == [14, ("a", 15, 15), 15]
    assert alarms.operator.event_time is event_time
    assert event_time.watermark == 15
    stored = alarms.checkpoint()
    again = alarms.watermark(20).restart(stored).operator.event_time
    assert again is not None
    assert again.watermark == 15


@pytest.mark.parametrize("kind", [Alarms, TogetherAlarms])
@pytest.mark.parametrize("cut", range(5))
def test_timers_of_one_time_fire_in_the_order_of_setting(kind: type[Operator], cut: int):
    rows = [(1, "c", 9), (2, "a", 8), (1, "b", 9), (0, "c", 10)]
    alarms = harness(kind).send(rows[:cut]).restart().send(rows[cut:])
    assert alarms.watermark(10).rows() == [("a", 10), ("b", 10), ("c", 10)]


def test_a_timer_that_another_one_takes_back_does_not_fire():
    assert harness().send([(0, "a", 7), (0, "b", 8)]).watermark(20).rows() == [("a", 7), ("c", 8)]


def test_a_timer_that_on_watermark_sets_below_the_watermark_fires_in_the_same_step():
    class Late(Alarms):
        def on_watermark(self, watermark: int) -> None:
            if watermark == END:
                self.timers.set("late", 1)

    assert harness(Late, after=10).watermark(END).items() == [("late", 1), Watermark(END)]


def test_a_timer_that_sets_itself_again_for_ever_is_an_error_at_the_end(monkeypatch: pytest.MonkeyPatch):
    class Again(Alarms):
        def on_timer(self, key: Any, time: int) -> None:
            self.timers.set(key, time + 1)

    monkeypatch.setattr(timers_module, "MOST_AT_END", 20)
    alarms = harness(Again, after=10).send([(0, "a", 1)]).watermark(100)
    with pytest.raises(ResultError, match="more than 20 timers were set while the stream ended"):
        alarms.watermark(END)


class Silent(Alarms):
    """Has timers, and no method for them."""

    on_timer = Operator.on_timer


class Placing(Alarms):
    keeps_places = True


@pytest.mark.parametrize(
    ("kind", "event_time", "message"),
    [
        (Alarms, None, r"it has timers, but no watermark arrives at it: annotate an operator upstream .*SO0806"),
        (
            Alarms,
            EventTimeRole("at", 1000, "outputEventTime", 0, 0, (), (0,)),
            "it has timers, but no watermark arrives at it",
        ),
        (Placing, "at", "it has timers, but its class sets `keeps_places`"),
    ],
)
def test_timers_that_would_never_fire_are_refused(kind: type[Operator], event_time: Any, message: str):
    with pytest.raises(ResultError, match=message):
        OperatorHarness(kind, [TUPLE], [FIRED], event_time=event_time)


def test_timers_need_a_method():
    alarms = harness(Silent).send([(0, "a", 1)])
    with pytest.raises(
        ResultError, match=r"it sets timers, but has neither the method `on_timer\(key, time\)` nor `on_timers\(due\)`"
    ):
        alarms.watermark(1)


@pytest.mark.parametrize(
    ("times", "error", "message"),
    [
        ([1.5], DataError, "a timer's time is a whole number of ticks, not .*1.5"),
        ([True], DataError, "a whole number of ticks"),
        (np.array(["2024-01-01"], "datetime64[us]"), DataError, "a whole number of ticks"),
        ([1, 2], ValueError, "1 keys and 2 times"),
    ],
)
def test_times_of_timers_are_ticks(times: Any, error: type[Exception], message: str):
    timers = Timers("k string")
    with pytest.raises(error, match=message):
        timers.set_many({"k": ["a"]}, times)
    assert not timers.entries


def test_a_key_may_have_several_attributes():
    timers = Timers("kind string, k bigint")
    timers.set_many({"kind": ["x", "y"], "k": [1, 1]}, [20, 10])
    timers.set(("x", 2), 5)
    timers.delete(("y", 1))
    assert timers.get(("x", 1)) == 20
    assert timers.get(("y", 1)) is None
    assert list(timers.expire(20)) == [(("x", 2), 5), (("x", 1), 20)]


class ByKey:
    """A route that sends a key to the channel of its letter's number."""

    def __init__(self, width: int) -> None:
        self.width = width

    def attributes(self, port: int = 0) -> tuple[str, ...]:
        return ("k",)

    def channels(self, tuples: pa.RecordBatch, port: int = 0) -> np.ndarray:
        return np.array([self.channel(key) for key in tuples.column("k").to_pylist()], np.int64)

    def channel(self, key: str) -> int:
        return ord(key) % self.width


@pytest.mark.parametrize("width", [1, 3])
def test_a_redeploy_divides_timers_by_their_keys(width: int):
    parts = [harness(after=10).send([(at, key, 1) for key, at in each]) for each in ([("a", 3), ("b", 1)], [("c", 2)])]
    route = ByKey(width)
    states = parts[0].operator.rescale([dict(part.operator.checkpoint()) for part in parts], route)
    found = {}
    for channel, state in enumerate(states):
        alarms = harness(after=10)
        alarms.operator.restore(state)
        for key, _ in alarms.watermark(END).rows():
            found[key] = channel
    assert found == {key: route.channel(key) for key in "abc"}


def test_the_key_of_timers_may_become_wider_at_a_redeploy():
    timers = Timers("k int")
    timers.set(7, 12)
    state = converted({"timers": timers}, {"timers": Timers("k bigint")})
    assert list(state["timers"].expire(12)) == [(7, 12)]
    assert state["timers"].entries.keys_schema == Timers("k bigint").entries.keys_schema


@pytest.mark.slow
def test_only_changes_of_timers_are_stored():
    alarms = harness(after=100_000)
    alarms.send([(n, f"key {n}", 1) for n in range(5_000)]).checkpoint()
    before = alarms.checkpoint()
    alarms.send([(7, "key 7", 1), (9, "new", 1)])
    stored = alarms.checkpoint()
    assert stored[:-1] == before
    assert len(stored[-1][1]) < len(before[0][1]) / 10
    assert alarms.restart(stored).watermark(END).rows()[-1] == ("key 4999", 104_999)
    assert len(alarms.rows()) == 5_001
