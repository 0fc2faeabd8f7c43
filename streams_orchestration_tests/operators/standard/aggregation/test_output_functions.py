"""Output functions of Aggregate: their values are Spark's, in any division into batches, over restarts and rescales."""

from __future__ import annotations

import datetime
import math
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.expressions.times import UTC
from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.loading import packages
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.standard.aggregation.measure import FUNCTIONS, parse_measure
from streams_orchestration.operators.standard.aggregation.output_functions import (
    EXAMPLE_ROWS,
    EXAMPLE_SCHEMA,
    OUTPUT_FUNCTIONS,
)
from streams_orchestration.operators.tuples.arrow_types import arrow_schema, type_name
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench, division

NAN = math.nan
INPUT = "n bigint, x double, s string, b boolean, v binary, t timestamp, d date, c decimal(10, 2)"


def day(number: int) -> datetime.datetime:
    return datetime.datetime(2024, 1, number, tzinfo=datetime.UTC)


ROWS: list[tuple[Any, ...]] = [
    (3, NAN, "b", True, b"\x01", day(2), day(2).date(), Decimal("1.50")),
    (None, 1.0, None, False, b"", day(1), day(1).date(), None),
    (1, -0.0, "\u00e9", None, None, None, None, Decimal("-2.25")),
    (3, 0.0, "a", True, b"\xff", day(3), day(3).date(), Decimal("2.00")),
]
CASES: list[tuple[str, str, Any]] = [
    ("Count()", "bigint", 4),
    ("Sum(n)", "bigint", 7),
    ("Average(n)", "double", 7 / 3),
    ("Sum(c)", "decimal(20, 2)", Decimal("1.25")),
    ("Average(c)", "decimal(14, 6)", Decimal("0.416667")),
    ("Min(n)", "bigint", 1),
    ("Max(n)", "bigint", 3),
    ("Min(x)", "double", 0.0),
    ("Max(x)", "double", NAN),
    ("Min(s)", "string", "a"),
    ("Max(s)", "string", "\u00e9"),
    ("Min(b)", "boolean", False),
    ("Max(b)", "boolean", True),
    ("Min(v)", "binary", b""),
    ("Max(v)", "binary", b"\xff"),
    ("Min(t)", "timestamp", day(1)),
    ("Max(t)", "timestamp", day(3)),
    ("Min(d)", "date", day(1).date()),
    ("Max(d)", "date", day(3).date()),
    ("Min(c)", "decimal(10, 2)", Decimal("-2.25")),
    ("Max(c)", "decimal(10, 2)", Decimal("2.00")),
    ("First(n)", "bigint", 3),
    ("First(s)", "string", "b"),
    ("Last(t)", "timestamp", day(3)),
    ("ArgMin(s, n)", "string", "\u00e9"),
    ("ArgMax(s, n)", "string", "a"),
    ("ArgMax(n, x)", "bigint", 3),
    ("ArgMin(s, t)", "string", None),
    ("CountDistinct(n)", "bigint", 2),
    ("CountDistinct(x)", "bigint", 3),
    ("CountDistinct(s)", "bigint", 3),
    ("ApproxCountDistinct(n)", "bigint", 2),
    ("ApproxCountDistinct(x, 0.01)", "bigint", 3),
    ("ApproxCountDistinct(s)", "bigint", 3),
    ("ApproxCountDistinct(v)", "bigint", 3),
    ("ApproxCountDistinct(t, 0.1)", "bigint", 3),
    ("ApproxCountDistinct(c)", "bigint", 3),
    ("ApproxCountDistinct(b)", "bigint", 2),
    ("StdDev(n)", "double", 1.1547005383792517),
    ("StdDevPop(n)", "double", 0.9428090415820634),
    ("StdDev(x)", "double", NAN),
    ("CollectList(s, 2)", "array<string>", ["b", "\u00e9"]),
    ("CollectList(n, 9)", "array<bigint>", [3, 1, 3]),
]
OF_NOTHING = {"Count": 4, "CountDistinct": 0, "ApproxCountDistinct": 0, "CollectList": []}
WINDOWS = ["tumbling, punct()", "tumbling, count(4)", "sliding, count(4), count(4)"]


def bench(function: str, kind: str, window: str = WINDOWS[0], **more: Any) -> Bench:
    return Bench(Aggregate, [INPUT], [f"it {kind}"], window=window, output={"it": function}, **more)


@pytest.fixture(autouse=True)
def _sketches(request: pytest.FixtureRequest) -> None:
    """Skip approximate counts where their package has no wheel."""
    case = getattr(request.node, "callspec", None)
    if case is not None and any("Approx" in str(value) for value in case.params.values()):
        pytest.importorskip("datasketches")


def shown(aggregate: Bench) -> list[str]:
    return list(map(repr, aggregate.rows()))


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("function", "kind", "value"), CASES)
def test_a_function_has_the_value_that_spark_gives(function: str, kind: str, value: Any, window: str):
    aggregate = bench(function, kind, window).send(ROWS).mark(Punctuation.WINDOW)
    ((found,),) = aggregate.rows()
    assert found == value or repr(found + 0.0) == repr(value)


