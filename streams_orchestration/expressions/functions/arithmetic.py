"""Arithmetic with numbers, dates, times and intervals."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from streams_orchestration.expressions.coercion import as_decimal, common
from streams_orchestration.expressions.conversion import EXACT
from streams_orchestration.expressions.errors import EvaluationError
from streams_orchestration.expressions.functions.ranges import checked, scaled
from streams_orchestration.expressions.functions.shifting import elapsed, shifted
from streams_orchestration.expressions.table import (
    Binding,
    FunctionGroup,
    Operand,
    Resolved,
    TupleFunction,
    with_timestamps,
)
from streams_orchestration.expressions.times import DAY as MICROS_OF_A_DAY
from streams_orchestration.expressions.types import (
    BIGINT,
    DATE,
    DAY,
    DAY_TIME,
    DOUBLE,
    INT,
    TIMESTAMP,
    YEAR_MONTH,
    Type,
    adjusted_decimal,
)
from streams_orchestration.expressions.value_texts import single

ARITHMETIC = FunctionGroup("Arithmetic")


def _number(kind: Type) -> Type:
    return DOUBLE if kind.name in ("string", "void") else kind


def _decimal_of(operand: Operand) -> Type:
    """Return the decimal type that holds an operand's values; for an integer literal, it has the digits of its text."""
    if operand.type.is_integral and operand.literal and operand.constant is not None:
        return Type("decimal", max(len(str(abs(operand.constant[0]))), 1), 0)
    return as_decimal(operand.type)


def numbers_of(operands: Sequence[Operand]) -> tuple[Type, Type] | None:
    """Return the types that two numbers are converted to for a calculation: one common type, or two decimals.

    None if the operands are not two numbers.
    """
    if len(operands) != 2:
        return None
    one, other = (each.type for each in operands)
    if {one.name, other.name} <= {"string", "void"}:
        return DOUBLE, DOUBLE
    together = common(one, other)
    if together is None or not together.is_numeric:
        return None
    if not together.is_decimal:
        return together, together
    return _decimal_of(operands[0]), _decimal_of(operands[1])


def _sum_type(one: Type, other: Type) -> Type:
    scale = max(one.scale, other.scale)
    return adjusted_decimal(max(one.precision - one.scale, other.precision - other.scale) + scale + 1, scale)


def _product_type(one: Type, other: Type) -> Type:
    return adjusted_decimal(one.precision + other.precision + 1, one.scale + other.scale)


def _quotient_type(one: Type, other: Type) -> Type:
    scale = max(6, one.scale + other.precision + 1)
    return adjusted_decimal(one.precision - one.scale + other.scale + scale, scale)


def _remainder_type(one: Type, other: Type) -> Type:
    scale = max(one.scale, other.scale)
    return adjusted_decimal(min(one.precision - one.scale, other.precision - other.scale) + scale, scale)


def _arithmetic(of_decimals: Callable[[Type, Type], Type]) -> Callable[[Sequence[Operand]], Resolved | None]:
    def resolve(operands: Sequence[Operand]) -> Resolved | None:
        kinds = numbers_of(operands)
        if kinds is None:
            return None
        return Resolved(kinds, of_decimals(*kinds) if kinds[0].is_decimal else kinds[0])

    return resolve


def _times(operands: Sequence[Operand], sign: str) -> Resolved | None:
    """Return the types of a sum or difference with dates, times and intervals; None for any other operands."""
    one, other = (each.type for each in operands)
    if one.name == "string" and other.is_datetime and sign == "-":
        one = other
    if other.name == "string" and one.is_datetime and sign == "-":
        other = one
    if one.is_interval and other.is_interval:
        both = one if one == other else common(one, other)
        return None if both is None else Resolved((both, both), both)
    if one.is_interval and other.is_datetime and sign == "+":
        turned = _times((operands[1], operands[0]), sign)
        return None if turned is None else Resolved((turned.arguments[1], turned.arguments[0]), turned.result)
    if one.is_datetime and other.is_interval:
        exact = one != DATE or other in (DAY, YEAR_MONTH)
        return Resolved((one, other), one) if exact else Resolved((TIMESTAMP, other), TIMESTAMP)
    if one == DATE and other.name in ("tinyint", "smallint", "int"):
        return Resolved((DATE, INT), DATE)
    if other == DATE and one.name in ("tinyint", "smallint", "int") and sign == "+":
        return Resolved((INT, DATE), DATE)
    if one.is_datetime and other.is_datetime and sign == "-":
        if one == DATE and other == DATE:
            return Resolved((DATE, DATE), DAY)
        both = common(one, other)
        return None if both is None else Resolved((both, both), DAY_TIME)
    return None


