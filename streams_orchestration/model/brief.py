"""Names of operators and numbers, short enough for a table."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable

_MOST_HOURS = 72
"""Hours from which a duration is written in days."""


def without_channels(name: str) -> str:
    """Return the logical name: `Out[0].A` -> `Out.A`."""
    return re.sub(r"\[\d+\]", "", name)


def short_list(operators: Iterable[str], width: int = 48) -> str:
    """Return the operators' names as one text of about `width` characters, in which all replicas are one name.

    Replicas are written as `Out.A ×3`, and names that do not fit as their number: `A, B +3`. The first name is
    written whatever its length.

    Args:
        operators: physical names.
        width: the approximate length of the text, in characters.
    """
    replicas: dict[str, list[str]] = {}
    for name in operators:
        replicas.setdefault(without_channels(name), []).append(name)
    labels = [f"{name} ×{len(names)}" if len(names) > 1 else names[0] for name, names in replicas.items()]
    shown: list[str] = []
    for label in labels:
        if shown and len(", ".join([*shown, label])) > width:
            return f"{', '.join(shown)} +{len(labels) - len(shown)}"
        shown.append(label)
    return ", ".join(shown)


def count(number: float) -> str:
    """Return the number, rounded to a whole number, with separators: 1,234,567."""
    return f"{number:,.0f}"


def significant(number: float, digits: int = 6) -> float:
    """Round a number to significant digits."""
    return float(f"{number:.{digits}g}")


def plural(number: int, noun: str) -> str:
    """Return the count with its noun: `1 row`, `2 rows`, `1,000 rows`."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return the duration in words: `0.4 s`, `12 s`, `3 min 5 s`, `2 h 4 min`, `3 d 7 h`; `0.0 s` if it is negative."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{rest} s"
    hours, minutes_left = divmod(minutes, 60)
    if hours >= _MOST_HOURS:
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours} h {minutes_left} min" if hours else f"{minutes} min {rest} s"


def moment(seconds: float) -> str:
    """Return a unix time as text: `2026-11-28 03:10:05.250 UTC`, or in seconds if it is beyond the calendar."""
    try:
        return f"{dt.datetime.fromtimestamp(seconds, dt.UTC):%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.3f} s"
