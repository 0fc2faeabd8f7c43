"""Functions of Aggregate over values of any type, and sums and means of decimals, with Spark's semantics (ANSI)."""

from __future__ import annotations

import decimal
import math
import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.aggregation.value_measures import ValueFunction, folded
from streams_orchestration.operators.tuples.arrow_types import is_text

MAX_PRECISION = 38
_EXACT = decimal.Context(prec=2 * MAX_PRECISION + 2, rounding=decimal.ROUND_HALF_UP)


def rank(value: Any) -> tuple[bool, Any]:
    """Return a sort key that orders values as Spark does, with NaN above all numbers."""
    return (True, 0) if isinstance(value, float) and math.isnan(value) else (False, value)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def is_ordered(kind: pa.DataType) -> bool:
    """Return True if values of a type have an order, as all types but arrays, maps and structs do."""
    return _is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind) or _is_bytes(kind)


def _is_bytes(kind: pa.DataType) -> bool:
    return is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _is_decimal(kind: pa.DataType) -> bool:
    return pa.types.is_decimal(kind)


def _anything(_kind: pa.DataType) -> bool:
    return True


ORDERED, ANY, NUMBER = (is_ordered,), (_anything,), (_is_number,)


def listed(types: Sequence[pa.DataType]) -> pa.DataType:
    """Return the type of a list of the first argument's values."""
    return pa.list_(types[0])


def first_type(types: Sequence[pa.DataType]) -> pa.DataType:
    """Return the type of the first argument."""
    return types[0]


def bigint(_types: Sequence[pa.DataType]) -> pa.DataType:
    """Return bigint, whatever the types of the arguments are."""
    return pa.int64()


def doubles(_types: Sequence[pa.DataType]) -> pa.DataType:
    """Return a list of doubles, whatever the types of the arguments are."""
    return pa.list_(pa.float64())


def _pair(types: Sequence[pa.DataType]) -> pa.DataType:
    return pa.struct([("value", types[0]), ("by", types[1])])


def _only(state: Any, _kind: pa.DataType) -> Any:
    return state[0]


def _extreme(beats: Callable[[Any, Any], bool]) -> ValueFunction:
    """Return the function of the value whose rank beats the ranks of the others."""

    def merge(one: Any, other: Any) -> Any:
        return other if beats(rank(other[0]), rank(one[0])) else one

    return folded(ORDERED, listed, first_type, lambda row: [row[0]], merge, _only)


def arg_extreme(beats: Callable[[Any, Any], bool]) -> ValueFunction:
    """Return the function of the first argument at the tuple where the rank of the second one beats earlier ones."""

    def merge(one: Any, other: Any) -> Any:
        return other if beats(rank(other["by"]), rank(one["by"])) else one

    return folded(
        (_anything, is_ordered),
        _pair,
        first_type,
        lambda row: {"value": row[0], "by": row[1]},
        merge,
        lambda state, _: state["value"],
        by_arrival=True,
    )


def same(value: Any) -> Any:
    """Return the value; for any NaN, the one object `math.nan`, so that a set or a dict keeps one NaN."""
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def another(value: Any) -> Any:
    """Return the value; for NaN, a new NaN object, so that a set or a dict keeps each NaN apart, as in SPL."""
    return value + 0.0 if isinstance(value, float) and math.isnan(value) else value


def frozen(value: Any, single: Callable[[Any], Any] = same) -> Any:
    """Return a value that can be hashed, with tuples for the lists and structs of Arrow's Python values.

    >>> frozen([{"a": [1, None]}]), frozen([("key", [1.5])])
    ((((1, None),),), (('key', (1.5,)),))

    Args:
        value: the value.
        single: converts values without parts, by default so that NaN counts as one value.
    """
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return single(value)
    return tuple([frozen(each, single) for each in value])


def count_distinct(single: Callable[[Any], Any] = same) -> ValueFunction:
    """Return the function that counts distinct values, converted by `frozen`; a state that was restored is a list."""

    def frozen_all(values: Any) -> set[Any]:
        return {frozen(each, single) for each in values}

    def step(state: Any, row: Sequence[Any]) -> Any:
        known = state if isinstance(state, set) else frozen_all(state or ())
        known.add(frozen(row[0], single))
        return known

    return ValueFunction(
        ANY,
        listed,
        bigint,
        step,
        lambda one, other: frozen_all(one) | frozen_all(other),
        lambda state, _: len(state),
        empty=0,
        by_key=True,
    )