def _additive(sign: str) -> Callable[[Sequence[Operand]], Resolved | None]:
    numbers = _arithmetic(_sum_type)

    def resolve(operands: Sequence[Operand]) -> Resolved | None:
        if len(operands) != 2:
            return None
        return _times(operands, sign) or numbers(operands)

    return resolve


def _multiplied(operands: Sequence[Operand]) -> Resolved | None:
    if len(operands) == 2:
        one, other = (each.type for each in operands)
        if one.is_interval and other.is_integral:
            return Resolved((one, BIGINT), DAY_TIME if one == DAY else one)
        if other.is_interval and one.is_integral:
            return Resolved((BIGINT, other), DAY_TIME if other == DAY else other)
    return _arithmetic(_product_type)(operands)


def _divided(operands: Sequence[Operand]) -> Resolved | None:
    kinds = numbers_of(operands)
    if kinds is None:
        return None
    if kinds[0].is_decimal:
        return Resolved(kinds, _quotient_type(*kinds))
    return Resolved((DOUBLE, DOUBLE), DOUBLE)


def _whole_quotient(operands: Sequence[Operand]) -> Resolved | None:
    kinds = numbers_of(operands)
    if kinds is None or kinds[0].is_fractional:
        return None
    return Resolved(kinds if kinds[0].is_decimal else (BIGINT, BIGINT), BIGINT)


def _calculator(binding: Binding, whole: TupleFunction, floating: TupleFunction, exact: TupleFunction) -> TupleFunction:
    """Return a row function; it raises EvaluationError if a result other than a float is out of the range of its type.

    A float out of range becomes infinite.
    """
    result = binding.result
    if binding.arguments[0].is_decimal:
        return lambda one, other: scaled(exact(one, other), result)
    if result.name == "float":
        return lambda one, other: single(floating(one, other))
    if result.name == "double":
        return floating
    kind = result if result.is_integral else INT if result == YEAR_MONTH else BIGINT
    return lambda one, other: checked(whole(one, other), kind)


@ARITHMETIC.bound(
    summary=(
        "Return the sum. A date plus a number is the date that many days later; a time plus an interval is a later "
        "time."
    ),
    examples=[("1 + 2", "3"), ("DATE '2024-01-31' + INTERVAL 1 MONTH", "2024-02-29")],
    resolver=_additive("+"),
    name="+",
    fails=True,
    zoned=with_timestamps,
)
def _add(binding: Binding) -> TupleFunction:
    one, other = binding.arguments
    if binding.result.is_datetime:
        move = shifted(binding, 1)
        return move if one.is_datetime else lambda amount, value: move(value, amount)
    del other
    return _calculator(binding, operator.add, operator.add, EXACT.add)


@ARITHMETIC.bound(
    summary="Return the difference. The difference of two points in time is an interval.",
    examples=[("5 - 7", "-2"), ("DATE '2024-03-01' - 1", "2024-02-29")],
    resolver=_additive("-"),
    name="-",
    fails=True,
    zoned=with_timestamps,
)
def _subtract(binding: Binding) -> TupleFunction:
    if binding.result.is_datetime:
        return shifted(binding, -1)
    if binding.arguments[0] == DATE:
        return lambda one, other: checked((one - other) * MICROS_OF_A_DAY, BIGINT)
    if binding.arguments[0] == TIMESTAMP:
        return elapsed(binding)
    return _calculator(binding, operator.sub, operator.sub, EXACT.subtract)


@ARITHMETIC.bound(
    summary="Return the product.",
    examples=[("3 * 4", "12"), ("1.5 * 2.25", "3.375")],
    resolver=_multiplied,
    name="*",
    fails=True,
)
def _multiply(binding: Binding) -> TupleFunction:
    return _calculator(binding, operator.mul, operator.mul, EXACT.multiply)


def by_zero() -> EvaluationError:
    """Return the error of a division by zero."""
    return EvaluationError("division by zero")


def _divide(binding: Binding) -> TupleFunction:
    def divide(one: Any, other: Any) -> Any:
        if other == 0:
            raise by_zero()
        return scaled(EXACT.divide(one, other), binding.result) if binding.result.is_decimal else one / other

    return divide


ARITHMETIC.bound(
    summary="Return the quotient: a double for whole numbers, a decimal for decimals.",
    examples=[("7 / 2", "3.5"), ("10 / 3.0", "3.333333")],
    resolver=_divided,
    name="/",
    fails=True,
)(_divide)


