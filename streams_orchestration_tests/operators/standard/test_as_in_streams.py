"""Standard operators with the parameters of `streams_defaults` give what IBM Streams gives, in any division.

The values were worked out by hand from the definitions of the operators, tuple by tuple.
"""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.model.streams_defaults import STREAMS_DEFAULTS
from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.expressions.spl.text import SplText
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.standard.flow.split import Split
from streams_orchestration.operators.standard.joining.barrier import Barrier
from streams_orchestration.operators.standard.joining.join import Join
from streams_orchestration.operators.standard.sorting.sort import Sort
from streams_orchestration.operators.standard.transformation.deduplicate import DeDuplicate
from streams_orchestration_tests.operators.harness import Bench, division

DIVISIONS = [[], [3], [1, 2, 5], [4, 8]]


def as_there(operator: str, *conditions: str) -> dict[str, Any]:
    """Return the parameters with which an operator does as in IBM Streams, under conditions."""
    parameters: dict[str, Any] = {}
    for each in STREAMS_DEFAULTS:
        if each.operator == operator and each.when in ("", *conditions):
            parameters |= each.parameters
    return parameters


def sent(bench: Bench, rows: list[Any], cuts: list[int]) -> Bench:
    for part in division(rows, cuts):
        bench.send(part).restart()
    return bench.end()


@pytest.mark.parametrize("cuts", DIVISIONS)
@pytest.mark.parametrize(
    ("window", "more", "expected"),
    [
        ("sliding, count(3), count(1)", {}, [(2, 3), (3, 6), (4, 9), (5, 12), (6, 15)]),
        (
            "sliding, count(3), count(1)",
            {"aggregateIncompleteWindows": True},
            [(0, 0), (1, 1), (2, 3), (3, 6), (4, 9), (5, 12), (6, 15)],
        ),
        ("sliding, count(4), count(2)", {}, [(3, 6), (5, 14)]),
    ],
)
def test_sliding_windows_give_what_streams_gives(
    window: str, more: dict[str, Any], expected: list[Any], cuts: list[int]
):
    given = as_there("Aggregate", "sliding") | more
    bench = Bench(Aggregate, ["n int"], ["n int, sum int"], window=window, output={"sum": "Sum(n)"}, **given)
    assert sent(bench, [(n,) for n in range(7)], cuts).rows() == expected


@pytest.mark.parametrize("cuts", DIVISIONS)
def test_tumbling_windows_give_what_streams_gives(cuts: list[int]):
    output = {
        "count": "Count()", "sum": "Sum(v)", "mean": "Average(v)", "least": "Min(v)", "most": "Max(v)",
        "first": "First(k)", "all": "Collect(n)", "kinds": "CountDistinct(k)",
    }  # fmt: skip
    kind = (
        "n int, count int, sum double, mean double, least double, most double, first string, all array<int>, kinds int"
    )
    given = as_there("Aggregate", "tumbling")
    bench = Bench(Aggregate, ["n int, k string, v double"], [kind], window="tumbling, count(4)", output=output, **given)
    rows = [(n, "y" if n % 3 else "x", n / 2) for n in range(10)]
    assert sent(bench, rows, cuts).items() == [
        (3, 4, 3.0, 0.75, 0.0, 1.5, "x", [0, 1, 2, 3], 2),
        Punctuation.WINDOW,
        (7, 4, 11.0, 2.75, 2.0, 3.5, "y", [4, 5, 6, 7], 2),
        Punctuation.WINDOW,
    ]


@pytest.mark.parametrize("cuts", DIVISIONS)
def test_sorted_windows_give_what_streams_gives(cuts: list[int]):
    given = as_there("Sort", "tumbling")
    bench = Bench(
        Sort, ["n int, k string"], ["n int, k string"], window="tumbling, count(4)", sortBy=["k", "n"],
        order=["ascending", "descending"], **given,
    )  # fmt: skip
    rows = [(n, "a" if n % 2 else "b") for n in range(9)]
    first, second = [(3, "a"), (1, "a"), (2, "b"), (0, "b")], [(7, "a"), (5, "a"), (6, "b"), (4, "b")]
    assert sent(bench, rows, cuts).items() == [*first, Punctuation.WINDOW, *second, Punctuation.WINDOW]


