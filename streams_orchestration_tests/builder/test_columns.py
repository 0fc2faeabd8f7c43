"""Expressions over columns: the text that each makes, what is refused where, and that plans are those of texts."""

from __future__ import annotations

import datetime
import math
import random
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import streams_orchestration.builder.operators as op
from streams_orchestration.builder import Application, BuildError, Column, Stream, col, functions, lit, when
from streams_orchestration.builder.columns import tree_of
from streams_orchestration.compiler.plan import plan_document
from streams_orchestration.expressions.arrow import array_from
from streams_orchestration.expressions.catalog import FUNCTIONS
from streams_orchestration.expressions.functions.choices import CHOICES
from streams_orchestration.expressions.parsing import parse
from streams_orchestration.expressions.rows import row_function
from streams_orchestration.expressions.times import UTC
from streams_orchestration.expressions.typing import typed
from streams_orchestration.operators.standard.aggregation.output_functions import OUTPUT_FUNCTIONS
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.generated.functions_source import python_name, snake

x, y, s = col("x"), col("y"), col("s")
NOON = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
TEXTS: list[tuple[Column, str]] = [
    (x + 1 - y, "x + 1 - y"),
    (x - (1 - y), "x - (1 - y)"),
    (2 * (x + 1) / y % 3, "2 * (x + 1) / y % 3"),
    (1 - x, "1 - x"),
    (-x, "-x"),
    (abs(x) ** 2, "power(abs(x), 2)"),
    ((x == 1) & (y != 2) | ~(s < "a"), "x = 1 AND y <> 2 OR NOT s < 'a'"),
    ((x == 1) & ((y == 1) | (y == 2)), "x = 1 AND (y = 1 OR y = 2)"),
    ((x == 1) & (y == 2) & (s == "c") & s.is_null(), "x = 1 AND y = 2 AND s = 'c' AND s IS NULL"),
    (x.is_null() & y.is_not_null(), "x IS NULL AND y IS NOT NULL"),
    (x.between(1, 2) & ~y.between(3, x), "x BETWEEN 1 AND 2 AND y NOT BETWEEN 3 AND x"),
    (s.isin("it's", "b\\"), "s IN ('it\\'s', 'b\\\\')"),
    (~s.like("a%"), "s NOT LIKE 'a%'"),
    (s.rlike(r"\d+"), "s RLIKE '\\\\d+'"),
    (x.eq_null_safe(None), "x <=> NULL"),
    (x.cast("decimal(10, 2)"), "CAST(x AS decimal(10, 2))"),
    (s.try_cast("int").is_null(), "TRY_CAST(s AS int) IS NULL"),
    (col("place").field("city"), "place.city"),
    (col("codes")[0] + col("map")["k"], "codes[0] + map['k']"),
    (col("dep delay") > 1, "`dep delay` > 1"),
    (when(x > 1, "a").when(x > 0, "b").otherwise("c"), "CASE WHEN x > 1 THEN 'a' WHEN x > 0 THEN 'b' ELSE 'c' END"),
    (when(x > 1, y), "CASE WHEN x > 1 THEN y END"),
    (functions.upper(s), "upper(s)"),
    (functions.substring(s, 2), "substring(s, 2)"),
    (functions.if_(x > 1, functions.coalesce(y, 0), None), "if(x > 1, coalesce(y, 0), NULL)"),
    (functions.div(x, 2), "x DIV 2"),
    (x.bitwise_and(6).bitwise_or(1).bitwise_xor(~y), "(x & 6 | 1) ^ (NOT y)"),
]
LITERALS: list[tuple[Any, str, Any]] = [
    (True, "true", True),
    (7, "7", 7),
    (-(2**31), "-2147483648", -(2**31)),
    (2**40, "1099511627776L", 2**40),
    (2**70, "1180591620717411303424BD", Decimal(2**70)),
    (1.5, "1.5D", 1.5),
    (1e300, "1e+300", 1e300),
    (math.nan, "CAST('NaN' AS double)", math.nan),
    (-math.inf, "CAST('-Infinity' AS double)", -math.inf),
    (Decimal("-1.50"), "-1.50", Decimal("-1.50")),
    (Decimal("1E+2"), "100BD", Decimal(100)),
    ("it's ${n}\n", "'it\\'s \\u0024{n}\\n'", "it's ${n}\n"),
    (b"\x00\xff", "X'00FF'", b"\x00\xff"),
    (datetime.date(2024, 2, 29), "DATE '2024-02-29'", datetime.date(2024, 2, 29)),
    (NOON, "TIMESTAMP '2024-01-01 12:00:00Z'", NOON),
    (
        datetime.datetime(2024, 1, 1, 14, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
        "TIMESTAMP '2024-01-01 12:00:00Z'",
        NOON,
    ),
    (
        datetime.datetime(2024, 1, 1, 12, 0, 0, 5),
        "TIMESTAMP_NTZ '2024-01-01 12:00:00.000005'",
        datetime.datetime(2024, 1, 1, 12, 0, 0, 5),
    ),
]


@pytest.mark.parametrize(("made", "text"), TEXTS)
def test_an_expression_makes_the_text_that_is_read_as_it(made: Column, text: str):
    assert str(made) == text
    assert parse(text) == made.tree


@pytest.mark.parametrize(("value", "text", "right"), LITERALS)
def test_a_value_of_python_becomes_the_literal_that_has_it(value: Any, text: str, right: Any):
    assert str(lit(value)) == text
    node = typed(text, {})
    (found,) = array_from([row_function(node, (), UTC)(())], node.type).to_pylist()
    assert repr(found) == repr(right) or found == right


def test_an_interval_moves_a_point_in_time():
    text = str(col("t") - datetime.timedelta(minutes=5, milliseconds=1))
    assert text == "t - INTERVAL '0 00:05:00.001000' DAY TO SECOND"


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: bool(x > 1), "use & in place of and"),
    (lambda: (x > 1) and (y > 1), "use & in place of and"),
    (lambda: 1 < x < 3, r"\.between\(\) in place of"),
    (lambda: x in [y], r"\.isin\(\) in place of in"),
    (lambda: not x, "~ in place of not"),  # pyright: ignore[reportGeneralTypeIssues]
    (lambda: x == None, r"use is_null\(\)"),  # noqa: E711
    (lambda: x != None, r"use is_not_null\(\)"),  # noqa: E711
    (lambda: list(x), "has elements for each tuple"),
    (x.isin, "isin.* needs a value"),
    (lambda: x.cast("text"), "'text' is not a type"),
    (lambda: x > cast("Any", [1]), r"\[1\] of the type list is not a literal"),
    (lambda: x > 10**40, "more than 38 digits"),
    (lambda: x > Decimal("NaN"), "is not a literal"),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_a_wrong_expression_is_refused_with_its_line_and_a_remedy(make: Callable[[], Any], message: str):
    with pytest.raises(ValueError, match=rf"test_columns.py:\d+: .*{message}"):
        make()


