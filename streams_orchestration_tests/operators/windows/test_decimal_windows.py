"""Windows by differences of decimals are the windows of integers that are ten times as large, in any division."""

from __future__ import annotations

import random
from typing import Any

import pytest

from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.standard.joining.join import Join
from streams_orchestration.operators.standard.sorting.sort import Sort
from streams_orchestration.operators.windows.clause import parse_window
from streams_orchestration_tests.operators.harness import Bench, division

WINDOWS = [
    "tumbling, {delta}",
    "sliding, {delta}",
    "sliding, count(5), {delta}",
    "sliding, {delta}, {delta}, partitioned",
    "tumbling, {delta}, partitioned, tupleCount(6)",
    "sliding, {delta}, count(2), partitioned, tupleCount(9)",
]
DELTAS = {"int": "delta(v, 12)", "string": "delta(v, 1.20, decimal64)"}


def rows_of(seed: int, count: int) -> list[tuple[int, int, int]]:
    """Values that mostly rise, each with a number and one of three keys."""
    chance = random.Random(seed)
    values = [number * 3 + chance.randrange(-12, 13) for number in range(count)]
    return [(value, number, chance.randrange(3)) for number, value in enumerate(values)]


def as_decimals(rows: list[Any]) -> list[Any]:
    """Return the rows with the tenths of their values, as texts."""
    return [(f"{value}E-1", *rest) for value, *rest in rows]


def cuts(seed: int, count: int) -> list[int]:
    return sorted(random.Random(seed).sample(range(1, count), 4))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("window", WINDOWS)
def test_aggregate_goes_by_decimals(window: str, seed: int):
    rows = rows_of(seed, 300)
    results: list[Any] = []
    for kind, given in (("int", rows), ("string", as_decimals(rows))):
        bench = Bench(
            Aggregate, [f"v {kind}, n bigint, k int"], ["sum bigint, count bigint"],
            window=window.format(delta=DELTAS[kind]), output={"sum": "Sum(n)", "count": "Count()"},
            partitionBy=["k"] if "partitioned" in window else [],
        )  # fmt: skip
        for part in division(given, cuts(seed, len(rows))):
            bench.send(part).restart()
        results.append(bench.end().items())
    assert len(results[0]) > 10
    assert results[0] == results[1]


@pytest.mark.parametrize("partitioned", [False, True])
def test_join_and_sort_go_by_decimals(*, partitioned: bool):
    rows, clause, keys = rows_of(3, 60), ", partitioned" if partitioned else "", ["k"] if partitioned else []
    results: list[Any] = []
    for kind, given in (("int", rows), ("string", as_decimals(rows))):
        schema = f"v {kind}, n bigint, k int"
        join = Bench(
            Join, [schema, schema], ["a bigint, b bigint"],
            window=[f"sliding, {DELTAS[kind]}{clause}"] * 2, output={"a": "lhs_n", "b": "rhs_n"},
            algorithm="leftOuter", equalityLHS=["k"], equalityRHS=["k"], partitionByLHS=keys, partitionByRHS=keys,
        )  # fmt: skip
        sort = Bench(Sort, [schema], [schema], window=f"tumbling, {DELTAS[kind]}{clause}", sortBy=["n"],
                     order="descending", partitionBy=keys)  # fmt: skip
        for number, part in enumerate(division(given, [5, 20, 21, 40])):
            join.send(part, number % 2).restart()
            sort.send(part).restart()
        results.append((join.rows(), [row[1:] for row in sort.end().rows()]))
    assert all(results[0])
    assert results[0] == results[1]


@pytest.mark.parametrize(("type_", "count"), [("decimal32", 2), ("decimal64", 1)])
def test_a_difference_is_rounded_to_the_digits_of_its_type(type_: str, count: int):
    bench = Bench(
        Aggregate, ["v string"], ["count bigint"],
        window=f"sliding, delta(v, 9999995, {type_})", output={"count": "Count()"},
    )  # fmt: skip
    assert bench.send([("4.6",), ("1E+7",)]).rows()[-1] == (count,)


@pytest.mark.parametrize("text", ["delta(v, -1, decimal64)", "delta(v, x, decimal64)", "delta(v, NaN, decimal32)"])
def test_a_difference_that_is_no_amount_is_refused(text: str):
    with pytest.raises(ValueError, match="is not a number that is not negative"):
        parse_window(f"tumbling, {text}")


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("string", "NaN", "v is null or NaN"),
        ("string", None, "v is null or NaN"),
        ("string", "one", "v: 'one' is not a decimal"),
    ],
)
def test_a_value_without_differences_is_an_error(kind: str, value: Any, message: str):
    bench = Bench(
        Aggregate, [f"v {kind}"], ["count bigint"],
        window="tumbling, delta(v, 1, decimal64)", output={"count": "Count()"},
    )  # fmt: skip
    with pytest.raises(Exception, match=message):
        bench.send([(value,)])
