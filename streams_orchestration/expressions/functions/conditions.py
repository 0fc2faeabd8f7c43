"""Conditions on null and NaN, and the smallest and largest of several values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from streams_orchestration.expressions.coercion import common_of
from streams_orchestration.expressions.functions.comparison import order_key
from streams_orchestration.expressions.table import Binding, FunctionGroup, Operand, Resolved, TupleFunction

CONDITIONS = FunctionGroup("Conditions")

CONDITIONS.function(
    "isnull(value any) -> boolean",
    summary="Return true if the value is null, as `IS NULL`.",
    examples=[("isnull(NULL)", "true")],
    strict=False,
)(lambda value: value is None)
CONDITIONS.function(
    "isnotnull(value any) -> boolean",
    summary="Return true if the value is not null, as `IS NOT NULL`.",
    examples=[("isnotnull(1)", "true")],
    strict=False,
)(lambda value: value is not None)
CONDITIONS.function(
    "isnan(value double) -> boolean",
    summary="Return true if the value is NaN; false for null.",
    examples=[("isnan(double('NaN'))", "true")],
    strict=False,
)(lambda value: value is not None and math.isnan(value))


def _several(operands: Sequence[Operand]) -> Resolved | None:
    together = common_of((each.type for each in operands), texts=False)
    if len(operands) < 2 or together is None or not together.is_ordered:
        return None
    return Resolved((together,) * len(operands), together)


@CONDITIONS.bound(
    summary="Return the largest value that is not null.",
    examples=[("greatest(1, NULL, 2.5)", "2.5")],
    resolver=_several,
    name="greatest",
    strict=False,
)
def _greatest(binding: Binding) -> TupleFunction:
    key = order_key(binding.result)

    def largest(*values: Any) -> Any:
        return max((value for value in values if value is not None), key=key, default=None)

    return largest


@CONDITIONS.bound(
    summary="Return the smallest value that is not null.",
    examples=[("least(1, NULL, 2.5)", "1.0")],
    resolver=_several,
    name="least",
    strict=False,
)
def _least(binding: Binding) -> TupleFunction:
    key = order_key(binding.result)

    def smallest(*values: Any) -> Any:
        return min((value for value in values if value is not None), key=key, default=None)

    return smallest
