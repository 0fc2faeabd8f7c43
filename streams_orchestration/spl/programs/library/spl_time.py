"""`spl.time`: timestamps as nanoseconds since 1970, and calendars.

>>> ctime(0, "UTC")
'Thu Jan  1 00:00:00 1970'
"""

from __future__ import annotations

# pyright: standard
import datetime as dt
import math
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.library.registry import plain, typed
from streams_orchestration.spl.types.types import FLOAT64, TIMESTAMP, Type

_SECOND = 10**9
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_LIMIT = 2**63


def checked(nanoseconds: int) -> int:
    """Return a timestamp; raise RunError outside of the years 1677 to 2262."""
    if not -_LIMIT <= nanoseconds < _LIMIT:
        message = f"the timestamp ({nanoseconds // _SECOND},{nanoseconds % _SECOND},0) is outside of 1677 to 2262"
        raise RunError(message)
    return nanoseconds


def _moment(timestamp: int, zone: str) -> dt.datetime:
    return (_EPOCH + dt.timedelta(seconds=timestamp // _SECOND)).astimezone(ZoneInfo(zone))


def ctime(timestamp: int, zone: str) -> str:
    """Return the local time of a timestamp in words."""
    moment = _moment(timestamp, zone)
    return f"{moment:%a %b} {moment.day:2d} {moment:%H:%M:%S %Y}"


def from_seconds(seconds: float) -> int:
    """Return the timestamp of seconds since 1970."""
    if not math.isfinite(seconds):
        message = f"{seconds} seconds are no timestamp"
        raise RunError(message)
    whole = math.floor(seconds)
    return checked(whole * _SECOND + int((seconds - whole) * _SECOND))


def to_seconds(timestamp: int) -> float:
    """Return the seconds since 1970."""
    return timestamp // _SECOND + timestamp % _SECOND / 1e9


plain("diffAsNanos")(lambda one, other: one - other)
plain("getTimestamp", run=True)(lambda run: run.now())
plain("getTimestampInSecs", run=True)(lambda run: to_seconds(run.now()))
plain("time", when=lambda types: not types, run=True)(lambda run: run.now() // _SECOND)


@plain("getCPUTime", "getCPUTimestamp", run=True)
def _cpu(run: Any) -> int:
    return run.now()


@plain("createTimestamp", when=lambda types: len(types) >= 2)
def create_timestamp(seconds: int, nanoseconds: int, _machine: int = 0) -> int:
    """Return a timestamp; the machine is not kept."""
    return checked(seconds * _SECOND + nanoseconds)


@typed("toTimestamp", when=lambda types: len(types) == 1)
def _to_timestamp(_types: tuple[Type, ...], _: Type) -> Callable[..., int]:
    return from_seconds


plain("getSeconds")(lambda timestamp: timestamp // _SECOND)
plain("getNanoseconds")(lambda timestamp: timestamp % _SECOND)
plain("getMachineId")(lambda _: 0)


@typed("add", when=lambda types: bool(types) and types[0] == TIMESTAMP)
def _add(types: tuple[Type, ...], _: Type) -> Callable[..., int]:
    if types[1] == FLOAT64:
        return lambda timestamp, seconds: checked(timestamp + from_seconds(seconds))
    return lambda timestamp, amount: checked(timestamp + amount)


@typed("subtract", when=lambda types: bool(types) and types[0] == TIMESTAMP)
def _subtract(types: tuple[Type, ...], _: Type) -> Callable[..., int]:
    if types[1] == FLOAT64:
        return lambda timestamp, seconds: checked(timestamp - from_seconds(seconds))
    return lambda timestamp, amount: checked(timestamp - amount)


plain("diffAsSecs")(lambda one, other: to_seconds(one - other))
plain("between")(lambda timestamp, start, end: start <= timestamp < end)
plain("isValid", when=lambda types: bool(types) and types[0] == TIMESTAMP)(lambda _: True)


@plain("ctime", run=True)
def _ctime(run: Any, timestamp: int | None = None) -> str:
    return ctime(run.now() if timestamp is None else timestamp, run.zone)


_PARTS: dict[str, Callable[[dt.datetime], int]] = {
    "year": lambda moment: moment.year,
    "month": lambda moment: moment.month - 1,
    "day": lambda moment: moment.day,
    "dayOfMonth": lambda moment: moment.day,
    "dayOfWeek": lambda moment: moment.isoweekday() % 7,
    "dayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "hour": lambda moment: moment.hour,
    "minute": lambda moment: moment.minute,
    "second": lambda moment: moment.second,
}


def _register(name: str, part: Callable[[dt.datetime], int]) -> None:
    plain(name, run=True)(lambda run, timestamp: part(_moment(timestamp, run.zone)))
    plain(f"gm{name[0]}{name[1:]}", f"gm{name[0].upper()}{name[1:]}")(lambda timestamp: part(_moment(timestamp, "UTC")))


for _name, _part in _PARTS.items():
    _register(_name, _part)


# --- Sys.tm: sec min hour mday mon year wday yday isdst gmtoff zone


def tm_of(moment: dt.datetime) -> dict[str, Any]:
    """Return a moment as `Sys.tm`."""
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


@plain("localtime", run=True, assigns=(1,))
def localtime(run: Any, timestamp: int, _: Any) -> tuple[None, dict[str, Any]]:
    """Give the local time of a timestamp to the second argument."""
    return None, tm_of(_moment(timestamp, run.zone))


@plain("gmtime", assigns=(1,))
def gmtime(timestamp: int, _: Any) -> tuple[None, dict[str, Any]]:
    """Give the time of a timestamp in UTC to the second argument."""
    return None, tm_of(_moment(timestamp, "UTC"))


@plain("mktime", run=True)
def mktime(run: Any, tm: dict[str, Any]) -> int:
    """Return the seconds since 1970 of a local time."""
    return int(_of_tm(tm, run.zone).timestamp())


def _of_tm(tm: dict[str, Any], zone: str) -> dt.datetime:
    start = dt.datetime(tm["year"] + 1900, 1, 1, tzinfo=ZoneInfo(zone))
    month = start.replace(year=start.year + tm["mon"] // 12, month=tm["mon"] % 12 + 1)
    rest = dt.timedelta(days=tm["mday"] - 1, hours=tm["hour"], minutes=tm["min"], seconds=tm["sec"])
    return (month.replace(tzinfo=None) + rest).replace(tzinfo=ZoneInfo(zone))


@plain("strftime", run=True)
def strftime(run: Any, tm: dict[str, Any], form: str) -> str:
    """Return a time in a form of C's `strftime`."""
    return _of_tm(tm, run.zone).strftime(form)
