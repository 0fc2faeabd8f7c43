"""Literals: numbers, typed texts and intervals."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
from collections.abc import Sequence
from typing import Any

from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.syntax import Constant
from streams_orchestration.expressions.times import DAY as MICROS_OF_A_DAY
from streams_orchestration.expressions.times import (
    HOUR,
    MINUTE,
    SECOND,
    UTC,
    from_local,
    names_no_zone,
    read_date,
    read_timestamp,
)
from streams_orchestration.expressions.types import (
    BIGINT,
    BINARY,
    DATE,
    DAY,
    DAY_TIME,
    DOUBLE,
    FLOAT,
    INT,
    INTEGRAL_RANGES,
    MAX_PRECISION,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    YEAR_MONTH,
    Type,
)

_SUFFIXES = {"l": BIGINT, "s": SMALLINT, "y": TINYINT}
_MICROS = {
    "microsecond": 1,
    "millisecond": 1000,
    "second": SECOND,
    "minute": MINUTE,
    "hour": HOUR,
    "day": MICROS_OF_A_DAY,
    "week": 7 * MICROS_OF_A_DAY,
}
_MONTHS = {"month": 1, "year": 12}
_CLOCK = ("day", "hour", "minute", "second")
_PART = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)


def number_constant(written: str, offset: int, *, negative: bool = False) -> Constant:
    """Return the constant of a number in a text: a whole number, a decimal, or a double if it has an exponent.

    Raises:
        ExpressionError: the number is outside of the type of its suffix or of a double, or has more than 38 digits.
    """
    body = written.rstrip("LlSsYyDdFfBb") if not written.lower().endswith("bd") else written[:-2]
    suffix = written[len(body) :].lower()
    sign = "-" if negative else ""
    is_whole = body.isdigit() and len(body) <= MAX_PRECISION
    if suffix in _SUFFIXES:
        return _whole(int(sign + body) if is_whole else None, _SUFFIXES[suffix], written, offset)
    if suffix in ("d", "f") or (not suffix and "e" in body.lower()):
        value = float(sign + body)
        if math.isinf(value):
            message = f"{written} is beyond the range of double"
            raise ExpressionError(message, offset)
        return Constant(value, FLOAT if suffix == "f" else DOUBLE, offset)
    if is_whole and not suffix:
        whole = int(sign + body)
        for kind in (INT, BIGINT):
            if _holds(kind, whole):
                return Constant(whole, kind, offset)
    return _decimal(decimal.Decimal(sign + body), written, offset)


def _whole(value: int | None, kind: Type, written: str, offset: int) -> Constant:
    if value is None or not _holds(kind, value):
        message = f"{written} is beyond the range of {kind}"
        raise ExpressionError(message, offset)
    return Constant(value, kind, offset)


def _holds(kind: Type, value: int) -> bool:
    low, high = INTEGRAL_RANGES[kind.name]
    return low <= value <= high


def _decimal(value: decimal.Decimal, written: str, offset: int) -> Constant:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    is_huge = value.adjusted() >= MAX_PRECISION
    if exponent > 0 and not is_huge:
        value, exponent = decimal.Decimal(int(value)), 0
    scale = -exponent
    precision = max(len(value.as_tuple().digits), scale)
    if is_huge or precision > MAX_PRECISION:
        message = f"{written} has more than {MAX_PRECISION} digits; write it with an exponent for a double"
        raise ExpressionError(message, offset)
    return Constant(value, Type("decimal", precision, scale), offset)


def typed_constant(word: str, text: str, offset: int) -> Constant:
    """Return the constant of `DATE '...'`, `TIMESTAMP '...'` or `TIMESTAMP_NTZ '...'`.

    The constant of a `TIMESTAMP` whose text has no zone is marked as local. A `TIMESTAMP_NTZ` ignores a zone.

    Args:
        word: the word before the text, in lower case; `timestamp_ltz` means `timestamp`.
        text: the text without quotes.
        offset: the offset of the word.

    Raises:
        ExpressionError: the text is not a date or time.
    """
    local = False
    if word == "date":
        value, kind = read_date(text), DATE
    else:
        kind = TIMESTAMP_NTZ if word == "timestamp_ntz" else TIMESTAMP
        value = read_timestamp(text, None if kind == TIMESTAMP_NTZ else UTC)
        local = kind == TIMESTAMP and names_no_zone(text)
    if value is None:
        example = "2024-02-29" if kind == DATE else "2024-02-29 13:00:00"
        message = f"{text!r} is not a valid {kind}; it is written as '{example}'"
        raise ExpressionError(message, offset)
    return Constant(value, kind, offset, local)


def interval_constant(parts: Sequence[tuple[str, str]], offset: int) -> Constant:
    """Return the constant of an interval: of months, of days if its units are days or weeks, or of days and time.

    Digits of seconds beyond microseconds are cut off.

    Args:
        parts: numbers with their units, such as `("3", "days")` or `("3 02", "day to hour")`; the unit is empty for a
            text that contains its units.
        offset: the offset of the word INTERVAL.

    Raises:
        ExpressionError: an unknown unit, an invalid number, months together with days, or too long an interval.
    """
    spread: list[tuple[str, str]] = []
    for number, unit in parts:
        if unit:
            spread.append((number, unit))
            continue
        matches = list(_PART.finditer(number.removeprefix("-interval").removeprefix("interval")))
        if "".join(match[0] for match in matches) != number or not matches:
            raise _no_interval(number, offset)
        spread.extend((match[1], match[2].lower()) for match in matches)
    months = 0
    micros = 0
    units = set[str]()
    for number, written in spread:
        if " to " in written:
            first, last = written.split(" to ")
            value, is_months = _range(number, first, last, offset)
            months, micros = (months + value, micros) if is_months else (months, micros + value)
            units.update((first, last))
            continue
        unit = written.removesuffix("s")
        units.add(unit)
        value = _amount(number, unit, offset)
        months, micros = (months + value, micros) if unit in _MONTHS else (months, micros + value)
    if units & set(_MONTHS) and units - set(_MONTHS):
        message = "an interval has years and months, or days and smaller units, but not both; add two intervals"
        raise ExpressionError(message, offset)
    if not (_holds(INT, months) and _holds(BIGINT, micros)):
        message = "the interval is too long: it has at most 2^31 months, or 2^63 microseconds"
        raise ExpressionError(message, offset)
    if units & set(_MONTHS):
        return Constant(months, YEAR_MONTH, offset)
    return Constant(micros, DAY if units <= {"day", "week"} else DAY_TIME, offset)


def _amount(number: str, unit: str, offset: int) -> int:
    if unit not in _MICROS and unit not in _MONTHS:
        message = f"{unit!r} is not a unit of an interval; the units are {', '.join((*_MICROS, *_MONTHS))}"
        raise ExpressionError(message, offset)
    try:
        value = decimal.Decimal(number)
    except decimal.InvalidOperation as error:
        raise _no_interval(number, offset) from error
    if value.adjusted() >= MAX_PRECISION:
        message = f"an interval of {number} {unit}s is too long"
        raise ExpressionError(message, offset)
    if value != int(value) and unit != "second":
        message = f"only seconds of an interval may have a fraction, {number} {unit} has one"
        raise ExpressionError(message, offset)
    return int(value * (_MICROS.get(unit) or _MONTHS[unit]))


def _range(text: str, first: str, last: str, offset: int) -> tuple[int, bool]:
    """Return the value of an interval text such as `3 02:10` in DAY TO MINUTE, and True if it is in months.

    Years and months are a number of months; all smaller units are a number of microseconds.
    """
    sign = -1 if text.strip().startswith("-") else 1
    body = text.strip().lstrip("+-")
    if (first, last) == ("year", "month"):
        if match := re.fullmatch(r"(\d{1,18})-(\d{1,18})", body):
            return sign * (int(match[1]) * 12 + int(match[2])), True
        raise _no_interval(text, offset)
    if first not in _CLOCK or last not in _CLOCK or _CLOCK.index(first) >= _CLOCK.index(last):
        message = f"there is no interval {first.upper()} TO {last.upper()}"
        raise ExpressionError(message, offset)
    units = _CLOCK[_CLOCK.index(first) : _CLOCK.index(last) + 1]
    numbers = re.split(r"[ :]", body)
    if len(numbers) != len(units):
        raise _no_interval(text, offset)
    return sign * sum(_amount(number, unit, offset) for number, unit in zip(numbers, units, strict=True)), False


def _no_interval(text: str, offset: int) -> ExpressionError:
    return ExpressionError(
        f"{text!r} is not an interval; it is written as INTERVAL 3 HOURS or INTERVAL '3' HOUR", offset
    )


def binary_constant(digits: str, offset: int) -> Constant:
    """Return the constant of `X'1F'`; `X'F'`, with an odd number of digits, gets a zero in front.

    Raises:
        ExpressionError: a character is not a hexadecimal digit.
    """
    if not re.fullmatch(r"[0-9A-Fa-f]*", digits):
        message = f"X'{digits}' is not written in hexadecimal digits"
        raise ExpressionError(message, offset)
    return Constant(bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits), BINARY, offset)


def value_in(constant: Constant, zone: dt.tzinfo) -> Any:
    """Return the value of a constant, where a local time is converted from the zone to UTC.

    Raises:
        ExpressionError: the time is out of the range of timestamps in this zone.
    """
    if not constant.local or not isinstance(constant.value, int):
        return constant.value
    value = from_local(constant.value, zone)
    low, high = INTEGRAL_RANGES[BIGINT.name]
    if not low <= value <= high:
        message = f"the time is beyond the range of {constant.type} in this time zone"
        raise ExpressionError(message, constant.offset)
    return value
