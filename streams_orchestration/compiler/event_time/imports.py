"""Imports that take the watermarks of the exported stream, and the checks of their parameter `eventTime` (EV48)."""

from __future__ import annotations

from streams_orchestration.compiler.event_time.growth import EventTimeImport
from streams_orchestration.compiler.logical_graph import ImportExport, LogicalGraph
from streams_orchestration.compiler.time_attributes import (
    TIMESTAMPS,
    TYPES,
    TimeAttribute,
    attribute_type,
    default_resolution,
)
from streams_orchestration.model.containers import is_mapping
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.names import nearest
from streams_orchestration.model.schema import parse_schema

_KEYS = ("attribute", "resolution")


def find_imports(logical: LogicalGraph) -> tuple[list[EventTimeImport], list[Diagnostic]]:
    """Return the Imports with event time, and findings about those with a faulty `eventTime`."""
    found: list[EventTimeImport] = []
    diagnostics: list[Diagnostic] = []
    for link in logical.imports:
        if "eventTime" not in link.parameters:
            continue
        time = _time(link)
        if isinstance(time, TimeAttribute):
            found.append(EventTimeImport(link.name, link.operator, link.port, time))
        else:
            code, message = time
            diagnostics.append(Diagnostic.of(code, f"eventTime: {message}", operator=link.name, location=link.location))
    return found, diagnostics


def _time(link: ImportExport) -> TimeAttribute | tuple[str, str]:
    """Return the event-time attribute of an Import, or the code and the message of a fault in its parameters."""
    written = link.parameters["eventTime"]
    if not is_mapping(written):
        return "CDISP0811E", f"write {{attribute: at}}, with `resolution` for a bigint, not {written!r:.40}"
    if unknown := [key for key in written if key not in _KEYS]:
        return "CDISP0796E", f"there is no key {unknown[0]}{nearest(str(unknown[0]), _KEYS)}"
    if "attribute" not in written:
        return "CDISP0799E", "the key attribute is missing"
    if not isinstance(attribute := written["attribute"], str):
        return "CDISP0811E", f"attribute is the name of an attribute, not {attribute!r:.40}"
    kind = attribute_type(link.schema, attribute)
    if kind is None:
        names = parse_schema(link.schema).names if link.schema else ()
        return "CDISP0874E", f"the imported stream has no attribute {attribute}{nearest(attribute, names)}"
    if kind not in TYPES:
        return "CDISP0875E", f"{attribute} is {kind}; a time is a timestamp, timestamp_ntz, timestamp_ns or bigint"
    resolution = written.get("resolution") or default_resolution(kind)
    if resolution not in ("Milliseconds", "Microseconds", "Nanoseconds"):
        return "CDISP0867E", f"the resolution is Milliseconds, Microseconds or Nanoseconds, not {resolution!r}"
    if kind in TIMESTAMPS and resolution != "Nanoseconds":
        return "CDISP0877E", f"{attribute} is a {kind}, which cannot have the resolution {resolution}"
    return TimeAttribute(attribute, kind, resolution)
