"""The window clauses of event time: panes of intervals, sessions and calendar units, and the order of a Sort (EV14).

    >>> parse_event_time_window("session, gap(2.5), partitioned")
    SessionWindow(gap=Fraction(5, 2), discard_age=Fraction(0, 1), partitioned=True)
    >>> parse_event_time_window("timeInterval, intervalDuration(10.0)").in_ticks(1000).duration
    10000
    >>> parse_event_time_window("tumbling, count(10)") is None
    True

Lengths of time are exact decimal numbers of seconds. The parts may be in any order. If the kind is not first or
`partitioned` is not last, that is only a warning (CDISP0747W).
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal, NamedTuple, TypeVar, get_args

from streams_orchestration.model.names import nearest

CalendarUnit = Literal["day", "week", "month"]
DiscardBy = Literal["tuple", "pane"]
Word = TypeVar("Word", bound=str)

_PART = re.compile(r"(\w+)\s*(?:\(([^()]*)\))?")
_NUMBER = re.compile(r"-?(\d{1,18}(\.\d{0,18})?|\.\d{1,18})([eE][+-]?\d{1,2})?")
_OTHER_PARTS = frozenset(("tumbling", "sliding", "count", "delta", "time", "punct"))
_PARTITION_POLICIES = frozenset(("partitionAge", "partitionCount", "tupleCount"))
TOO_LONG = 2**62
"""The first number of ticks that is too large for a length of time."""


class WindowClauseError(ValueError):
    """A window clause is wrong. `code` is the code of the diagnostic."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class IntervalTicks(NamedTuple):
    """The lengths of an interval window, in ticks of the event-time attribute."""

    duration: int
    period: int
    offset: int
    """The start of the panes modulo the period."""
    discard_age: int
    early: int | None


@dataclass(frozen=True, slots=True)
class IntervalWindow:
    """`timeInterval`: panes [n * period + offset, that + duration) (EV28). Lengths are in seconds."""

    duration: Fraction
    period: Fraction
    offset: Fraction = Fraction(0)
    discard_age: Fraction = Fraction(0)
    discard_by: DiscardBy = "tuple"
    """The rule for late tuples: `tuple` drops those late by more than `discard_age` (EV30), `pane` those whose panes
    are all closed (EV50).
    """
    early: Fraction | None = None
    """The interval of early firings in seconds, from the start of a pane on (EV64); None for no early firings."""
    partitioned: bool = False

    def in_ticks(self, ticks: int) -> IntervalTicks:
        """Return the window's lengths in ticks; `ticks` is the number of ticks in a second.

        Raises:
            WindowClauseError: a length is not a whole number of ticks (SO0801), or too large (SO0401).
        """
        duration = whole_ticks("intervalDuration", self.duration, ticks)
        period = whole_ticks("creationPeriod", self.period, ticks)
        return IntervalTicks(
            duration,
            period,
            whole_ticks("intervalOffset", self.offset, ticks) % period,
            whole_ticks("discardAge", self.discard_age, ticks),
            None if self.early is None else whole_ticks("early", self.early, ticks),
        )


@dataclass(frozen=True, slots=True)
class SessionWindow:
    """`session`: tuples of a partition less than `gap` apart are one pane (EV56). Lengths are in seconds."""

    gap: Fraction
    discard_age: Fraction = Fraction(0)
    partitioned: bool = False

    def in_ticks(self, ticks: int) -> tuple[int, int]:
        """Return the gap and the discard age in ticks; see `IntervalWindow.in_ticks`."""
        return (whole_ticks("gap", self.gap, ticks), whole_ticks("discardAge", self.discard_age, ticks))


@dataclass(frozen=True, slots=True)
class CalendarWindow:
    """`calendar`: panes are the days, weeks or months of a time zone (EV55)."""

    unit: CalendarUnit
    zone: str
    """The name of an IANA time zone."""
    discard_age: Fraction = Fraction(0)
    partitioned: bool = False

    def in_ticks(self, ticks: int) -> tuple[int]:
        """Return the discard age in ticks; see `IntervalWindow.in_ticks`."""
        return (whole_ticks("discardAge", self.discard_age, ticks),)


@dataclass(frozen=True, slots=True)
class EventTimeOrder:
    """`eventTime`: a Sort submits tuples in order of time when the watermark has passed them (EV58)."""

    def in_ticks(self, ticks: int) -> None:
        """Return None, because this window has no lengths."""


EventTimeWindow = IntervalWindow | SessionWindow | CalendarWindow | EventTimeOrder


