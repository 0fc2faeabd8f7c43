"""Custom in an event-time graph: functions of watermarks and timers (EV21, EV60)."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Sequence
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import DataError, ResultError, TupleError
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.implementations.implementation import timer_count
from streams_orchestration.operators.standard.transformation.custom import Custom
from streams_orchestration.operators.standard.transformation.filter import Filter
from streams_orchestration.operators.testing import OperatorHarness, Row, same_at_any_division
from streams_orchestration.operators.tuples.watermarks import END, Watermark
from streams_orchestration_tests.specs import CASES

HERE = "streams_orchestration_tests.operators.custom_functions"
EVENT_TIME = {case["id"]: case for case in yaml.safe_load((CASES / "event_time.yaml").read_text())}
TUPLE = "at bigint, k string, v bigint"
FIRED = "k string, at bigint"


def custom(source: str = TUPLE, event_time: Any = "at", outputs: Sequence[str] = (FIRED,), **given_: Any) -> Any:
    names = ("function", "onTuple", "onWatermark", "onTimer")
    parameters = {name: f"{HERE}:{value}" if name in names else value for name, value in given_.items()}
    return OperatorHarness(Custom, [source], outputs, parameters=parameters, event_time=event_time)


def test_worked_case_x1_holds_at_every_division_with_restarts():
    case = EVENT_TIME["X1"]
    items: list[Row | Watermark] = []
    for at, *others in case["source"]["tuples"]:
        items += [(at * 1000, *others), Watermark(at * 1000)]
    items.append(Watermark(END))
    arguments = {"after": round(case["timers"]["after"] * 1000)}

    def create() -> OperatorHarness:
        return custom(onTuple="timing_out", onTimer="fired", arguments=arguments)

    done = same_at_any_division(create, [(0, item) for item in items])
    assert done.rows() == [(key, at * 1000) for key, at in case["expect"]["fired"]]
    for cut in range(len(items) + 1):
        assert create().send(items[:cut]).restart().send(items[cut:]).items() == done.items()


def test_the_timers_of_a_custom_are_counted():
    harness = custom(onTuple="timing_out", onTimer="fired", arguments={"after": 10})
    assert timer_count(harness.operator) == 0
    harness.send([(1, "a", 0), (2, "b", 0), (3, "a", 0)])
    assert timer_count(harness.operator) == 2
    harness.watermark(12)
    assert timer_count(harness.operator) == 1


def test_an_operator_without_timers_has_no_number_of_them():
    assert timer_count(OperatorHarness(Filter, [TUPLE], [TUPLE]).operator) is None


class Account:
    """The functions `changing` and `chaining`, timer by timer."""

    def __init__(self) -> None:
        self.timers: dict[tuple[str, str], tuple[int, int]] = {}
        self.orders = itertools.count()
        self.seen: list[Any] = []

    def change(self, name: str, key: str, time: int | None) -> None:
        self.timers.pop((name, key), None)
        if time is not None:
            self.timers[name, key] = time, next(self.orders)

    def take(self, item: Row | Watermark) -> None:
        if not isinstance(item, Watermark):
            at, key, v = item
            self.change("third" if at % 3 == 0 else "", key, None if v < 0 else at + v)
            return
        while due := [(time, timer) for timer, time in self.timers.items() if time[0] <= item.value]:
            (time, _), (name, key) = min(due)
            del self.timers[name, key]
            self.seen.append((f"{name} {key}", time))
            if time % 4 == 0:
                self.change("again", key, time + 1 + time % 5)
            elif time % 7 == 0:
                self.change("", "b", None)
        self.seen.append(item)


ITEMS = st.lists(
    st.one_of(st.tuples(st.integers(0, 40), st.sampled_from("abc"), st.integers(-2, 20)), st.integers(0, 8)),
    max_size=40,
)


@pytest.mark.parametrize(
    "functions",
    [
        {"onTuple": "changing", "onTimer": "chaining"},
        {"function": "changing_batches", "onTimer": "chaining_batches"},
    ],
)
@given(ITEMS, st.integers(0, 1000))
def test_timers_fire_as_the_rule_says_however_the_stream_is_divided(
    functions: dict[str, str], drawn: list[Row | int], seed: int
):
    """A number stands for a watermark that is so much above the one before."""
    reached, items = 0, list[Row | Watermark]()
    for item in drawn:
        if isinstance(item, int):
            reached += item + 1
        items.append(Watermark(reached) if isinstance(item, int) else item)
    items.append(Watermark(END))
    account = Account()
    for item in items:
        account.take(item)
    done = same_at_any_division(
        lambda: custom(**dict[str, Any](functions)), [(0, item) for item in items], tries=3, seed=seed
    )
    assert done.items() == account.seen


def test_a_timer_that_another_one_takes_back_or_sets_again_does_not_fire():
    done = custom(onTuple="changing", onTimer="chaining").send([(1, "a", 6), (1, "b", 8), (1, "d", 7), (1, "again", 1)])
    assert done.watermark(8).rows() == [(" again", 2), (" a", 7), (" d", 8)]
    assert done.watermark(20).rows()[3:] == [("again d", 12), ("again d", 15)]


def test_a_timer_that_the_one_before_it_in_the_same_step_takes_back_does_not_fire():
    done = custom(onTuple="changing", onTimer="chaining").send([(1, "a", 6), (1, "b", 7), (1, "c", 8)])
    assert done.watermark(20).rows() == [(" a", 7), (" c", 9)]


def test_functions_see_the_watermark_in_front_of_their_tuples_and_are_called_at_each_step():
    items: list[Row | Watermark] = [
        (5, "a", 1), Watermark(3), (6, "b", 1), (7, "c", 1), Watermark(5), Watermark(6), Watermark(END),
    ]  # fmt: skip
    done = same_at_any_division(
        lambda: custom(onTuple="noting", onWatermark="at_watermark", outputs=(FIRED, "k string, seen bigint")),
        [(0, item) for item in items],
    )
    assert done.rows(1) == [("a", None), ("1", 3), ("b", 3), ("c", 3), ("3", 5), ("3", 6), ("3", END)]
    assert done.items(0) == [Watermark(3), Watermark(5), Watermark(6), Watermark(END)]


def test_results_of_a_step_come_before_its_watermark():
    done = custom(onTuple="timing_out", onTimer="fired", arguments={"after": 10}).send([(5, "a", 1)])
    assert done.watermark(14).watermark(15).items() == [Watermark(14), ("a", 15), Watermark(15)]


def test_times_are_values_of_the_attributes_type():
    source, fired = "at timestamp, k string", "k string, at timestamp"
    at = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    done = custom(source, outputs=(fired,), onTuple="timed", onTimer="fired").send([(at, "a")])
    assert done.watermark(at).rows() == [("a", at)]


def test_a_timer_at_the_greatest_time_fires_at_the_end():
    greatest = dt.datetime.max.replace(tzinfo=dt.UTC)
    source, fired = "at timestamp, k string", "k string, at timestamp"
    done = custom(source, outputs=(fired,), onTuple="timed", onTimer="fired").send([(greatest, "a")])
    assert done.watermark(dt.datetime(2024, 5, 1, tzinfo=dt.UTC)).rows() == []
    assert done.watermark(END).rows() == [("a", greatest)]


def test_the_time_of_a_timer_can_be_read_and_keys_may_be_tuples():
    done = custom(onTuple="looking", onTimer="fired").send([(5, "a", 1), (7, "a", 1)]).restart().send([(9, "a", 1)])
    assert done.rows() == [("False", -1), ("True", 5), ("True", 7)]


@pytest.mark.parametrize("key", [1, 2.5, True, None, "x"])
def test_keys_come_back_as_they_were(key: Any):
    found: list[Any] = []
    done = custom(onTuple="timed", onTimer="fired", arguments={"key": key})
    done.operator.functions["onTimer"] = lambda **given_: found.append(given_["key"])
    done.send([(5, "a", 1)]).watermark(END)
    assert [(each, type(each)) for each in found] == [(key, type(key))]


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        (
            {"onTuple": "timed", "arguments": {"time": "soon"}},
            r"the time is 'soon' \(str\), but at is bigint: give a whole number",
        ),
        ({"onTuple": "timed", "arguments": {"time": None}}, "the time is None"),
        ({"onTuple": "keyed"}, r"a timer's key is a text, number, boolean or None, or a tuple of these, not \['a'\]"),
        ({"onTuple": "named"}, r"timers\[7\]: the index must be a text, the name of timers; timers.get\(key\)"),
    ],
)
def test_wrong_timers_are_an_error_at_their_tuple(given_: dict[str, Any], message: str):
    with pytest.raises(TupleError) as raised:
        custom(onTimer="fired", **given_).send([(5, "a", 1)])
    with pytest.raises(DataError, match=message):
        raise raised.value.__cause__ or raised.value


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"onTuple": "timing_out"}, "onTuple: its function takes timers, but there is no onTimer"),
        (
            {"onTuple": "noting", "onTimer": "fired"},
            "onTimer: no other function takes `timers`, so no timer is ever set",
        ),
        ({"onTuple": "noting", "onTimer": "chaining"}, "onTimer: no other function takes `timers`"),
        ({"onTuple": "noting", "onWatermark": "fired"}, "onWatermark: .* takes key, but .* watermark, state"),
        ({"onTuple": "timing_out", "onTimer": "noting"}, "onTimer: .* takes values, but can take only key, time, name"),
        ({"onTuple": "noting", "onWatermark": "none"}, "onWatermark: .* has no none"),
    ],
)
def test_functions_that_do_not_fit_are_named(given_: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        custom(**given_)


SOURCE = EventTimeRole("at", 1000, "outputEventTime", 0, 0, (), (0,))


@pytest.mark.parametrize("event_time", [None, SOURCE])
@pytest.mark.parametrize(
    ("given_", "what"),
    [
        ({"onTuple": "timing_out", "onTimer": "fired"}, "onTimer"),
        ({"onTuple": "noting", "onWatermark": "nothing"}, "onWatermark"),
    ],
)
def test_without_a_watermark_that_arrives_they_are_refused(event_time: Any, given_: dict[str, str], what: str):
    with pytest.raises(ResultError, match=rf"it has {what}, but no watermark arrives at it: annotate .*SO0806"):
        custom(event_time=event_time, **dict[str, Any](given_))


def test_without_event_time_there_is_no_watermark():
    done = custom(event_time=None, onTuple="noting", outputs=(FIRED, "k string, seen bigint"))
    assert done.send([(5, "a", 1)]).rows(1) == [("a", None)]
