from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from streams_orchestration.expressions.times import UTC
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.expressions.evaluation import (
    evaluate,
    evaluate_possible,
    parse_condition,
    parse_expression,
    rows_of,
)
from streams_orchestration.operators.expressions.expression import in_one_line
from streams_orchestration.operators.expressions.spl.constants import value_of_program
from streams_orchestration.operators.tuples.arrow_types import arrow_schema, fits

SCHEMA = arrow_schema("n bigint, x double, s string, b boolean, t timestamp")
TUPLES = pa.RecordBatch.from_pylist(
    [
        {"n": 1, "x": 0.5, "s": "JFK", "b": True, "t": datetime(2013, 1, 1, tzinfo=UTC)},
        {"n": None, "x": None, "s": None, "b": None, "t": None},
        {"n": -3, "x": 2.0, "s": "LGA", "b": False, "t": datetime(2013, 6, 1, tzinfo=UTC)},
    ],
    schema=SCHEMA,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n + 1", [2, None, -2]),
        ("x * 2 > 1", [False, None, True]),
        ("n IS NOT NULL AND n > 0", [True, False, False]),
        ("s LIKE 'J%'", [True, None, False]),
        ("CASE WHEN b THEN 'yes' ELSE 'no' END", ["yes", "no", "no"]),
        ("COALESCE(n, 0)", [1, 0, -3]),
        ("LOWER(s)", ["jfk", None, "lga"]),
        ("n IN (1, 2)", [True, None, False]),
        ("7", [7, 7, 7]),
        ("NULL", [None, None, None]),
        ("s = 'SUM(n) OVER'", [False, None, False]),
    ],
)
def test_expressions_have_their_values(text: str, expected: list[Any]):
    assert evaluate(parse_expression(text, SCHEMA, "p", UTC), TUPLES).to_pylist() == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("n / 3", pa.float64()),
        ("n / 3.0", pa.decimal128(27, 6)),
        ("n / 3e0", pa.float64()),
        ("1.5", pa.decimal128(2, 1)),
        ("x * 1.5", pa.float64()),
        ("m * 0.1", pa.decimal128(12, 3)),
        ("n * 0.1", pa.decimal128(22, 1)),
        ("CAST(0.1 AS DECIMAL(3, 2))", pa.decimal128(3, 2)),
    ],
)
def test_a_number_with_a_point_is_a_decimal(text: str, kind: pa.DataType):
    assert parse_expression(text, arrow_schema("n bigint, x double, m decimal(10, 2)"), "p", UTC).arrow_type == kind


def test_a_division_has_the_digits_of_a_double():
    assert evaluate(parse_expression("n / 3", SCHEMA, "p", UTC), TUPLES).to_pylist() == [1 / 3, None, -1.0]


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("1.5", pa.float64(), [1.5, 1.5, 1.5]),
        ("n", pa.int32(), [1, None, -3]),
        ("n", pa.decimal128(10, 2), [Decimal("1.00"), None, Decimal("-3.00")]),
        ("NULL", pa.string(), [None, None, None]),
        ("DATE '2013-01-01'", pa.timestamp("us", "UTC"), [datetime(2013, 1, 1, tzinfo=UTC)] * 3),
    ],
)
def test_a_value_becomes_one_of_the_attribute(text: str, target: pa.DataType, expected: list[Any]):
    assigned = parse_expression(text, SCHEMA, "output.a", UTC).assigned(target)
    assert assigned.arrow_type == target
    assert evaluate(assigned, TUPLES).to_pylist() == expected


@pytest.mark.parametrize(
    ("text", "target"), [("x", pa.int64()), ("n", pa.string()), ("t", pa.date32()), ("b", pa.int64())]
)
def test_a_value_of_another_kind_needs_a_cast(text: str, target: pa.DataType):
    with pytest.raises(ValueError, match=r"output\.a: the value is .*, but the attribute is .*; CAST it"):
        parse_expression(text, SCHEMA, "output.a", UTC).assigned(target)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("n * 4611686018427387904", "is beyond the range of bigint.*n = -3"),
        ("1 / (n - 1)", "division by zero.*n = 1"),
        ("CAST(s AS INT)", "'JFK'"),
    ],
)
def test_an_expression_without_a_value_names_the_tuple(text: str, reason: str):
    with pytest.raises(DataError, match=rf"output\.a: '{re.escape(text)}': .*{reason}"):
        evaluate(parse_expression(text, SCHEMA, "output.a", UTC), TUPLES)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_constant_has_as_many_values_as_there_are_tuples(count: int):
    assert evaluate(parse_expression("1.5e0", SCHEMA, "p", UTC), TUPLES.slice(0, count)).to_pylist() == [1.5] * count


