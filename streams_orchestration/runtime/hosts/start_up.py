"""The time of a host from the command to its first committed batch, split into phases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from streams_orchestration.runtime.processes.processes import ProcessIdentity

WORKERS = "streams_orchestration.runtime.engine.spark.daemon"
"""Part of the command line of the process that Python workers fork from."""


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


def describe_start_phases(seconds: Mapping[str, float]) -> str:
    """Describe the phases, as `7.3 s: imports 1.4, session 0.8, ...`."""
    parts = ", ".join(f"{phase} {taken:.1f}" for phase, taken in seconds.items())
    return f"{sum(seconds.values()):.1f} s: {parts}"
