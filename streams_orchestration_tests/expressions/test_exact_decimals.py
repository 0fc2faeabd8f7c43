"""Sums, differences and products of decimals are assigned with all digits that the attribute can hold."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.expressions.errors import EvaluationError
from streams_orchestration.expressions.rows import row_function
from streams_orchestration.expressions.times import UTC
from streams_orchestration.expressions.vectors import FailedTupleError, SelectedTuples, full
from streams_orchestration.operators.expressions.evaluation import parse_expression
from streams_orchestration_tests.examples import examples

EXACT = Context(prec=200, rounding=ROUND_HALF_UP)
WIDE = pa.schema([("a", pa.decimal128(38, 18)), ("b", pa.decimal128(10, 2)), ("c", pa.decimal128(38, 30))])
Values = tuple[Decimal, Decimal, Decimal]
TEXTS: dict[str, Callable[[Decimal, Decimal, Decimal], Decimal]] = {
    "a - b": lambda a, b, _: EXACT.subtract(a, b),
    "a + c": lambda a, _, c: EXACT.add(a, c),
    "-(a - b) + c": lambda a, b, c: EXACT.add(EXACT.subtract(b, a), c),
    "a + a - a": lambda a, _, __: a,
    "a * b": lambda a, b, _: EXACT.multiply(a, b),
    "coalesce(a - b, 0.5)": lambda a, b, _: EXACT.subtract(a, b),
    "CASE WHEN b > 0 THEN a - b ELSE b END": lambda a, b, _: EXACT.subtract(a, b) if b > 0 else b,
    "if(b > 0, a, a + c)": lambda a, b, c: a if b > 0 else EXACT.add(a, c),
}


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    return st.integers(-(10**precision) + 1, 10**precision - 1).map(
        lambda number: Decimal(number).scaleb(-scale, EXACT)
    )


def assigned(text: str, values: Values, target: pa.DataType) -> Decimal | None:
    """Return the value of an attribute, by a batch of one tuple; None if it does not fit."""
    expression = parse_expression(text, WIDE, "output.x", UTC).assigned(target)
    columns = {field.name: pa.array([value], field.type) for field, value in zip(WIDE, values, strict=True)}
    by_row = row_function(expression.node, list(columns), UTC)
    try:
        found = full(expression.function(SelectedTuples(columns, 1)), 1, target)[0].as_py()
    except FailedTupleError:
        with pytest.raises(EvaluationError):
            by_row(values)
        return None
    assert by_row(values) == found
    return found


@given(st.sampled_from(list(TEXTS)), st.tuples(decimals(38, 18), decimals(10, 2), decimals(38, 30)))
@examples(400)
def test_the_value_is_exact_or_an_overflow(text: str, values: Values):
    target = pa.decimal128(38, 18)
    exact = TEXTS[text](*values).quantize(Decimal(1).scaleb(-18), context=EXACT)
    fits = EXACT.abs(exact) < 10**20
    assert assigned(text, values, target) == (exact if fits else None)


@pytest.mark.parametrize(("text", "value"), [
    ("a - b", "12345678901234567890.023456789012345678"),
    ("a - b + b", "12345678901234567890.123456789012345678"),
    ("b * 1.000000000000000001", "0.1"),
])  # fmt: skip
def test_no_digit_is_lost(text: str, value: str):
    values = Decimal("12345678901234567890.123456789012345678"), Decimal("0.10"), Decimal(0)
    assert assigned(text, values, pa.decimal128(38, 18)) == Decimal(value)


@pytest.mark.parametrize("text", ["a - b", "-(a - b) + c", "a * b", "a / b", "10 / 3.0", "b + 1"])
def test_an_attribute_that_holds_no_more_digits_gets_what_spark_gives(text: str):
    expression = parse_expression(text, WIDE, "output.x", UTC)
    own = expression.assigned(expression.arrow_type)
    assert own.node == expression.node
