from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.states.state import dump_state, load_state
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench, Row, division

INPUT = "k string, y double, n bigint, x double"
OUTPUT = "k string, y double, rows bigint, total bigint, mean double, sum double, least double, most bigint"
FUNCTIONS = {
    "rows": "Count()",
    "total": "Sum(n)",
    "mean": "Average(x)",
    "sum": "Sum(x)",
    "least": "Min(x)",
    "most": "Max(n)",
}

NAN = float("nan")
KEYS = st.tuples(st.sampled_from(["a", "b", "", None]), st.sampled_from([0.0, -0.0, 1.5, NAN, None]))
NUMBERS = st.tuples(
    st.one_of(st.none(), st.integers(-(2**60), 2**60)), st.one_of(st.none(), st.floats(-1e9, 1e9), st.just(NAN))
)
ROWS = st.lists(st.tuples(KEYS, NUMBERS).map(lambda parts: parts[0] + parts[1]), max_size=7)
CUTS = st.lists(st.integers(0, 100), max_size=4)


def bench(**changes: Any) -> Bench:
    parameters = {"window": "tumbling, punct()", "groupBy": ["k", "y"], "output": FUNCTIONS} | changes
    return Bench(Aggregate, [INPUT], [OUTPUT], **parameters)


def simple(output: dict[str, str], schema: str, group_by: Sequence[str] = (), inputs: str = INPUT) -> Bench:
    return Bench(Aggregate, [inputs], [schema], window="tumbling, punct()", groupBy=list(group_by), output=output)


def closed(aggregate: Bench) -> list[str]:
    """Return the tuples after the window has closed, exactly: `repr` tells all numbers apart, and NaN is like NaN."""
    return [repr(row) for row in aggregate.mark(Punctuation.WINDOW).rows()]


@given(ROWS, CUTS)
@examples(60)
def test_any_division_into_batches_gives_the_same_bits(rows: list[Row], cuts: list[int]):
    whole, divided = bench(), bench()
    if rows:
        whole.send(rows)
    for part in division(rows, cuts):
        divided.send(part)
    assert closed(divided) == closed(whole)


@given(ROWS, CUTS)
@examples(60)
def test_a_checkpoint_at_any_point_is_not_noticed(rows: list[Row], cuts: list[int]):
    uninterrupted = bench()
    if rows:
        uninterrupted.send(rows)
    aggregate = bench()
    for part in division(rows, cuts):
        aggregate.send(part)
        state = load_state([dump_state(aggregate.operator.checkpoint()).data])
        aggregate = bench()
        aggregate.operator.restore(state)
    assert closed(aggregate) == closed(uninterrupted)


@given(ROWS, CUTS)
@examples(30)
def test_groups_are_those_of_an_independent_computation(rows: list[Row], cuts: list[int]):
    aggregate = bench()
    for part in division(rows, cuts):
        aggregate.send(part)
    got = {repr((k, 0.0 if y == 0 else y)): rest for k, y, *rest in aggregate.mark(Punctuation.FINAL).rows()}
    expected: dict[str, list[Row]] = {}
    for k, y, n, x in rows:
        expected.setdefault(repr((k, 0.0 if y == 0 else y)), []).append((n, x))
    assert list(got) == list(expected)
    for key, members in expected.items():
        numbers = [n for n, _ in members if n is not None]
        count, total, *_, most = got[key]
        assert (count, total, most) == (len(members), sum(numbers) if numbers else None, max(numbers, default=None))


def test_values_of_a_window():
    aggregate = bench().send([("a", 1.0, 1, 0.5), ("b", 1.0, 5, 8.0), ("a", 1.0, 3, 1.5)])
    assert aggregate.mark(Punctuation.WINDOW).items() == [
        ("a", 1.0, 2, 4, 1.0, 2.0, 0.5, 3),
        ("b", 1.0, 1, 5, 8.0, 8.0, 8.0, 5),
        Punctuation.WINDOW,
    ]


def test_a_window_marker_forgets_and_a_final_one_is_not_passed_on():
    aggregate = simple({"rows": "Count()"}, "rows bigint").send([("a", 0.0, 1, 1.0)] * 3)
    aggregate.mark(Punctuation.WINDOW).send([("a", 0.0, 1, 1.0)]).mark(Punctuation.FINAL)
    assert aggregate.items() == [(3,), Punctuation.WINDOW, (1,)]


def test_an_empty_window_emits_nothing_but_its_marker():
    assert bench().mark(Punctuation.WINDOW).mark(Punctuation.FINAL).items() == [Punctuation.WINDOW]


def test_nulls_are_counted_as_tuples_but_not_as_values():
    aggregate = bench().send([("a", 1.0, None, None), ("a", 1.0, 4, None), ("b", 1.0, None, None)])
    assert aggregate.mark(Punctuation.WINDOW).rows() == [
        ("a", 1.0, 2, 4, None, None, None, 4),
        ("b", 1.0, 1, None, None, None, None, None),
    ]


