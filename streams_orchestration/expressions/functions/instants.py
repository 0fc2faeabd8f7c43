"""Functions that make dates and times from parts, texts and numbers, format them, and change their time zone."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Callable, Sequence
from typing import Any

from streams_orchestration.expressions.conversion import EXACT, converter
from streams_orchestration.expressions.datetime_patterns import pattern_of
from streams_orchestration.expressions.errors import EvaluationError, MisfitError
from streams_orchestration.expressions.functions.patterned import patterned, saturated, text_number_or, text_or
from streams_orchestration.expressions.functions.ranges import checked
from streams_orchestration.expressions.table import (
    Binding,
    FunctionGroup,
    FunctionSignature,
    Operand,
    Resolved,
    TupleFunction,
    from_text,
    with_timestamps,
)
from streams_orchestration.expressions.times import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    LocalTime,
    add_months,
    date_of,
    days_of,
    exists,
    from_local,
    micros_of,
    moved_on,
    read_date,
    read_timestamp,
    to_local,
    zone_named,
)
from streams_orchestration.expressions.types import (
    BIGINT,
    DATE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    Type,
)

INSTANTS = FunctionGroup("Dates and times: made, read and written")
_MOMENT = "TIMESTAMP '2024-05-03 10:11:12.5'"


@INSTANTS.function(
    "make_date(year int, month int, day int) -> date",
    summary="Make a date from its parts.",
    examples=[("make_date(2024, 2, 29)", "2024-02-29")],
    fails=True,
)
def _make_date(year: int, month: int, day: int) -> int:
    if not exists(year, month, day):
        message = f"there is no date {year}-{month}-{day}"
        raise EvaluationError(message)
    return checked(days_of(year, month, day), INT)


for _name, _kind in (("make_timestamp", "timestamp"), ("make_timestamp_ntz", "timestamp_ntz")):

    def _make_timestamp(binding: Binding, kind: str = _kind) -> TupleFunction:
        zone = binding.zone

        def row(year: int, month: int, day: int, hour: int, minute: int, seconds: decimal.Decimal) -> int:
            micros = int(seconds.scaleb(6))
            fits = 0 <= hour < 24 and 0 <= minute < 60 and 0 <= micros <= MINUTE
            if not exists(year, month, day) or not fits:
                message = f"there is no time {year}-{month}-{day} {hour}:{minute}:{seconds}"
                raise EvaluationError(message)
            local = checked(micros_of(LocalTime(year, month, day, hour, minute, 0, 0)) + micros, BIGINT)
            return from_local(local, zone) if kind == "timestamp" else local

        return row

    INSTANTS.bound(
        f"{_name}(year int, month int, day int, hour int, minute int, second decimal(16, 6)) -> {_kind}",
        summary="Make a time from its parts.",
        examples=[(f"{_name}(2024, 2, 29, 10, 11, 12.5)", "2024-02-29 10:11:12.5")],
        fails=True,
        zoned=with_timestamps,
    )(_make_timestamp)


def _parsed(kind: Type, *, date: bool = False, lenient: bool = False) -> Callable[[Binding], TupleFunction]:
    """Return the binding of a function that parses texts as dates or times, by a pattern or in the standard form.

    Numbers are converted, with `lenient` fractional ones by `saturated`; dates and times stay unchanged. A text that
    does not fit raises EvaluationError.
    """

    def bind(binding: Binding) -> TupleFunction:
        zone, given = None if kind == TIMESTAMP_NTZ else binding.zone, binding.arguments[0]
        if given.is_numeric:
            return saturated if lenient and given.is_fractional else converter(given, kind, binding.zone)
        if given != STRING:
            return lambda value: value

        def row(text: str, pattern: str | None = None) -> int:
            if pattern is None:
                value = read_date(text) if date else read_timestamp(text, zone)
            else:
                value = pattern_of(pattern).read(text, zone)
                value = to_local(value, binding.zone) // DAY if date and value is not None else value
            if value is None:
                form = f" of the form {pattern!r}" if pattern else ""
                message = f"{text!r} is not a valid {'date' if date else kind}{form}"
                raise EvaluationError(message)
            return value

        return row

    return bind


def _reads_with_zone(arguments: Sequence[Type], result: Type) -> bool:
    """Return True if the parsed text may contain a zone offset: for timestamps, and for dates with a pattern."""
    if arguments[0] != STRING:
        return False
    return result == TIMESTAMP or (result == DATE and len(arguments) == 2)


for _name, _kind, *_examples in (
    ("to_date", DATE, ("to_date('29.02.2024', 'dd.MM.yyyy')", "2024-02-29")),
    (
        *("to_timestamp", TIMESTAMP, ("to_timestamp('2024-02-29 10:00:00')", "2024-02-29 10:00:00")),
        ("to_timestamp(1.5)", "1970-01-01 00:00:01.5"),
    ),
    ("to_timestamp_ntz", TIMESTAMP_NTZ, ("to_timestamp_ntz('2024-02-29 10:00:00')", "2024-02-29 10:00:00")),
    ("to_timestamp_ltz", TIMESTAMP, ("to_timestamp_ltz('2024-02-29 10:00:00')", "2024-02-29 10:00:00")),
    ("try_to_timestamp", TIMESTAMP, ("try_to_timestamp('x')", "NULL")),
    ("try_to_date", DATE, ("try_to_date('x')", "NULL")),
):
    _lenient = _name.startswith("try_")
    INSTANTS.bound(
        summary=f"Convert a text, read by a pattern if one is given, or "
        f"{'seconds since 1970' if _kind == TIMESTAMP else 'the digits of a number'} to a {_kind}; "
        f"any other value {'is null' if _lenient else 'fails'}.",
        examples=_examples,
        resolver=text_number_or(_kind),
        name=_name,
        fails=True,
        lenient=_lenient,
        zoned=_reads_with_zone,
    )(_parsed(_kind, date=_kind == DATE, lenient=_lenient))


_DATE_FORMAT = "date_format(value timestamp, pattern string) -> string"


@INSTANTS.bound(
    _DATE_FORMAT,
    resolver=patterned(_DATE_FORMAT),
    summary="Format a time by a pattern such as `yyyy-MM-dd HH:mm:ss`.",
    examples=[(f"date_format({_MOMENT}, 'EEE, d MMM yyyy')", "Fri, 3 May 2024")],
    fails=True,
    zoned=with_timestamps,
)
def _date_format(binding: Binding) -> TupleFunction:
    return lambda value, pattern: pattern_of(pattern).write(value, binding.zone)


_PLAIN = "yyyy-MM-dd HH:mm:ss"


_FROM_UNIXTIME = "from_unixtime(seconds bigint, [pattern string]) -> string"


@INSTANTS.bound(
    _FROM_UNIXTIME,
    resolver=patterned(_FROM_UNIXTIME),
    summary="Format seconds since 1970 as a time.",
    examples=[("from_unixtime(0)", "1970-01-01 00:00:00")],
    fails=True,
    zoned=lambda _arguments, _result: True,
)
def _from_unixtime(binding: Binding) -> TupleFunction:
    return lambda seconds, pattern=_PLAIN: pattern_of(pattern).write(checked(seconds * SECOND, BIGINT), binding.zone)


def _unix_types(operands: Sequence[Operand]) -> Resolved | None:
    if len(operands) == 2 and operands[1].type not in (STRING, VOID):
        message = "the pattern must be a text"
        raise MisfitError(message)
    resolved = text_or(TIMESTAMP)(operands)
    return None if resolved is None else Resolved(resolved.arguments, BIGINT)


def _unix_timestamp(binding: Binding) -> TupleFunction:
    read = _parsed(TIMESTAMP)(binding)
    if binding.arguments[0] == STRING:
        return lambda text, pattern=_PLAIN: _whole_seconds(read(text, pattern))
    return _whole_seconds


def _whole_seconds(micros: int) -> int:
    """Return the seconds truncated towards zero; `unix_seconds` rounds down instead."""
    return micros // SECOND if micros >= 0 else -(-micros // SECOND)


INSTANTS.bound(
    summary=(
        f"Return the whole seconds since 1970 of a time, or of a text that a pattern reads (default: `{_PLAIN}`)."
    ),
    examples=[("unix_timestamp('2024-02-09 13:05:06')", "1707483906")],
    resolver=_unix_types,
    name="unix_timestamp",
    aliases=["to_unix_timestamp"],
    fails=True,
    zoned=from_text,
)(_unix_timestamp)
for _name, _unit, _word in (
    ("unix_seconds", SECOND, "seconds"),
    ("unix_millis", 1000, "milliseconds"),
    ("unix_micros", 1, "microseconds"),
):
    INSTANTS.function(
        f"{_name}(value timestamp) -> bigint",
        f"{_name}(value timestamp_ntz) -> bigint",
        summary=f"Return the whole {_word} since 1970, rounded down.",
        examples=[(f"{_name}(TIMESTAMP '1970-01-01 00:00:01.5')", str(1_500_000 // _unit))],
        exact=True,
    )(lambda value, unit=_unit: value // unit)
INSTANTS.function(
    "unix_date(value date) -> int",
    summary="Return the number of days since 1970-01-01.",
    examples=[("unix_date(DATE '1970-01-06')", "5")],
    exact=True,
)(lambda value: value)
INSTANTS.function(
    "date_from_unix_date(days int) -> date",
    summary="Return the date that is this number of days after 1970-01-01.",
    examples=[("date_from_unix_date(5)", "1970-01-06")],
)(lambda value: value)


def _one_numeric(operands: Sequence[Operand]) -> Resolved | None:
    if len(operands) != 1 or not (operands[0].type.is_numeric or operands[0].type == VOID):
        return None
    return Resolved((operands[0].type if operands[0].type != VOID else BIGINT,), TIMESTAMP)


@INSTANTS.bound(
    summary="Return the time that is this number of seconds after 1970 began; the number may have a fraction.",
    examples=[("timestamp_seconds(1.5)", "1970-01-01 00:00:01.5")],
    resolver=_one_numeric,
    name="timestamp_seconds",
    fails=True,
)
def _timestamp_seconds(binding: Binding) -> TupleFunction:
    del binding

    def row(value: Any) -> int | None:
        if isinstance(value, float):
            return saturated(value)
        micros = EXACT.multiply(decimal.Decimal(value), decimal.Decimal(SECOND))
        if micros != int(micros):
            message = f"{value} seconds are not whole microseconds"
            raise EvaluationError(message)
        return checked(int(micros), BIGINT)

    return row


for _name, _unit in (("timestamp_millis", 1000), ("timestamp_micros", 1)):
    INSTANTS.function(
        f"{_name}(value whole) -> timestamp",
        summary=f"Return the time that is this number of {_name[10:-1]}seconds after 1970 began.",
        exact=True,
        examples=[(f"{_name}(1500)", "1970-01-01 00:00:01.5" if _unit > 1 else "1970-01-01 00:00:00.0015")],
        fails=True,
    )(lambda value, unit=_unit: checked(value * unit, BIGINT))

_STEPS = {"microsecond": 1, "millisecond": 1000, "second": SECOND, "minute": MINUTE, "hour": HOUR}
_DAYS = {"day": 1, "dayofyear": 1, "week": 7}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_ADD = "timestampadd(unit constant string, count bigint, value timestamp) -> timestamp"
_DIFFERENCE = "timestampdiff(unit constant string, start timestamp, end timestamp) -> bigint"


def _of_unit(signature: str) -> Callable[[Sequence[Operand]], Resolved | None]:
    """Return a resolver for a signature whose first parameter is a unit; it raises MisfitError for an unknown unit."""
    form = FunctionSignature.of(signature)

    def resolve(operands: Sequence[Operand]) -> Resolved | None:
        unit = operands[0].constant if operands else None
        if unit is not None and unit[0] not in (None, *_STEPS, *_DAYS, *_MONTHS):
            message = f"{unit[0]!r} is not a unit; the units are {', '.join((*_STEPS, *_DAYS, *_MONTHS))}"
            raise MisfitError(message)
        return form.resolve(operands)

    return resolve


@INSTANTS.bound(
    _ADD,
    resolver=_of_unit(_ADD),
    summary="Add units to a time. The unit is a word: MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK, "
    "MONTH, QUARTER or YEAR.",
    examples=[("timestampadd(MONTH, 1, TIMESTAMP '2024-01-31 00:00:00')", "2024-02-29 00:00:00")],
    fails=True,
    zoned=with_timestamps,
)
def _timestampadd(binding: Binding) -> TupleFunction:
    zone = binding.zone

    def row(unit: str, count: int, value: int) -> int:
        if unit in _STEPS:
            return checked(value + count * _STEPS[unit], BIGINT)
        if unit in _DAYS:
            return checked(moved_on(value, checked(count * _DAYS[unit] * DAY, BIGINT), zone), BIGINT)
        days, rest = divmod(to_local(value, zone), DAY)
        return checked(from_local(add_months(days, count * _MONTHS[unit]) * DAY + rest, zone, value), BIGINT)

    return row


@INSTANTS.bound(
    _DIFFERENCE,
    resolver=_of_unit(_DIFFERENCE),
    summary="Return the number of whole units between two times, in a unit of timestampadd.",
    examples=[("timestampdiff(HOUR, TIMESTAMP '2024-01-01 00:00:00', TIMESTAMP '2024-01-02 00:00:00')", "24")],
    zoned=with_timestamps,
)
def _timestampdiff(binding: Binding) -> TupleFunction:
    def row(unit: str, start: int, end: int) -> int:
        one, other = to_local(start, binding.zone), to_local(end, binding.zone)
        if unit in _STEPS or unit in _DAYS:
            difference = other - one
            return int(math.copysign(1, difference)) * (abs(difference) // (_STEPS.get(unit) or _DAYS[unit] * DAY))
        return _months_from(one, other, _MONTHS[unit])

    return row


def _months_from(one: int, other: int, step: int) -> int:
    """Return how many whole multiples of `step` months lead from one local time to another.

    It is negative if the second one is earlier. Local times are in microseconds since 1970.
    """
    (days, time), (later, later_time) = divmod(one, DAY), divmod(other, DAY)
    if later > days and later_time < time:
        later -= 1
    elif later < days and later_time > time:
        later += 1
    (year, month, day), (to_year, to_month, to_day) = date_of(days), date_of(later)
    difference = (to_year * 12 + to_month) * 32 + to_day - (year * 12 + month) * 32 - day
    return int(math.copysign(abs(difference) // 32 // step, difference))


def _zone(name: str) -> dt.tzinfo:
    zone = zone_named(name)
    if zone is None:
        message = f"there is no time zone {name}"
        raise EvaluationError(message)
    return zone


INSTANTS.function(
    "from_utc_timestamp(value timestamp, zone string) -> timestamp",
    summary="Convert a time in UTC to the local time of a zone.",
    examples=[("from_utc_timestamp(TIMESTAMP '2024-07-01 10:00:00', 'Europe/Berlin')", "2024-07-01 12:00:00")],
    fails=True,
)(lambda value, zone: to_local(value, _zone(zone)))
INSTANTS.function(
    "to_utc_timestamp(value timestamp, zone string) -> timestamp",
    summary="Convert the local time of a zone to UTC.",
    examples=[("to_utc_timestamp(TIMESTAMP '2024-07-01 10:00:00', 'Europe/Berlin')", "2024-07-01 08:00:00")],
    fails=True,
)(lambda value, zone: from_local(value, _zone(zone)))


@INSTANTS.bound(
    "convert_timezone(to string, value timestamp_ntz) -> timestamp_ntz",
    "convert_timezone(from string, to string, value timestamp_ntz) -> timestamp_ntz",
    summary="Convert the local time of one zone to the local time of another.",
    examples=[("convert_timezone('Europe/Berlin', 'UTC', TIMESTAMP_NTZ '2024-07-01 10:00:00')", "2024-07-01 08:00:00")],
    fails=True,
    zoned=lambda arguments, _result: len(arguments) == 2,
)
def _convert_timezone(binding: Binding) -> TupleFunction:
    def row(*arguments: Any) -> int:
        *zones, value = arguments
        source = _zone(zones[0]) if len(zones) > 1 else binding.zone
        return to_local(from_local(value, source), _zone(zones[-1]))

    return row
