"""DeDuplicate with `within` against an account that goes item by item (EV59)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.standard.transformation.deduplicate import DeDuplicate
from streams_orchestration.operators.standard.transformation.deduplicate_within import first_apart
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.event_time.timed import (
    ENDS,
    EVENT_TIME,
    IDLES,
    IGNORES_NULLS,
    Item,
    Timed,
    of_case,
    parts,
    rising,
    wanted,
)

ROW = "at bigint, k string, v bigint"
TUPLES = st.tuples(st.integers(-9, 60), st.sampled_from(["a", "b", None]), st.just(0))
ITEMS = st.lists(st.one_of(TUPLES, TUPLES, TUPLES, st.integers(-9, 60)), max_size=40)
CUTS = st.lists(st.integers(0, 40), max_size=6)


def bench(outputs: int = 3, **parameters: Any) -> Timed:
    return Timed(DeDuplicate, [ROW], [ROW] * outputs, **{"key": "k", "within": 0.005, **parameters})


def expected(items: list[Item], within: int, age: int) -> tuple[list[Item], list[Item], list[Item]]:
    """Remember all that passed, and forget nothing."""
    passed: list[Item] = []
    duplicates: list[Item] = []
    late: list[Item] = []
    now = IDLES
    for item in items:
        if not isinstance(item, tuple):
            now = item
        elif item[0] < now - (0 if now in (IDLES, ENDS) else age):
            late.append(item)
        elif any(
            isinstance(each, tuple) and each[1] == item[1] and abs(each[0] - item[0]) <= within for each in passed
        ):
            duplicates.append(item)
        else:
            passed.append(item)
    return passed, duplicates, late


@given(ITEMS, CUTS, st.sampled_from([0, 1, 5]), st.sampled_from([0, 3]), st.booleans())
@examples(150)
def test_any_division_with_restarts_gives_what_the_account_gives(
    items: list[Item], cuts: list[int], within: int, age: int, restarts: bool
):
    items = rising(items)
    dedup = bench(within=within / 1000, discardAge=age / 1000)
    for part in parts(items, cuts):
        dedup.items_in(part)
        if restarts:
            dedup.restart()
    assert (dedup.rows(0), dedup.rows(1), dedup.rows(2)) == expected(items, within, age)
    assert dedup.metrics["late_dropped"] == len(dedup.rows(2))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 200)), max_size=60), st.integers(0, 30))
@examples(200)
def test_the_first_that_are_apart_are_those_of_one_by_one(tuples: list[tuple[int, int]], within: int):
    chosen: list[tuple[int, int]] = []
    mask: list[bool] = []
    for code, at in tuples:
        mask.append(all(code != other or abs(at - then) > within for other, then in chosen))
        if mask[-1]:
            chosen.append((code, at))
    codes, times = (np.array([each[part] for each in tuples], np.int64) for part in (0, 1))
    assert first_apart(codes, times, within).tolist() == mask


@pytest.mark.parametrize(("at", "passes"), [(4, True), (5, False), (15, False), (16, True)])
def test_a_duplicate_may_be_earlier_or_later_than_what_passed_in_another_batch(at: int, passes: bool):
    dedup = bench().items_in([(10, "a", 1)]).restart().send([(at, "a", 2)])
    assert dedup.rows() == [(10, "a", 1), (at, "a", 2)][: 1 + passes]


def test_watermarks_stay_between_the_same_tuples():
    dedup = bench(1).items_in([(5, "a", 1), 3, (6, "a", 2), IDLES, (7, "b", 3), 5, 6])
    assert dedup.items_out() == [(5, "a", 1), 3, IDLES, (7, "b", 3), 5, 6]


def test_the_worked_case_at_every_division_with_restarts():
    case = EVENT_TIME["U1"]
    items = of_case(case)
    for cut in range(len(items) + 1):
        dedup = bench(within=10.0)
        for part in (items[:cut], items[cut:]) if cut else ([each] for each in items):
            if part:
                dedup.items_in(part).restart()
        assert [dedup.rows(0), dedup.rows(1), dedup.rows(2)] == wanted(case, "passed", "duplicates", "late")


@pytest.mark.slow
def test_forgotten_times_leave_the_state():
    dedup = bench(discardAge=0.002)
    for at in range(1000):
        dedup.items_in([(at, str(at), 0), at])
    assert len(dedup.operator.checkpoint()["passed"]) == 8
    assert len(dedup.items_in([ENDS]).operator.checkpoint()["passed"]) == 0


def test_a_failed_tuple_does_not_pass_and_its_key_is_not_remembered():
    outputs = ["at bigint, k string, v bigint NOT NULL", ROW, ROW, f"{ROW}, reason string"]
    dedup = Timed(DeDuplicate, [ROW], outputs, key="k", within=1.0, onError="route")
    dedup.items_in([(1, "a", None), (2, "a", 1), (3, "a", None), 9, (4, "a", 2)])
    assert [dedup.rows(port) for port in range(3)] == [[(2, "a", 1)], [(3, "a", None)], [(4, "a", 2)]]
    assert [row[:3] for row in dedup.rows(3)] == [(1, "a", None)]


def test_a_window_marker_forgets_where_it_is_asked_to():
    row = (5, "a", 1)
    assert bench(1, flushOnPunctuation=True).items_in([row]).mark().send([row]).rows() == [row, row]


def test_times_at_the_limits_of_64_bits_are_compared():
    rows = [(-(2**63), "a", 1), (2**63 - 1, "a", 2), (2**63 - 5, "a", 3)]
    assert bench(1, within=0.01).items_in(rows).rows() == rows[:2]


def test_a_tuple_at_the_watermark_less_the_discard_age_is_not_too_late():
    dedup = bench(discardAge=0.002).items_in([10, (10, "a", 1), (8, "b", 2), (7, "c", 3)])
    assert (dedup.rows(0), dedup.rows(2)) == ([(10, "a", 1), (8, "b", 2)], [(7, "c", 3)])
    assert (dedup.metrics["late_taken"], dedup.metrics["late_dropped"]) == (1, 1)


def test_null_times_may_be_ignored_and_go_to_the_port_for_late_tuples():
    dedup = Timed(DeDuplicate, [ROW], [ROW] * 3, IGNORES_NULLS, key="k", within=1.0)
    dedup.items_in([(None, "a", 1), (5, "a", 2), 5, (None, "a", 3)])
    assert [dedup.rows(port) for port in range(3)] == [[(5, "a", 2)], [], [(None, "a", 1), (None, "a", 3)]]


@pytest.mark.parametrize(
    ("outputs", "parameters", "message"),
    [
        (1, {"count": 3}, "count and within exclude each other"),
        (1, {"within": 0.0005}, "within: 0.0005 s is not a whole number of ticks"),
        (1, {"discardAge": 0.0001}, "discardAge: 0.0001 s is not a whole number of ticks"),
        (1, {"within": -1.0}, "greater than or equal to 0"),
        (1, {"within": "soon"}, "valid number"),
        (1, {"within": float("inf")}, "finite number"),
        (1, {"resetOnDuplicate": True}, "resetOnDuplicate cannot be combined with within"),
        (1, {"within": None, "discardAge": 1.0}, "discardAge needs the parameter within"),
        (1, {"witin": 1.0}, "Extra inputs"),
        (3, {"within": None}, "output port 2 gets the tuples that are too late, and only `within` finds late tuples"),
    ],
)
def test_wrong_parameters_of_deduplicate_within_are_refused(outputs: int, parameters: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        bench(outputs, **parameters)
