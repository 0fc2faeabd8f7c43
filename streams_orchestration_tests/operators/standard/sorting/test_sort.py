"""Sort against sorted lists of what is in each window."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from streams_orchestration.operators.standard.sorting.sort import Sort
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration_tests.examples import examples

ROW = "k string, n bigint, t bigint"
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b"]), st.none() | st.integers(0, 4), st.integers(0, 3)), max_size=14)
TUMBLING = "tumbling, count(3)"


def bench(**parameters: Any) -> OperatorHarness:
    return OperatorHarness(Sort, [ROW], [ROW], parameters={"sortBy": ["n"]} | parameters)


def in_order(rows: list[Any], *, descending: bool) -> list[Any]:
    known = [row for row in rows if row[1] is not None]
    return sorted(known, key=lambda row: -row[1] if descending else row[1]) + [row for row in rows if row[1] is None]


def tumbled(rows: list[Any], size: int, *, partitioned: bool, descending: bool) -> list[Any]:
    windows, opened, out = defaultdict[str, list[Any]](list), [], []
    for row in rows:
        key = row[0] if partitioned else ""
        if not windows[key]:
            opened.append(key)
        windows[key].append(row)
        if len(windows[key]) == size:
            out += in_order(windows.pop(key), descending=descending)
            opened.remove(key)
    return out + [row for key in opened for row in in_order(windows[key], descending=descending)]


def slid(rows: list[Any], size: int, *, partitioned: bool, descending: bool) -> list[Any]:
    windows, out = defaultdict[str, list[Any]](list), []
    for row in rows:
        window = windows[row[0] if partitioned else ""]
        if len(window) == size:
            out.append(in_order(window, descending=descending)[0])
            window.remove(out[-1])
        window.append(row)
    return out


@given(rows=ROWS, size=st.integers(1, 4), cut=st.integers(0, 14), partitioned=st.booleans(), descending=st.booleans())
@examples(120)
def test_tumbling_windows_wherever_a_batch_ends(
    rows: list[Any], size: int, cut: int, partitioned: bool, descending: bool
):
    more = {"partitionBy": ["k"]} if partitioned else {}
    window = f"tumbling, count({size}){', partitioned' if partitioned else ''}"
    sort = bench(window=window, order="descending" if descending else "ascending", **more)
    sort.send(rows[:cut]).restart().send(rows[cut:]).restart().end()
    assert sort.rows() == tumbled(rows, size, partitioned=partitioned, descending=descending)


@given(rows=ROWS, size=st.integers(1, 4), cut=st.integers(0, 14), partitioned=st.booleans(), descending=st.booleans())
@examples(120)
def test_sliding_windows_wherever_a_batch_ends(
    rows: list[Any], size: int, cut: int, partitioned: bool, descending: bool
):
    more = {"partitionBy": ["k"]} if partitioned else {}
    window = f"sliding, count({size}){', partitioned' if partitioned else ''}"
    sort = bench(window=window, order="descending" if descending else "ascending", **more)
    sort.send(rows[:cut]).restart().send(rows[cut:])
    first = slid(rows, size, partitioned=partitioned, descending=descending)
    assert sort.rows() == first
    left = list(rows)
    for row in first:
        left.remove(row)
    assert sort.end().rows()[len(first) :] == in_order(left, descending=descending)


def test_several_expressions_with_orders_of_their_own():
    rows = [("a", 1, 1), ("b", 1, 2), ("a", 2, 3), ("b", 2, 4)]
    sort = bench(sortBy=["k", "n * 2"], order=["descending", "ascending"]).send(rows).mark()
    assert sort.rows() == [("b", 1, 2), ("b", 2, 4), ("a", 1, 1), ("a", 2, 3)]


def test_a_window_marker_follows_a_window_and_an_empty_one_passes():
    sort = bench().send([("a", 2, 0), ("a", 1, 0)]).mark().mark()
    assert [type(what).__name__ for _, what in sort.sent] == ["TupleBatch", "Punctuation", "Punctuation"]


def test_a_delta_closes_a_window_before_the_tuple_that_exceeds_it():
    sort = bench(window="tumbling, delta(t, 1)").send([("a", 2, 0), ("a", 1, 1), ("a", 0, 2)])
    assert sort.rows() == [("a", 1, 1), ("a", 2, 0)]


WRONG = {
    "a sliding window of time": ({"window": "sliding, time(3)", "timeAttribute": "t"}, "must be a count"),
    "as many orders as expressions": ({"order": ["ascending", "descending"]}, "order: 2 entries for 1 expressions"),
    "an order that there is not": ({"order": "up"}, "'ascending' or 'descending'"),
    "partitions without attributes": ({"window": "tumbling, count(1), partitioned"}, "require each other"),
    "an attribute that is not there": ({"sortBy": ["nn"]}, "nn"),
    "a partition that is not there": (
        {"window": "tumbling, count(1), partitioned", "partitionBy": ["kk"]}, "partitionBy: the input stream has no",
    ),
    "nothing to sort by": ({"sortBy": []}, "sortBy"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_parameters_of_sort_are_refused(case: str):
    parameters, message = WRONG[case]
    with pytest.raises((ValueError, ValidationError), match=message):
        bench(**parameters)


def test_a_tumbling_window_that_the_end_cuts_off_may_be_dropped():
    parameters = {"window": "tumbling, count(2)", "sortBy": ["n"], "atEnd": "drop"}
    sorting = OperatorHarness(Sort, ["n bigint"], ["n bigint"], parameters=parameters)
    assert sorting.send([(3,), (1,), (2,)]).end().rows() == [(1,), (3,)]
