"""`spl.time` and `spl.eventtime`: conversion of timestamps to and from `Sys.tm`, texts and ticks.

`Sys.tm` is the `struct tm` of C: sec min hour mday mon year wday yday isdst gmtoff zone.

>>> format_tm({**tm_of(moment_of(0, "UTC")), "mday": 2}, "%Y-%m-%d %H:%M")
'1970-01-02 00:00'
"""

from __future__ import annotations

# pyright: standard
import datetime as dt
import re
import time
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.library.registry import plain, typed
from streams_orchestration.spl.programs.library.spl_time import checked, moment_of
from streams_orchestration.spl.programs.library.strptime import parse_tm
from streams_orchestration.spl.types.types import Enumeration, Tuple, Type

_SECOND = 10**9
_TICKS = {"Milliseconds": 10**6, "Microseconds": 10**3, "Nanoseconds": 1}
"""Resolution of event time -> the nanoseconds of one tick."""
_UTC = ("UTC", "GMT")


def tm_of(moment: dt.datetime) -> dict[str, Any]:
    """Convert a local date and time to a `Sys.tm`; without a zone, its offset is 0 and its zone empty."""
    parts = moment.timetuple()
    offset = moment.utcoffset() or dt.timedelta()
    return {
        "sec": moment.second,
        "min": moment.minute,
        "hour": moment.hour,
        "mday": moment.day,
        "mon": moment.month - 1,
        "year": moment.year - 1900,
        "wday": moment.isoweekday() % 7,
        "yday": parts.tm_yday - 1,
        "isdst": int(bool(moment.dst())),
        "gmtoff": int(offset.total_seconds()),
        "zone": moment.tzname() or "",
    }


_NO_ZONE = (ZoneInfoNotFoundError, ValueError, OSError)
"""The errors of a name that is not a zone; an OSError is one of a directory, such as `Europe`, or of a long name."""


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except _NO_ZONE:
        message = f"unknown time zone {name!r:.60}"
        raise RunError(message) from None


@plain("time", when=lambda types: len(types) == 2, run=True, assigns=(1,))
def local_time(run: Any, timestamp: int, _: Any) -> tuple[None, dict[str, Any]]:
    """Assign the timestamp as a `Sys.tm` in the operator's time zone to the second argument."""
    return None, tm_of(moment_of(timestamp, run.zone))


@plain("time", when=lambda types: len(types) == 3, assigns=(2,))
def time_in_zone(timestamp: int, zone: str, _: Any) -> tuple[None, dict[str, Any]]:
    """Assign the timestamp as a `Sys.tm` in the given zone to the last argument; raise RunError for an unknown zone."""
    return None, tm_of(moment_of(timestamp, _zone(zone).key))


@plain("gmtime", assigns=(1,))
def gmtime(timestamp: int, _: Any) -> tuple[None, dict[str, Any]]:
    """Assign the timestamp as a `Sys.tm` in UTC to the second argument."""
    return None, tm_of(moment_of(timestamp, "UTC"))


def _seconds_of(tm: dict[str, Any], zone: ZoneInfo) -> int:
    """Return the seconds since 1970 of a `Sys.tm` in a zone; values beyond their ranges carry over."""
    years, month = divmod(tm["mon"], 12)
    try:
        start = dt.datetime(tm["year"] + 1900 + years, month + 1, 1)
        rest = dt.timedelta(days=tm["mday"] - 1, hours=tm["hour"], minutes=tm["min"], seconds=tm["sec"])
        return int((start + rest).replace(tzinfo=zone).timestamp())
    except (ValueError, OverflowError):
        message = f"the year {tm['year'] + 1900 + years} is outside of 1677 to 2262"
        raise RunError(message) from None


@plain("toTimestamp", when=lambda types: isinstance(types[0], Tuple), run=True)
def timestamp_of_tm(run: Any, tm: dict[str, Any], default_zone: bool = False) -> int:  # noqa: FBT001, FBT002
    """Return the timestamp, in nanoseconds since 1970, of a `Sys.tm` in the zone that it names.

    If it names no zone, its `gmtoff` applies, or, if `default_zone` is true, the operator's time zone. That zone also
    applies if the name is unknown. A year outside of 1677 to 2262 raises RunError.
    """
    zone = tm["zone"]
    if zone in _UTC or not (zone or default_zone):
        return checked((_seconds_of(tm, ZoneInfo("UTC")) - tm["gmtoff"]) * _SECOND)
    return checked(_seconds_of(tm, _named_zone(zone, run.zone)) * _SECOND)


def _named_zone(name: str, local: str) -> ZoneInfo:
    """Return the zone with a name; for an empty or unknown name, such as an abbreviation, return the local zone."""
    try:
        return ZoneInfo(name or local)
    except _NO_ZONE:
        return ZoneInfo(local)


@plain("strftime")
def format_tm(tm: dict[str, Any], form: str) -> str:
    """Format a `Sys.tm` by a format of C's `strftime`.

    Raises:
        RunError: C's `strftime` does not accept the format or the time.
    """
    weekday = (tm["wday"] - 1) % 7
    parts = (
        *(tm["year"] + 1900, tm["mon"] + 1, tm["mday"], tm["hour"], tm["min"], tm["sec"]),
        *(weekday, tm["yday"] + 1, tm["isdst"], tm["zone"] or "GMT", tm["gmtoff"]),
    )
    try:
        return time.strftime(form, time.struct_time(parts))
    except ValueError as error:
        message = f"strftime: {error}"
        raise RunError(message) from None


@plain("strptime", assigns=(2, 3))
def strptime(text: str, form: str, tm: dict[str, Any], _: int) -> tuple[None, dict[str, Any], int]:
    """Parse the beginning of a text as a time, and assign it to `tm`.

    The number of characters read is assigned to the last argument. If the text does not begin with a time, `tm` keeps
    its value, and the number is 0.
    """
    found = parse_tm(text, form)
    return (None, tm, 0) if found is None else (None, *found)


# --- texts in a fixed form

_FIXED = {"YYYY": r"(?P<year>\d{4})", "mmm": r"(?P<ms>\d{3})"} | {
    letters: rf"(?P<{name}>\d\d)"
    for letters, name in {"MM": "month", "DD": "day", "hh": "hour", "mm": "minute", "ss": "second"}.items()
}
_PART = re.compile("YYYY|mmm|MM|DD|hh|mm|ss|_")


def _pattern(form: str) -> re.Pattern[str]:
    """Return the regular expression for a word of `Sys.TimestampFormat`; any character may separate two parts."""
    return re.compile("".join(_FIXED.get(part, ".") for part in _PART.findall(form)), re.DOTALL)


@typed("toTimestamp", when=lambda types: isinstance(types[0], Enumeration), run=True)
def _timestamp_of_text(_types: tuple[Type, ...], _: Type) -> Callable[..., int]:
    def timestamp(run: Any, form: str, text: str, zone: str = "") -> int:
        found = _pattern(form).fullmatch(text)
        if found is None:
            message = f"toTimestamp: {text!r:.60} does not have the form {form}"
            raise RunError(message)
        parts = {name: int(value) for name, value in found.groupdict().items()}
        return _timestamp_of_parts(parts, zone or run.zone)

    return timestamp


def _timestamp_of_parts(parts: dict[str, int], zone: str) -> int:
    tm = {
        "year": parts["year"] - 1900,
        "mon": parts["month"] - 1,
        "mday": parts["day"],
        "hour": parts["hour"],
        "min": parts["minute"],
        "sec": parts["second"],
    }
    return checked(_seconds_of(tm, _zone(zone)) * _SECOND + parts.get("ms", 0) * 10**6)


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TIME_STRING = re.compile(
    r"(?P<day>\d\d).(?P<month>[A-Za-z]{3}).(?P<year>\d{4}) "
    r"(?P<hour>\d\d).(?P<minute>\d\d).(?P<second>\d\d).(?P<ms>\d{3})"
)
_LOCAL_TIME_STRING = re.compile(
    r"\s*(?P<day>\d\d?)-(?P<month>[A-Za-z]{3})[A-Za-z]*-(?P<year>\d{1,4})\s+"
    r"(?P<hour>\d\d?):(?P<minute>\d\d?):(?P<second>\d\d?)\.(?P<ms>\d{0,3}).*"
)
"""The form with names of months of the locale, which is C here: numbers may have fewer digits."""


@plain("timeStringToTimestamp", "timeStringtoTimestamp", run=True)
def time_string(run: Any, date: str, hours: str, *rest: Any) -> int:
    """Parse a date such as `04-OCT-2005` and a time such as `14:18:19.324` as nanoseconds since 1970.

    If the last argument is true, numbers may have fewer digits, and a wrong text gives 1970-01-01.

    Raises:
        RunError: a text is wrong, and the last argument is not true; or the zone is unknown, or the year is outside of
            1677 to 2262.
    """
    lenient = bool(rest and rest[-1])
    found = (_LOCAL_TIME_STRING if lenient else _TIME_STRING).fullmatch(f"{date} {hours}")
    if found is None or found["month"].lower() not in _MONTHS:
        if lenient:
            return 0
        message = (
            f"timeStringToTimestamp: '04-OCT-2005' and '14:18:19.324' are expected, not {date!r:.20} and {hours!r:.20}"
        )
        raise RunError(message)
    parts = {name: int(value or "0") for name, value in found.groupdict().items() if name != "month"}
    parts["month"] = _MONTHS.index(found["month"].lower()) + 1
    return _timestamp_of_parts(parts, (rest[0] if len(rest) > 1 else "") or run.zone)


# --- ticks


@plain("toTimestamp", when=lambda types: len(types) == 2 and isinstance(types[1], Enumeration))
def timestamp_of_ticks(ticks: int, resolution: str) -> int:
    """Return the timestamp, in nanoseconds, of a number of ticks after 1970-01-01.

    Raises RunError if it is outside of the years 1677 to 2262.
    """
    return checked(ticks * _TICKS[resolution])


def _ticks(name: str, most: int, least: int) -> None:
    @plain(name)
    def ticks_of(timestamp: int, resolution: str) -> int:
        return max(least, min(most, timestamp // _TICKS[resolution]))


_ticks("int64TicksFromTimestamp", 2**63 - 1, -(2**63))
_ticks("uint64TicksFromTimestamp", 2**64 - 1, 0)
