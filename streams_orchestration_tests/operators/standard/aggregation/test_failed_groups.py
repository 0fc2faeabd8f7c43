"""`onError` for groups of an Aggregate without a value: they fail, are dropped, or go to the port for failed tuples."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.expressions.times import UTC
from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.standard.aggregation.measure import parse_measure
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench, Row, division

LARGE = 2**63 - 1
TUPLE = "k string, n bigint"
FAILED = "k string, n bigint, reason string"
OVERFLOW = "the sum is beyond the range of bigint; CAST the argument to DOUBLE"
NULL = "it is null, but the attribute is NOT NULL; coalesce gives it a value, or leave out NOT NULL"
FAULTS = [
    ("s bigint", "Sum(n)", OVERFLOW),
    ("s double", "Average(n)", OVERFLOW),
    (
        "s decimal(38, 0)",
        "Sum(CAST(n AS DECIMAL(38)) * 9000000000000000000)",
        "the result is beyond the range of .*",
    ),
    ("s int", "Max(n)", f"{LARGE} is beyond the range of int"),
    ("s tinyint", "ArgMin(n, n)", f"{LARGE} is beyond the range of tinyint"),
    ("s bigint NOT NULL", f"Sum(nullif(n, {LARGE}))", NULL),
    ("s struct<a: tinyint>", "First(named_struct('a', n))", f"{LARGE} is beyond the range of tinyint"),
]
WINDOWS = ["tumbling, count(4)", "tumbling, punct()", "sliding, count(4), count(4)"]


def bench(action: str, output: str, value: str, window: str, **parameters: Any) -> Bench:
    outputs = [f"k string, {output}"] + ([FAILED] if action == "route" else [])
    given = {"window": window, "groupBy": ["k"], "output": {"s": value}, "onError": action} | parameters
    return Bench(Aggregate, [TUPLE], outputs, **given)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("output", "value", "reason"), FAULTS)
def test_a_group_without_a_value_fails_is_dropped_or_routed(output: str, value: str, reason: str, window: str):
    rows = [("a", LARGE), ("b", 1), ("a", LARGE), ("b", 2)]
    with pytest.raises(
        DataError, match=rf"^output.s: ['\"]{re.escape(value[:4])}.*['\"]: {reason}; in the group k = 'a'$"
    ):
        bench("fail", output, value, window).send(rows).mark()
    skipping, routing = (bench(action, output, value, window).send(rows).mark() for action in ("skip", "route"))
    assert [row[0] for row in skipping.rows()] == ["b"]
    assert skipping.metrics["dropped"] == 1
    assert routing.items()[:2] == skipping.items()[:2]
    ((key, n, why),) = routing.rows(1)
    assert (key, n) == ("a", None)
    assert why.startswith("output.s: ")


def test_a_window_without_a_group_that_has_a_value_still_ends():
    aggregate = bench("skip", "s bigint", "Sum(n)", "tumbling, count(2)").send([("a", LARGE)] * 2 + [("a", 1)] * 2)
    assert aggregate.items() == [Punctuation.WINDOW, ("a", 2), Punctuation.WINDOW]


def test_a_group_that_failed_has_no_value_after_a_restart_and_further_tuples():
    aggregate = bench("route", "s bigint", "Sum(n)", "tumbling, punct()")
    aggregate.send([("a", LARGE), ("a", 1)]).restart().send([("a", -LARGE), ("b", 1)]).mark()
    aggregate.send([("a", 1)]).mark()
    assert aggregate.rows() == [("b", 1), ("a", 1)]
    assert aggregate.rows(1) == [("a", None, f"output.s: 'Sum(n)': {OVERFLOW}")]


def test_parts_of_a_group_have_no_value_together_if_one_has_none_or_their_sum_overflows():
    measure = parse_measure("Sum(n)", arrow_schema(TUPLE), "output.s", UTC)
    columns = pa.record_batch({"k": pa.nulls(5, pa.string()), "n": pa.array([LARGE, 1, 1, LARGE, 2])})
    counts, values = np.zeros(4, np.int64), np.zeros(4, np.int64)
    measure.add(counts, values, np.array([0, 0, 1, 2, 3]), Evaluated(TupleBatch(columns)))
    merged_counts, merged = np.zeros(3, np.int64), np.zeros(3, np.int64)
    for groups in ([0, 0, 1, 2], [0, 0, 1, 2], [0, 0, 2, 2]):
        measure.merge(merged_counts, merged, np.array(groups), counts, values)
    reached = measure.result(merged_counts, merged)
    assert reached.failures == {0: OVERFLOW, 1: OVERFLOW, 2: OVERFLOW}
    assert reached.values.to_pylist() == [None] * 3


def test_a_group_whose_window_is_not_submitted_does_not_fail():
    aggregate = bench("fail", "s bigint", "Sum(n)", "tumbling, count(3)").send([("a", LARGE)] * 2)
    aggregate.end()
    assert aggregate.rows() == []


def test_a_key_that_does_not_fit_its_attribute_makes_the_group_fail():
    aggregate = Bench(
        Aggregate, ["n bigint"], ["n tinyint, c bigint", "n bigint, reason string"],
        window="tumbling, count(2)", groupBy=["n"], output={"c": "Count()"}, onError="route",
    )  # fmt: skip
    aggregate.send([(1,), (300,)])
    assert aggregate.rows() == [(1, 1)]
    assert aggregate.rows(1) == [(300, "output.n: '`n`': 300 is beyond the range of tinyint")]


def test_whole_numbers_beyond_the_digits_of_a_double_are_rounded():
    assert bench("fail", "s double", "Max(n)", "tumbling, count(1)").send([("a", LARGE)]).rows() == [("a", 2.0**63)]


def test_an_attribute_of_the_port_that_would_be_null_for_a_failed_group_is_refused():
    outputs = ["k string, s bigint", "k string NOT NULL, n bigint NOT NULL, reason string NOT NULL"]
    with pytest.raises(ValueError, match=r"onError: output port 1 .* their n is null, .* leave out NOT NULL"):
        Bench(
            Aggregate, [TUPLE], outputs, window="tumbling, count(1)", groupBy=["k"], output={"s": "Sum(n)"},
            onError="route",
        )  # fmt: skip


COURSES: list[dict[str, Any]] = [
    {"window": "tumbling, count(3)"},
    {"window": "tumbling, count(3), partitioned", "partitionBy": ["k"]},
    {"window": "tumbling, delta(n, 1)"},
    {"window": "sliding, count(3), count(2)"},
    {"window": "sliding, count(3), partitioned", "partitionBy": ["k"]},
    {"window": "sliding, delta(n, 1), delta(n, 1)"},
    {
        "window": "tumbling, count(3), partitioned, partitionCount(1)",
        "partitionBy": ["k"],
        "aggregateEvictedPartitions": True,
    },
    {
        "window": "tumbling, count(3), partitioned, tupleCount(2)",
        "partitionBy": ["k"],
        "aggregateEvictedPartitions": True,
    },
    {"window": "tumbling, punct()"},
]


def sent(parameters: dict[str, Any], rows: Sequence[Row], marks: set[int], cuts: Sequence[int]) -> list[list[Any]]:
    """Return all that an Aggregate submits to its two ports, from batches that end at the cuts and at the marks."""
    aggregate = bench("route", "s tinyint", "Sum(100 DIV n)", **parameters)
    bounds = [0, *sorted(marks), len(rows)]
    for start, end in itertools.pairwise(bounds):
        for part in division(rows[start:end], cuts):
            aggregate.send(part)
        if end in marks:
            aggregate.mark()
    aggregate.end()
    return [aggregate.items(port) for port in (0, 1)]


@pytest.mark.parametrize("parameters", COURSES)
@examples(40)
@given(data=st.data())
def test_failed_groups_and_tuples_depend_on_no_batches(parameters: dict[str, Any], data: st.DataObject):
    row = st.tuples(st.sampled_from("ab"), st.integers(-2, 3))
    rows = data.draw(st.lists(row, max_size=40))
    marks = data.draw(st.sets(st.integers(1, max(len(rows) - 1, 1)), max_size=3)) if len(rows) > 1 else set[int]()
    cuts = data.draw(st.lists(st.integers(0, 100), max_size=4))
    one_by_one = range(len(rows) + 1)
    whole, parts, singly = (sent(parameters, rows, marks, each) for each in ((), cuts, one_by_one))
    assert whole == parts == singly


@examples(50)
@given(data=st.data())
def test_groups_without_a_failure_have_the_values_of_an_account_in_python(data: st.DataObject):
    number = st.sampled_from([LARGE, -LARGE, 1, -1, None])
    rows = data.draw(st.lists(st.tuples(st.sampled_from("ab"), number), max_size=40))
    cuts = data.draw(st.lists(st.integers(0, 100), max_size=4))
    aggregate = bench("route", "s bigint", "Sum(n)", "tumbling, count(5)")
    for part in division(rows, cuts):
        aggregate.send(part)
    values, failed = list[Row](), list[str]()
    for start in range(0, len(rows) - 4, 5):
        window = rows[start : start + 5]
        for key in dict.fromkeys(k for k, _ in window):
            sums = list(itertools.accumulate(n for k, n in window if k == key and n is not None))
            if all(-(2**63) <= each < 2**63 for each in sums):
                values.append((key, sums[-1] if sums else None))
            else:
                failed.append(key)
    assert aggregate.rows() == values
    assert [key for key, _, _ in aggregate.rows(1)] == failed
