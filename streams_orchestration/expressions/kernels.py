"""Kernels by Arrow and numpy, with the same results as `rows`.

A kernel raises `Unsuitable`, or Arrow's own error, for a batch that must be evaluated tuple by tuple: a batch with a
failure, or with values that Arrow or numpy treats differently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from streams_orchestration.expressions import presence
from streams_orchestration.expressions.arrow import arrow_type
from streams_orchestration.expressions.kernel import (
    Kernel,
    Maker,
    Unsuitable,
    always,
    bounds,
    filled,
    numbers,
    pc,
    unmasked,
)
from streams_orchestration.expressions.moment_kernels import MOMENT_KERNELS
from streams_orchestration.expressions.table import Binding
from streams_orchestration.expressions.text_kernels import TEXT_KERNELS
from streams_orchestration.expressions.times import UTC
from streams_orchestration.expressions.types import BIGINT, DATE, TIMESTAMP, TIMESTAMP_NTZ, Type

Bounds = tuple[int, int]


def _has_nan(vector: Any) -> bool:
    if isinstance(vector, pa.Scalar):
        return vector.is_valid and vector.as_py() != vector.as_py()
    return pc.any(pc.is_nan(vector)).as_py() is True


def _sum(one: Bounds, other: Bounds) -> Bounds:
    return one[0] + other[0], one[1] + other[1]


def _difference(one: Bounds, other: Bounds) -> Bounds:
    return one[0] - other[1], one[1] - other[0]


def _product(one: Bounds, other: Bounds) -> Bounds:
    products = [a * b for a in one for b in other]
    return min(products), max(products)


def _exact(checked: Kernel, unchecked: Kernel, extent: Callable[[Bounds, Bounds], Bounds], result: Type) -> Kernel:
    """Return a kernel for whole numbers that uses `checked` only if the bounds of a batch allow an overflow.

    For all other batches it uses the faster `unchecked`.
    """
    limits = np.iinfo(arrow_type(result).to_pandas_dtype())

    def evaluate(one: Any, other: Any) -> Any:
        low, high = extent(bounds(one), bounds(other))
        return (unchecked if limits.min <= low and high <= limits.max else checked)(one, other)

    return evaluate


def _arithmetic(checked: Kernel, unchecked: Kernel, extent: Callable[[Bounds, Bounds], Bounds]) -> Maker:
    def make(binding: Binding) -> Kernel | None:
        one, other, result = *binding.arguments, binding.result
        if one.is_integral and one == other == result:
            return _exact(checked, unchecked, extent, result)
        if one.is_fractional and one == other == result:
            return unchecked
        if one.is_decimal and other.is_decimal:
            return _decimals(unchecked, result)
        days = one == DATE and other.name == "int"
        plain = one == TIMESTAMP_NTZ or (one == TIMESTAMP and binding.zone is UTC)
        moved = plain and other.name.startswith("interval day") and one == result
        if days or moved:
            arrow = arrow_type(result)
            return lambda a, b: checked(numbers(a), b).cast(arrow)
        return None

    return make


def _decimals(kernel: Kernel, result: Type) -> Kernel:
    arrow = arrow_type(result)

    def evaluate(one: Any, other: Any) -> Any:
        value = kernel(one, other)
        if value.type != arrow:
            raise Unsuitable
        return value

    return evaluate


def _division(binding: Binding) -> Kernel | None:
    if not binding.result.is_fractional:
        return None

    def divide(one: Any, other: Any) -> Any:
        if pc.any(pc.equal(other, pa.scalar(0.0))).as_py() if not isinstance(other, pa.Scalar) else not other.as_py():
            raise Unsuitable
        return pc.divide(one, other)

    return divide


def _by_constant(one: Any, other: Any, *, rest: bool) -> pa.Array | None:
    """Divide non-negative numbers by a positive constant, the fast case.

    Returns:
        The quotient or the remainder; None for other arguments.
    """
    if isinstance(one, pa.Scalar) or not isinstance(other, pa.Scalar) or not other.is_valid or other.as_py() <= 0:
        return None
    if not len(one) or bounds(one)[0] < 0:
        return None
    one = one if not one.offset else pa.concat_arrays([one])
    values = unmasked(one).to_numpy()
    divisor = one.type.to_pandas_dtype()(other.as_py())
    quotients = values // divisor
    if rest:
        quotients *= divisor
        np.subtract(values, quotients, out=quotients)
    return pa.Array.from_buffers(one.type, len(one), [one.buffers()[0], pa.py_buffer(quotients)])


def _whole_division(binding: Binding) -> Kernel | None:
    if binding.arguments[0] != BIGINT:
        return None

    def divide(one: Any, other: Any) -> Any:
        quick = _by_constant(one, other, rest=False)
        return pc.divide_checked(one, other) if quick is None else quick

    return divide


def _rest(operation: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Maker:
    """Return a factory of kernels for remainders of whole numbers, None for other numbers.

    The kernels raise `Unsuitable` for a divisor of zero and for a constant dividend.
    """

    def make(binding: Binding) -> Kernel | None:
        if not binding.result.is_integral:
            return None
        kind = arrow_type(binding.result)

        def evaluate(one: Any, other: Any) -> Any:
            quick = _by_constant(one, other, rest=True)
            if quick is not None:
                return quick
            if isinstance(one, pa.Scalar):
                raise Unsuitable
            divisor = other.as_py() if isinstance(other, pa.Scalar) else filled(other, 1)
            if (isinstance(other, pa.Scalar) and not divisor) or not np.all(divisor):
                raise Unsuitable
            valid = one.is_valid() if isinstance(other, pa.Scalar) else pc.and_(one.is_valid(), other.is_valid())
            values = operation(filled(one, 0), np.asarray(divisor, kind.to_pandas_dtype()))
            return pa.array(values, kind, mask=~valid.to_numpy(zero_copy_only=False))

        return evaluate

    return make


def _pmod(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the remainder as Java calculates it: int and bigint wrap around, smaller whole numbers become int."""
    rest = np.fmod(one, other)
    wide = np.promote_types(one.dtype, np.int32)
    total = rest.astype(wide) + other.astype(wide)
    return np.where(rest < 0, np.fmod(total, other).astype(one.dtype), rest)


