"""Functions of numbers."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Sequence
from typing import Any

from streams_orchestration.expressions.conversion import EXACT
from streams_orchestration.expressions.errors import EvaluationError, MisfitError
from streams_orchestration.expressions.functions.arithmetic import one_number
from streams_orchestration.expressions.functions.ranges import checked
from streams_orchestration.expressions.table import Binding, FunctionGroup, Operand, Resolved, TupleFunction
from streams_orchestration.expressions.types import BIGINT, DOUBLE, INT, Type
from streams_orchestration.expressions.value_texts import single, write_floating

MATHEMATICS = FunctionGroup("Mathematics")
_MOST_DIGITS = 350


def _rounded(operands: Sequence[Operand]) -> Resolved | None:
    """Resolve a rounding. The number of digits must be constant, since a decimal's type depends on it.

    None if the operands do not fit.
    """
    if not 1 <= len(operands) <= 2:
        return None
    if len(operands) == 2 and operands[1].constant is None:
        message = "the number of digits must be constant"
        raise MisfitError(message)
    number = one_number(operands[:1])
    if number is None or number.result.is_interval:
        return None
    kind = number.result
    if kind.is_decimal:
        digits = _digits(operands[1].constant if len(operands) > 1 else None)
        kind = _rounded_decimal(kind, digits)
    return Resolved((number.result, INT)[: len(operands)], kind)


def _digits(constant: tuple[Any] | None) -> int:
    if constant is None or constant[0] is None:
        return 0
    try:
        return int(constant[0])
    except (TypeError, ValueError) as error:
        message = f"the number of digits cannot be {constant[0]!r}"
        raise MisfitError(message) from error


def _rounded_decimal(kind: Type, digits: int) -> Type:
    whole = kind.precision - kind.scale + 1
    if digits < 0:
        return Type("decimal", min(max(whole, -digits + 1), 38), 0)
    scale = min(kind.scale, digits)
    return Type("decimal", min(whole + scale, 38), scale)


def _rounding(mode: str) -> Callable[[Binding], TupleFunction]:
    def bind(binding: Binding) -> TupleFunction:
        result = binding.result
        digits = _digits(binding.constants[1] if len(binding.constants) > 1 else None)

        def rounded(value: Any) -> decimal.Decimal:
            number = decimal.Decimal(write_floating(value, result) if isinstance(value, float) else value)
            exponent = number.as_tuple().exponent
            if isinstance(exponent, int) and exponent >= -digits:
                return number
            return number.quantize(decimal.Decimal((0, (1,), -digits)), rounding=mode, context=EXACT)

        def of(value: Any, _count: object = None) -> Any:
            if result.is_fractional:
                if not math.isfinite(value):
                    return value
                return single(float(rounded(value))) if result.name == "float" else float(rounded(value))
            if result.is_integral:
                return value if digits >= 0 else checked(int(rounded(value)), result)
            exponent = value.as_tuple().exponent
            if digits >= -exponent:
                return value
            return EXACT.plus(rounded(value).quantize(decimal.Decimal((0, (1,), -result.scale)), context=EXACT))

        return of

    return bind


MATHEMATICS.bound(
    summary="Round to a constant number of digits after the decimal point; halves are rounded away from zero.",
    examples=[("round(2.5)", "3"), ("round(25, -1)", "30")],
    resolver=_rounded,
    name="round",
    fails=True,
)(_rounding(decimal.ROUND_HALF_UP))
MATHEMATICS.bound(
    summary="Round to a constant number of digits after the decimal point; halves are rounded to the even neighbour.",
    examples=[("bround(2.5)", "2")],
    resolver=_rounded,
    name="bround",
    fails=True,
)(_rounding(decimal.ROUND_HALF_EVEN))


def _to_whole(operands: Sequence[Operand]) -> Resolved | None:
    number = one_number(operands)
    if number is None or number.result.is_interval:
        return None
    if number.result.is_decimal:
        return Resolved(number.arguments, _rounded_decimal(number.result, 0))
    return Resolved((BIGINT,) if number.result.is_integral else (DOUBLE,), BIGINT)


def _bound_whole(of_float: Callable[[float], int], mode: str) -> Callable[[Binding], TupleFunction]:
    def bind(binding: Binding) -> TupleFunction:
        if binding.result.is_decimal:
            return lambda value: EXACT.plus(value.quantize(decimal.Decimal(1), rounding=mode, context=EXACT))

        def whole(value: float) -> int:
            if isinstance(value, float) and not math.isfinite(value):
                return 0 if math.isnan(value) else (2**63 - 1 if value > 0 else -(2**63))
            return min(max(of_float(value), -(2**63)), 2**63 - 1)

        return whole

    return bind


MATHEMATICS.bound(
    summary="Return the smallest whole number that is not below the value.",
    examples=[("ceil(2.5)", "3")],
    resolver=_to_whole,
    name="ceil",
    aliases=["ceiling"],
)(_bound_whole(math.ceil, decimal.ROUND_CEILING))
MATHEMATICS.bound(
    summary="Return the largest whole number that is not above the value.",
    examples=[("floor(2.5)", "2")],
    resolver=_to_whole,
    name="floor",
)(_bound_whole(math.floor, decimal.ROUND_FLOOR))


def _of_double(
    name: str, function: Callable[[float], float], summary: str, example: tuple[str, str], aliases: Sequence[str] = ()
) -> None:
    """Add a function of one double to the table.

    The result is NaN outside of its domain, and infinity after an overflow of `function`.
    """

    def row(value: float) -> float:
        try:
            return function(value)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    signature = f"{name}(value double) -> double"
    MATHEMATICS.function(signature, aliases=aliases, summary=summary, examples=[example])(row)


def _logarithm(function: Callable[[float], float], least: float = 0.0) -> Callable[[float], float | None]:
    def row(value: float) -> float | None:
        if value <= least:
            return None
        return function(value)

    return row


_of_double("sqrt", math.sqrt, "Return the square root.", ("sqrt(4)", "2.0"))


def _cube_root(value: float) -> float:
    root = math.cbrt(value)
    return root - (root * root * root - value) / (3 * root * root) if root and math.isfinite(root) else root


_of_double("cbrt", _cube_root, "Return the cube root.", ("cbrt(27)", "3.0"))
_of_double("exp", math.exp, "Return e to the power of the number.", ("exp(0)", "1.0"))
_of_double("expm1", math.expm1, "Return e to the power of the number, minus one.", ("expm1(0)", "0.0"))
_of_double("sin", math.sin, "Return the sine of an angle in radians.", ("sin(0)", "0.0"))
_of_double("cos", math.cos, "Return the cosine of an angle in radians.", ("cos(0)", "1.0"))
_of_double("tan", math.tan, "Return the tangent of an angle in radians.", ("tan(0)", "0.0"))
_of_double("asin", math.asin, "Return the angle in radians that has this sine.", ("asin(0)", "0.0"))
_of_double("acos", math.acos, "Return the angle in radians that has this cosine.", ("acos(1)", "0.0"))
_of_double("atan", math.atan, "Return the angle in radians that has this tangent.", ("atan(0)", "0.0"))


def _sinh(value: float) -> float:
    try:
        return math.sinh(value)
    except OverflowError:
        return math.copysign(math.inf, value)


_of_double("sinh", _sinh, "Return the hyperbolic sine.", ("sinh(0)", "0.0"))
_of_double("cosh", math.cosh, "Return the hyperbolic cosine.", ("cosh(0)", "1.0"))
_of_double("tanh", math.tanh, "Return the hyperbolic tangent.", ("tanh(0)", "0.0"))
_of_double("degrees", lambda value: value * (180.0 / math.pi), "Convert radians to degrees.", ("degrees(0)", "0.0"))
_of_double("radians", lambda value: value * (math.pi / 180.0), "Convert degrees to radians.", ("radians(0)", "0.0"))
_of_double(
    "rint",
    lambda value: math.copysign(round(value), value) if math.isfinite(value) else value,
    "Return the nearest whole number as a double; halves are rounded to the even neighbour.",
    ("rint(2.5)", "2.0"),
)


def _sign(value: float) -> float:
    return value if value == 0 or math.isnan(value) else math.copysign(1.0, value)


_of_double("signum", _sign, "Return the sign as -1, 0 or 1.", ("signum(-5)", "-1.0"), aliases=["sign"])

for _name, _row, _example in (
    ("ln", _logarithm(math.log), ("ln(1)", "0.0")),
    ("log10", _logarithm(math.log10), ("log10(100)", "2.0")),
    ("log2", _logarithm(math.log2), ("log2(8)", "3.0")),
    ("log1p", _logarithm(math.log1p, -1.0), ("log1p(0)", "0.0")),
):
    MATHEMATICS.function(
        f"{_name}(value double) -> double",
        summary="Return the logarithm; null for numbers without one.",
        examples=[_example],
    )(_row)


@MATHEMATICS.function(
    "log(value double) -> double",
    "log(base double, value double) -> double",
    summary="Return the natural logarithm, or the logarithm to a base; null outside of its domain.",
    examples=[("log(2, 8)", "3.0")],
)
def _log(*values: float) -> float | None:
    if any(value <= 0 for value in values):
        return None
    if len(values) == 1:
        return math.log(values[0])
    base = math.log(values[0])
    number = math.log(values[1])
    if base == 0:
        return math.nan if number == 0 else math.copysign(math.inf, number)
    return number / base


def _power(base: float, exponent: float) -> float:
    try:
        value = math.pow(base, exponent)
    except ValueError:
        return math.inf if base == 0 else math.nan
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    return math.nan if abs(base) == 1 and (math.isinf(exponent) or math.isnan(exponent)) else value


MATHEMATICS.function(
    "power(base double, exponent double) -> double",
    aliases=["pow"],
    summary="Return the first number to the power of the second.",
    examples=[("power(2, 3)", "8.0")],
)(_power)
MATHEMATICS.function(
    "atan2(y double, x double) -> double",
    summary="Return the angle in radians between the x axis and the point (x, y).",
    examples=[("atan2(0, 1)", "0.0")],
)(math.atan2)
MATHEMATICS.function(
    "hypot(x double, y double) -> double",
    summary="Return the distance of the point (x, y) from the origin.",
    examples=[("hypot(3, 4)", "5.0")],
)(math.hypot)
MATHEMATICS.function("pi() -> double", summary="Return the number pi.", examples=[("pi()", "3.141592653589793")])(
    lambda: math.pi
)
MATHEMATICS.function("e() -> double", summary="Return Euler's number.", examples=[("e()", "2.718281828459045")])(
    lambda: math.e
)


@MATHEMATICS.function(
    "factorial(value int) -> bigint",
    summary="Return the factorial of a number from 0 to 20; null for any other number.",
    examples=[("factorial(5)", "120")],
)
def _factorial(value: int) -> int | None:
    return math.factorial(value) if 0 <= value <= 20 else None


@MATHEMATICS.function(
    "width_bucket(value double, low double, high double, buckets bigint) -> bigint",
    summary=(
        "Return the number of the equal-width bucket that holds the value, from 1; 0 below all buckets, "
        "their number plus one above."
    ),
    examples=[("width_bucket(5, 0, 10, 5)", "3")],
)
def _width_bucket(value: float, low: float, high: float, buckets: int) -> int | None:
    if buckets <= 0 or math.isnan(value) or low == high or not (math.isfinite(low) and math.isfinite(high)):
        return None
    if buckets == 2**63 - 1:
        return None
    below, beyond = (value < low, value >= high) if low < high else (value > low, value <= high)
    if below:
        return 0
    return buckets + 1 if beyond else int(buckets * (value - low) / (high - low)) + 1


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@MATHEMATICS.function(
    "conv(number string, from int, to int) -> string",
    summary="Convert the digits of a whole number from one base to another.",
    examples=[("conv('ff', 16, 10)", "255")],
    fails=True,
)
def _conv(number: str, source: int, target: int) -> str | None:
    if not (2 <= source <= 36 and 2 <= abs(target) <= 36):
        return None
    text = number.strip(" ").upper()
    negative = text.startswith("-")
    value = 0
    digits = text[negative:]
    if not digits:
        return None
    for mark in digits:
        place = _DIGITS.find(mark)
        if place < 0 or place >= source:
            break
        value = value * source + place
    if value >= 2**64:
        message = f"{number!r} is beyond 64 bits"
        raise EvaluationError(message)
    if negative:
        value = (-value) % 2**64 if target > 0 else -value
    if target < 0:
        value = value - 2**64 if value >= 2**63 else value
    sign, value = ("-", -value) if value < 0 else ("", value)
    written = ""
    while value:
        value, place = divmod(value, abs(target))
        written = _DIGITS[place] + written
    return sign + (written or "0")


@MATHEMATICS.bound(
    "format_number(value number, digits int) -> string",
    summary="Return the number as text with commas between thousands, rounded half to even to these decimal places.",
    examples=[("format_number(12332.123456, 4)", "12,332.1235")],
    exact=True,
    fails=True,
)
def _format_number(binding: Binding) -> TupleFunction:
    del binding

    def row(value: Any, digits: int) -> str | None:
        if digits < 0:
            return None
        if digits > _MOST_DIGITS:
            message = f"{digits:,} digits after the decimal point are too many; at most {_MOST_DIGITS} are possible"
            raise EvaluationError(message)
        if isinstance(value, float) and not math.isfinite(value):
            return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"
        number = decimal.Decimal(value).quantize(
            decimal.Decimal((0, (1,), -digits)), rounding=decimal.ROUND_HALF_EVEN, context=decimal.Context(prec=800)
        )
        return f"{number:,f}"

    return row