@pytest.mark.covering
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("function", "kind", "value"), CASES)
@given(cuts=st.sets(st.integers(0, 4)))
@examples(4)
def test_a_function_notices_neither_batches_nor_restarts(
    function: str, kind: str, value: Any, window: str, cuts: set[int]
):
    whole, divided = bench(function, kind, window), bench(function, kind, window)
    whole.send(ROWS).mark(Punctuation.WINDOW)
    for part in division(ROWS, list(cuts)):
        divided.send(part).restart()
    assert shown(divided.mark(Punctuation.WINDOW)) == shown(whole)


@pytest.mark.parametrize(("function", "kind"), [case[:2] for case in CASES])
def test_nulls_alone_have_the_value_that_spark_gives(function: str, kind: str):
    nothing = [(None,) * 8] * 4
    ((found,),) = bench(function, kind).send(nothing).mark(Punctuation.WINDOW).rows()
    assert found == OF_NOTHING.get(function.partition("(")[0])


def test_every_function_is_covered_and_has_examples():
    assert {function.partition("(")[0] for function, _, _ in CASES} == {each.name for each in OUTPUT_FUNCTIONS}
    assert [name for name, each in FUNCTIONS.items() if not each.examples or not each.forms] == []


@pytest.mark.parametrize(("function", "value"), [example for each in FUNCTIONS.values() for example in each.examples])
def test_an_example_of_the_documentation_is_right(function: str, value: Any):
    schema = arrow_schema(EXAMPLE_SCHEMA)
    kind = type_name(parse_measure(function, schema, "it", UTC).result_type)
    aggregate = Bench(Aggregate, [EXAMPLE_SCHEMA], [f"it {kind}"], window=WINDOWS[0], output={"it": function})
    ((found,),) = aggregate.send(EXAMPLE_ROWS).mark(Punctuation.WINDOW).rows()
    assert found == value


WRONG = [
    ("ArgMax(s)", "string", r"ArgMax\(e, by\) does not take 1 arguments"),
    ("Min(s, n)", "string", r"Min\(e\) does not take 2 arguments"),
    ("CollectList(s)", "array<string>", "takes a value and the largest number of values to keep"),
    ("CollectList(s, 0)", "array<string>", "takes a value and the largest number of values to keep"),
    ("ApproxCountDistinct(n, s)", "bigint", "rsd must be a number from 0.001 to 0.39, not 's'"),
    ("ApproxCountDistinct(n, 0.5)", "bigint", "rsd must be a number from 0.001 to 0.39, not '0.5'"),
    ("ApproxCountDistinct(n, 0.1, 2)", "bigint", "takes a value and"),
    ("ApproxCountDistinct()", "bigint", "takes a value and"),
    ("StdDev(s)", "double", "StdDev cannot be computed from 's', which is string"),
    ("Sum(s)", "double", "Sum needs a number or a condition"),
    ("Sum(n, x)", "double", "Sum takes one argument"),
    ("Media(n)", "double", "is not an output function"),
    ("Sum(c)", "bigint", r"the value is decimal\(20, 2\), but the output stream's attribute is bigint"),
]


@pytest.mark.parametrize(("function", "kind", "message"), WRONG)
def test_a_function_that_does_not_fit_is_named(function: str, kind: str, message: str):
    with pytest.raises(ValueError, match=message):
        bench(function, kind)


def test_a_sum_beyond_its_type_names_the_group():
    inputs, window = "k string, n bigint, c decimal(38, 0)", "tumbling, punct()"
    large = int("9" * 38)
    for function, kind, shift in (("Sum(n)", "bigint", "bigint"), ("Sum(c)", "decimal(38, 0)", "decimal")):
        aggregate = Bench(
            Aggregate, [inputs], [f"k string, it {kind}"], window=window, groupBy=["k"], output={"it": function}
        )
        with pytest.raises(DataError, match=rf"output.it: 'Sum.*beyond the range of {shift}.*; in the group k = 'a'"):
            aggregate.send([("a", 2**63 - 1, Decimal(large))] * 2).mark(Punctuation.WINDOW)


