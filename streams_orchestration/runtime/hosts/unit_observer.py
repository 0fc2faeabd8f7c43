"""The updates of units by one host: when an update is due, and of which units."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.hosts.turn_rows import OtherHost
from streams_orchestration.runtime.processes.processes import is_alive, is_here
from streams_orchestration.runtime.trials.advancing import advance_units_and_trial
from streams_orchestration.runtime.units.watch import PeOfUnit, changes_soon

NEIGHBOURS_SECONDS = 0.5
"""Seconds between two checks of the processes of the application's other hosts on this machine."""
OBSERVE_SECONDS = 0.5
"""Least seconds between two updates of units whose state is not about to change."""
SURVEY_SECONDS = 10.0
"""Seconds between two updates of the units without a PE on this host, in case none of their own hosts lives."""


class UnitObserver:
    """Updates the units of an application from one host.

    The units with a PE on the host are updated at a turn of the host if one of them is about to change, if a timer of
    one has fired, or if the last update was `OBSERVE_SECONDS` ago. All units of the application are updated instead if
    that has not happened for `SURVEY_SECONDS`, or if another host on this machine has died.

    Args:
        catalog: the catalog of the application.
        application: the name of the application.
    """

    def __init__(self, catalog: Catalog, application: str) -> None:
        self._catalog = catalog
        self._application = application
        self.units: Collection[str] = ()
        """Names of the units that have a PE on this host."""
        self.urgent = True
        """True if the state of a unit is about to change; the host sets it at the end of a turn."""
        self.neighbours: list[tuple[int, float | None]] = []
        """Pid and start time of each other live host of the application on this machine."""
        self._deadline = math.inf
        """The time at which the next timer of a unit fires, in unix seconds."""
        self._observed = -math.inf
        """The monotonic time of the last update of the host's own units."""
        self._surveyed = -math.inf
        """The monotonic time of the last update of all units."""

    def advance_if_due(self, now: float) -> bool:
        """Update units if that is due at a monotonic time, and return True if it was.

        For errors see `advance_units_and_trial`.
        """
        if not self.urgent and now - self._observed < OBSERVE_SECONDS and clock.now() < self._deadline:
            return False
        self._observed = now
        self.advance(now)
        return True

    def advance(self, now: float) -> None:
        """Update the host's units at a monotonic time, or all units if `SURVEY_SECONDS` are over or a host has died.

        For errors see `advance_units_and_trial`.
        """
        everything = now - self._surveyed >= SURVEY_SECONDS
        advance_units_and_trial(self._catalog, self._application, None if everything else self.units)
        if everything:
            self._surveyed = now

    def note(self, pes: Iterable[PeOfUnit], others: Iterable[OtherHost]) -> bool:
        """Note the timers of the host's units, and the other hosts on this machine.

        If one of these hosts has died, the next update is about all units.

        Returns:
            True if a unit is about to change, or a host has died.
        """
        rows, now = tuple(pes), clock.now()
        self._deadline = min((row.deadline for row in rows if row.deadline is not None), default=math.inf)
        urgent = any(changes_soon(row, now) for row in rows)
        before = self.neighbours
        processes = ((other.pid, other.process_started) for other in others if is_here(other.space))
        self.neighbours = [process for process in processes if is_alive(*process)]
        if set(before) <= set(self.neighbours):
            return urgent
        self._surveyed = -math.inf  # perhaps no other host updates the units of the host that has died
        return True

    def patience(self) -> float:
        """Return the most seconds to wait until a timer of a unit fires, or the neighbours are to be checked again."""
        return min(self._deadline - clock.now(), NEIGHBOURS_SECONDS)

    def neighbours_live(self) -> bool:
        """Return True if every other host that has lived on this machine at the last turn still lives."""
        return all(is_alive(*process) for process in self.neighbours)