def _moments(state: Any, row: Sequence[Any]) -> Any:
    """Return the state of Welford's algorithm after one more value, as in Spark's `CentralMomentAgg`."""
    count, mean, squares = state or (0.0, 0.0, 0.0)
    value, count = float(row[0]), count + 1.0
    delta = value - mean
    part = delta / count
    return [count, mean + part, squares + delta * (delta - part)]


def _merged_moments(one: Any, other: Any) -> Any:
    count = one[0] + other[0]
    delta = other[1] - one[1]
    part = 0.0 if count == 0 else delta / count
    return [count, one[1] + part * other[0], one[2] + other[2] + delta * part * one[0] * other[0]]


def _deviation(*, sample: bool) -> ValueFunction:
    def finish(state: Any, _kind: pa.DataType) -> Any:
        if sample and state[0] == 1:
            return None
        return math.sqrt(state[2] / (state[0] - sample)) if state[2] >= 0 else math.nan

    return ValueFunction(NUMBER, doubles, lambda _: pa.float64(), _moments, _merged_moments, finish)


def collect_list(limit: int = sys.maxsize) -> ValueFunction:
    """Return `CollectList` limited to the first `limit` values."""

    def step(state: Any, row: Sequence[Any]) -> Any:
        known = [] if state is None else state
        if len(known) < limit:
            known.append(row[0])
        return known

    return ValueFunction(
        ANY,
        listed,
        listed,
        step,
        lambda one, other: [*one, *other][:limit],
        lambda state, _: state,
        empty=[],
        by_arrival=True,
    )


_FIRST = ValueFunction(
    ANY,
    listed,
    first_type,
    lambda state, row: state or [row[0]],
    lambda one, _: one,
    _only,
    takes_null=True,
    by_arrival=True,
)
VALUE_FUNCTIONS: dict[str, ValueFunction] = {
    "Min": _extreme(operator.lt),
    "Max": _extreme(operator.gt),
    "First": _FIRST,
    "Last": replace(_FIRST, step=lambda _, row: [row[0]], merge=lambda _, other: other),
    "ArgMin": arg_extreme(operator.le),
    "ArgMax": arg_extreme(operator.ge),
    "CountDistinct": count_distinct(),
    "StdDev": _deviation(sample=True),
    "StdDevPop": _deviation(sample=False),
}
"""Maps names to functions. For numbers, `measure` has faster versions of `Min` and `Max`."""


def _precision(by: int, scale_by: int) -> Callable[[Sequence[pa.DataType]], pa.DataType]:
    def kind(types: Sequence[pa.DataType]) -> pa.DataType:
        precision, scale = types[0].precision + by, types[0].scale + scale_by
        return pa.decimal128(min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))

    return kind


def _total(row: Sequence[Any]) -> Any:
    return {"count": 1, "total": decimal.Decimal(row[0])}


def _totals(types: Sequence[pa.DataType]) -> pa.DataType:
    return pa.struct([("count", pa.int64()), ("total", pa.decimal256(76, types[0].scale))])


def _fitted(value: decimal.Decimal, kind: pa.DataType) -> decimal.Decimal:
    fitted = value.quantize(decimal.Decimal(1).scaleb(-kind.scale), context=_EXACT)
    if fitted.adjusted() >= kind.precision - kind.scale and fitted:
        raise OverflowError
    return fitted


def _sum_of(state: Any, kind: pa.DataType) -> Any:
    return _fitted(state["total"], kind)


def _mean_of(state: Any, kind: pa.DataType) -> Any:
    return _fitted(_EXACT.divide(state["total"], decimal.Decimal(state["count"])), kind)


def _together(one: Any, other: Any) -> Any:
    return {"count": one["count"] + other["count"], "total": _EXACT.add(one["total"], other["total"])}


DECIMAL_FUNCTIONS: dict[str, ValueFunction] = {
    "Sum": folded((_is_decimal,), _totals, _precision(10, 0), _total, _together, _sum_of),
    "Average": folded((_is_decimal,), _totals, _precision(4, 4), _total, _together, _mean_of),
}
"""The functions of decimals, whose results are decimals."""
