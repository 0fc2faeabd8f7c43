"""Sort with the window eventTime against an account that goes item by item (EV58)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.standard.sorting.sort import Sort
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.event_time.timed import (
    ENDS,
    EVENT_TIME,
    IDLES,
    IGNORES_NULLS,
    MILLISECONDS,
    Item,
    Timed,
    of_case,
    parts,
    rising,
    wanted,
)

ROW = "at bigint, k string, v bigint"
TUPLES = st.tuples(st.integers(0, 30), st.sampled_from("ab"), st.integers(0, 3))
ITEMS = st.lists(st.one_of(TUPLES, TUPLES, st.integers(0, 30)), max_size=30)
CUTS = st.lists(st.integers(0, 30), max_size=6)


def bench(outputs: int = 2, **parameters: Any) -> Timed:
    return Timed(Sort, [ROW], [ROW] * outputs, **{"window": "eventTime", **parameters})


def expected(items: list[Item], descending: bool | None) -> tuple[list[Item], list[Item]]:
    """Keep tuples until a watermark is above their time."""
    waiting: list[Any] = []
    out: list[Item] = []
    late: list[Item] = []
    now = IDLES
    for number, item in enumerate(items):
        if isinstance(item, tuple):
            (late if item[0] < now else waiting).append(item if item[0] < now else (number, item))
            continue
        now = item
        due = [each for each in waiting if each[1][0] < now or now == ENDS]
        sign = 0 if descending is None else -1 if descending else 1
        due.sort(key=lambda each: (each[1][0], sign * each[1][2], each[0]))
        waiting = [each for each in waiting if each not in due]
        out += [each for _, each in due]
        out.append(now)
    return out, late


@given(ITEMS, CUTS, st.sampled_from([None, False, True]), st.booleans())
@examples(150)
def test_any_division_with_restarts_gives_what_the_account_gives(
    items: list[Item], cuts: list[int], descending: bool | None, restarts: bool
):
    items = rising(items)
    order = {} if descending is None else {"sortBy": ["v"], "order": "descending" if descending else "ascending"}
    sort = bench(**order)
    for part in parts(items, cuts):
        sort.items_in(part)
        if restarts:
            sort.restart()
    out, late = expected(items, descending)
    assert sort.items_out() == out
    assert [item for item in sort.items_out(1) if isinstance(item, tuple)] == late
    assert sort.metrics["late_dropped"] == len(late)


def test_the_worked_case_at_every_division_with_restarts():
    case = EVENT_TIME["T1"]
    items = of_case(case)
    for cut in range(len(items) + 1):
        sort = bench()
        for part in (items[:cut], items[cut:]) if cut else ([each] for each in items):
            if part:
                sort.items_in(part).restart()
        assert [sort.rows(0), sort.rows(1)] == wanted(case, "sorted", "late")


def test_a_tuple_at_the_watermark_is_not_late_and_waits_for_a_higher_one():
    sort = bench().items_in([10, (10, "a", 1), (9, "b", 2)])
    assert (sort.rows(0), sort.rows(1), sort.metrics["late_taken"]) == ([], [(9, "b", 2)], 0)
    assert sort.items_in([11]).rows() == [(10, "a", 1)]


def test_while_it_keeps_tuples_it_is_not_idle():
    sort = bench(1).items_in([(5, "a", 1), 3, IDLES])
    assert sort.items_out() == [3]
    assert sort.items_in([9, IDLES]).items_out() == [3, (5, "a", 1), 9, IDLES]


def test_late_tuples_are_dropped_without_a_port_for_them():
    sort = bench(1).items_in([10, (5, "a", 1), ENDS])
    assert (sort.rows(), sort.metrics["late_dropped"]) == ([], 1)


def test_tuples_that_fail_go_to_the_last_port_behind_the_late_ones():
    outputs = [ROW, "at bigint", f"{ROW}, reason string"]
    sort = Timed(Sort, [ROW], outputs, window="eventTime", sortBy=["1 / v"], onError="route")
    sort.items_in([10, (5, "a", 1), (11, "b", 0), (12, "c", 2), ENDS])
    assert sort.rows(0) == [(12, "c", 2)]
    assert sort.rows(1) == [(5,)]
    assert [row[:3] for row in sort.rows(2)] == [(11, "b", 0)]


def test_a_reset_forgets_tuples_and_the_watermark():
    sort = bench(1).items_in([(5, "a", 1), 3]).reset().items_in([(1, "b", 1), ENDS])
    assert sort.rows() == [(1, "b", 1)]


def test_released_tuples_leave_the_state():
    sort = bench(1)
    for at in range(1000):
        sort.items_in([(at, "a", at), at])
    assert len(sort.operator.checkpoint()["waiting"]) == 1


def test_null_times_may_be_ignored_and_go_to_the_port_for_late_tuples():
    sort = Timed(Sort, [ROW], [ROW, ROW], IGNORES_NULLS, window="eventTime")
    sort.items_in([(5, "a", 1), (None, "b", 2), 5, (None, "c", 3), ENDS])
    assert (sort.rows(0), sort.rows(1)) == ([(5, "a", 1)], [(None, "b", 2), (None, "c", 3)])
    assert (sort.metrics["null_times"], sort.metrics["late_dropped"]) == (2, 0)


@pytest.mark.parametrize(
    ("outputs", "parameters", "message"),
    [
        (1, {"window": "tumbling, count(3)"}, "the parameter sortBy is missing"),
        (1, {"order": "descending"}, "order needs sortBy"),
        (1, {"order": ["ascending"]}, "order: 1 entries for 0 expressions"),
        (1, {"partitionBy": ["k"]}, "partitionBy cannot be combined with the window eventTime"),
        (1, {"timeAttribute": "at"}, "timeAttribute cannot be combined with the window eventTime"),
        (1, {"window": "eventTime, partitioned"}, "'partitioned' is not a part of"),
        (1, {"window": "evenTime", "sortBy": ["v"]}, "'evenTime' is not a window; the nearest is eventTime"),
        (1, {"window": "session, gap(3.0)"}, "the parameter sortBy is missing"),
        (2, {"window": "tumbling, count(3)", "sortBy": ["v"]}, "output port 1 gets the tuples that are too late"),
        (1, {"discardAge": 3.0}, "Extra inputs"),
    ],
)
def test_wrong_parameters_of_sort_by_time_are_refused(outputs: int, parameters: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        bench(outputs, **parameters)


def test_a_stream_without_the_attribute_is_named():
    with pytest.raises(ValueError, match="input port 0: event time: the stream has no attribute at"):
        Timed(Sort, ["k string"], ["k string"], MILLISECONDS, window="eventTime")