@pytest.mark.parametrize(
    "text",
    ["SUM(n)", "n > AVG(n)", "COUNT(*)", "FIRST(s)", "MAX(n) - MIN(n)", "SUM(n) OVER (PARTITION BY s)",
     "RANK() OVER (ORDER BY n)", "ROW_NUMBER() OVER (ORDER BY n)", "LAG(n) OVER (ORDER BY t)"],
)  # fmt: skip
def test_a_value_must_not_depend_on_where_batches_end(text: str):
    with pytest.raises(ValueError, match=r"output.a: .* reads more than one tuple; use an Aggregate"):
        parse_expression(text, SCHEMA, "output.a", UTC)


def test_attributes_named_like_functions_are_attributes():
    schema = arrow_schema("Len bigint, Agg bigint")
    batch = pa.RecordBatch.from_pylist([{"Len": 2, "Agg": 3}], schema=schema)
    assert evaluate(parse_expression("Len + Agg", schema, "p", UTC), batch).to_pylist() == [5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dealy > 1", r"filter: 'dealy > 1' uses the attribute dealy, which the stream does not have"),
        ("nn > 1", r"the attribute nn, .*; .*\bn\b"),
        ("n >", r"filter: 'n >': the expression ends here; a value is missing, at character 4"),
        ("n > > 1", r"filter: 'n > > 1': .* at character 5"),
        ("", r"filter: '': the text is empty, but an expression is expected"),
        ("no_such_function(n)", r"filter: 'no_such_function\(n\)': there is no function no_such_function"),
        ("uper(s)", r"there is no function uper; .*\bupper\b"),
        ("*", r"filter: '\*': \* stands for several values"),
        ("s + t", r"filter: 's \+ t': string \+ timestamp is not possible"),
        ("round(s, s)", r"filter: 'round\(s, s\)': round: the number of digits must be constant"),
    ],
)
def test_a_wrong_expression_is_refused_in_one_line(text: str, message: str):
    with pytest.raises(ValueError, match=message) as caught:
        parse_expression(text, SCHEMA, "filter", UTC)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["n", "x + 1", "s", "NULL"])
def test_a_condition_is_boolean(text: str):
    with pytest.raises(ValueError, match=r"filter: .* a condition is expected"):
        parse_condition(text, SCHEMA, "filter", UTC)


@pytest.mark.parametrize(
    ("kind", "target", "expected"),
    [
        (pa.int32(), pa.int64(), True),
        (pa.int64(), pa.int32(), True),  # a value that is too large is found when it comes
        (pa.int64(), pa.float64(), True),
        (pa.float64(), pa.int64(), False),
        (pa.float64(), pa.float32(), True),
        (pa.large_string(), pa.string(), True),
        (pa.int64(), pa.string(), False),
        (pa.string(), pa.int64(), False),
        (pa.bool_(), pa.int64(), False),
        (pa.null(), pa.int64(), True),
        (pa.date32(), pa.timestamp("us"), True),
        (pa.timestamp("us"), pa.date32(), False),
        (pa.dictionary(pa.int32(), pa.string()), pa.string(), True),
        (pa.decimal128(10, 2), pa.float64(), True),
        (pa.large_binary(), pa.binary(), True),
        (pa.large_list(pa.int64()), pa.list_(pa.int64()), True),
    ],
)
def test_types_fit_where_values_keep_their_meaning(kind: pa.DataType, target: pa.DataType, expected: bool):
    assert fits(kind, target) is expected


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("from_utc_timestamp(t, 'Europe/Berlin')", UTC),
        ("to_timestamp_ntz(t)", ZoneInfo("Europe/Berlin")),
        ("last_day(date_from_unix_date(2147483647 + CAST(n AS int)))", UTC),
        ("regexp_replace(s, 'a', '$3')", UTC),
        ("s RLIKE concat(s, '{99999999999}')", UTC),
    ],
)
def test_a_tuple_beyond_what_a_function_can_calculate_is_an_error_of_the_data_that_can_be_skipped(
    text: str, zone: ZoneInfo
):
    schema = arrow_schema("n int, s string, t timestamp")
    times = pa.array([0, 2**63 - 1], pa.int64()).cast(schema.field("t").type)
    given = [pa.array([-60, 0], pa.int32()), pa.array([None, "a"]), times]
    batch = pa.RecordBatch.from_arrays(given, schema=schema)
    expression = parse_expression(text, schema, "output.a", zone)
    with pytest.raises(DataError, match=rf"output\.a: {re.escape(in_one_line(text))}: .*; the tuple has "):
        evaluate(expression, batch)
    passed, values, failures = evaluate_possible(expression, rows_of(batch, [expression]))
    assert (passed.places.tolist(), len(values), list(failures)) == ([0], 1, [1])
    assert expression.may_fail


def test_a_random_number_is_no_constant():
    assert value_of_program({"spl": "abs(-1) < 2"})
    with pytest.raises(ValueError, match="reads more than submission-time values"):
        value_of_program({"spl": "random() < 2.0"})