def test_nulls_and_nans_in_several_keys_make_groups_of_their_own():
    keys = [(None, None), ("", None), (None, NAN), ("", NAN), (None, 0.0)]
    aggregate = bench()
    for key in [*keys, *reversed(keys)]:
        aggregate.send([(*key, 1, 1.0)])
    rows = aggregate.mark(Punctuation.WINDOW).rows()
    assert [repr(row[:2]) for row in rows] == [repr(key) for key in keys]
    assert [row[2] for row in rows] == [2] * 5


def test_integers_are_exact_beyond_the_range_of_doubles():
    big = 2**53
    row = ("a", 1.0, big, 0.0)
    aggregate = bench().send([row, ("a", 1.0, 1, 0.0), ("a", 1.0, -(2**62), 0.0), ("a", 1.0, None, 0.0)])
    (result,) = aggregate.mark(Punctuation.WINDOW).rows()
    assert result[3] == big + 1 - 2**62
    assert result[7] == big


@pytest.mark.parametrize("cut", [0, 1, 2])
def test_a_sum_that_leaves_64_bits_on_its_way_is_refused_wherever_batches_end(cut: int):
    rows = [("a", 1.0, 2**63 - 1, 0.0), ("a", 1.0, 1, 0.0), ("a", 1.0, -5, 0.0)]
    aggregate = bench()
    for part in division(rows, [cut]):
        aggregate.send(part)
    with pytest.raises(DataError, match="the sum is beyond the range of bigint"):
        aggregate.mark(Punctuation.WINDOW)


def test_a_sum_near_the_edge_of_64_bits_is_exact():
    rows = [("a", 1.0, 2**63 - 1, 0.0), ("a", 1.0, -(2**63), 0.0), ("a", 1.0, 1, 0.0)]
    (result,) = bench().send(rows).mark(Punctuation.WINDOW).rows()
    assert result[3] == 0


def test_a_result_that_does_not_fit_its_attribute_is_an_error_of_the_data():
    aggregate = simple({"total": "Sum(n)"}, "total int").send([("a", 0.0, 2**31, 0.0)])
    with pytest.raises(DataError, match=r"output.total: .* beyond the range of int"):
        aggregate.mark(Punctuation.WINDOW)


def test_conditions_are_counted_as_zero_and_one():
    aggregate = simple({"share": "Average(n > 2)", "many": "Sum(n > 2)"}, "share double, many bigint")
    aggregate.send([("a", 0.0, n, 0.0) for n in (1, 2, 3, None, 5)])
    assert aggregate.mark(Punctuation.WINDOW).rows() == [(0.5, 2)]


def test_decimals_are_numbers_too():
    aggregate = simple({"sum": "Sum(n * 0.5)"}, "sum double").send([("a", 0.0, n, 0.0) for n in (1, 2)])
    assert aggregate.mark(Punctuation.WINDOW).rows() == [(1.5,)]


def test_results_agree_with_pandas():
    rows = [(f"c{i % 3}", float(i % 2), i * i % 17, i * 0.1) for i in range(100)]
    aggregate = bench().send(rows).mark(Punctuation.WINDOW)
    frame = pd.DataFrame(rows, columns=pd.Index(["k", "y", "n", "x"])).groupby(["k", "y"], sort=False)
    expected = frame.agg(rows=("n", "size"), total=("n", "sum"), mean=("x", "mean"), most=("n", "max")).reset_index()
    names = pd.Index([part.split()[0] for part in OUTPUT.split(", ")])
    got = pd.DataFrame(aggregate.rows(), columns=names)
    pd.testing.assert_frame_equal(got[expected.columns.tolist()], expected, check_dtype=False)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"groupBy": ["q", "y"]}, "groupBy: the input stream has no attribute q"),
        ({"output": FUNCTIONS | {"meen": "Count()"}}, "output: the output stream has no attribute meen; .*mean"),
        ({"output": {"rows": "Count()"}}, "output: total has no value"),
        ({"output": FUNCTIONS | {"rows": "Count(n)"}}, r"output.rows: Count\(\) takes no argument"),
        ({"output": FUNCTIONS | {"rows": "Cuont()"}}, "output.rows: .*not an output function.*Count"),
        ({"output": FUNCTIONS | {"rows": "7"}}, "output.rows: '7' is not an output function"),
        ({"output": FUNCTIONS | {"sum": "Sum(k)"}}, "output.sum: Sum needs a number or a condition, but 'k' is"),
        ({"output": FUNCTIONS | {"sum": "Sum(q)"}}, "output.sum: 'q' uses the attribute q"),
        ({"output": FUNCTIONS | {"sum": "Sum(n +)"}}, r"output.sum: 'n \+': the expression ends here"),
        ({"output": FUNCTIONS | {"total": "Average(n)"}}, "output.total: the value is double, .* bigint"),
        ({"groupBy": ["k", "y", "rows"]}, "groupBy: the input stream has no attribute rows"),
    ],
)
def test_wrong_parameters_of_aggregate_are_refused(changes: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        bench(**changes)


def test_nested_attributes_make_groups():
    aggregate = simple({"rows": "Count()"}, "k array<int>, rows bigint", ["k"], inputs="k array<int>")
    aggregate.send([([1, 2],), ([2, 1],), ([1, 2],)])
    assert sorted(aggregate.mark(Punctuation.WINDOW).rows()) == [([1, 2], 2), ([2, 1], 1)]
