"""Event-time attributes: their types in tuple types, and the ticks that they count (EV2, EV3)."""

from __future__ import annotations

import functools
from typing import Literal, NamedTuple

from streams_orchestration.model.annotations import EventTimeResolution
from streams_orchestration.model.schema import parse_schema

_STRUCT = "struct<"
TIMESTAMPS = {"timestamp": "Microseconds", "timestamp_ntz": "Microseconds", "timestamp_ns": "Nanoseconds"}
"""The types of event-time attributes whose ticks do not depend on the annotation -> their ticks."""
TYPES = frozenset((*TIMESTAMPS, "bigint"))
"""The types of event-time attributes."""
_TICKS = {"Milliseconds": 1_000, "Microseconds": 1_000_000, "Nanoseconds": 1_000_000_000}


class TimeAttribute(NamedTuple):
    """An event-time attribute with its type and resolution.

    Graphs merge only if name, type and resolution are equal (EV8).
    """

    attribute: str
    type: str
    resolution: EventTimeResolution

    @property
    def ticks(self) -> int:
        """The number of ticks in a second. A timestamp always counts microseconds, a timestamp_ns nanoseconds."""
        return _TICKS[TIMESTAMPS.get(self.type, self.resolution)]

    def __str__(self) -> str:
        return f"{self.attribute} ({self.type}" + ("" if self.type in TIMESTAMPS else f", {self.resolution}") + ")"


def default_resolution(kind: str) -> Literal["Milliseconds", "Nanoseconds"]:
    """Return the resolution of an event-time attribute of a type if the annotation gives none.

    It is nanoseconds for each kind of timestamp, and milliseconds for a bigint.
    """
    return "Nanoseconds" if kind in TIMESTAMPS else "Milliseconds"


@functools.lru_cache(maxsize=4096)
def attribute_type(ddl: str | None, attribute: str) -> str | None:
    """Return the type of an attribute of a tuple type; `a.b` is the field b of the struct a.

    None if there is no such attribute, or no tuple type.

    >>> attribute_type("k string, head struct<at: bigint>", "head.at")
    'bigint'
    >>> attribute_type("k string, head struct<at: bigint>", "at") is None
    True
    """
    if ddl is None:
        return None
    types = {each.name: each.type for each in parse_schema(ddl).attributes}
    if attribute in types:
        return types[attribute]
    first, dot, rest = attribute.partition(".")
    kind = types.get(first, "")
    if not dot or not kind.startswith(_STRUCT):
        return None
    return attribute_type(kind.removeprefix(_STRUCT).removesuffix(">"), rest)