def numbers(app: Application) -> Stream:
    return app.stream(op.Beacon(iterations=3), schema="n bigint NOT NULL, s string, t timestamp", name="Numbers")


MISFITS: list[tuple[Callable[[Stream], Any], str]] = [
    (
        lambda at: at.filter(col("m") > 1),
        "Filter: filter: 'm > 1' uses the attribute m, which the stream does not have",
    ),
    (lambda at: at.filter(col("n") + 1), "Filter: filter: 'n . 1' is bigint, but a condition is expected"),
    (lambda at: at.filter(col("t") > 1), "Filter: filter: .*timestamp > int is not possible"),
    (
        lambda at: at.map({"n": col("s")}),
        "Functor: output.n: the value is string, but the attribute is bigint; CAST it",
    ),
    (lambda at: at.select(col("n") + 1), "select: nothing names n . 1"),
    (lambda at: at.select("n", n=col("s")), "select: there are two attributes n"),
    (lambda at: at.select("m"), "select: m: 'm': uses the attribute m"),
    (lambda at: at.select(m=lit(None)), "select: m is void, which is not a type of an attribute"),
    (lambda at: at.split(col("s"), 2), "Split: index: 's' is string, but an integer is expected"),
    (lambda at: at.aggregate(it=functions.sum(col("s"))), "aggregate: output.it: Sum needs a number or a condition"),
    (lambda at: at.aggregate(group_by=["m"], it=functions.count()), "aggregate: the stream has no attribute m"),
    (
        lambda at: at.aggregate("session, gap(1.0)", it="paneTime()"),
        "aggregate: paneTime.. has the type of the event-time attribute; give the schema of the output: schema=",
    ),
    (lambda at: at.deduplicate(col("m")), "DeDuplicate: key: 'm' uses the attribute m"),
    (
        lambda at: at.join(
            at, "sliding, count(1)", match=col("lhs_n") > col("rhs_s") - 1 + col("x"), schema="t string"
        ),
        "Join: match: .* uses the attribute x",
    ),
]


@pytest.mark.parametrize(("build", "message"), MISFITS)
def test_an_expression_that_does_not_fit_is_refused_where_it_is_used(build: Callable[[Stream], Any], message: str):
    with pytest.raises(BuildError, match=rf"test_columns.py:\d+: {message}"):
        build(numbers(Application("a")))


def of_columns(app: Application) -> None:
    n, sensor = col("n"), col("s")
    least = app.submission("least", int, default=1)
    name = app.submission("name", str, default="a")
    some = numbers(app).filter((n > least) & (sensor != name), name="Some")
    wide = some.select("n", (n * 2).alias("twice"), "s", late=n.isin(1, 2), name=lit("at"), hours=n / 60)
    wide.map({"twice": when(n > 1, 0).otherwise(n)}, name="Mapped")
    sums = wide.aggregate("tumbling, count(2)", group_by=["s"], total=functions.sum(n), share=functions.average(n > 1))
    first, second = sums.split(functions.length(col("s")), 2)
    first.deduplicate(functions.upper(col("s"))).to_files("first")
    second.join(wide, "sliding, count(2)", match=col("total") > n, schema="total bigint, n bigint").to_files("second")


