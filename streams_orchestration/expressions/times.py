"""Dates and times as numbers: parsing, formatting, and splitting into parts.

A date is a number of days since 1970-01-01, a timestamp a number of microseconds: in UTC, or in local time without a
zone (`timestamp_ntz`). Years go from -290307 to 294247, which is beyond the range of `datetime`. The calendar is the
proleptic Gregorian one, as in Spark since 3.0.

>>> write_timestamp(read_timestamp("2024-01-01T00:00:00+02:00", UTC), UTC)
'2023-12-31 22:00:00'
"""

from __future__ import annotations

import datetime as dt
import functools
import re
import zoneinfo
from typing import NamedTuple

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
UTC = zoneinfo.ZoneInfo("UTC")

_DATE = re.compile(r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIMESTAMP = re.compile(
    r"([+-]?\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](\d{1,2})"
    r"(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?\s*([A-Za-z+-].*)?)?)?)?)?)?"
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2})(?::?(\d{2}))?)?")
_CYCLE = 146097 * 86400
_MAX_OFFSET = 18 * HOUR
_LIMIT = 2**63
_DATE_LIMIT = 2**31


class LocalTime(NamedTuple):
    """The parts of a local time: date and time of day."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    microsecond: int


def days_of(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date, which must exist."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def date_of(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a date."""
    era, of_era = divmod(days + 719468, 146097)
    years = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * years + years // 4 - years // 100)
    part = (5 * of_year + 2) // 153
    month = part + 3 if part < 10 else part - 9
    return years + era * 400 + (month <= 2), month, of_year - (153 * part + 2) // 5 + 1