@pytest.mark.parametrize("rsd", [0.2, 0.05, 0.01])
@pytest.mark.parametrize("window", WINDOWS)
@given(data=st.data())
@examples(4)
def test_an_approximate_count_is_near_the_exact_one_and_depends_on_the_values_alone(
    window: str, rsd: float, data: st.DataObject
):
    pytest.importorskip("datasketches")
    seed, size = data.draw(st.integers(0, 1 << 20)), data.draw(st.integers(0, 3000))
    rnd = random.Random(seed)
    values = [rnd.getrandbits(60) for _ in range(size)]
    repeated = values + rnd.choices(values, k=len(values) // 2) if values else []
    wanted = None
    for _ in range(2):
        rnd.shuffle(repeated)
        window_of = window.replace("4", str(len(repeated))) if repeated else window
        counting = Bench(Aggregate, ["n bigint"], ["it bigint"], window=window_of,
                         output={"it": f"ApproxCountDistinct(n, {rsd})"})  # fmt: skip
        for part in division([(each,) for each in repeated], [rnd.randrange(4000) for _ in range(3)]):
            counting.send(part).restart()
        found = counting.mark(Punctuation.WINDOW).rows()
        assert wanted in (None, found)
        wanted = found
        assert all(abs(count - size) <= max(6 * rsd * size, 0.5) for (count,) in found[-1:])


def test_an_approximate_count_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ValueError, match=r"ApproxCountDistinct needs .*'streams-orchestration\[sketches\]'"):
        bench("ApproxCountDistinct(n)", "bigint")


SPARK = {
    "Average": "avg",
    "First": "first",
    "Last": "last",
    "ApproxCountDistinct": "approx_count_distinct",
    "ArgMin": "min_by",
    "ArgMax": "max_by",
    "StdDev": "stddev_samp",
    "StdDevPop": "stddev_pop",
}


def in_spark_sql(function: str) -> str:
    """Return a function in Spark's SQL."""
    name, _, rest = function.partition("(")
    match name:
        case "Count":
            return "count(*)"
        case "CountDistinct":
            return f"count(DISTINCT {rest}"
        case "CollectList":
            value, limit = rest.rstrip(")").split(", ")
            return f"slice(collect_list({value}), 1, {limit})"
        case _:
            return f"{SPARK.get(name, name.lower())}({rest}"


@pytest.mark.java
@pytest.mark.parametrize("groups", [2, pytest.param(40, marks=pytest.mark.deep)])
def test_spark_gives_the_same_values_and_types(tmp_path: Path, groups: int):
    from pyspark.sql import SparkSession

    pytest.importorskip("datasketches")
    mine = SparkSession.getActiveSession() is None
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate().newSession()
    spark.conf.set("spark.sql.ansi.enabled", "true")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    rnd, texts = random.Random(20261126), [in_spark_sql(function) for function, _, _ in CASES]
    wrong: list[Any] = []
    for number, rows in enumerate([ROWS, *(random_rows(rnd) for _ in range(groups))]):
        file = tmp_path / f"rows{number}.parquet"
        batch = TupleBatch.from_columns(columns_of(rows), arrow_schema(INPUT)).arrow
        pq.write_table(pa.Table.from_batches([batch]), file)
        spark.read.parquet(str(file)).coalesce(1).createOrReplaceTempView("Rows")
        query = ", ".join(
            f"CAST({text} AS {kind}) AS c{n}" for n, (text, (_, kind, _)) in enumerate(zip(texts, CASES, strict=True))
        )
        result = spark.sql(f"SELECT {query} FROM Rows").toArrow().to_pylist()[0]
        ours = [bench(function, kind).send(rows).mark(Punctuation.WINDOW).rows()[0][0] for function, kind, _ in CASES]
        wrong += [(rows, case[0], one, other) for case, one, other in zip(CASES, ours, result.values(), strict=True)
                  if one != other and repr(one) != repr(other)]  # fmt: skip
    exact = spark.sql("SELECT " + ", ".join(in_spark_sql(function) for function, _, _ in CASES) + " FROM Rows")
    kinds = [field.dataType.simpleString().replace(",", ", ") for field in exact.schema]
    assert kinds == [kind for _, kind, _ in CASES]
    if mine:
        spark.stop()
    assert wrong == []


def random_rows(rnd: random.Random) -> list[tuple[Any, ...]]:
    """Return the tuples of random groups; those of a group stand together, and some values repeat."""
    values: list[list[Any]] = [
        [None, 1, 3, -7, 2**40],
        [None, NAN, 0.0, -0.0, 1.5, -2.25, math.inf],
        [None, "", "a", "b", "\u00e9"],
        [None, True, False],
        [None, b"", b"\x01", b"\xff"],
        [None, *map(day, (1, 2, 3))],
        [None, *(day(number).date() for number in (1, 2, 3))],
        [None, Decimal("1.50"), Decimal("-2.25"), Decimal("0.01")],
    ]
    return [tuple(rnd.choice(each) for each in values) for _ in range(rnd.choice((1, 2, 3, 8, 30)))]


def columns_of(rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(arrow_schema(INPUT).names)}


@pytest.mark.parametrize("window", ["tumbling, count(2)", "sliding, count(2), count(2)"])
@pytest.mark.filterwarnings("error")
def test_a_sum_of_doubles_beyond_their_range_is_infinite_without_a_warning(window: str):
    output = {"s": "Sum(x)", "a": "Average(x)"}
    bench = Bench(Aggregate, ["x double"], ["s double, a double"], window=window, output=output)
    assert bench.send([(1.7e308,), (1.7e308,)]).rows() == [(math.inf, math.inf)]