def of_texts(app: Application) -> None:
    least = app.submission("least", int, default=1)
    name = app.submission("name", str, default="a")
    some = numbers(app).filter(f"n > {least} AND s <> '{name}'", name="Some")
    output = {"twice": "n * 2", "late": "n IN (1, 2)", "name": "'at'", "hours": "n / 60"}
    schema = "n bigint NOT NULL, twice bigint, s string, late boolean, name string, hours double"
    wide = some.map(output, schema)
    wide.map({"twice": "CASE WHEN n > 1 THEN 0 ELSE n END"}, name="Mapped")
    sums = wide.aggregate(
        "tumbling, count(2)", group_by=["s"], total="Sum(n)", share="Average(n > 1)",
        schema="s string, total bigint, share double",
    )  # fmt: skip
    first, second = sums.split("length(s)", 2)
    first.deduplicate("upper(s)").to_files("first")
    second.join(wide, "sliding, count(2)", match="total > n", schema="total bigint, n bigint").to_files("second")


def plan_of(build: Callable[[Application], None]) -> str:
    app = Application("same")
    build(app)
    return re.sub(r'"line": \d+|test_columns.py:\d+', "", str(plan_document(app.compile())))


def test_an_application_of_columns_has_the_plan_of_one_of_texts():
    documents = []
    for build in (of_columns, of_texts):
        app = Application("same")
        build(app)
        documents.append(app.to_yaml())
        assert [each for each in app.compile().diagnostics if each.severity == "error"] == []
    assert documents[0] == documents[1]
    assert plan_of(of_columns) == plan_of(of_texts)


def test_an_application_of_columns_runs():
    app = Application("a")
    n = col("n")
    given_ = numbers(app).filter(n > 1).select("n", more=n + 0.5)
    given_.aggregate(most=functions.max(col("more")), count=functions.count()).to_files("out")
    tables = app.test({"Numbers": [(1, "a", None), (2, "b", None), (3, None, None)]})
    assert next(iter(tables.values())).to_pylist() == [{"most": 3.5, "count": 2}]


def test_functions_are_those_of_the_tables():
    wanted = [python_name(each) for each in (*FUNCTIONS, *(each.name for each in CHOICES))]
    wanted += [snake(each.name) for each in OUTPUT_FUNCTIONS]
    assert [name for name in filter(None, wanted) if not hasattr(functions, name)] == []
    assert len(set(filter(None, wanted))) == len(list(filter(None, wanted)))


OPERATORS = {"+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "<=>", "&", "|", "^", "~", "[]", "in", "not"}
IN_TEXTS_ONLY = {"||", "<<", ">>", ">>>"}
"""Signs whose functions are `concat`, `shiftleft` and so on."""


def test_every_function_and_sign_of_the_table_can_be_had_in_python():
    assert {name for name in FUNCTIONS if not python_name(name)} == OPERATORS | IN_TEXTS_ONLY


def random_column(rnd: random.Random, depth: int) -> Column:
    """Return a random expression, made by the operators and methods of Python."""
    if depth == 0:
        return rnd.choice((x, y, s, col("a b"), lit(1), lit(-2.5), lit("it's"), lit(None), lit(Decimal("1.5"))))
    one, two, three = (random_column(rnd, depth - 1) for _ in range(3))
    makers: list[Callable[[], Column]] = [
        *(lambda: one + two, lambda: one - two, lambda: one * two, lambda: one / two, lambda: one % two, lambda: -one),
        *(lambda: one == two, lambda: one != two, lambda: one < two, lambda: one >= two, lambda: one & two),
        *(lambda: one | two, lambda: ~one, one.is_null, one.is_not_null, lambda: one.like(two)),
        *(lambda: one.between(two, three), lambda: one.isin(two, three), lambda: one.cast("double"), lambda: one[two]),
        *(
            lambda: one.try_cast("int"),
            lambda: when(one, two).otherwise(three),
            lambda: when(one, two),
            lambda: 1 - one,
        ),
        *(
            lambda: functions.upper(one),
            lambda: functions.coalesce(one, two),
            lambda: one.field("city"),
            lambda: abs(one),
        ),
        *(lambda: one.bitwise_or(two), lambda: functions.position(one, two), lambda: functions.if_(one, two, three)),
    ]
    return rnd.choice(makers)()


@given(st.integers(min_value=0, max_value=2**32), st.integers(min_value=0, max_value=3))
@examples(300)
def test_a_random_expression_makes_the_text_that_is_read_as_it(seed: int, depth: int):
    made = random_column(random.Random(seed), depth)
    assert parse(str(made)) == tree_of(made)


def test_the_signs_that_python_lacks_have_functions():
    assert str(functions.concat(s, "-")) == "concat(s, '-')"
    assert str(functions.shiftleft(x, 1)) == "shiftleft(x, 1)"
