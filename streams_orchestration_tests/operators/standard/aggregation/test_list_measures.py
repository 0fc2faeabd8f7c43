"""Output functions over lists of numbers, against the same functions over the element at each place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench, Row, division

FUNCTIONS = ("Sum", "Min", "Max", "Average")
OUTPUT = {name.lower(): f"{name}(l)" for name in FUNCTIONS}
KINDS = {
    "tinyint": st.integers(-128, 127),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "uint": st.integers(0, 2**32 - 1),
    "float": st.floats(-1e6, 1e6, width=32),
    "double": st.floats(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9),
}


def results(kind: str, rows: list[Row], cuts: list[int], window: str, *, restarts: bool) -> list[Any]:
    """Return what an Aggregate submits of the attribute `l` with the functions of Streams."""
    schema = ", ".join(f"{name} {kind}" for name in OUTPUT)
    bench = Bench(Aggregate, [f"l {kind}"], [schema], window=window, output=OUTPUT, functions="streams")
    for part in division(rows, cuts):
        bench.send(part)
        if restarts:
            bench.restart()
    return bench.rows()


@given(st.data(), st.sampled_from(sorted(KINDS)), st.booleans(), st.booleans())
@examples(60)
def test_each_place_has_the_value_of_its_elements(data: st.DataObject, kind: str, sliding: bool, restarts: bool):
    size = data.draw(st.integers(0, 3))
    lists = data.draw(st.lists(st.lists(KINDS[kind], min_size=size, max_size=size), max_size=7))
    cuts = data.draw(st.lists(st.integers(0, 20), max_size=3))
    window = "sliding, count(3), count(2)" if sliding else "tumbling, count(3)"
    found = results(f"array<{kind}>", [(each,) for each in lists], cuts, window, restarts=restarts)
    places = [
        results(kind, [(each[place],) for each in lists], cuts, window, restarts=restarts) for place in range(size)
    ]
    for number, row in enumerate(found):
        for column, values in enumerate(row):
            assert values == [each[number][column] for each in places]


def test_lists_of_different_sizes_are_an_error_of_the_data():
    bench = Bench(
        Aggregate, ["l array<int>"], ["l array<int>"], window="tumbling, count(2)", output={"l": "Sum(l)"},
        functions="streams",
    )  # fmt: skip
    with pytest.raises(DataError, match="Sum of lists needs lists of one size; one has 1 elements, another one has 2"):
        bench.send([([1],), ([1, 2],)])
