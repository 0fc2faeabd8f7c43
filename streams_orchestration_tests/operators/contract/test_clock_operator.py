"""Operators that go by the clock: a Delay, and a DeDuplicate that forgets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.clock_operator import ClockOperator
from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.standard.flow.delay import Delay, DelayParameters
from streams_orchestration.operators.standard.transformation.deduplicate import DeDuplicate, DeDuplicateParameters
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench

EVENTS = st.lists(st.tuples(st.integers(0, 4), st.lists(st.integers(0, 3), max_size=3), st.booleans()), max_size=8)
"""Seconds since the last batch, its tuples, and whether a window marker follows them."""


@given(EVENTS, st.booleans())
@examples(100)
def test_tuples_leave_so_long_after_their_batch(events: list[Any], restarts: bool):
    delay, now = Bench(Delay, ["n int"], ["n int"], delay=3, by="clock"), 1000
    waiting, wanted = list[tuple[int, Any]](), list[Any]()

    def leave() -> None:
        while waiting and (waiting[0][1] is Punctuation.WINDOW or waiting[0][0] + 3 <= now):
            wanted.append(waiting.pop(0)[1])

    for seconds, numbers, marks in events:
        now += seconds
        delay.at(now)
        leave()
        delay.send([(n,) for n in numbers])
        waiting += [(now, (n,)) for n in numbers]
        if marks:
            delay.mark()
            waiting.append((now, Punctuation.WINDOW))
        leave()
        if restarts:
            delay.restart()
        operator = delay.operator
        assert isinstance(operator, ClockOperator)
        tuples = [at for at, item in waiting if item is not Punctuation.WINDOW]
        assert operator.wake() == (tuples[0] + 3 if tuples else None)
    assert delay.items() == wanted
    assert delay.end().items()[len(wanted) :] == [item for _, item in waiting]


@given(EVENTS, st.booleans(), st.booleans())
@examples(100)
def test_a_key_is_forgotten_by_the_clock(events: list[Any], renews: bool, restarts: bool):
    once, now = Bench(DeDuplicate, ["n int"], ["n int"], timeOut=4, resetOnDuplicate=renews), 1000.0
    seen, wanted = dict[int, float](), list[Any]()
    for seconds, numbers, _ in events:
        now += seconds
        once.at(now).send([(n,) for n in numbers])
        for n in numbers:
            fresh = n not in seen or now - seen[n] > 4
            if fresh:
                wanted.append((n,))
            if fresh or renews:
                seen[n] = now
        if restarts:
            once.restart()
    assert once.rows() == wanted


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (Delay, {"delay": 1, "by": "clock", "timeAttribute": "t"}, "timeAttribute cannot be combined with by: clock"),
        (DeDuplicate, {"timeOut": 1, "count": 2}, "count and timeOut exclude each other"),
    ],
)
def test_parameters_that_exclude_each_other_are_refused(kind: Any, parameters: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        kind.Parameters.model_validate(parameters)


def test_a_state_is_kept_where_the_clock_stays():
    before = DeDuplicateParameters.model_validate({"timeOut": 1})
    assert DeDuplicate.keeps_state(before, DeDuplicateParameters.model_validate({"timeOut": 9}))
    assert not DeDuplicate.keeps_state(before, DeDuplicateParameters.model_validate({}))
    clock = DelayParameters.model_validate({"delay": 1, "by": "clock"})
    assert Delay.keeps_state(clock, DelayParameters.model_validate({"delay": 5, "by": "clock"}))
    assert not Delay.keeps_state(clock, DelayParameters.model_validate({"delay": 1, "timeAttribute": "t"}))
    assert Delay.goes_by_clock({"by": "clock"})
    assert not Delay.goes_by_clock({"timeAttribute": "t"})
