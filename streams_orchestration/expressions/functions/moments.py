"""Parts of dates and times, and calculation with days and months."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Callable, Sequence

from streams_orchestration.expressions.datetime_patterns import DAYS, MONTHS
from streams_orchestration.expressions.errors import EvaluationError, MisfitError
from streams_orchestration.expressions.functions.ranges import checked
from streams_orchestration.expressions.table import (
    Binding,
    FunctionGroup,
    Operand,
    Resolved,
    TupleFunction,
    with_timestamps,
)
from streams_orchestration.expressions.times import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    LocalTime,
    add_months,
    clock_of,
    date_of,
    days_of,
    days_of_month,
    from_local,
    to_local,
)
from streams_orchestration.expressions.types import (
    DATE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
)

MOMENTS = FunctionGroup("Dates and times")
_MOMENT = "TIMESTAMP '2024-05-03 10:11:12.5'"


def iso_week(days: int) -> tuple[int, int]:
    """Return the year and the week of ISO 8601 of a date."""
    thursday = days - (days + 3) % 7 + 3
    year = date_of(thursday)[0]
    return year, (thursday - days_of(year, 1, 1)) // 7 + 1


_OF_DATES: dict[str, tuple[Callable[[int], int], str, str]] = {
    "year": (lambda days: date_of(days)[0], "Return the year.", "2024"),
    "quarter": (lambda days: (date_of(days)[1] + 2) // 3, "Return the quarter, from 1.", "2"),
    "month": (lambda days: date_of(days)[1], "Return the month, from 1.", "5"),
    "day": (lambda days: date_of(days)[2], "Return the day of the month.", "3"),
    "dayofyear": (
        lambda days: days - days_of(date_of(days)[0], 1, 1) + 1,
        "Return the day of the year, from 1.",
        "124",
    ),
    "dayofweek": (lambda days: (days + 4) % 7 + 1, "Return the day of the week; 1 is Sunday.", "6"),
    "weekday": (lambda days: (days + 3) % 7, "Return the day of the week; 0 is Monday.", "4"),
    "weekofyear": (lambda days: iso_week(days)[1], "Return the week of ISO 8601.", "18"),
}
for _name, (_row, _summary, _value) in _OF_DATES.items():
    MOMENTS.function(
        f"{_name}(value date) -> int", summary=_summary, examples=[(f"{_name}(DATE '2024-05-03')", _value)]
    )(_row)
MOMENTS.function(
    "dayofmonth(value date) -> int",
    summary="Return the day of the month.",
    examples=[("dayofmonth(DATE '2024-05-03')", "3")],
)(lambda days: date_of(days)[2])
MOMENTS.function(
    "dayname(value date) -> string",
    summary="Return the short name of the day.",
    examples=[("dayname(DATE '2024-05-03')", "Fri")],
)(lambda days: DAYS[(days + 3) % 7][:3])
MOMENTS.function(
    "monthname(value date) -> string",
    summary="Return the short name of the month.",
    examples=[("monthname(DATE '2024-05-03')", "May")],
)(lambda days: MONTHS[date_of(days)[1] - 1][:3])


def _on_clock(operands: Sequence[Operand]) -> Resolved | None:
    """Resolve a function that reads the time of day. A date or a text is converted to a timestamp.

    None if the operands do not fit.
    """
    if len(operands) != 1:
        return None
    kind = operands[0].type
    if not (kind.is_datetime or kind.name in ("string", "void")):
        return None
    return Resolved((kind if kind == TIMESTAMP_NTZ else TIMESTAMP,), INT)


def local_of(kind: Type, zone: dt.tzinfo) -> Callable[[int], int]:
    """Return a function that converts values of a timestamp type to local microseconds.

    A timestamp_ntz is unchanged.
    """
    return (lambda value: to_local(value, zone)) if kind == TIMESTAMP else (lambda value: value)


for _name, _unit, _modulus in (("hour", HOUR, 24), ("minute", MINUTE, 60), ("second", SECOND, 60)):

    def _clock_part(binding: Binding, unit: int = _unit, modulus: int = _modulus) -> TupleFunction:
        local = local_of(binding.arguments[0], binding.zone)
        return lambda value: local(value) // unit % modulus

    MOMENTS.bound(
        summary=f"Return the {_name}.",
        examples=[(f"{_name}({_MOMENT})", {"hour": "10", "minute": "11"}.get(_name, "12"))],
        resolver=_on_clock,
        name=_name,
        zoned=with_timestamps,
    )(_clock_part)

_PART_NAMES = {
    "year": ("y", "years", "yr", "yrs"),
    "quarter": ("qtr",),
    "month": ("mon", "mons", "months"),
    "day": ("d", "days"),
    "dayofyear": ("doy",),
    "dayofweek": ("dow",),
    "dayofweek_iso": ("dow_iso",),
    "week": ("w", "weeks"),
    "yearofweek": (),
    "hour": ("h", "hours", "hr", "hrs"),
    "minute": ("m", "min", "mins", "minutes"),
    "second": ("s", "sec", "seconds", "secs"),
}
_PARTS = {alias: name for name, aliases in _PART_NAMES.items() for alias in (name, *aliases)}
_SECONDS = Type("decimal", 8, 6)


def _extracted(operands: Sequence[Operand]) -> Resolved | None:
    if len(operands) != 2:
        return None
    if operands[0].constant is None:
        message = "the part must be a constant text, such as 'hour'"
        raise MisfitError(message)
    part, kind = _PARTS.get(str(operands[0].constant[0]).lower()), operands[1].type
    if part is None:
        parts = ", ".join(dict.fromkeys(_PARTS.values()))
        message = f"{operands[0].constant[0]!r} is not a part of a time; the parts are {parts}"
        raise MisfitError(message)
    if kind.is_interval:
        days = kind.name.startswith("interval day") and part in ("day", "hour", "minute", "second")
        return Resolved((STRING, kind), _SECONDS if part == "second" else INT) if days else None
    if not (kind.is_datetime or kind.name in ("string", "void")):
        return None
    if part in ("hour", "minute", "second"):
        moment = kind if kind == TIMESTAMP_NTZ else TIMESTAMP
        return Resolved((STRING, moment), _SECONDS if part == "second" else INT)
    return Resolved((STRING, DATE), INT)


def _date_part(binding: Binding) -> TupleFunction:
    constant = binding.constants[0]
    assert constant is not None
    part, kind = _PARTS[str(constant[0]).lower()], binding.arguments[1]
    units = {"day": (DAY, 2**63), "hour": (HOUR, 24), "minute": (MINUTE, 60)}
    if part == "second":
        local = local_of(kind, binding.zone)
        return lambda _part, value: decimal.Decimal(
            int(math.fmod(value, MINUTE)) if kind.is_interval else local(value) % MINUTE
        ).scaleb(-6)
    if part in units and (kind.is_interval or part != "day"):
        unit, modulus = units[part]
        local = local_of(kind, binding.zone)
        if kind.is_interval:
            return lambda _part, value: int(math.copysign(abs(value) // unit % modulus, value))
        return lambda _part, value: local(value) // unit % modulus
    of_date: dict[str, Callable[[int], int]] = {
        "dayofweek_iso": lambda days: (days + 3) % 7 + 1,
        "week": lambda days: iso_week(days)[1],
        "yearofweek": lambda days: iso_week(days)[0],
    }
    row = of_date.get(part) or _OF_DATES[part][0]
    return lambda _part, value: row(value)


MOMENTS.bound(
    summary="Return a part of a point in time, as `EXTRACT(part FROM value)`: " + ", ".join(_PART_NAMES) + ".",
    examples=[("date_part('doy', DATE '2024-12-30')", "365")],
    resolver=_extracted,
    name="date_part",
    aliases=["datepart"],
    zoned=with_timestamps,
)(_date_part)

MOMENTS.function(
    "last_day(value date) -> date",
    summary="Return the last day of the month.",
    examples=[("last_day(DATE '2024-02-03')", "2024-02-29")],
    fails=True,
)(lambda days: checked(days - date_of(days)[2] + days_of_month(*date_of(days)[:2]), INT))
_NAMES_OF_DAYS = {
    short: place for place, name in enumerate(DAYS) for short in (name.lower(), name[:3].lower(), name[:2].lower())
}


@MOMENTS.function(
    "next_day(value date, day string) -> date",
    summary="Return the first date after this one that is the named day of the week.",
    examples=[("next_day(DATE '2024-02-03', 'tue')", "2024-02-06")],
    fails=True,
)
def _next_day(days: int, day: str) -> int:
    place = _NAMES_OF_DAYS.get(day.lower())
    if place is None:
        message = f"{day!r} is not a day of the week; write it as Mon, Tuesday or SU"
        raise EvaluationError(message)
    return checked(days + 1 + (place - (days + 4)) % 7, INT)


MOMENTS.function(
    "add_months(value date, months int) -> date",
    summary="Add months to a date; a day that the month does not have becomes its last day.",
    examples=[("add_months(DATE '2024-01-31', 1)", "2024-02-29")],
    fails=True,
)(lambda days, months: checked(add_months(days, months), INT))


@MOMENTS.bound(
    "months_between(one timestamp, other timestamp, [rounded boolean]) -> double",
    summary=(
        "Return the months from the second time to the first. A fraction counts 31 days a month, rounded to 8 digits."
    ),
    examples=[("months_between(DATE '2024-02-29', DATE '2024-01-31')", "1.0")],
    zoned=with_timestamps,
)
def _months_between(binding: Binding) -> TupleFunction:
    def row(one: int, other: int, rounded: bool = True) -> float:  # noqa: FBT001, FBT002
        times = one, other
        first, second = (clock_of(to_local(each, binding.zone)) for each in times)
        months = float((first.year - second.year) * 12 + first.month - second.month)
        ends = [clock.day == days_of_month(clock.year, clock.month) for clock in (first, second)]
        if first.day == second.day or all(ends):
            return months
        seconds = [
            clock.day * 86400 + (time - _midnight(clock, binding.zone)) // SECOND
            for time, clock in zip(times, (first, second), strict=True)
        ]
        value = months + (seconds[0] - seconds[1]) / (31 * 86400)
        return (
            float(decimal.Decimal(repr(value)).quantize(decimal.Decimal("1e-8"), decimal.ROUND_HALF_UP))
            if rounded
            else value
        )

    return row


def _midnight(clock: LocalTime, zone: dt.tzinfo) -> int:
    """Return the timestamp at which a local day begins."""
    return from_local(days_of(clock.year, clock.month, clock.day) * DAY, zone)


def _days_and_number(operands: Sequence[Operand]) -> Resolved | None:
    if len(operands) != 2:
        return None
    day, count = (each.type for each in operands)
    dated = day.is_datetime or day.name in ("string", "void")
    small = count.name in ("tinyint", "smallint", "int", "string", "void")
    return Resolved((DATE, INT), DATE) if dated and small else None


for _name, _sign in (("date_add", 1), ("dateadd", 1), ("date_sub", -1)):
    MOMENTS.function(
        summary="Add days to a date." if _sign > 0 else "Subtract days from a date.",
        examples=[(f"{_name}(DATE '2024-01-31', 1)", "2024-02-01" if _sign > 0 else "2024-01-30")],
        resolver=_days_and_number,
        name=_name,
        fails=True,
    )(lambda days, count, sign=_sign: checked(days + sign * count, INT))
MOMENTS.function(
    "datediff(end date, start date) -> int",
    aliases=["date_diff"],
    summary="Return the number of days from the second date to the first.",
    examples=[("datediff(DATE '2024-03-01', DATE '2024-02-01')", "29")],
)(lambda end, start: (end - start + 2**31) % 2**32 - 2**31)  # wraps around, as in Spark

_TRUNCATIONS = {
    "year": ("yyyy", "yy"),
    "quarter": (),
    "month": ("mon", "mm"),
    "week": (),
    "day": ("dd",),
    "hour": (),
    "minute": (),
    "second": (),
    "millisecond": (),
    "microsecond": (),
}
TRUNCATED = {alias: unit for unit, aliases in _TRUNCATIONS.items() for alias in (unit, *aliases)}
"""Word for a unit of `date_trunc` -> the unit."""
_SMALL = {"hour": HOUR, "minute": MINUTE, "second": SECOND, "millisecond": 1000, "microsecond": 1, "day": DAY}


def first_day(days: int, unit: str) -> int:
    """Return the first day of the year, month or week of a date, or of the quarter for any other unit."""
    year, month, day = date_of(days)
    if unit == "week":
        return days - (days + 3) % 7
    if unit == "month":
        return days - day + 1
    return days_of(year, 1 if unit == "year" else (month - 1) // 3 * 3 + 1, 1)


@MOMENTS.bound(
    "date_trunc(unit string, value timestamp) -> timestamp",
    summary=(
        "Truncate a time to the year, quarter, month, week, day, hour, minute, second or millisecond; "
        "null for another unit."
    ),
    examples=[(f"date_trunc('hour', {_MOMENT})", "2024-05-03 10:00:00")],
    fails=True,
    zoned=with_timestamps,
)
def _date_trunc(binding: Binding) -> TupleFunction:
    def row(written: str, value: int) -> int | None:
        unit = TRUNCATED.get(written.lower())
        if unit is None:
            return None
        local = to_local(value, binding.zone)
        if unit in _SMALL:
            return from_local(local // _SMALL[unit] * _SMALL[unit], binding.zone, value)
        return from_local(first_day(local // DAY, unit) * DAY, binding.zone)

    return row


@MOMENTS.function(
    "trunc(value date, unit string) -> date",
    summary="Return the first day of the date's year, quarter, month or week; null for another unit.",
    examples=[("trunc(DATE '2024-05-03', 'month')", "2024-05-01")],
    fails=True,
)
def _trunc(days: int, written: str) -> int | None:
    unit = TRUNCATED.get(written.lower())
    return None if unit is None or unit in _SMALL else checked(first_day(days, unit), INT)
