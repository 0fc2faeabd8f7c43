"""Time limits that grow with the load of the machine."""

from __future__ import annotations

import os
from collections.abc import Callable

from streams_orchestration import world

MAX_LOAD_FACTOR = 10.0
"""Largest factor by which a limit is extended on a busy machine."""


def machine_load() -> float:
    """Return the number of runnable processes per processor, averaged over the last minute."""
    return world.load_average()[0] / (os.cpu_count() or 1)


class LoadAdjustedClock:
    """A clock of the time that a process could use, in seconds of an idle machine.

    It runs slower while the machine is busy.

    Args:
        clock: returns seconds that never go back; `world.monotonic` by default.
        load: returns the number of runnable processes per processor.
    """

    def __init__(self, clock: Callable[[], float] | None = None, load: Callable[[], float] = machine_load) -> None:
        self._clock, self._load = clock or world.monotonic, load
        self._began = self._at = self._clock()
        self.used = 0.0

    def advance(self) -> float:
        """Add the time since the last call, divided by the current load, to `used`; return the real seconds so far.

        The divisor is at least 1 and at most `MAX_LOAD_FACTOR`.
        """
        now = self._clock()
        self.used += (now - self._at) / min(max(self._load(), 1.0), MAX_LOAD_FACTOR)
        self._at = now
        return now - self._began
