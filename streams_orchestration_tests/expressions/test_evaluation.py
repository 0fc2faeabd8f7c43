"""Whole batches have the values of tuples one by one, and examples the documented ones."""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
import math
import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.expressions.arrow import arrow_type, values_of
from streams_orchestration.expressions.catalog import FUNCTIONS
from streams_orchestration.expressions.errors import EvaluationError
from streams_orchestration.expressions.functions.choices import CHOICES
from streams_orchestration.expressions.rows import row_function
from streams_orchestration.expressions.table import Form, SqlFunction
from streams_orchestration.expressions.times import UTC
from streams_orchestration.expressions.tree import depends_on_zone
from streams_orchestration.expressions.types import parse_type
from streams_orchestration.expressions.typing import typed
from streams_orchestration.expressions.value_texts import writer
from streams_orchestration.expressions.vectors import FailedTupleError, SelectedTuples, full, vector_function
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.expressions.generation import (
    ATTRIBUTES,
    ZONES,
    expression,
    rows_of,
    tuples,
    zone_of,
    zoned_functions,
)
from streams_orchestration_tests.expressions.sameness import same
from streams_orchestration_tests.generated.functions_page import functions_page

EXPRESSIONS = 10
"""Random expressions of each function; those of all functions together are as many as the profile says."""


@given(st.integers(min_value=0, max_value=2**32), st.sampled_from(("UTC", *ZONES)))
@examples(1000)
def test_a_batch_has_the_values_of_its_tuples(seed: int, name: str):
    rnd, zone = random.Random(seed), zone_of(name)
    functions = zoned_functions() if name != "UTC" else ()
    batch, (text, node) = tuples(rnd, 12), expression(rnd, rnd.choice((1, 2, 2, 3)), functions, zone)
    function = row_function(node, list(ATTRIBUTES), zone)
    right: list[object] | None = []
    try:
        right.extend(map(function, rows_of(batch)))
    except EvaluationError:
        right = None
    rows = SelectedTuples({name: batch.column(name) for name in ATTRIBUTES}, batch.num_rows)
    try:
        found = full(vector_function(node, zone)(rows), batch.num_rows, arrow_type(node.type))
    except FailedTupleError as error:
        assert right is None, text
        with pytest.raises(EvaluationError):
            function(rows_of(batch)[error.position])
        return
    assert right is not None, text
    assert same(right, values_of(found, node.type)), text


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_for_tuples_without_failure_the_values_of_each(name: str):
    rnd = random.Random(name)
    batch = tuples(rnd, 40).slice(3)
    tuples_of_batch = rows_of(batch)
    for _ in range(EXPRESSIONS):
        text, node = expression(rnd, 1, [FUNCTIONS[name]])
        function, right, places = row_function(node, list(ATTRIBUTES), UTC), list[object](), list[int]()
        for place, row in enumerate(tuples_of_batch):
            with contextlib.suppress(EvaluationError):
                right.append(function(row))
                places.append(place)
        whole = batch if len(places) == batch.num_rows else batch.take(pa.array(places, pa.int64()))
        rows = SelectedTuples({each: whole.column(each) for each in ATTRIBUTES}, len(places))
        found = full(vector_function(node, UTC)(rows), len(places), arrow_type(node.type))
        assert same(right, values_of(found, node.type)), text


class Unasked(dt.tzinfo):
    """A time zone that nobody may ask."""

    def utcoffset(self, when: dt.datetime | None, /) -> dt.timedelta:
        """Fail the test."""
        raise AssertionError(when)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_expression_that_does_not_depend_on_the_zone_never_asks_for_it(name: str):
    rnd = random.Random(name)
    rows, zone = rows_of(tuples(rnd, 20)), Unasked()
    for _ in range(EXPRESSIONS):
        _, node = expression(rnd, 2, [FUNCTIONS[name]])
        if depends_on_zone(node):
            continue
        function = row_function(node, list(ATTRIBUTES), zone)
        for row in rows:
            with contextlib.suppress(EvaluationError):
                function(row)


@pytest.mark.parametrize("function", [*FUNCTIONS.values(), *CHOICES], ids=lambda each: each.name)
def test_a_function_has_examples_that_are_right(function: SqlFunction | Form):
    assert function.examples
    for text, right in function.examples:
        node = typed(text, {})
        value = row_function(node, (), UTC)(())
        assert ("NULL" if value is None else writer(node.type, UTC)(value)) == right


def test_the_page_has_every_function():
    page = functions_page()
    assert [name for name in FUNCTIONS if f"`{name.replace('|', chr(92) + '|')}" not in page] == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("TRY_CAST('1e95' AS decimal(38, 10))", None),
        ("TRY_CAST(-1e95 AS decimal(38, 38))", None),
        ("CAST('9.99e27' AS decimal(38, 10))", decimal.Decimal("9990000000000000000000000000.0000000000")),
        ("CAST('-0x1p5000' AS double)", -math.inf),
        ("round(1e300, 10)", 1e300),
        ("sinh(-1000)", -math.inf),
        ("try_to_timestamp(1e305)", 2**63 - 1),
        ("bround(125e10, -11)", 1.2e12),
        ("get_json_object('[1]', '$[99999999999999999999]')", None),
    ],
)
def test_a_number_that_is_too_large_is_null_or_infinite_and_a_large_one_is_kept(text: str, value: object):
    assert row_function(typed(text, {}), (), UTC)(()) == value


@pytest.mark.parametrize("text", [r"s LIKE 'a\\'", r"s ILIKE 'a\\'", "s RLIKE '('"])
def test_a_pattern_without_meaning_fails_at_the_first_tuple_that_needs_it(text: str):
    node = typed(text, {"s": parse_type("string")})
    rows = SelectedTuples({"s": pa.array([None, "a", "b"])}, 3)
    with pytest.raises(FailedTupleError, match="is not a ") as caught:
        vector_function(node, UTC)(rows)
    assert caught.value.position == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("date_add(day, 1)", dt.date(2024, 2, 29)),
        ("datediff(day, DATE '2024-02-01')", 27),
        ("timestampadd(DAY, 1, day)", dt.datetime(2024, 2, 29, tzinfo=dt.UTC)),
        (r"'\uD83D\uDE00'", "\U0001f600"),
    ],
)
def test_an_attribute_may_have_the_name_of_a_unit_and_a_text_a_pair_of_surrogates(text: str, value: object):
    node = typed(text, {"day": parse_type("date")})
    rows = SelectedTuples({"day": pa.array([dt.date(2024, 2, 28)])}, 1)
    assert full(vector_function(node, UTC)(rows), 1, arrow_type(node.type)).to_pylist() == [value]
