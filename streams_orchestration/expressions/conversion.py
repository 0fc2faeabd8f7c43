"""Conversion of a value to another type: the meaning of `CAST` in ANSI mode.

Values are Python's: int for whole numbers, dates (days), timestamps (microseconds) and intervals (microseconds, or
months); float, where a `float` has a value of 32 bits; `Decimal` with the scale of its type; bool, str, bytes; tuples
for arrays and structs, dict for maps; None for NULL.
"""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import math
import re
from collections.abc import Callable
from typing import Any

from streams_orchestration.expressions.errors import EvaluationError
from streams_orchestration.expressions.maps import map_from
from streams_orchestration.expressions.times import (
    DAY,
    SECOND,
    from_local,
    read_date,
    read_timestamp,
    to_local,
    write_date,
)
from streams_orchestration.expressions.types import INTEGRAL_RANGES, VOID, Type
from streams_orchestration.expressions.value_texts import single, write_floating, writer

EXACT = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)
"""The decimal context with enough digits to multiply and divide decimals of 38 digits exactly."""

Converter = Callable[[Any], Any]

_WHOLE = re.compile(r"[+-]?[0-9]+")
_FLOATING = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[dDfF]?")
_HEXADECIMAL = re.compile(r"([+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?[0-9]+)[dDfF]?")
_NAMED = {"inf": math.inf, "infinity": math.inf, "nan": math.nan}
_BLANK = "".join(map(chr, range(33)))
"""Characters that are stripped around a number, a date or a boolean in a text."""
_TRUE = frozenset(("t", "true", "y", "yes", "1"))
_FALSE = frozenset(("f", "false", "n", "no", "0"))


def can_convert(source: Type, target: Type) -> bool:
    """Return True if ANSI mode can convert at least some values of one type to another."""
    if source in (target, VOID):
        return True
    if source.is_nested and source.name == target.name:
        same = source.name != "struct" or len(source.parts) == len(target.parts)
        return same and all(map(can_convert, source.parts, target.parts))
    if target.name == "string":
        return True
    if source.is_nested or target.is_nested or target == VOID:
        return False
    if source.name == "string":
        return not target.is_interval
    if source.name == "timestamp":
        return target.is_datetime or target.is_numeric
    if source.is_datetime:
        return target.is_datetime
    if source.is_interval:
        return source.name.startswith("interval day") and target.name.startswith("interval day")
    simple = target.is_numeric or target.name == "boolean"
    return simple if source.name == "boolean" else source.is_numeric and (simple or target.name == "timestamp")


def never_fails(source: Type, target: Type) -> bool:
    """Return True if a conversion that `can_convert` allows never fails, so that no check is needed."""
    if source in (target, VOID) or (target.name in ("string", "boolean") and source.name != "string"):
        return True
    if source.is_nested and source.name == target.name:
        return all(map(never_fails, source.parts, target.parts))
    if source.is_integral or source.name == "boolean":
        if target.is_integral:
            low, high = INTEGRAL_RANGES[target.name]
            least, most = INTEGRAL_RANGES.get(source.name, (0, 1))
            return low <= least and most <= high
        digits = 1 if source.name == "boolean" else len(str(INTEGRAL_RANGES[source.name][1]))
        return not target.is_decimal or target.precision - target.scale >= digits
    if source.is_numeric:
        whole = source.precision - source.scale
        narrower = target.scale >= source.scale and target.precision - target.scale >= whole
        return target.is_fractional or (source.is_decimal and target.is_decimal and narrower)
    if source.name == "string":
        return target.name == "binary"
    return source.is_datetime and target.name == "date"


@functools.lru_cache(maxsize=4096)
def converter(source: Type, target: Type, zone: dt.tzinfo) -> Converter:
    """Return the function that converts values of one type to another; it is never called with NULL.

    The function raises EvaluationError for a value that the target type cannot represent.

    Args:
        source: the type of the values.
        target: the type to convert to, which `can_convert` allows.
        zone: the time zone for texts that name none.
    """
    if source in (target, VOID):
        return lambda value: value
    if target.name == "string":
        return writer(source, zone)
    if source.is_nested:
        return _of_parts(source, target, zone)
    if source.name == "string":
        return _reader(target, zone)
    if target.is_integral:
        return _to_whole(source, target)
    if target.is_fractional:
        return _to_floating(source, target)
    if target.is_decimal:
        return _to_decimal(source, target)
    if target.name == "boolean":
        return bool
    if target.name == "binary":
        return lambda value: value.encode() if isinstance(value, str) else value
    if target.is_datetime:
        return _to_datetime(source, target, zone)
    return lambda value: value


def depends_on_zone(source: Type, target: Type) -> bool:
    """Return True if the result of a conversion depends on the time zone."""
    if source == target:
        return False
    if source.parts and target.parts:
        return any(map(depends_on_zone, source.parts, target.parts))
    if target.name == "string":
        return source.holds("timestamp")
    others = ("string", "date", "timestamp_ntz")
    return (source.name, target.name) in {
        *((each, "timestamp") for each in others),
        *(("timestamp", each) for each in others),
    }


def failure(value: object, source: Type, target: Type, zone: dt.tzinfo) -> EvaluationError:
    """Return the error for a value that cannot be converted from one type to another."""
    shown = repr(value) if source.name == "string" else writer(source, zone)(value)
    reason = f"is not a valid {target}" if source.name == "string" else f"is beyond the range of {target}"
    return EvaluationError(f"{shown} {reason}")