def _comparison(kernel: Kernel) -> Maker:
    def make(binding: Binding) -> Kernel | None:
        kind = binding.arguments[0]
        if kind.is_nested or kind.name == "boolean":
            return None
        if kind.is_fractional:
            return _of_numbers(kernel)
        return (lambda one, other: kernel(numbers(one), numbers(other))) if kind.is_datetime else kernel

    return make


def _of_numbers(kernel: Kernel) -> Kernel:
    """Return a comparison in which NaN equals itself and is greater than all other numbers."""
    ranked = _RANKED[kernel]

    def compare(one: Any, other: Any) -> Any:
        if _has_nan(one) or _has_nan(other):
            return ranked(one, other)
        return kernel(one, other)

    return compare


def _equal_ranks(one: Any, other: Any) -> Any:
    return pc.or_(pc.equal(one, other), pc.and_(pc.is_nan(one), pc.is_nan(other)))


def _lower_rank(one: Any, other: Any) -> Any:
    return pc.or_(pc.less(one, other), pc.and_(pc.invert(pc.is_nan(one)), pc.is_nan(other)))


_RANKED: Mapping[Kernel, Kernel] = {
    pc.equal: _equal_ranks,
    pc.not_equal: lambda one, other: pc.invert(_equal_ranks(one, other)),
    pc.less: _lower_rank,
    pc.less_equal: lambda one, other: pc.invert(_lower_rank(other, one)),
    pc.greater: lambda one, other: _lower_rank(other, one),
    pc.greater_equal: lambda one, other: pc.invert(_lower_rank(one, other)),
}


def _same(binding: Binding) -> Kernel | None:
    equal = _comparison(pc.equal)(binding)
    if equal is None:
        return None

    def same(one: Any, other: Any) -> Any:
        both = pc.and_(pc.is_null(one), pc.is_null(other))
        return pc.or_(pc.fill_null(equal(one, other), fill_value=False), both)

    return same


