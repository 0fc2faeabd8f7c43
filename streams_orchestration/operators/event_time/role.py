"""The role of an operator in an event-time graph, in ticks of its event-time attribute."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

EventTimeMode = Literal["outputEventTime", "inputWatermark", "heldInput", "manual"]
"""The origin of an operator's watermark.

- outputEventTime: the times of the tuples that the operator submits (EV17).
- inputWatermark: the least watermark of the operator's input connections (EV19).
- heldInput: as `inputWatermark`, but at most the least time among the tuples that the operator keeps (EV62).
- manual: a call of the operator's `set_watermark` (EV23).
"""

OnNull = Literal["fail", "ignore"]
"""The policies for a tuple whose time is null (EV54): it is bad data, or goes to the late port."""


def whole_ticks_up(seconds: float, ticks: int) -> int:
    """Return the least whole number of ticks that is no shorter than a time in seconds (EV18).

    >>> whole_ticks_up(0.1, 1_000), whole_ticks_up(0.0005, 1_000)
    (100, 1)
    """
    return math.ceil(Decimal(repr(seconds)) * ticks)


@dataclass(frozen=True, slots=True)
class EventTimeRole:
    """The facts about the event-time graph that a replica of an operator may use."""

    attribute: str
    """The event-time attribute; `a.b` for the field b of a."""
    ticks: int
    """The number of ticks of `attribute` in a second: 1,000 for milliseconds, 1,000,000 for microseconds."""
    mode: EventTimeMode
    lag: int
    """The number of ticks by which watermarks are less than the greatest event time (EV17)."""
    minimum_gap: int
    """The least distance between two watermarks of a source in ticks (EV18)."""
    ports: tuple[int, ...] = ()
    """The input ports that event-time connections and Imports with event time enter, ascending."""
    outputs: tuple[int, ...] = ()
    """The output ports in the graph (EV4, EV5), ascending."""
    on_null: OnNull = "fail"
    """The policy for a tuple without a time (EV54)."""
    idle_after: float | None = None
    """The seconds without a tuple after which a source or a partition is idle (EV51); None means never."""
    max_ahead: int | None = None
    """The ticks beyond the watermark up to which a time is trusted (EV53); None means no guard."""
    confirmations: int = 3
    """The number of consecutive times far ahead after which such times are trusted, and advance the
    watermark (EV53)."""
    ahead_of: str | None = None
    """The attribute that replaces the watermark in the test for times far ahead (EV53); None if the
    watermark is used.
    """
    imports: tuple[int, ...] = ()
    """The input ports to which Imports bring watermarks (EV48), ascending."""
    max_drift: int | None = None
    """A source or partition is read only up to this many ticks beyond the least watermark of the graph (EV65); None
    means no limit.
    """
    peers: tuple[str, ...] = ()
    """The names of the graph's other sources; empty for operators with inputs, and in graphs without `maxDrift`."""
    awaited: bool = False
    """True if an operator downstream uses the watermarks of this Spark query."""
