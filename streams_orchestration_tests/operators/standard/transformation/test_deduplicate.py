"""DeDuplicate against a tuple-by-tuple account of what it is to do."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.transformation.deduplicate import DeDuplicate
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench, Row, division

ROW = "k string, x double, t bigint"
NAN = float("nan")
ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([0.0, 1.0, NAN, None]), st.integers(0, 12)),
    max_size=14,
)
CUTS = st.lists(st.integers(0, 100), max_size=4)
LIMITS = st.sampled_from([{}, {"count": 0}, {"count": 1}, {"count": 4}, {"delta": 3, "deltaAttribute": "t"}])


def bench(ports: int = 2, **parameters: Any) -> Bench:
    given: dict[str, Any] = {"key": ["k", "x"]} | parameters
    return Bench(DeDuplicate, [ROW], [ROW] * ports, **given)


def expected(rows: Sequence[Row], limits: dict[str, Any], renews: bool) -> tuple[list[Row], list[Row]]:
    """Remember everything, and look back as far as the limit reaches."""
    remembered: dict[str, tuple[int, int]] = {}
    fresh, others = [], []
    for i, row in enumerate(rows):
        key = repr((row[0], row[1]))
        largest = max(t for *_, t in rows[: i + 1])
        known = key in remembered
        if known and "count" in limits:
            known = i - remembered[key][0] <= limits["count"]
        elif known and "delta" in limits:
            known = largest - remembered[key][1] <= limits["delta"]
        (others if known else fresh).append(row)
        if not known or renews:
            remembered[key] = i, row[2]
    return fresh, others


@given(ROWS, CUTS, LIMITS, st.booleans(), st.booleans())
@examples(120)
def test_any_division_with_restarts_gives_what_the_account_gives(
    rows: list[Row], cuts: list[int], limits: dict[str, Any], renews: bool, restarts: bool
):
    dedup = bench(resetOnDuplicate=renews, **limits)
    for part in division(rows, cuts):
        dedup.send(part)
        if restarts:
            dedup.restart()
    fresh, others = expected(rows, limits, renews)
    assert (repr(dedup.rows(0)), repr(dedup.rows(1))) == (repr(fresh), repr(others))


def test_without_a_second_port_duplicates_are_dropped():
    rows = [("a", 1.0, 1), ("a", 1.0, 2)]
    assert bench(1).send(rows).rows() == rows[:1]


def test_the_key_is_all_attributes_unless_it_is_given():
    rows = [("a", 1.0, 1), ("a", 1.0, 2), ("a", 1.0, 1)]
    assert Bench(DeDuplicate, [ROW], [ROW]).send(rows).rows() == rows[:2]


def test_a_count_of_0_lets_all_tuples_pass():
    rows = [("a", 1.0, 1), ("a", 1.0, 1), ("a", 1.0, 2)]
    assert bench(count=0).send(rows[:1]).restart().send(rows[1:]).rows() == rows


def test_a_key_may_be_an_expression():
    rows = [("a", 1.0, 1), ("b", 1.0, 3), ("c", 1.0, 4)]
    assert bench(1, key="t % 2").send(rows).rows() == [rows[0], rows[2]]


def test_a_window_marker_forgets_where_it_is_asked_to():
    row = [("a", 1.0, 1)]
    assert bench(1, flushOnPunctuation=True).send(row).mark().send(row).rows() == row * 2
    assert bench(1).send(row).mark().send(row).rows() == row


def test_a_reset_forgets_everything():
    row = [("a", 1.0, 1)]
    assert bench(1, count=5).send(row).reset().send(row).rows() == row * 2


def test_a_duplicate_renews_its_key_as_in_streams():
    rows = [("a", 0.0, t) for t in (0, 2, 4)]
    assert bench(delta=3, deltaAttribute="t").send(rows).rows() == rows[:1]


def test_the_delta_of_a_time_is_in_seconds():
    start = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    rows = [("a", start + datetime.timedelta(seconds=s)) for s in (0, 1.5, 1.6)]
    schema = "k string, at timestamp"
    dedup = Bench(DeDuplicate, [schema], [schema], key="k", delta=1.5, deltaAttribute="at", resetOnDuplicate=False)
    dedup.send(rows)
    assert [at for _, at in dedup.rows()] == [rows[0][1], rows[2][1]]


def test_differences_beyond_64_bits_and_of_infinities_are_compared():
    far = [("a", 1.0, -(2**63)), ("a", 1.0, 2**63 - 1), ("a", 1.0, 2**63 - 1)]
    assert bench(1, delta=10, deltaAttribute="t").send(far).rows() == far[:2]
    endless = [("a", float("inf"), 1), ("a", float("inf"), 2)]
    assert bench(1, key="k", delta=1, deltaAttribute="x").send(endless).rows() == endless[:1]


def test_keys_that_are_forgotten_take_no_memory():
    dedup = bench(count=3).send([(str(i), 0.0, i) for i in range(1000)])
    assert len(dedup.operator.checkpoint()["seen"]) <= 4


def test_a_null_in_the_delta_attribute_is_an_error_of_the_data():
    with pytest.raises(DataError, match="deltaAttribute: t is null"):
        bench(delta=1, deltaAttribute="t").send([("a", 1.0, None)])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"key": "q"}, "key: 'q' uses the attribute q"),
        ({"count": 1, "delta": 1, "deltaAttribute": "t"}, "count and delta exclude each other"),
        ({"delta": 1}, "delta and deltaAttribute require each other"),
        ({"delta": 1, "deltaAttribute": "tt"}, "deltaAttribute: the stream has no attribute tt.*t"),
        ({"delta": 1, "deltaAttribute": "k"}, "deltaAttribute: k is string, but a number or a timestamp"),
        ({"timeOut": 3.0, "count": 1}, "count and timeOut exclude each other"),
    ],
)
def test_wrong_parameters_of_deduplicate_are_refused(parameters: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        bench(**parameters)


def test_the_whole_tuple_is_the_key_of_nested_attributes_too():
    rows = [([1, 2], [("a", 1), ("b", 2)]), ([2, 1], [("a", 1), ("b", 2)]), ([1, 2], [("b", 2), ("a", 1)])]
    schema = "a array<int>, m map<string, int>"
    assert Bench(DeDuplicate, [schema], [schema] * 2).send(rows).restart().send(rows[:1]).rows() == rows[:2]