class _Kind(NamedTuple):
    """The parts of one kind of window: the required and the optional ones."""

    required: tuple[str, ...]
    optional: tuple[str, ...]
    build: Callable[[Mapping[str, str]], EventTimeWindow]

    @property
    def parts(self) -> tuple[str, ...]:
        return (*self.required, *self.optional)


def parse_event_time_window(text: str) -> EventTimeWindow | None:
    """Parse a window clause of event time; return None for a clause of another kind.

    Raises:
        WindowClauseError: the clause is wrong; the message says the expected form.
    """
    parts = _split(text)
    names = [name for name, _ in parts]
    kinds = [name for name in names if name in _KINDS]
    if not kinds:
        refuse_event_time_parts(text)
        return None
    if others := [name for name in names if name in _OTHER_PARTS]:
        raise _refusal(text, "CDISP0870E", f"{others[0]} is for tumbling and sliding windows, not for {kinds[0]}")
    if len(kinds) > 1:
        raise _refusal(text, "CDISP0870E", f"a window is of one kind, not {' and '.join(kinds)}")
    if evicting := [name for name in names if name in _PARTITION_POLICIES]:
        raise _refusal(
            text,
            "SO0807",
            f"{evicting[0]} evicts partitions, which a window of event time does not support; discardAge closes panes",
        )
    kind = _KINDS[kinds[0]]
    given: dict[str, str] = {}
    for name, argument in parts:
        if name in (kinds[0], "partitioned") and argument is not None:
            raise _refusal(text, "SO5003", f"{name} takes no argument")
        if name == kinds[0]:
            continue
        if name not in kind.parts:
            raise _unknown_part(text, name, kinds[0])
        if name in given:
            code, often = ("CDISP0878E", "exactly once") if name in kind.required else ("CDISP0879E", "at most once")
            raise _refusal(text, code, f"{name} may be written {often}")
        given[name] = (argument or "").strip()
    if missing := [name for name in kind.required if name not in given]:
        raise _refusal(
            text, "CDISP0878E", f"a {kinds[0]} window needs {missing[0]} exactly once, as in {_EXAMPLES[kinds[0]]!r}"
        )
    try:
        return kind.build(given)
    except WindowClauseError as error:
        raise _refusal(text, error.code, str(error)) from None


def misordered(text: str) -> str | None:
    """Return the warning about a valid clause with parts out of order (CDISP0747W).

    None if the parts are in order, or the window is not one of event time.

    >>> misordered("intervalDuration(10.0), timeInterval")
    "'intervalDuration(10.0), timeInterval': timeInterval must be first, and partitioned last"
    """
    names = [name for name, _ in _split(text)]
    kind = next((name for name in names if name in _KINDS), None)
    if kind is None or (names[0] == kind and "partitioned" not in names[:-1]):
        return None
    return f"{text!r}: {kind} must be first, and partitioned last"


def refuse_event_time_parts(text: str) -> None:
    """Raise an error if a clause has parts that only event-time windows have.

    Call it for other clauses, and for operators without such windows.

    Raises:
        WindowClauseError: the clause has a part of an event-time window (CDISP0880E).
    """
    parts = _split(text)
    for name, _ in parts:
        if name in _KINDS:
            raise _refusal(text, "CDISP0880E", f"only Aggregate and Sort have {name} windows")
        if kinds := _kinds_with(name):
            first = parts[0][0]
            other = (
                ""
                if first == name or first in _OTHER_PARTS
                else f"; there is no kind {first!r}{nearest(first, _KINDS)}"
            )
            raise _refusal(text, "CDISP0880E", f"{name} is for {' and '.join(kinds)} windows only{other}")


def whole_ticks(name: str, seconds: Fraction, ticks: int) -> int:
    """Return a length of time in ticks.

    >>> whole_ticks("discardAge", Fraction("0.25"), 1000)
    250

    Raises:
        WindowClauseError: it is not a whole number of ticks (SO0801), or too large (SO0401).
    """
    length = seconds * ticks
    if length.denominator != 1:
        shown = _shown(seconds)
        message = (
            f"{name}: {shown} s is not a whole number of ticks of the event-time attribute; a second has {ticks:,}"
        )
        raise WindowClauseError(message, "SO0801")
    if length >= TOO_LONG:
        message = f"{name}: {_shown(seconds)} s is longer than the event-time attribute can count"
        raise WindowClauseError(message, "SO0401")
    return int(length)


