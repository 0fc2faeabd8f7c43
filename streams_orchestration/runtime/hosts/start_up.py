"""The time of a host from the command to its first committed batch, split into phases."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.hosts.presence import Presence
from streams_orchestration.runtime.processes.processes import ProcessIdentity

WORKERS = "streams_orchestration.runtime.engine.spark.daemon"
"""Part of the command line of the process that Python workers fork from."""

log = logging.getLogger("streams.host")


class StartUp:
    """The phases of one start. A phase that overlaps a longer one counts as part of the longer one."""

    def __init__(self, launched_at: float, asked_at: float | None = None) -> None:
        self.seconds: dict[str, float] = {}
        """Phase -> seconds, in this order: command, imports, session, queries, workers, first batch."""
        self._at = launched_at if asked_at is None else asked_at
        if asked_at is not None:
            self.reached("command", launched_at)

    def reached(self, phase: str, at: float) -> None:
        """End a phase at a time in unix seconds, and begin the next phase."""
        self.seconds[phase] = round(max(at - self._at, 0.0), 3)
        self._at = max(at, self._at)

    def committed(self, at: float, processes: Iterable[ProcessIdentity]) -> None:
        """End the phase `first batch` at its commit, and the phase `workers` at the start of the first worker."""
        up = [process.started for process in processes if WORKERS in process.command]
        if up and self._at < min(up) < at:
            self.reached("workers", min(up))
        self.reached("first batch", at)

    def __str__(self) -> str:
        return describe_start_phases(self.seconds)


class StartUpReport:
    """The report of a host's start: it notes the phases as they end, and is written once the first batch is committed.

    Args:
        presence: the host's row, to which the report is written.
        phases: the phases, which begin at the command or the launch.
    """

    def __init__(self, presence: Presence, phases: StartUp) -> None:
        self._presence = presence
        self._phases = phases
        self._began = clock.now()
        self._written = False

    def reached(self, phase: str) -> None:
        """End a phase now, and begin the next phase."""
        self._phases.reached(phase, clock.now())

    def note_turn(self, commits: Iterable[float | None]) -> None:
        """Note a turn of the host after the phase `session`; do nothing once the report is written.

        The first turn starts the queries, and ends the phase `queries`.

        Args:
            commits: the unix seconds of the last commit of each PE of the host; None for a PE without one. Commits from
                before the start do not count.
        """
        if self._written:
            return
        if "queries" not in self._phases.seconds:
            self.reached("queries")
        own = [at for at in commits if at is not None and at > self._began]
        if own:
            self._phases.committed(min(own), self._presence.record_family())
            self._presence.report_start_up(self._phases.seconds)
            self._written = True
            log.info("start-up took %s", self._phases)


def describe_start_phases(seconds: Mapping[str, float]) -> str:
    """Describe the phases, as `7.3 s: imports 1.4, session 0.8, ...`."""
    parts = ", ".join(f"{phase} {taken:.1f}" for phase, taken in seconds.items())
    return f"{sum(seconds.values()):.1f} s: {parts}"
