"""Output functions of Aggregate as IBM Streams has them, against an account that goes value by value."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate, AggregateParameters
from streams_orchestration.operators.standard.aggregation.measure import parse_measure
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.arrow_types import arrow_schema, type_name
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench, division

INPUT = "k string, b tinyint, n int, w bigint, r float, x double, s string"
ROWS = st.lists(
    st.tuples(
        st.sampled_from("pq"),
        st.integers(-128, 127),
        st.integers(-(2**31), 2**31 - 1) | st.integers(-2, 2),
        st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2),
        st.floats(-100, 100, width=32),
        st.floats(-100, 100),
        st.sampled_from(["", "a", "b"]),
    ),
    min_size=1,
    max_size=9,
)
BITS = {"b": 8, "n": 32, "w": 64}
SPLIT = st.sets(st.integers(0, 9))


def wrapped(value: int, bits: int) -> int:
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def truncated(total: int, count: int) -> int:
    return int(math.copysign(1, total)) * (abs(total) // count)


def running_mean(values: list[float], kind: Any) -> list[Any]:
    mean, means = kind(0), list[Any]()
    for place, value in enumerate(values):
        mean += (kind(value) - mean) / kind(place + 1)
        means.append(mean)
    return means


def deviation(values: list[float], kind: Any, sample: int) -> float:
    means, squares = running_mean(values, kind), kind(0)
    for place in range(1, len(values)):
        squares += (kind(values[place]) - means[place - 1]) * (kind(values[place]) - means[place])
    parts = len(values) - sample
    return math.sqrt(max(float(squares) / parts, 0.0)) if parts else 0.0


def account(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    """Return the value of every function over the tuples of one group."""
    columns = dict(zip(arrow_schema(INPUT).names, map(list, zip(*rows, strict=True)), strict=True))
    values: dict[str, Any] = {"Count()": len(rows)}
    for name, bits in BITS.items():
        column = columns[name]
        values[f"Sum({name})"] = wrapped(sum(column), bits)
        values[f"Average({name})"] = truncated(sum(column), len(column))
        values |= {f"Min({name})": min(column), f"Max({name})": max(column)}
    for name, kind in (("r", np.float32), ("x", float)):
        column = columns[name]
        total = kind(0)
        for value in column:
            total += kind(value)
        values[f"Sum({name})"] = float(total)
        values[f"Average({name})"] = float(running_mean(column, kind)[-1])
        values[f"SampleStdDev({name})"] = float(kind(deviation(column, kind, 1)))
        values[f"PopulationStdDev({name})"] = float(kind(deviation(column, kind, 0)))
    texts, numbers = columns["s"], columns["n"]
    counts, least, most = Counter(texts), min(numbers), max(numbers)
    return values | {
        "Sum(s)": "".join(texts), "Min(s)": min(texts), "Max(s)": max(texts),
        "Any(n)": numbers[-1], "First(n)": numbers[0], "Last(n)": numbers[-1],
        "Collect(s)": texts, "CollectDistinct(s)": list(counts), "CountByDistinct(s)": list(counts.values()),
        "CountDistinct(s)": len(counts), "MinCount(s)": counts[min(counts)], "MaxCount(s)": counts[max(counts)],
        "ArgMin(s, n)": texts[numbers.index(least)], "ArgMax(s, n)": texts[numbers.index(most)],
        "CollectArgMin(s, n)": list(dict.fromkeys(t for t, n in zip(texts, numbers, strict=True) if n == least)),
        "CollectArgMax(s, n)": list(dict.fromkeys(t for t, n in zip(texts, numbers, strict=True) if n == most)),
    }  # fmt: skip


FUNCTIONS = list(account([("p", 0, 0, 0, 0.0, 0.0, "")]))
NAMES = {f"f{place}": text for place, text in enumerate(FUNCTIONS)}


def kinds() -> str:
    source = arrow_schema(INPUT)
    measures = {name: parse_measure(text, source, "it", datetime.UTC, "streams") for name, text in NAMES.items()}
    return ", ".join(f"{name} {type_name(measure.result_type)}" for name, measure in measures.items())


KINDS = kinds()


@pytest.mark.parametrize("window", ["tumbling, punct()", "sliding, count(9), count({size})"])
@given(ROWS, SPLIT)
@examples(40)
def test_functions_have_the_values_of_streams_in_any_division(window: str, rows: list[Any], cuts: set[int]):
    aggregate = Bench(
        Aggregate, [INPUT], [f"k string, {KINDS}"], window=window.format(size=len(rows)), groupBy=["k"],
        functions="streams", output=NAMES,
    )  # fmt: skip
    for part in division(rows, list(cuts)):
        aggregate.send(part).restart()
    aggregate.mark(Punctuation.WINDOW)
    expected = []
    for key in dict.fromkeys(row[0] for row in rows):
        expected.append((key, *account([row for row in rows if row[0] == key]).values()))
    assert [repr(row) for row in aggregate.rows()] == [repr(row) for row in expected]


def test_results_have_the_types_of_their_arguments():
    found = {text: kind.split(" ", 1)[1] for text, kind in zip(FUNCTIONS, KINDS.split(", f"), strict=True)}
    assert found | {
        "Count()": "int", "Sum(b)": "tinyint", "Average(n)": "int", "Sum(w)": "bigint", "Average(r)": "float",
        "SampleStdDev(x)": "double", "CountByDistinct(s)": "array<int>", "Sum(s)": "string", "MinCount(s)": "int",
    } == found  # fmt: skip


@pytest.mark.parametrize("window", ["tumbling, count(5)", "sliding, count(5), count(5)", "tumbling, punct()"])
def test_counts_over_the_window_are_the_same_in_each_group(window: str):
    output = {"n": "Count()", "all": "CountAll()", "groups": "CountGroups()", "by": "CountByGroup()"}
    counting = Bench(
        Aggregate, ["k string"], ["k string, n int, all int, groups int, by array<int>"], window=window,
        groupBy=["k"], functions="streams", output=output,
    )  # fmt: skip
    for key in "abaca":
        counting.send([(key,)]).restart()
    counting.mark()
    assert counting.rows() == [("a", 3, 5, 3, [3, 1, 1]), ("b", 1, 5, 3, [3, 1, 1]), ("c", 1, 5, 3, [3, 1, 1])]


@pytest.mark.parametrize("window", ["tumbling, count(3)", "sliding, count(3), count(3)"])
def test_attributes_without_a_function_come_from_the_last_tuple(window: str):
    taking = Bench(
        Aggregate, ["n int, k string"], ["n int, k string, total int"], window=window, takeLast=True,
        functions="streams", output={"total": "Sum(n)"},
    )  # fmt: skip
    assert taking.send([(1, "a"), (2, "b")]).restart().send([(3, "c")]).rows() == [(3, "c", 6)]


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"atEnd": "drop"}, True),
        ({"functions": "streams"}, False),
        ({"takeLast": True}, False),
        ({"aggregateIncompleteWindows": True}, True),
        ({"aggregateIncompleteWindows": False}, False),
    ],
)
def test_a_state_is_kept_where_it_holds_the_same(changes: dict[str, Any], kept: bool):
    given: dict[str, Any] = {"window": "sliding, delta(n, 3)", "output": {"n": "Sum(n)"}}
    before, after = (AggregateParameters.model_validate(given | more) for more in ({}, changes))
    assert Aggregate.keeps_state(before, after) is kept


def test_a_count_over_the_window_goes_with_order_of_arrival():
    parameters = {"window": "timeInterval, intervalDuration(1)", "output": {"n": "CountAll()"}}
    with pytest.raises(ValueError, match=r"output.n: 'CountAll\(\)' is for windows by order of arrival"):
        OperatorHarness(Aggregate, ["at timestamp"], ["n bigint"], parameters=parameters, event_time="at")


LISTS = st.sampled_from([None, [], [0.0], [-0.0], [1.5, math.nan], [math.nan, 1.5], [1.5, -math.nan]])
MAPS = st.sampled_from([[], [("a", [1]), ("b", [])], [("b", []), ("a", [1])], [("a", None)]])


@given(st.lists(st.tuples(LISTS, MAPS), min_size=1, max_size=9), SPLIT, st.booleans())
@examples(60)
def test_nested_values_are_distinct_as_keys_are(rows: list[Any], cuts: set[int], sliding: bool):
    bench = Bench(
        Aggregate, ["l array<double>, m map<string, array<int>>"],
        ["a int, b array<int>, c array<array<double>>, d array<map<string, array<int>>>"],
        window=f"{'sliding' if sliding else 'tumbling'}, count({len(rows)})", functions="streams",
        output={
            "a": "CountDistinct(m)", "b": "CountByDistinct(l)", "c": "CollectDistinct(l)", "d": "CollectDistinct(m)",
        },
    )  # fmt: skip
    for part in division(rows, sorted(cuts)):
        bench.send(part).restart()
    known = [[0.0 if x == 0 else abs(x) if math.isnan(x) else x for x in each] for each, _ in rows if each is not None]
    lists = Counter(map(repr, known))
    maps = Counter(repr(sorted(each)) for _, each in rows)
    [number, counts, different, of_maps] = bench.rows()[-1]
    assert (number, counts, list(map(repr, different))) == (len(maps), list(lists.values()), list(lists))
    assert [repr(sorted(each)) for each in of_maps] == list(maps)
