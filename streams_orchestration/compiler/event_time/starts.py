"""The annotated operators, where event-time graphs start, and the checks of their annotations (EV1-EV4)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from streams_orchestration.compiler.event_time.growth import EventTimeStart
from streams_orchestration.compiler.logical_graph import EventTimeAnnotation, LogicalGraph, LogicalOperator
from streams_orchestration.compiler.time_attributes import (
    TIMESTAMPS,
    TYPES,
    TimeAttribute,
    attribute_type,
    default_resolution,
)
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.names import nearest
from streams_orchestration.model.schema import parse_schema
from streams_orchestration.operators.event_time.clause import TOO_LONG
from streams_orchestration.operators.event_time.role import whole_ticks_up

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def find_starts(logical: LogicalGraph) -> tuple[list[EventTimeStart], list[Diagnostic]]:
    """Return the operators whose annotation names a time, and findings about the annotations.

    An attribute names a time if all output ports that have it agree in a type of `TYPES`. An operator with other
    findings is returned, too.
    """
    starts: list[EventTimeStart] = []
    diagnostics: list[Diagnostic] = []
    for operator in logical.operators:
        if operator.event_time is None:
            continue
        diagnostics += [_at(operator, code, message) for code, message in _faults(operator, operator.event_time)]
        kinds = {*_types(operator, operator.event_time.attribute).values()}
        if len(kinds) == 1 and kinds <= TYPES:
            starts.append(start_of(operator, operator.event_time))
    return starts, diagnostics


def start_of(operator: LogicalOperator, annotation: EventTimeAnnotation) -> EventTimeStart:
    """Return the start of event time at an annotated operator.

    An output port must have the attribute, and its type on the first such port counts. For a timestamp attribute the
    annotation's resolution is ignored; timestamps always have their default resolution.
    """
    types = _types(operator, annotation.attribute)
    kind = next(iter(types.values()))
    resolution = None if kind in TIMESTAMPS else annotation.resolution
    time = TimeAttribute(annotation.attribute, kind, resolution or default_resolution(kind))
    return EventTimeStart(operator.index, time, tuple(types), annotation.lag, annotation.minimum_gap)


def _types(operator: LogicalOperator, attribute: str) -> dict[int, str]:
    """Return the type of an attribute at each output port that has it."""
    found = {port: attribute_type(output.schema, attribute) for port, output in enumerate(operator.outputs)}
    return {port: kind for port, kind in found.items() if kind is not None}


def _faults(operator: LogicalOperator, annotation: EventTimeAnnotation) -> Iterator[tuple[str, str]]:
    types = _types(operator, annotation.attribute)
    distinct = list(dict.fromkeys(types.values()))
    if not distinct:
        yield _missing(operator, annotation.attribute)
    elif len(distinct) > 1:
        message = f"{annotation.attribute} is {distinct[0]} on one output port and {distinct[1]} on another"
        yield "CDISP0873E", message
    elif distinct[0] not in TYPES:
        yield (
            "CDISP0875E",
            f"{annotation.attribute} is {distinct[0]}; a time is a timestamp, timestamp_ntz, timestamp_ns or bigint",
        )
    elif distinct[0] in TIMESTAMPS and annotation.resolution not in (None, "Nanoseconds"):
        yield (
            "CDISP0877E",
            f"{annotation.attribute} is a {distinct[0]}, which cannot have the resolution {annotation.resolution}",
        )
    else:
        yield from _too_long(annotation, distinct[0])
    yield from _of_the_guard(operator, annotation)
    yield from _of_sources(operator, annotation)


def _of_sources(operator: LogicalOperator, annotation: EventTimeAnnotation) -> Iterator[tuple[str, str]]:
    """Yield code and message for each key that only sources may have, if the operator has input ports (EV51, EV65)."""
    reasons = {
        "idleAfter": (
            annotation.idle_after,
            "only a source knows that it had nothing to read, and repeats after a reset when it was idle",
        ),
        "maxDrift": (annotation.max_drift, "only a source can be left unread while it is far ahead"),
    }
    for key, (value, reason) in reasons.items():
        if value is not None and operator.inputs:
            yield "SO0811", f"{key}: {operator.name} has an input port, and {reason}"


def _too_long(annotation: EventTimeAnnotation, kind: str) -> Iterator[tuple[str, str]]:
    """Yield code and message for each length of time that an event-time attribute of this type cannot count."""
    time = TimeAttribute(annotation.attribute, kind, annotation.resolution or default_resolution(kind))
    lengths = {
        "lag": annotation.lag,
        "minimumGap": annotation.minimum_gap,
        "maxAhead": annotation.max_ahead,
        "maxDrift": annotation.max_drift,
    }
    for name, seconds in lengths.items():
        if seconds is not None and whole_ticks_up(seconds, time.ticks) >= TOO_LONG:
            yield "SO0401", f"{name}: {seconds:g} s is longer than {time} can count"


def _missing(operator: LogicalOperator, attribute: str) -> tuple[str, str]:
    if not operator.outputs:
        return "CDISP0874E", f"{operator.name} has no output port, so it has no tuples with {attribute}"
    if _NAME.fullmatch(attribute) is None:
        return "CDISP0882E", f"{attribute!r} is not a name of an attribute"
    known = [each.name for output in operator.outputs for each in parse_schema(output.schema or "").attributes]
    if not known:
        return "CDISP0874E", f"no output of {operator.name} has a known tuple type, so none has {attribute}"
    return "CDISP0874E", f"no output of {operator.name} has the attribute {attribute}{nearest(attribute, known)}"


def _of_the_guard(operator: LogicalOperator, annotation: EventTimeAnnotation) -> Iterator[tuple[str, str]]:
    """Yield the faults of `maxAhead` and `aheadOf`, which guard against times far in the future (EV53).

    With an `aheadOf`, the `maxAhead` may be below the lag.
    """
    if annotation.ahead_of is None:
        if annotation.max_ahead is not None and annotation.max_ahead <= annotation.lag:
            yield (
                "SO0401",
                f"maxAhead ({annotation.max_ahead:g} s) is not above the lag ({annotation.lag:g} s), so that tuples in "
                "order would be far ahead of the watermark",
            )
        return
    if annotation.max_ahead is None:
        yield "SO0809", "aheadOf has no effect without maxAhead"
    kinds = _types(operator, annotation.ahead_of)
    if not kinds:
        code, message = _missing(operator, annotation.ahead_of)
        yield code, f"aheadOf: {message}"
    elif other := [kind for kind in kinds.values() if kind not in TYPES]:
        yield "CDISP0875E", f"aheadOf: {annotation.ahead_of} is {other[0]}, which is not a time"


def _at(operator: LogicalOperator, code: str, message: str) -> Diagnostic:
    location = operator.event_time.location if operator.event_time else operator.location
    return Diagnostic.of(code, message, operator=operator.name, location=location or operator.location)
