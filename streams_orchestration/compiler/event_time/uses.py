"""The parameters of standard operators that need event time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from streams_orchestration.compiler.logical_graph import LogicalGraph, LogicalOperator
from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.model.standard import PLACES_BY_EVENT_TIME, PLACES_WATERMARKS
from streams_orchestration.operators.event_time.clause import (
    CalendarWindow,
    EventTimeOrder,
    EventTimeWindow,
    IntervalWindow,
    SessionWindow,
    WindowClauseError,
    parse_event_time_window,
    whole_ticks,
)

WINDOWED = frozenset(("Aggregate", "Sort"))
"""The operators that have windows of event time."""
WATERMARK = "watermark"
EVENT_TIME = "eventTime"


class EventTimeUse(NamedTuple):
    """A parameter that needs event time."""

    parameter: str
    shown: str
    """The parameter and its value, for messages."""
    ports: tuple[int, ...] = (0,)
    """The input ports whose tuples need the event-time attribute."""
    of_port: bool = False
    """True if each of `ports` needs a stream with watermarks; False if it is enough that one port of the operator has
    one."""
    window: EventTimeWindow | None = None
    """The window of event time; None if the parameter is not a window."""
    lengths: tuple[tuple[str, Fraction], ...] = ()
    """(parameter, length of time in seconds) for each length that must be a whole number of ticks (SO0801)."""

    places: bool = True
    """True if the operator takes a batch whole, with the watermarks in it, and not in slices between watermarks."""

    @property
    def interval(self) -> bool:
        """True for a timeInterval window."""
        return isinstance(self.window, IntervalWindow)

    def check_lengths(self, ticks: int) -> None:
        """Check that all lengths are whole ticks.

        Raises:
            WindowClauseError: a length is not a whole number of ticks (SO0801), or is too large (SO0401).
        """
        if self.window is not None:
            self.window.in_ticks(ticks)
        for name, seconds in self.lengths:
            whole_ticks(name, seconds, ticks)


def uses_of(operator: LogicalOperator) -> Iterator[EventTimeUse]:
    """Yield the parameters of a standard operator that need event time; none for another operator.

    Raises:
        WindowClauseError: a window clause is wrong.
    """
    if not operator.standard:
        return
    values = operator.parameters
    match operator.kind:
        case "Aggregate" | "Sort":
            window = parse_event_time_window(str(values.get("window", "")))
            if window is not None:
                places = operator.kind == "Aggregate" or isinstance(window, EventTimeOrder)
                yield EventTimeUse("window", f"the window {_kind(window)}", window=window, places=places)
        case "Join":
            if "within" in values:
                lengths = _lengths(values, "within", "discardAge")
                yield EventTimeUse("within", "within", tuple(range(len(operator.inputs))), lengths=lengths)
        case "DeDuplicate":
            if "within" in values:
                yield EventTimeUse("within", "within", lengths=_lengths(values, "within", "discardAge"))
        case "Delay":
            if values.get("by") == WATERMARK:
                yield EventTimeUse("by", "by: watermark", lengths=_lengths(values, "delay"))
        case "Custom":
            for name in ("onWatermark", "onTimer"):
                if name in values:
                    yield EventTimeUse(name, name, ())
        case "Sql" | "DataFrame":
            yield from _of_query(operator, values.get("watermarks"))
            if values.get("outputDelay") is not None:
                yield EventTimeUse("outputDelay", "outputDelay", (), lengths=_lengths(values, "outputDelay"))
        case "FileSink":
            if values.get("closeMode") == WATERMARK:
                yield EventTimeUse("closeMode", "closeMode: watermark")
        case _:
            pass


def uses_event_time(operator: LogicalOperator) -> bool:
    """Return True if a parameter of an operator, or its config `completeWithin`, needs event time.

    A wrong window clause, which the stage reports, does not need it.
    """
    try:
        return operator.complete_within is not None or any(True for _ in uses_of(operator))
    except WindowClauseError:
        return False  # the stage reports the wrong window


def keeps_places(operator: LogicalOperator) -> bool:
    """Return True if a standard operator takes a batch whole, with the watermarks in it.

    It is False if this depends on a window clause that is wrong.
    """
    if not operator.standard or operator.kind not in PLACES_BY_EVENT_TIME:
        return operator.standard and operator.kind in PLACES_WATERMARKS
    try:
        return any(use.places for use in uses_of(operator))
    except WindowClauseError:
        return False


def windows_in(operator: LogicalOperator) -> list[str]:
    """Return the window clauses of a standard operator; none for another operator."""
    value = operator.parameters.get("window") if operator.standard else None
    clauses = value if is_list(value) else list(value.values()) if is_mapping(value) else [value]
    return [each for each in clauses if isinstance(each, str)]


def may_use(logical: LogicalGraph, operator: LogicalOperator) -> bool:
    """Return True if an operator may use the watermark though no parameter says so: user code, exported streams."""
    own = not operator.standard or operator.kind in ("Custom", "JavaOp")
    return own or any(link.operator == operator.index for link in logical.exports)


def _of_query(operator: LogicalOperator, watermarks: Any) -> Iterator[EventTimeUse]:
    if not is_mapping(watermarks):
        return
    ports = {port.name: number for number, port in enumerate(operator.inputs)}
    for view, value in watermarks.items():
        if value == EVENT_TIME and view in ports:
            yield EventTimeUse("watermarks", f"watermarks: {{{view}: eventTime}}", (ports[view],), of_port=True)


def _lengths(values: Mapping[str, Any], *names: str) -> tuple[tuple[str, Fraction], ...]:
    """Return the absolute lengths of time in some parameters as exact fractions of the written decimals.

    Numbers from 1e18 on and values of other types are skipped.
    """
    found = ((name, each) for name in names for each in _numbers(values.get(name)))
    return tuple((name, abs(Fraction(repr(each)))) for name, each in found)


def _numbers(value: Any) -> list[int | float]:
    values = value if is_list(value) else [value]
    return [
        each for each in values if isinstance(each, int | float) and not isinstance(each, bool) and abs(each) < 1e18
    ]


def _kind(window: EventTimeWindow) -> str:
    match window:
        case IntervalWindow():
            return "timeInterval"
        case SessionWindow():
            return "session"
        case CalendarWindow():
            return "calendar"
        case _:
            return EVENT_TIME
