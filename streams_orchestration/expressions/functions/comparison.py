"""Comparisons, and NOT."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from streams_orchestration.expressions.coercion import common
from streams_orchestration.expressions.table import Binding, FunctionGroup, Operand, Resolved, TupleFunction
from streams_orchestration.expressions.types import (
    BOOLEAN,
    VOID,
    Type,
)

COMPARISON = FunctionGroup("Comparison")
LOGIC = FunctionGroup("Logic")


def compared(operands: Sequence[Operand]) -> Resolved | None:
    """Resolve a comparison: convert both operands to a common type that has an order; None if there is no such type."""
    if len(operands) != 2:
        return None
    together = common(operands[0].type, operands[1].type)
    return Resolved((together, together), BOOLEAN) if together is not None and together.is_ordered else None


def order_key(kind: Type) -> Callable[[Any], Any]:
    """Return the sort key of a type's values: null is the smallest, NaN is equal to itself and the largest number.

    Texts and binaries are compared by their bytes, arrays and structs part by part.
    """
    if kind.is_fractional:
        return lambda value: (1, 0.0) if math.isnan(value) else (0, value)
    if kind.name == "string":
        return lambda value: value.encode("utf-8", "surrogatepass")
    if kind.name in ("array", "struct"):
        keys = [order_key(part) for part in kind.parts]
        each = keys if kind.name == "struct" else None

        def nested(value: Sequence[Any]) -> tuple[Any, ...]:
            by = each or keys * len(value)
            return tuple((0,) if part is None else (1, key(part)) for key, part in zip(by, value, strict=True))

        return nested
    return lambda value: value


def _comparison(compare: Callable[[Any, Any], bool]) -> Callable[[Binding], TupleFunction]:
    def bind(binding: Binding) -> TupleFunction:
        key = order_key(binding.arguments[0])
        return lambda one, other: compare(key(one), key(other))

    return bind


for _sign, _compare, _summary, _example in (
    ("=", operator.eq, "Return true if both are equal.", ("1 = 1.0", "true")),
    ("<>", operator.ne, "Return true if they differ.", ("'a' <> 'A'", "true")),
    ("<", operator.lt, "Return true if the left value is smaller.", ("'a' < 'B'", "false")),
    ("<=", operator.le, "Return true if the left value is smaller, or both are equal.", ("2 <= 2", "true")),
    (">", operator.gt, "Return true if the left value is larger.", ("DOUBLE('NaN') > 1e308", "true")),
    (">=", operator.ge, "Return true if the left value is larger, or both are equal.", ("2 >= 3", "false")),
):
    COMPARISON.bound(summary=_summary, examples=[_example], resolver=compared, name=_sign)(_comparison(_compare))


@COMPARISON.bound(
    summary="Return true if both are equal or both are null; the result is never null.",
    examples=[("NULL <=> NULL", "true")],
    resolver=compared,
    name="<=>",
    strict=False,
)
def _same(binding: Binding) -> TupleFunction:
    key = order_key(binding.arguments[0])
    return lambda one, other: one is other if one is None or other is None else key(one) == key(other)


def _member(operands: Sequence[Operand]) -> Resolved | None:
    together: Type | None = VOID
    for each in operands:
        together = None if together is None else common(together, each.type)
    if together is None or not together.is_ordered or not operands:
        return None
    return Resolved((together,) * len(operands), BOOLEAN)


@COMPARISON.bound(
    summary="Return true if the value equals an element of the list; null if none does and an element is null.",
    examples=[("2 IN (1, 2)", "true"), ("3 IN (1, NULL)", "NULL")],
    resolver=_member,
    name="in",
    strict=False,
)
def _in(binding: Binding) -> TupleFunction:
    key = order_key(binding.arguments[0])

    def contains(value: Any, *others: Any) -> bool | None:
        if value is None:
            return None
        wanted = key(value)
        if any(other is not None and key(other) == wanted for other in others):
            return True
        return None if None in others else False

    return contains


@functools.cache
def _all_of(kind: Type) -> Callable[[Sequence[Operand]], Resolved | None]:
    def resolve(operands: Sequence[Operand]) -> Resolved | None:
        fits = all(each.type in (kind, VOID) or each.type.name == "string" for each in operands)
        return Resolved((kind,) * len(operands), kind) if fits else None

    return resolve


LOGIC.function(
    summary="Return true if the condition is false.",
    examples=[("NOT 1 = 2", "true")],
    resolver=_all_of(BOOLEAN),
    name="not",
)(operator.not_)
