"""`spl.time`: timestamps, which are nanoseconds since 1970, and calendars.

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
    """Return a timestamp in nanoseconds; raise RunError if it is outside of the years 1677 to 2262."""
    if not -_LIMIT <= nanoseconds < _LIMIT:
        message = f"the timestamp ({nanoseconds // _SECOND},{nanoseconds % _SECOND},0) is outside of 1677 to 2262"
        raise RunError(message)
    return nanoseconds


def moment_of(timestamp: int, zone: str) -> dt.datetime:
    """Return a timestamp as the local date and time of a zone, truncated to seconds."""
    return (_EPOCH + dt.timedelta(seconds=timestamp // _SECOND)).astimezone(ZoneInfo(zone))


def ctime(timestamp: int, zone: str) -> str:
    """Format nanoseconds since 1970 in the local time of a zone as C's `ctime` does: `Thu Jan 1 00:00:00 1970`."""
    moment = moment_of(timestamp, zone)
    return f"{moment:%a %b} {moment.day:2d} {moment:%H:%M:%S %Y}"


def from_seconds(seconds: float) -> int:
    """Convert seconds since 1970 to a timestamp in nanoseconds.

    Raises:
        RunError: the seconds are outside the range of timestamps.
    """
    if not math.isfinite(seconds):
        message = f"{seconds} seconds are outside the range of timestamps"
        raise RunError(message)
    whole = math.floor(seconds)
    return checked(whole * _SECOND + int((seconds - whole) * _SECOND))


def to_seconds(timestamp: int) -> float:
    """Convert a timestamp to seconds since 1970."""
    return timestamp // _SECOND + timestamp % _SECOND / 1e9


plain("diffAsNanos")(lambda one, other: one - other)
plain("getTimestamp", run=True)(lambda run: run.now())
plain("getTimestampInSecs", run=True)(lambda run: to_seconds(run.now()))
plain("getCPUCounterInNanoSeconds", run=True)(lambda run: run.now())


@plain("createTimestamp", when=lambda types: len(types) >= 2)
def create_timestamp(seconds: int, nanoseconds: int, _machine: int = 0) -> int:
    """Return the timestamp of seconds and nanoseconds without the machine id.

    Raises RunError if it is outside of the years 1677 to 2262.
    """
    return checked(seconds * _SECOND + nanoseconds)


plain("getSeconds")(lambda timestamp: timestamp // _SECOND)
plain("getNanoseconds")(lambda timestamp: timestamp % _SECOND)
plain("getMachineId")(lambda _: 0)


@typed("add", when=lambda types: bool(types) and types[0] == TIMESTAMP)
def _add(types: tuple[Type, ...], _: Type) -> Callable[..., int]:
    if types[1] == FLOAT64:
        return lambda timestamp, seconds: checked(timestamp + from_seconds(seconds))
    return lambda timestamp, amount: checked(timestamp + amount)


@plain("diffAsSecs")
def difference(one: int, other: int) -> float:
    """Return the difference of two timestamps, the first minus the second, in seconds."""
    return float(one // _SECOND - other // _SECOND) + (one % _SECOND - other % _SECOND) / 1e9


@plain("ctime", run=True)
def _ctime(run: Any, timestamp: int) -> str:
    return ctime(timestamp, run.zone)


_PARTS: dict[str, Callable[[dt.datetime], int]] = {
    "year": lambda moment: moment.year,
    "month": lambda moment: moment.month - 1,
    "day": lambda moment: moment.day,
    "dayOfWeek": lambda moment: moment.isoweekday() % 7,
    "dayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "hour": lambda moment: moment.hour,
    "minute": lambda moment: moment.minute,
    "second": lambda moment: moment.second,
}


def _register(name: str, part: Callable[[dt.datetime], int]) -> None:
    plain(name, run=True)(lambda run, timestamp: part(moment_of(timestamp, run.zone)))
    plain(f"gm{name}")(lambda timestamp: part(moment_of(timestamp, "UTC")))


for _name, _part in _PARTS.items():
    _register(_name, _part)