def _of_parts(source: Type, target: Type, zone: dt.tzinfo) -> Converter:
    each = [_or_null(converter(*pair, zone)) for pair in zip(source.parts, target.parts, strict=True)]
    if source.name == "array":
        return lambda value: tuple(map(each[0], value))
    if source.name == "map":
        return lambda value: map_from((each[0](key), each[1](item)) for key, item in value.items())
    return lambda value: tuple(convert(part) for convert, part in zip(each, value, strict=True))


def _or_null(convert: Converter) -> Converter:
    return lambda value: None if value is None else convert(value)


def _reader(target: Type, zone: dt.tzinfo) -> Converter:
    """Return the function that reads texts as values of a type, without the blanks around them.

    It raises EvaluationError for a text that is not such a value.
    """
    read: Callable[[str], Any]
    if target.is_integral:
        read = functools.partial(_read_whole, INTEGRAL_RANGES[target.name])
    elif target.is_fractional:
        read = _read_single if target.name == "float" else _read_double
    elif target.is_decimal:
        read = functools.partial(_read_decimal, target)
    elif target.name == "boolean":
        read = _read_boolean
    elif target.name == "date":
        read = read_date
    elif target.name == "binary":
        return lambda value: value.encode()
    else:
        read = functools.partial(read_timestamp, zone=zone if target.name == "timestamp" else None)

    def convert(text: str) -> Any:
        value = read(text.strip(_BLANK))
        if value is None:
            message = f"{text!r} is not a valid {target}"
            raise EvaluationError(message)
        return value

    return convert


def _read_whole(limits: tuple[int, int], text: str) -> int | None:
    value = int(text) if _WHOLE.fullmatch(text) and len(text) <= 64 else None
    return value if value is not None and limits[0] <= value <= limits[1] else None


def _read_double(text: str) -> float | None:
    if match := _FLOATING.fullmatch(text):
        return float(match[1])
    if match := _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(match[1])
        except OverflowError:
            return -math.inf if text.startswith("-") else math.inf
    named = _NAMED.get(text.lstrip("+-").lower()) if len(text.lstrip("+-")) >= len(text) - 1 else None
    return named if named is None or not text.startswith("-") else -named


def _read_single(text: str) -> float | None:
    value = _read_double(text)
    return None if value is None else single(value)


def _read_decimal(target: Type, text: str) -> decimal.Decimal | None:
    if not _FLOATING.fullmatch(text) or text[-1] in "dDfF":
        return None
    value = decimal.Decimal(text)
    return bounded(value, target) if value.adjusted() < 100 else None


def _read_boolean(text: str) -> bool | None:
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else None


def bounded(value: decimal.Decimal, target: Type) -> decimal.Decimal | None:
    """Return a decimal with the scale of a type, rounded half up, or None if it has too many digits."""
    if value and value.adjusted() >= target.precision - target.scale:
        return None
    rounded = EXACT.plus(value.quantize(decimal.Decimal((0, (1,), -target.scale)), context=EXACT))
    return rounded if len(rounded.as_tuple().digits) <= target.precision or not rounded else None


def _to_whole(source: Type, target: Type) -> Converter:
    low, high = INTEGRAL_RANGES[target.name]
    per_unit = SECOND if source.name == "timestamp" else 1

    def convert(value: Any) -> int:
        finite = not isinstance(value, float) or math.isfinite(value)
        whole = int(value) // per_unit if finite else high + 1
        if not low <= whole <= high:
            raise failure(value, source, target, dt.UTC)
        return whole

    return convert


def _to_floating(source: Type, target: Type) -> Converter:
    exact = single if target.name == "float" else float
    if source.name == "timestamp":
        return lambda value: exact(value / SECOND)
    return lambda value: exact(float(value))


def _to_decimal(source: Type, target: Type) -> Converter:
    def convert(value: Any) -> decimal.Decimal:
        if isinstance(value, float):
            number = decimal.Decimal(write_floating(value, source)) if math.isfinite(value) else None
        else:
            number = decimal.Decimal(value)
            number = number.scaleb(-6, EXACT) if source.name == "timestamp" else number
        result = None if number is None or number.adjusted() > 99 else bounded(number, target)
        if result is None:
            raise failure(value, source, target, dt.UTC)
        return result

    return convert


def _to_datetime(source: Type, target: Type, zone: dt.tzinfo) -> Converter:
    match source.name, target.name:
        case "timestamp", "date":
            return lambda value: to_local(value, zone) // DAY
        case "timestamp", _:
            return lambda value: _in_range(to_local(value, zone))
        case "timestamp_ntz", "date":
            return lambda value: value // DAY
        case "timestamp_ntz", _:
            return lambda value: _in_range(from_local(value, zone))
        case "date", "timestamp":
            return lambda value: _in_range(from_local(value * DAY, zone))
        case "date", _:
            return lambda value: _in_range(value * DAY)
        case _:
            return functools.partial(_seconds, source, target)


def _in_range(micros: int) -> int:
    """Return the microseconds if they are in the range of timestamps; raise EvaluationError otherwise."""
    if not -(2**63) <= micros < 2**63:
        message = f"a time on {write_date(micros // DAY)} is beyond the range of timestamp"
        raise EvaluationError(message)
    return micros


def _seconds(source: Type, target: Type, value: Any) -> int:
    """Convert seconds to a timestamp in microseconds.

    Whole seconds outside of the range of timestamps become the first or the last timestamp, as in Spark. Fractional
    seconds outside of this range raise EvaluationError.
    """
    if source.is_integral:
        return min(max(value * SECOND, -(2**63)), 2**63 - 1)
    micros = value * SECOND if not isinstance(value, float) or math.isfinite(value) else math.inf
    if not -(2**63) <= micros < 2**63:
        raise failure(value, source, target, dt.UTC)
    return int(micros)
