"""Event time in Python: the annotation of an operator, and the windows that need it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from streams_orchestration.builder.nodes import BuildError, DraftSource
from streams_orchestration.builder.places import calling_place
from streams_orchestration.builder.values import Use, named_use

Seconds = float | str
"""A number of seconds, or a reference to a submission-time value."""


def event_time(
    attribute: str,
    *,
    lag: Seconds | None = None,
    minimum_gap: Seconds | None = None,
    resolution: Literal["Milliseconds", "Microseconds", "Nanoseconds"] | None = None,
    idle_after: float | None = None,
    max_ahead: float | None = None,
    confirmations: int | None = None,
    ahead_of: str | None = None,
    on_null: Literal["fail", "ignore"] | None = None,
    max_drift: float | None = None,
) -> dict[str, Any]:
    """Return the annotation of an operator whose output tuples have a time.

    Args:
        attribute: the attribute of the time; `a.b` is the field b of a.
        lag: by how many seconds tuples may come too late; the default is 0.
        minimum_gap: the least distance of two watermarks in seconds; the default is 0.1.
        resolution: the unit of a bigint; the default is milliseconds.
        idle_after: the seconds without a tuple after which a source or partition is idle; None for never.
        max_ahead: the seconds beyond the watermark from which on a time is suspect; None for no guard.
        confirmations: the number of suspect times in a row that move the watermark; the default is 3.
        ahead_of: the attribute from which the distance is measured in place of the watermark.
        on_null: `fail` or `ignore` for tuples without a time; the default is `fail`.
        max_drift: the seconds beyond the least watermark of the graph from which on a source is not read; None for no
            limit.
    """
    values = {
        "eventTimeAttribute": attribute,
        "resolution": resolution,
        "lag": lag,
        "minimumGap": minimum_gap,
        "idleAfter": idle_after,
        "maxAhead": max_ahead,
        "confirmations": confirmations,
        "aheadOf": ahead_of,
        "onNull": on_null,
        "maxDrift": max_drift,
    }
    return {key: value for key, value in values.items() if value is not None}


def time_interval(
    duration: float,
    *,
    every: float | None = None,
    discard: float | None = None,
    offset: float | None = None,
    by: Literal["tuple", "pane"] | None = None,
    early: float | None = None,
    partitioned: bool = False,
) -> str:
    """Return the window of panes of equal length in event time.

    >>> time_interval(10, every=5, discard=15, by="pane")
    'timeInterval, intervalDuration(10), creationPeriod(5), discardAge(15), discardBy(pane)'

    Args:
        duration: the length of a pane in seconds.
        every: the seconds between the starts of two panes; the default is the duration.
        discard: the seconds for which late tuples are taken; the default is 0.
        offset: the start of the panes in seconds since 1970, modulo `every`; 0 by default.
        by: `pane` to discard tuples when all their panes are closed; `tuple`, the default, by their own time.
        early: the distance of early firings in seconds; None for none.
        partitioned: True if each partition has panes of its own.
    """
    parts = {
        "intervalDuration": duration,
        "creationPeriod": every,
        "discardAge": discard,
        "intervalOffset": offset,
        "discardBy": by,
        "early": early,
    }
    return _clause("timeInterval", parts, partitioned=partitioned)


def session(gap: float, *, discard: float | None = None, partitioned: bool = False) -> str:
    """Return the window whose panes are sessions: tuples less than `gap` seconds apart.

    >>> session(30, partitioned=True)
    'session, gap(30), partitioned'

    Args:
        gap: the least number of seconds between two sessions.
        discard: the seconds for which late tuples are taken; the default is 0.
        partitioned: True if each partition has sessions of its own.
    """
    return _clause("session", {"gap": gap, "discardAge": discard}, partitioned=partitioned)


def calendar(
    unit: Literal["day", "week", "month"], zone: str, *, discard: float | None = None, partitioned: bool = False
) -> str:
    """Return the window whose panes are days, weeks or months.

    >>> calendar("day", "Europe/Berlin")
    'calendar, unit(day), zone(Europe/Berlin)'

    Args:
        unit: the length of a pane.
        zone: the time zone of its midnights, an IANA name.
        discard: the seconds for which late tuples are taken; the default is 0.
        partitioned: True if each partition has panes of its own.
    """
    return _clause("calendar", {"unit": unit, "zone": zone, "discardAge": discard}, partitioned=partitioned)


def import_use(parameters: Mapping[str, Any]) -> Use:
    """Return an Import. Its parameter `event_time` is a result of the function `event_time` (EV48).

    Raises:
        BuildError: `event_time` has more than the attribute and its resolution; all else is in the exporter's
            annotation.
    """
    keys = {"eventTimeAttribute": "attribute", "resolution": "resolution"}
    annotation: Mapping[str, Any] | None = parameters.get("event_time")
    if annotation is None:
        return named_use("Import", parameters)
    if unknown := [key for key in annotation if key not in keys]:
        message = f"an Import gets its watermarks from the exporting application, so {unknown[0]} belongs there"
        raise BuildError(message, calling_place())
    given = {name: value for name, value in parameters.items() if name != "event_time"}
    return named_use("Import", given | {"eventTime": {keys[key]: value for key, value in annotation.items()}})


def event_time_of(stream: DraftSource) -> str | None:
    """Return the event-time attribute of the nearest annotation or Import in front of a stream.

    None if there is no event time.
    """
    seen, waiting = {id(stream)}, [stream]
    for each in waiting:
        node = None if isinstance(each, str) else each.node
        if node is None:
            continue
        if annotation := node.annotations.get("eventTime"):
            return str(annotation.get("eventTimeAttribute"))
        if node.operator == "Import" and (taken := node.parameters.get("eventTime")):
            return str(taken.get("attribute"))
        for source in (source for port in node.inputs for source in port.streams):
            if id(source) not in seen:
                seen.add(id(source))
                waiting.append(source)
    return None


def _clause(kind: str, parts: dict[str, float | str | None], *, partitioned: bool) -> str:
    given = [f"{name}({value})" for name, value in parts.items() if value is not None]
    return ", ".join([kind, *given, *(["partitioned"] if partitioned else [])])
