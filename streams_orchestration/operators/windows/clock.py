"""Windows with `by: clock`: the times at which the clock closes or triggers them.

The clock acts between batches: all tuples of a batch come at the time of the batch, `context.now`. The times have equal
distances, counted from the first batch. If several times have passed since the last batch, only the latest counts. So
an application that was stopped does not produce the windows of the meantime.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

PER_SECOND = 1_000_000_000
"""The units of the column `ARRIVAL` in a second."""


def nanoseconds(seconds: float) -> int:
    """Return unix seconds as nanoseconds since 1970, the unit of the column `ARRIVAL`."""
    return round(seconds * PER_SECOND)


class Ticks:
    """The times at which the clock closes or triggers windows, in unix seconds; none without a period.

    >>> ticks = Ticks(5.0)
    >>> ticks.reached(100.0), ticks.reached(104.0), ticks.reached(106.0), ticks.reached(121.0), ticks.next
    (None, None, 105.0, 120.0, 125.0)
    """

    def __init__(self, period: float = math.inf) -> None:
        self.period = period
        self.next: float | None = None
        """The next time; None before the first batch. It is infinite once the stream has ended."""

    def end(self) -> None:
        """Set the next time to infinity, since the stream has ended."""
        self.next = math.inf

    def reached(self, now: float) -> float | None:
        """Return the last time up to `now`, and set the next one; None if no time has passed since the last call.

        Times are in seconds. With a period of 0, every call reaches `now`.
        """
        if self.next is None:
            self.next = now + self.period
        if now < self.next:
            return None
        if not self.period:
            return now
        reached = self.next + math.floor((now - self.next) / self.period) * self.period
        self.next = reached + self.period
        return reached

    @property
    def wake(self) -> float | None:
        """The next time in unix seconds; None before the first batch, without a period, and after the end."""
        return None if self.next == math.inf else self.next

    def dump(self) -> dict[str, Any]:
        """Return the next time, for a checkpoint; nothing without a period."""
        return {} if self.period == math.inf else {"ticks": self.next}

    def load(self, state: Any) -> None:
        """Restore a state that `dump` returned."""
        self.next = state.get("ticks")


def earliest(states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the earliest next time among the states of several replicas, as `Ticks.dump` does; empty without any."""
    times = [state["ticks"] for state in states if state.get("ticks") is not None]
    return {"ticks": min(times)} if times else {}
