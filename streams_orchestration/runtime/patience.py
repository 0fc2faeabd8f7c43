"""Time limits that know the load of the machine: a busy one has longer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

LONGEST = 10.0
"""Times as long as a limit says that is waited at most, on a busy machine."""


def machine_load() -> float:
    """Return how many processes want to run, for each processor, over the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


class Patience:
    """The time that a process has had, in seconds of a machine with nothing else to do.

    Args:
        clock: seconds that never go back.
        load: processes that want to run, for each processor.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, load: Callable[[], float] = machine_load) -> None:
        self._clock, self._load = clock, load
        self._began = self._at = clock()
        self.used = 0.0

    def look(self) -> float:
        """Count the time since the last look, by the load of now; return the seconds since the beginning."""
        now = self._clock()
        self.used += (now - self._at) / min(max(self._load(), 1.0), LONGEST)
        self._at = now
        return now - self._began
