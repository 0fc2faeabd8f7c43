"""Patterns of dates and times, such as `yyyy-MM-dd HH:mm:ss`, with the meaning of Java's `DateTimeFormatter`.

>>> from streams_orchestration.expressions.times import UTC
>>> pattern_of("dd.MM.yyyy").write(0, UTC)
'01.01.1970'
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from streams_orchestration.expressions.errors import PatternError
from streams_orchestration.expressions.times import (
    DAY,
    MINUTE,
    SECOND,
    LocalTime,
    clock_of,
    days_of,
    exists,
    from_local,
    micros_of,
    to_local,
    write_year,
    zone_named,
)

_MONTHS = "January February March April May June July August September October November December"
MONTHS = tuple(_MONTHS.split())
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_PIECE = re.compile(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|([^A-Za-z']+)|(')")
_SUPPORTED = "y M L d D E a h H k K m s S Q q X x Z V z"
_WIDEST = {"y": 6, "D": 3, "S": 9, "a": 1} | dict.fromkeys("QqMLEz", 4) | dict.fromkeys("XxZ", 5)
"""Letter -> how often it may be repeated; twice without an entry."""


class PatternPiece(NamedTuple):
    """A part of a pattern: a repeated pattern letter, or a literal text."""

    letter: str
    times: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern, which formats timestamps and parses texts."""

    text: str
    pieces: tuple[PatternPiece, ...]
    reader: re.Pattern[str]

    def write(self, micros: int, zone: dt.tzinfo | None) -> str:
        """Format microseconds since 1970 as the local time of a zone; the zone is None for a timestamp without zone."""
        local = micros if zone is None else to_local(micros, zone)
        clock = clock_of(local)
        offset = (local - micros) // SECOND
        name = "UTC" if zone is None else str(zone)
        return "".join(_written(piece, clock, local // DAY, offset, name) for piece in self.pieces)

    def read(self, text: str, zone: dt.tzinfo | None) -> int | None:
        """Parse a text as microseconds since 1970; None if it does not match, or no such time or zone exists.

        Missing parts are taken from 1970-01-01 00:00:00, and digits beyond microseconds are cut off. A text that names
        no zone is in the local time of `zone`. If `zone` is None, the result is local, and a zone in the text ignored.
        """
        match = self.reader.fullmatch(text)
        if match is None:
            return None
        parts = {
            piece.letter: (match[f"p{place}"], piece.times) for place, piece in enumerate(self.pieces) if piece.letter
        }
        return _assembled(parts, zone)


@functools.lru_cache(maxsize=1024)
def pattern_of(text: str) -> Pattern:
    """Compile the text of a pattern.

    Raises:
        PatternError: a letter has no meaning, or is repeated too often.
    """
    pieces: list[PatternPiece] = []
    position = 0
    while position < len(text):
        match = _PIECE.match(text, position)
        if match is None or match[5]:
            raise _unsupported(text, text[position])
        position = match.end()
        if match[2] is None:
            quoted = match[1]
            if quoted is None and any(mark in match[4] for mark in "[]{}#"):
                raise _unsupported(text, match[4])
            pieces.append(PatternPiece("", 0, (quoted.replace("''", "'") or "'") if quoted is not None else match[4]))
            continue
        piece = PatternPiece(match[3], len(match[2]))
        if piece.letter not in _SUPPORTED or piece.letter == " " or piece.times > _WIDEST.get(piece.letter, 2):
            raise _unsupported(text, match[2])
        pieces.append(piece)
    places = enumerate(pieces)
    reader = "".join(
        re.escape(piece.text) if not piece.letter else f"(?P<p{place}>{_expected(piece)})" for place, piece in places
    )
    return Pattern(text, tuple(pieces), re.compile(reader))


def _unsupported(text: str, part: str) -> PatternError:
    return PatternError(
        f"{part!r} in the pattern {text!r} has no meaning; letters are {_SUPPORTED}, texts are written in single quotes"
    )


def _digits(count: int, widest: int) -> str:
    return rf"\d{{{count}}}" if count > 1 else rf"\d{{1,{widest}}}"


def _expected(piece: PatternPiece) -> str:
    """Return the regular expression of the texts that a part with a letter matches.

    It may have alternatives, so it needs a group around it. Names of months and days are English.
    """
    letter, count = piece.letter, piece.times
    match letter:
        case "y":
            return r"\d{2}" if count == 2 else r"[+-]?\d{4,6}" if count >= 4 else r"[+-]?\d{1,6}"
        case "M" | "L" if count >= 3:
            return "|".join(name[:3] if count == 3 else name for name in MONTHS)
        case "E":
            return "|".join(name[:3] if count < 4 else name for name in DAYS)
        case "a":
            return "AM|PM|am|pm"
        case "S":
            return rf"\d{{{count}}}"
        case "D":
            return _digits(count, 3)
        case "X" | "x" | "Z":
            return r"Z|[+-]\d{2}(?::?\d{2}(?::?\d{2})?)?|GMT(?:[+-]\d{1,2}(?::\d{2})?)?"
        case "V" | "z":
            return r"[A-Za-z][\w/+:-]*|[+-]\d{2}:\d{2}"
        case "Q" | "q":
            return _digits(count, 1)
        case _:
            return _digits(count, 2)


def _written(piece: PatternPiece, clock: LocalTime, days: int, offset: int, zone: str) -> str:
    """Format one part of a pattern."""
    letter, count = piece.letter, piece.times
    numbers: dict[str, Callable[[], int]] = {
        "d": lambda: clock.day,
        "D": lambda: days - days_of(clock.year, 1, 1) + 1,
        "H": lambda: clock.hour,
        "k": lambda: clock.hour or 24,
        "K": lambda: clock.hour % 12,
        "h": lambda: clock.hour % 12 or 12,
        "m": lambda: clock.minute,
        "s": lambda: clock.second,
    }
    if letter in numbers:
        return str(numbers[letter]()).zfill(count)
    match letter:
        case "":
            return piece.text
        case "y":
            return f"{clock.year % 100:02}" if count == 2 else write_year(clock.year).zfill(count)
        case "M" | "L":
            name = MONTHS[clock.month - 1]
            return str(clock.month).zfill(count) if count < 3 else name[:3] if count == 3 else name
        case "E":
            name = DAYS[(days + 3) % 7]
            return name if count == 4 else name[:3]
        case "a":
            return "PM" if clock.hour >= 12 else "AM"
        case "S":
            return f"{clock.microsecond:06}".ljust(9, "0")[:count]
        case "Q" | "q":
            quarter = (clock.month + 2) // 3
            ordinal = ("1st", "2nd", "3rd", "4th")[quarter - 1]
            return str(quarter).zfill(count) if count < 3 else f"Q{quarter}" if count == 3 else f"{ordinal} quarter"
        case "V" | "z":
            return zone
        case _:
            return _offset(letter, count, offset)


def _offset(letter: str, count: int, offset: int) -> str:
    """Format a zone's offset from UTC, which is given in seconds, as the pattern letters X, x and Z do."""
    if letter == "X" and offset == 0:
        return "Z"
    sign = "-" if offset < 0 else "+"
    hours, rest = divmod(abs(offset), 3600)
    minutes, seconds = divmod(rest, 60)
    if letter == "Z":
        if count == 4:
            return "GMT" if offset == 0 else f"GMT{sign}{hours:02}:{minutes:02}"
        if count == 5:
            return "Z" if offset == 0 else f"{sign}{hours:02}:{minutes:02}"
        return f"{sign}{hours:02}{minutes:02}"
    if count == 1:
        return f"{sign}{hours:02}" + (f"{minutes:02}" if minutes else "")
    colon = ":" if count in (3, 5) else ""
    return f"{sign}{hours:02}{colon}{minutes:02}" + (f"{colon}{seconds:02}" if seconds and count > 3 else "")


def _assembled(parts: dict[str, tuple[str, int]], zone: dt.tzinfo | None) -> int | None:
    """Return the microseconds since 1970 of the parsed parts; None if no such time exists."""

    def number(letter: str, otherwise: int) -> int:
        return int(parts[letter][0]) if letter in parts else otherwise

    year = number("y", 1970) + (2000 if parts.get("y", ("", 0))[1] == 2 else 0)
    month, day = _month(parts), number("d", 1)
    if month is None:
        month = (number("Q", number("q", 1)) - 1) * 3 + 1
    hour = number("H", number("k", 0) % 24)
    if "h" in parts or "K" in parts:
        if number("h", 1) not in range(1, 13) or number("K", 0) > 11:
            return None
        afternoon = parts.get("a", ("AM", 0))[0].upper() == "PM"
        hour = number("h", number("K", 0)) % 12 + (12 if afternoon else 0)
    minute, second = number("m", 0), number("s", 0)
    if not exists(year, month, day) or hour > 23 or minute > 59 or second > 59:
        return None
    fraction = int(parts["S"][0].ljust(6, "0")[:6]) if "S" in parts else 0
    local = micros_of(LocalTime(year, month, day, hour, minute, second, fraction))
    if "D" in parts:
        local += (number("D", 1) - 1) * DAY
    if "E" in parts and DAYS[(local // DAY + 3) % 7][:3] != parts["E"][0][:3]:
        return None
    return _placed(local, parts, zone)


def _month(parts: dict[str, tuple[str, int]]) -> int | None:
    for letter in ("M", "L"):
        if letter in parts:
            text, count = parts[letter]
            return int(text) if count < 3 else [name[:3] for name in MONTHS].index(text[:3]) + 1
    return None


def _placed(local: int, parts: dict[str, tuple[str, int]], zone: dt.tzinfo | None) -> int | None:
    """Convert local microseconds since 1970 to UTC, by the parsed zone or else by `zone`.

    Without `zone` the result stays local.

    None if the parsed zone does not exist.
    """
    if zone is None:
        return local
    for letter in ("X", "x", "Z", "V", "z"):
        if letter in parts:
            text = parts[letter][0]
            if re.fullmatch(r"[+-]\d{4}", text):
                sign = -1 if text[0] == "-" else 1
                return local - sign * (int(text[1:3]) * 60 + int(text[3:])) * MINUTE
            named = zone_named(text)
            return None if named is None else from_local(local, named)
    return from_local(local, zone)