def days_of_month(year: int, month: int) -> int:
    """Return the number of days of a month."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def exists(year: int, month: int, day: int) -> bool:
    """Return True if the date exists."""
    return 1 <= month <= 12 and 1 <= day <= days_of_month(year, month)


def clock_of(micros: int) -> LocalTime:
    """Split local microseconds since 1970 into date and time of day."""
    days, rest = divmod(micros, DAY)
    hour, rest = divmod(rest, HOUR)
    minute, rest = divmod(rest, MINUTE)
    return LocalTime(*date_of(days), hour, minute, *divmod(rest, SECOND))


def micros_of(clock: LocalTime) -> int:
    """Return the local microseconds since 1970 of a date and time of day."""
    days = days_of(clock.year, clock.month, clock.day)
    return days * DAY + clock.hour * HOUR + clock.minute * MINUTE + clock.second * SECOND + clock.microsecond


def to_local(micros: int, zone: dt.tzinfo) -> int:
    """Convert microseconds since 1970 from UTC to the local time of a zone."""
    return micros if zone is UTC else micros + _offset_at(micros // SECOND, zone) * SECOND


def from_local(local: int, zone: dt.tzinfo, moved: int | None = None) -> int:
    """Convert microseconds since 1970 from the local time of a zone to UTC.

    A local time that is skipped (in spring) is moved forward by the length of the gap, as in Java. A local time that
    occurs twice (in autumn) means its first occurrence, unless `moved` decides.

    Args:
        local: the local time.
        zone: the zone.
        moved: the timestamp that the local time was computed from. If the local time occurs twice, the occurrence with
            the same offset from UTC as this timestamp is returned.
    """
    if zone is UTC:
        return local
    seconds = local // SECOND
    before = _offset_at(seconds - 86400, zone)
    after = _offset_at(seconds + 86400, zone)
    first = () if moved is None else (_offset_at(moved // SECOND, zone),)
    for offset in (*first, before, after):
        if _offset_at(seconds - offset, zone) == offset:
            return local - offset * SECOND
    return local - before * SECOND


def moved_on(micros: int, amount: int, zone: dt.tzinfo) -> int:
    """Add microseconds to a timestamp: whole days in the local time of a zone, the rest as elapsed time."""
    if zone is UTC:
        return micros + amount
    days = abs(amount) // DAY * (DAY if amount > 0 else -DAY)
    moved = from_local(to_local(micros, zone) + days, zone, micros) if days else micros
    return moved + amount - days


@functools.lru_cache(maxsize=65536)
def _offset_at(seconds: int, zone: dt.tzinfo) -> int:
    """Return a zone's offset from UTC in seconds at a unix time in seconds; 0 for a zone without one.

    Before the year 1 it is the offset of that year, and after the year 9999 the rules repeat every 400 years.
    """
    within = max(seconds, -62135510400)
    if within > 253402214400:  # the rules of a zone repeat with the calendar, every 400 years
        within -= -(-(within - 253402214400) // _CYCLE) * _CYCLE
    at = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=within)
    offset = at.astimezone(zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


@functools.lru_cache(maxsize=1024)
def zone_named(name: str) -> dt.tzinfo | None:
    """Return a zone by its name or offset, such as `Europe/Berlin`, `Z`, `+02:00` or `UTC-7`.

    None if it is unknown, or the offset is more than 18 hours.
    """
    if name in ("Z", "UTC", "GMT", "UT"):
        return UTC
    if match := _OFFSET.fullmatch(name):
        sign, hours, minutes, seconds = match.groups()
        ahead = int(hours) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
        if int(minutes or 0) > 59 or int(seconds or 0) > 59 or ahead * SECOND > _MAX_OFFSET:
            return None
        return dt.timezone(dt.timedelta(seconds=-ahead if sign == "-" else ahead))
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None


def expected_zone(name: str) -> dt.tzinfo:
    """Return the zone of a name that was checked at compile time; raise ValueError if this machine does not know it."""
    zone = zone_named(name)
    if zone is None:
        message = f"this machine does not know the time zone {name}; install the package tzdata"
        raise ValueError(message)
    return zone


def read_date(text: str) -> int | None:
    """Parse a date as days since 1970, or return None if it is not one, as `2024-02-30`, or beyond 32 bits.

    The forms are `2024-02-29`, `2024-2` and `2024`. A time after it is ignored, and so are blanks around it.
    """
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    year = int(match[1])
    month = int(match[2] or 1)
    day = int(match[3] or 1)
    days = days_of(year, month, day) if exists(year, month, day) else _DATE_LIMIT
    return days if -_DATE_LIMIT <= days < _DATE_LIMIT else None


def read_timestamp(text: str, zone: dt.tzinfo | None) -> int | None:
    """Parse a timestamp as microseconds since 1970, or return None if it is not one, or beyond 64 bits.

    Digits beyond microseconds are cut off. An unknown zone in the text gives None.

    Args:
        text: a text such as `2024-02-29 13:00:00.5`. `T` may replace the space, a zone may follow, and parts from the
            end may be missing.
        zone: the zone for a text that names none; None to read a local time without a zone, where a zone in the text is
            ignored.
    """
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[n] or (n in (2, 3))) for n in range(1, 7))
    if not exists(year, month, day) or hour > 23 or minute > 59 or second > 59:
        return None
    fraction = int((match[7] or "").ljust(6, "0")[:6])
    local = micros_of(LocalTime(year, month, day, hour, minute, second, fraction))
    named = zone_named(match[8].strip()) if match[8] else zone
    if match[8] and named is None:
        return None
    micros = local if zone is None or named is None else from_local(local, named)
    return micros if -_LIMIT <= micros < _LIMIT else None


def names_no_zone(text: str) -> bool:
    """Return True if a text is a timestamp with neither a time zone nor an offset."""
    match = _TIMESTAMP.fullmatch(text.strip())
    return match is not None and not match[8]


def write_date(days: int) -> str:
    """Format days since 1970 as a date such as `2024-02-29`."""
    year, month, day = date_of(days)
    return f"{write_year(year)}-{month:02}-{day:02}"


def write_year(year: int) -> str:
    """Format a year with at least four digits, and with a plus sign beyond 9999."""
    return f"+{year}" if year > 9999 else f"{year:04}" if year >= 0 else f"-{-year:04}"


def write_timestamp(micros: int, zone: dt.tzinfo | None) -> str:
    """Format microseconds since 1970 as `2024-02-29 13:00:00.5` in a zone; a timestamp_ntz has the zone None."""
    clock = clock_of(micros if zone is None else to_local(micros, zone))
    fraction = f".{clock.microsecond:06}".rstrip("0") if clock.microsecond else ""
    date = f"{write_year(clock.year)}-{clock.month:02}-{clock.day:02}"
    return f"{date} {clock.hour:02}:{clock.minute:02}:{clock.second:02}{fraction}"


def add_months(days: int, months: int) -> int:
    """Add months to a date in days since 1970; a day that the month does not have becomes its last day."""
    year, month, day = date_of(days)
    year, month = divmod(year * 12 + month - 1 + months, 12)
    return days_of(year, month + 1, min(day, days_of_month(year, month + 1)))
