"""An expression has one value: by columns, in a generated loop, and by a plain evaluator."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.spl.programs.columns import array_of, values_of
from streams_orchestration.spl.programs.expression import compiled
from streams_orchestration.spl.programs.loops.ports import Environment, ExpressionValue, PortProgram
from streams_orchestration.spl.programs.outcome import FailedError
from streams_orchestration.spl.programs.reading import read_expression
from streams_orchestration.spl.programs.run import Run
from streams_orchestration.spl.programs.vectorised import by_columns
from streams_orchestration.spl.types.types import Tuple
from streams_orchestration.spl.types.written import type_of_text
from streams_orchestration.spl.typing import typed
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.spl.expression_generation import PORT, TYPES, expressions, tuples
from streams_orchestration_tests.spl.plain_evaluation import NoValueError, evaluate

ENVIRONMENT = Environment([("In", PORT)])


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or (
            one == other and math.copysign(1, one) == math.copysign(1, other)
        )
    return type(one) is type(other) and one == other


def in_a_loop(expression: typed.Expression, rows: list[dict[str, Any]]) -> list[Any]:
    program = PortProgram(ENVIRONMENT, Run(), 0, None, [ExpressionValue(expression)])
    columns = {each.name: [row[each.name] for row in rows] for each in PORT.attributes}
    return program({}, columns, len(rows))[0]


def plainly(expression: typed.Expression, rows: list[dict[str, Any]]) -> list[Any]:
    return [evaluate(expression, row) for row in rows]


@pytest.mark.slow
@examples(400)
@given(st.sampled_from(TYPES).flatmap(expressions), st.lists(tuples(), min_size=1, max_size=4))
def test_an_expression_has_the_same_value_by_column_in_a_loop_and_plainly(
    expression: typed.Expression, rows: list[dict[str, Any]]
):
    vectorised = by_columns(expression)
    try:
        wanted = plainly(expression, rows)
    except NoValueError:
        assert vectorised is None
        try:
            in_a_loop(expression, rows)
        except FailedError as error:
            assert error.place == "Main.spl:7"
            return
        raise AssertionError(expression) from None
    looped = in_a_loop(expression, rows)
    assert all(map(same, looped, wanted)), (looped, wanted)
    if vectorised is not None:
        columns = {each.name: array_of([row[each.name] for row in rows], each.type) for each in PORT.attributes}
        found = values_of(vectorised.evaluate(columns, len(rows)), expression.type)
        assert all(map(same, found, wanted)), (found, wanted)


@pytest.mark.parametrize(("text", "values"), [
    (r'In.s == "\ud800"', [False, False]),
    (r'In.s in ["\ud800", "a"]', [True, False]),
])  # fmt: skip
def test_a_constant_that_no_column_can_hold_is_compared_in_a_loop(text: str, values: list[bool]):
    type_ = type_of_text("tuple<rstring s>")
    assert isinstance(type_, Tuple)
    _, may_fail, evaluate_columns = compiled(read_expression(text, [("In", type_)]), ("In", type_))
    assert may_fail
    assert evaluate_columns({"s": pa.array(["a", "b"])}, 2).to_pylist() == values


def test_an_attribute_that_cannot_be_read_fails_its_tuple():
    type_ = type_of_text("tuple<decimal64 d>")
    assert isinstance(type_, Tuple)
    _, _, evaluate_columns = compiled(read_expression("In.d + 1.0d", [("In", type_)]), ("In", type_))
    with pytest.raises(FailedError, match="d cannot be read: 'one' is not a decimal number") as failed:
        evaluate_columns({"d": pa.array(["1.5", "one", "two"])}, 3)
    assert failed.value.position == 1