@ARITHMETIC.bound(
    summary="Return the quotient without its fraction (rounded towards zero).",
    examples=[("-7 DIV 2", "-3")],
    resolver=_whole_quotient,
    name="div",
    fails=True,
)
def _div(binding: Binding) -> TupleFunction:
    def divide(one: Any, other: Any) -> int:
        if other == 0:
            raise by_zero()
        quotient = EXACT.divide_int(one, other) if binding.arguments[0].is_decimal else abs(one) // abs(other)
        sign = 1 if binding.arguments[0].is_decimal or (one < 0) == (other < 0) else -1
        return checked(sign * int(quotient), BIGINT)

    return divide


def _remainder(binding: Binding) -> TupleFunction:
    def remainder(one: Any, other: Any) -> Any:
        if other == 0:
            raise by_zero()
        if binding.arguments[0].is_decimal:
            return scaled(EXACT.remainder(one, other), binding.result)
        if binding.result.is_fractional:
            return math.nan if math.isinf(one) or math.isnan(one) or math.isnan(other) else math.fmod(one, other)
        return int(math.copysign(1, one)) * (abs(one) % abs(other))

    return remainder


for _name, _example in (("%", ("-7 % 3", "-1")), ("mod", ("mod(7, 3)", "1"))):
    ARITHMETIC.bound(
        summary="Return the remainder, which has the sign of the dividend.",
        examples=[_example],
        resolver=_arithmetic(_remainder_type),
        name=_name,
        fails=True,
    )(_remainder)


@ARITHMETIC.bound(
    summary="Return the remainder; it is not negative for a positive divisor.",
    examples=[("pmod(-7, 3)", "2")],
    resolver=_arithmetic(_remainder_type),
    name="pmod",
    fails=True,
)
def _pmod(binding: Binding) -> TupleFunction:
    remainder, add = _remainder(binding), _plus(binding.result)

    def positive(one: Any, other: Any) -> Any:
        rest = remainder(one, other)
        return remainder(add(rest, other), other) if rest < 0 else rest

    return positive


def _plus(kind: Type) -> TupleFunction:
    """Return Java's `+` for a type of numbers: int and bigint wrap around, smaller whole numbers are added as int."""
    if kind.is_decimal:
        return EXACT.add
    if kind.name == "float":
        return lambda one, other: single(one + other)
    if kind.is_integral:
        half = 2**63 if kind == BIGINT else 2**31
        return lambda one, other: (one + other + half) % (2 * half) - half
    return operator.add


for _name, _plain in (("try_add", _add), ("try_subtract", _subtract), ("try_multiply", _multiply)):
    _sign = {"try_add": "+", "try_subtract": "-", "try_multiply": "*"}[_name]
    ARITHMETIC.bound(
        summary=f"Return the same as `{_sign}`, or null if `{_sign}` fails.",
        examples=[(f"{_name}(2147483647, 2147483647)", "0" if _sign == "-" else "NULL")],
        resolver=_multiplied if _sign == "*" else _additive(_sign),
        name=_name,
        lenient=True,
        zoned=with_timestamps,
    )(_plain)
for _name, _sign, _resolver, _plain in (
    ("try_divide", "/", _divided, _divide),
    ("try_mod", "%", _arithmetic(_remainder_type), _remainder),
):
    ARITHMETIC.bound(
        summary=f"Return the same as `{_sign}`, or null for a division by zero.",
        examples=[(f"{_name}(1, 0)", "NULL")],
        resolver=_resolver,
        name=_name,
        lenient=True,
    )(_plain)


def one_number(operands: Sequence[Operand]) -> Resolved | None:
    """Resolve a function of one number or interval whose result has the type of its argument.

    A text and NULL count as a double. None if the operands do not fit.
    """
    if len(operands) != 1:
        return None
    kind = _number(operands[0].type)
    return Resolved((kind,), kind) if kind.is_numeric or kind.is_interval else None


@ARITHMETIC.bound(
    summary="Return the number with the opposite sign.",
    examples=[("negative(1.5)", "-1.5")],
    resolver=one_number,
    name="negative",
    fails=True,
)
def _negative(binding: Binding) -> TupleFunction:
    kind = binding.result if binding.result.is_integral else BIGINT
    if binding.result.is_integral or binding.result.is_interval:
        return lambda value: checked(-value, kind)
    return EXACT.minus if binding.result.is_decimal else operator.neg


ARITHMETIC.function(
    summary="Return the number itself.", examples=[("positive(1.5)", "1.5")], resolver=one_number, name="positive"
)(lambda value: value)


@ARITHMETIC.bound(
    summary="Return the absolute value.",
    examples=[("abs(-1.5)", "1.5")],
    resolver=one_number,
    name="abs",
    fails=True,
)
def _abs(binding: Binding) -> TupleFunction:
    kind = binding.result if binding.result.is_integral else BIGINT
    if binding.result.is_integral or binding.result.is_interval:
        return lambda value: checked(abs(value), kind)
    return EXACT.abs if binding.result.is_decimal else abs