def _member(binding: Binding) -> Kernel | None:
    kind, others = binding.arguments[0], binding.constants[1:]
    if kind.is_nested or kind.is_fractional or kind.is_datetime or kind.is_interval or None in others:
        return None
    values = [each[0] for each in others if each is not None]
    listed = pa.array([value for value in values if value is not None], arrow_type(kind))
    with_null = None in values

    def contains(value: Any, *_others: Any) -> Any:
        if isinstance(value, pa.Scalar):
            raise Unsuitable
        found = pc.is_in(value, value_set=listed)
        known = pc.is_valid(value)
        if with_null:
            known = pc.and_(known, found)
        return pc.if_else(known, found, pa.scalar(None, pa.bool_()))

    return contains


def _checked(checked: Kernel, plain: Kernel) -> Maker:
    def make(binding: Binding) -> Kernel | None:
        kind = binding.arguments[0]
        return checked if kind.is_integral else plain if kind.is_fractional else None

    return make


def _rounded(kernel: Kernel) -> Maker:
    def make(binding: Binding) -> Kernel | None:
        kind = binding.arguments[0]
        if kind.is_integral:
            return lambda value: value
        return (lambda value: kernel(value).cast(pa.int64())) if kind.name == "double" else None

    return make


def _logarithm(kernel: Kernel, least: float) -> Maker:
    def evaluate(value: Any) -> Any:
        return pc.if_else(pc.greater(value, least), kernel(value), pa.scalar(None, pa.float64()))

    def make(binding: Binding) -> Kernel | None:
        del binding
        return _of_one_number(evaluate)

    return make


def _of_one_number(kernel: Kernel) -> Kernel:
    def evaluate(value: Any) -> Any:
        if _has_nan(value):
            raise Unsuitable
        return kernel(value)

    return evaluate


def _present(value: Any) -> Any:
    if not value.is_valid if isinstance(value, pa.Scalar) else value.null_count:
        raise Unsuitable
    return value


KERNELS: Mapping[str, Maker] = {
    "+": _arithmetic(pc.add_checked, pc.add, _sum),
    "-": _arithmetic(pc.subtract_checked, pc.subtract, _difference),
    "*": _arithmetic(pc.multiply_checked, pc.multiply, _product),
    "try_add": _arithmetic(pc.add_checked, pc.add, _sum),
    "try_subtract": _arithmetic(pc.subtract_checked, pc.subtract, _difference),
    "try_multiply": _arithmetic(pc.multiply_checked, pc.multiply, _product),
    "/": _division,
    "try_divide": _division,
    "div": _whole_division,
    "%": _rest(np.fmod),
    "mod": _rest(np.fmod),
    "pmod": _rest(_pmod),
    "negative": _checked(pc.negate_checked, pc.negate),
    "abs": _checked(pc.abs_checked, pc.abs),
    "=": _comparison(pc.equal),
    "<>": _comparison(pc.not_equal),
    "<": _comparison(pc.less),
    "<=": _comparison(pc.less_equal),
    ">": _comparison(pc.greater),
    ">=": _comparison(pc.greater_equal),
    "<=>": _same,
    "in": _member,
    "not": always(pc.invert),
    presence.NAME: always(_present),
    "isnull": always(pc.is_null),
    "isnotnull": always(pc.is_valid),
    "isnan": always(lambda value: pc.fill_null(pc.is_nan(value), fill_value=False)),
    "ceil": _rounded(pc.ceil),
    "ceiling": _rounded(pc.ceil),
    "floor": _rounded(pc.floor),
    "sqrt": always(pc.sqrt),
    "ln": _logarithm(pc.ln, 0.0),
    "log10": _logarithm(pc.log10, 0.0),
    "&": always(pc.bit_wise_and),
    "|": always(pc.bit_wise_or),
    "^": always(pc.bit_wise_xor),
    "~": always(pc.bit_wise_not),
    **TEXT_KERNELS,
    **MOMENT_KERNELS,
}
"""Kernel factories by function name. A factory returns the kernel for given types, or None if there is none."""
