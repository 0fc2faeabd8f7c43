"""Parsing of times in texts as C's `strptime` does: conversions, blanks and other characters, one after another.

>>> tm, length = parse_tm("2024-02-29 10:11:12 rest", "%Y-%m-%d %H:%M:%S")
>>> tm["mon"], tm["mday"], tm["wday"], tm["yday"], length
(1, 29, 4, 59, 19)
>>> parse_tm("x", "%Y") is None
True
"""

from __future__ import annotations

# pyright: standard
import calendar
import datetime as dt
import re
from typing import Any

_DAYS = [name.lower() for name in calendar.day_name[-1:] + calendar.day_name[:-1]]
_MONTHS = [name.lower() for name in list(calendar.month_name)[1:]]
_SHORT_YEAR = 69
"""The smallest two-digit year that belongs to the twentieth century; smaller ones belong to the twenty-first."""
_COMPOSED = {"D": "%m/%d/%y", "T": "%H:%M:%S", "R": "%H:%M", "F": "%Y-%m-%d", "c": "%a %b %e %H:%M:%S %Y"} | {
    "r": "%I:%M:%S %p",
    "x": "%m/%d/%y",
    "X": "%H:%M:%S",
}
_NUMBERS = {
    "Y": ("year", 4, 0, 9999),
    "m": ("mon", 2, 1, 12),
    "d": ("mday", 2, 1, 31),
    "e": ("mday", 2, 1, 31),
    "H": ("hour", 2, 0, 23),
    "k": ("hour", 2, 0, 23),
    "I": ("hour12", 2, 1, 12),
    "l": ("hour12", 2, 1, 12),
    "M": ("min", 2, 0, 59),
    "S": ("sec", 2, 0, 61),
    "j": ("yday", 3, 1, 366),
    "y": ("short", 2, 0, 99),
    "C": ("century", 2, 0, 99),
    "w": ("wday", 1, 0, 6),
    "u": ("weekday", 1, 1, 7),
}
"""Letter of a numeric conversion -> the part of `Sys.tm`, the most digits, and the smallest and largest value."""
_ZONE = re.compile(r"[+-]\d\d:?(?:\d\d)?|Z")
_BLANKS = re.compile(r"\s*")


def parse_tm(text: str, form: str) -> tuple[dict[str, Any], int] | None:
    """Parse the beginning of a text as a `Sys.tm`; return it with the number of characters read.

    None if the text does not begin with a time of this format.
    """
    parts: dict[str, Any] = {}
    end = _parse(text, 0, form, parts)
    return None if end is None else (_tm_of(parts), end)


def _parse(text: str, at: int, form: str, parts: dict[str, Any]) -> int | None:
    """Parse a text by a format of `strptime` from an offset on, and add the values to `parts`.

    Return the offset after the parsed text, or None if the text does not match.
    """
    place: int | None = at
    index = 0
    while index < len(form) and place is not None:
        sign = form[index]
        if sign == "%" and index + 1 < len(form):
            index += 2 if form[index + 1] not in "EO" else 3
            place = _convert(text, place, form[index - 1], parts)
            continue
        index += 1
        same = place + 1 if text[place : place + 1] == sign else None
        place = _behind_blanks(text, place) if sign.isspace() else same
    return place


def _behind_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    assert blanks is not None
    return blanks.end()


def _convert(text: str, at: int, letter: str, parts: dict[str, Any]) -> int | None:
    """Parse one conversion, such as `%d`, at an offset, and add its value to `parts`; return the offset behind it.

    None if the text does not fit, the conversion is unknown, or a time in seconds (`%s`) is after the year 9999. `%Z`
    reads nothing.
    """
    if letter in _COMPOSED:
        return _parse(text, at, _COMPOSED[letter], parts)
    if letter in _NUMBERS:
        name, digits, least, most = _NUMBERS[letter]
        found = re.compile(rf"\s*(\d{{1,{digits}}})").match(text, at)
        if found is None or not least <= int(found[1]) <= most:
            return None
        parts[name] = int(found[1])
        return found.end()
    match letter:
        case "a" | "A":
            return _word(text, at, _DAYS, "wday", parts)
        case "b" | "B" | "h":
            end = _word(text, at, _MONTHS, "mon", parts)
            parts["mon"] = parts.get("mon", 0) + 1
            return end
        case "p" | "P":
            return _word(text, at, ["am", "pm"], "half", parts)
        case "z":
            found = _ZONE.match(text, _behind_blanks(text, at))
            return None if found is None else _offset(found, parts)
        case "s":
            found = re.compile(r"\s*(\d+)").match(text, at)
            return None if found is None else _of_seconds(found, parts)
        case "n" | "t":
            return _behind_blanks(text, at)
        case "Z":
            return at
        case "%":
            return at + 1 if text[at : at + 1] == "%" else None
        case _:
            return None


def _word(text: str, at: int, words: list[str], name: str, parts: dict[str, Any]) -> int | None:
    """Parse one of some words, in full or by its first three letters, ignoring case.

    None if the text has none of them there.
    """
    rest = text[at:].lower()
    for index, word in enumerate(words):
        for form in (word, word[:3]):
            if rest.startswith(form):
                parts[name] = index
                return at + len(form)
    return None


def _offset(found: re.Match[str], parts: dict[str, Any]) -> int:
    digits = found[0].replace(":", "")
    if digits != "Z":
        seconds = int(digits[1:3]) * 3600 + int(digits[3:5] or 0) * 60
        parts["gmtoff"] = -seconds if digits[0] == "-" else seconds
    return found.end()


def _of_seconds(found: re.Match[str], parts: dict[str, Any]) -> int | None:
    try:
        moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=int(found[1]))
    except (OverflowError, ValueError):  # int refuses thousands of digits with a ValueError
        return None
    parts |= {"year": moment.year, "mon": moment.month, "mday": moment.day}
    parts |= {"hour": moment.hour, "min": moment.minute, "sec": moment.second}
    return found.end()


def _tm_of(parts: dict[str, Any]) -> dict[str, Any]:
    """Return the `Sys.tm` of the parsed parts; missing parts are 0, `isdst` is always -1, and `zone` is empty.

    Weekday and day of the year follow from a complete, existing date.
    """
    year = parts.get("year")
    if year is None and "short" in parts:
        century = parts.get("century", 19 if parts["short"] >= _SHORT_YEAR else 20)
        year = 100 * century + parts["short"]
    hour = parts.get("hour", 0)
    if "hour12" in parts:
        hour = parts["hour12"] % 12 + 12 * parts.get("half", 0)
    tm = {
        "sec": parts.get("sec", 0),
        "min": parts.get("min", 0),
        "hour": hour,
        "mday": parts.get("mday", 0),
        "mon": parts.get("mon", 1) - 1,
        "year": 0 if year is None else year - 1900,
        "wday": parts.get("wday", parts.get("weekday", 0) % 7),
        "yday": parts.get("yday", 1) - 1,
        "isdst": -1,
        "gmtoff": parts.get("gmtoff", 0),
        "zone": "",
    }
    if year is not None and {"mon", "mday"} <= parts.keys():
        try:
            date = dt.date(year, parts["mon"], parts["mday"])
        except ValueError:
            return tm
        tm |= {"wday": date.isoweekday() % 7, "yday": date.timetuple().tm_yday - 1}
    return tm