def seconds_of(name: str, text: str, *, positive: bool = False) -> Fraction:
    """Read a number of seconds exactly.

    >>> seconds_of("gap", "0.1", positive=True)
    Fraction(1, 10)

    Raises:
        WindowClauseError: it is an attribute (CDISP0866E), not a number (CDISP0881E), or out of range (SO0401).
    """
    if _NUMBER.fullmatch(text) is None:
        if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", text):
            message = f"{name} is a number of seconds, not the attribute {text}"
            raise WindowClauseError(message, "CDISP0866E")
        message = f"{name} is a number of seconds, such as 10.0, not {text!r}"
        raise WindowClauseError(message, "CDISP0881E")
    value = Fraction(text)
    if value < 0 or (positive and value == 0):
        message = f"{name} is {'above zero' if positive else 'at least zero'}, not {text}"
        raise WindowClauseError(message, "SO0401")
    return value


def _interval(given: Mapping[str, str]) -> IntervalWindow:
    duration = seconds_of("intervalDuration", given["intervalDuration"], positive=True)
    period, early = given.get("creationPeriod"), given.get("early")
    return IntervalWindow(
        duration,
        duration if period is None else seconds_of("creationPeriod", period, positive=True),
        seconds_of("intervalOffset", given.get("intervalOffset", "0")),
        seconds_of("discardAge", given.get("discardAge", "0")),
        _word("discardBy", given.get("discardBy", "tuple"), get_args(DiscardBy)),
        None if early is None else seconds_of("early", early, positive=True),
        "partitioned" in given,
    )


def _session(given: Mapping[str, str]) -> SessionWindow:
    gap = seconds_of("gap", given["gap"], positive=True)
    return SessionWindow(gap, seconds_of("discardAge", given.get("discardAge", "0")), "partitioned" in given)


def _calendar(given: Mapping[str, str]) -> CalendarWindow:
    unit, zone = _word("unit", given["unit"], get_args(CalendarUnit)), given["zone"]
    known = zoneinfo.available_timezones() if zone != "UTC" else {zone}
    if zone not in known:
        message = f"there is no time zone {zone!r}{nearest(zone, known)}; IANA has the names"
        raise WindowClauseError(message, "SO0217")
    return CalendarWindow(unit, zone, seconds_of("discardAge", given.get("discardAge", "0")), "partitioned" in given)


def _order(given: Mapping[str, str]) -> EventTimeOrder:
    del given
    return EventTimeOrder()


_KINDS = {
    "timeInterval": _Kind(
        ("intervalDuration",),
        ("creationPeriod", "discardAge", "intervalOffset", "discardBy", "early", "partitioned"),
        _interval,
    ),
    "session": _Kind(("gap",), ("discardAge", "partitioned"), _session),
    "calendar": _Kind(("unit", "zone"), ("discardAge", "partitioned"), _calendar),
    "eventTime": _Kind((), (), _order),
}
_EXAMPLES = {
    "timeInterval": "timeInterval, intervalDuration(10.0), creationPeriod(5.0)",
    "session": "session, gap(30.0), partitioned",
    "calendar": "calendar, unit(day), zone(Europe/Berlin)",
    "eventTime": "eventTime",
}
EVENT_TIME_KINDS = tuple(_KINDS)
"""The words with which clauses of event-time windows begin."""


def _split(text: str) -> list[tuple[str, str | None]]:
    """Split a window clause into pairs of a part's name and its argument; the argument is None without parentheses."""
    parts = (part.strip() for part in re.split(r",(?![^()]*\))", text))
    matches = ((part, _PART.fullmatch(part)) for part in parts)
    return [(part, None) if match is None else (match[1], match[2]) for part, match in matches]


def _word(name: str, text: str, words: tuple[Word, ...]) -> Word:
    for word in words:
        if word == text:
            return word
    message = f"{name} is {', '.join(words[:-1])} or {words[-1]}, not {text!r}{nearest(text, words)}"
    raise WindowClauseError(message, "SO5003")


def _kinds_with(part: str) -> list[str]:
    """Return the kinds of event-time windows that have a part.

    The list is empty for `partitioned`, which other windows have, too.
    """
    return [kind for kind, each in _KINDS.items() if part in each.parts and part != "partitioned"]


def _unknown_part(text: str, name: str, kind: str) -> WindowClauseError:
    if others := _kinds_with(name):
        return _refusal(text, "CDISP0880E", f"{name} is for {' and '.join(others)} windows only")
    return _refusal(text, "SO5003", f"{name!r} is not a part of the window {kind}{nearest(name, _KINDS[kind].parts)}")


def _refusal(text: str, code: str, reason: str) -> WindowClauseError:
    return WindowClauseError(f"{text!r}: {reason}", code)


def _shown(seconds: Fraction) -> str:
    """Return a decimal number without an exponent."""
    shown = f"{Decimal(seconds.numerator) / seconds.denominator:f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown
