"""Delay with `by: watermark` against an account that goes item by item (EV61)."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.context import Punctuation
from streams_orchestration.operators.standard.flow.delay import Delay
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.event_time.timed import (
    ENDS,
    IDLES,
    IGNORES_NULLS,
    Item,
    Timed,
    parts,
    rising,
)

ROW = "at bigint, v bigint"
ITEMS = st.lists(st.one_of(st.tuples(st.integers(0, 40), st.integers(0, 9)), st.integers(0, 40)), max_size=30)
CUTS = st.lists(st.integers(0, 40), max_size=6)


def bench(delay: float = 0.005, **parameters: Any) -> Timed:
    return Timed(Delay, [ROW], [ROW], **{"by": "watermark", "delay": delay, **parameters})


def expected(items: list[Item], delay: int) -> list[Item]:
    """Keep tuples until a watermark has reached their time and the delay; no watermark passes a kept tuple."""
    waiting: list[Any] = []
    out: list[Item] = []
    now = IDLES
    for item in items:
        if isinstance(item, tuple):
            if now >= item[0] + delay:
                out.append(item)
            else:
                waiting.append(item)
            continue
        now = item
        due = [each for each in waiting if now >= each[0] + delay]
        waiting = [each for each in waiting if now < each[0] + delay]
        out += [*sorted(due, key=lambda each: each[0]), min([now, *(each[0] for each in waiting)])]
    reached = [IDLES, *accumulate((item for item in out if not isinstance(item, tuple)), max)]
    rises = iter([now > before for before, now in pairwise(reached)])
    return [item for item in out if isinstance(item, tuple) or next(rises)]


@given(ITEMS, CUTS, st.sampled_from([0, 1, 5, 100]), st.booleans())
@examples(150)
def test_any_division_with_restarts_gives_what_the_account_gives(
    items: list[Item], cuts: list[int], delay: int, restarts: bool
):
    items = rising(items)
    operator = bench(delay / 1000)
    for part in parts(items, cuts):
        operator.items_in(part)
        if restarts:
            operator.restart()
    assert operator.items_out() == expected(items, delay)


@given(ITEMS, st.sampled_from([1, 5, 100]))
@examples(60)
def test_no_tuple_is_late_because_it_waited(items: list[Item], delay: int):
    entered, last = list[Item](), IDLES
    for item in rising(items):
        last = last if isinstance(item, tuple) else item
        entered += [item] if not isinstance(item, tuple) or item[0] >= last else []
    last = IDLES
    for item in bench(delay / 1000).items_in(entered).items_out():
        assert not isinstance(item, tuple) or item[0] >= last
        last = last if isinstance(item, tuple) else item


def test_a_window_marker_follows_the_last_tuple_before_it():
    operator = bench().items_in([(1, 0), (9, 0)]).mark().items_in([(2, 0)]).restart()
    operator.items_in([8]).mark().restart().items_in([20, ENDS])
    mark = Punctuation.WINDOW
    items = [item for item in operator.items() if isinstance(item, tuple | Punctuation)]
    assert items == [(1, 0), (2, 0), (9, 0), mark, mark]


def test_a_window_marker_passes_where_nothing_waits():
    assert bench().mark().items_in([(1, 0)]).items() == [Punctuation.WINDOW]


def test_while_it_keeps_tuples_it_is_not_idle():
    operator = bench().items_in([(7, 0), 6, IDLES])
    assert operator.items_out() == [6]
    assert operator.items_in([12, IDLES]).items_out() == [6, (7, 0), 12, IDLES]


def test_null_times_may_be_ignored():
    operator = Timed(Delay, [ROW], [ROW], IGNORES_NULLS, by="watermark", delay=0.005)
    operator.items_in([(None, 1), 1, (3, 2), 8, (None, 3)])
    assert (operator.items_out(), operator.metrics["null_times"]) == ([1, (3, 2), 8], 2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"delay": 0.0005}, "delay: 0.0005 s is not a whole number of ticks"),
        ({"delay": float("inf")}, "finite number"),
        ({"timeAttribute": "at"}, "timeAttribute cannot be combined with by: watermark"),
        ({"by": "watermarks"}, "Input should be"),
        ({"by": "tuples"}, "the parameter timeAttribute is missing"),
    ],
)
def test_wrong_parameters_of_delay_by_watermark_are_refused(parameters: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        bench(**parameters)