@pytest.mark.parametrize("cuts", DIVISIONS)
def test_duplicates_and_ports(cuts: list[int]):
    row = "n int, k string"
    rows = [(n, {1: "b", 4: "c"}.get(n, "a")) for n in range(8)]
    known = Bench(DeDuplicate, [row], [row, row], key="k", count=2, resetOnDuplicate=False)
    sent(known, rows, cuts)
    assert [n for n, _ in known.rows()] == [0, 1, 3, 4, 6]
    assert [n for n, _ in known.rows(1)] == [2, 5, 7]
    split = sent(Bench(Split, [row], [row] * 3, index="n - 1", **as_there("Split")), rows, cuts)
    assert [[n for n, _ in split.rows(port)] for port in range(3)] == [[1, 4, 7], [2, 5], [3, 6]]


@pytest.mark.parametrize("cuts", DIVISIONS)
def test_joined_windows_give_what_streams_gives(cuts: list[int]):
    given = as_there("Join", "outer") | {"equalityLHS": ["id"], "equalityRHS": ["order"], "match": "amount > 1"}
    bench = Bench(
        Join, ["id int, item string", "order int, amount double"], ["id int, item string, amount double"],
        window="sliding, count(1000)", **given,
    )  # fmt: skip
    bench.send([(n, f"item{n}") for n in range(4)])
    for part in division([(n % 3, n * 1.5) for n in range(6)], cuts):
        bench.send(part, 1).restart()
    pairs = [(1, 1.5), (2, 3.0), (0, 4.5), (1, 6.0), (2, 7.5)]
    wanted = [item for n, amount in pairs for item in ((n, f"item{n}", amount), Punctuation.WINDOW)]
    assert bench.end().items() == wanted


@pytest.mark.parametrize("cuts", DIVISIONS)
def test_tuples_of_two_streams_together(cuts: list[int]):
    first = [(n, "odd" if n % 2 else "even") for n in range(5)]
    second = [(10 * n, "even" if n else "odd") for n in range(3)]
    kinds: Any = ["a int, k string", "b int, key string"]
    together = Bench(Barrier, kinds, ["a int, b int, sum int"], output={"sum": "a + b"})
    by_key = Bench(Barrier, kinds, ["a int, b int, k string"], partitionBy=[["k"], ["key"]])
    for bench in (together, by_key):
        for part in division(first, cuts):
            bench.send(part).restart()
        bench.send(second, 1).end()
    assert together.rows() == [(0, 0, 0), (1, 10, 11), (2, 20, 22)]
    assert sorted(by_key.rows()) == [(0, 10, "even"), (1, 0, "odd"), (2, 20, "even")]


_NAN = float("nan")
_WITH_NAN = [(1.0, 0), (_NAN, 1), (_NAN, 2), (1.0, 3), (-0.0, 4), (_NAN, 5), (0.0, 6), (1.0, 7)]


@pytest.mark.parametrize("cuts", DIVISIONS)
@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("tumbling, count(4)", [(0.0 + 3.0, 2), (1.0, 1), (2.0, 1), (4.0 + 6.0, 2), (5.0, 1), (7.0, 1)]),
        ("sliding, count(3), count(4)", [(1.0, 1), (2.0, 1), (3.0, 1), (5.0, 1), (6.0, 1), (7.0, 1)]),
    ],
)
def test_each_nan_is_a_group_of_its_own_in_spl(window: str, expected: list[Any], cuts: list[int]):
    kind = window.split(",", maxsplit=1)[0]
    given = as_there("Aggregate", kind) | {"aggregateIncompleteWindows": kind == "sliding", "groupBy": [SplText("x")]}
    output = {"sum": "Sum(n)", "count": "Count()"}
    bench = Bench(Aggregate, ["x double, n int"], ["sum int, count int"], window=window, output=output, **given)
    assert sent(bench, _WITH_NAN, cuts).rows() == expected


@pytest.mark.parametrize("cuts", DIVISIONS)
@pytest.mark.parametrize(("key", "passed"), [(SplText("x"), [0, 1, 2, 3, 4, 5, 7]), ("x", [0, 1, 3, 4, 5, 7])])
def test_duplicates_of_nan_pass_in_spl_only(key: str, passed: list[int], cuts: list[int]):
    bench = Bench(DeDuplicate, ["x double, n int"], ["x double, n int"], key=key, count=2)
    assert [n for _, n in sent(bench, _WITH_NAN, cuts).rows()] == passed
