"""The time of a host from the command to its first committed batch, split into phases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from streams_orchestration.runtime.processes import ProcessIdentity

WORKERS = "streams_orchestration.runtime.engine.spark.daemon"
"""Part of the command line of the process that Python workers fork from."""


class StartUp:
    """Times in unix seconds; what runs at the same time as something longer counts as part of that."""

    def __init__(self, launched_at: float, asked_at: float | None = None) -> None:
        self.seconds: dict[str, float] = {}
        """Phase -> its seconds, in order: command, imports, session, queries, workers, first batch."""
        self._at = launched_at if asked_at is None else asked_at
        if asked_at is not None:
            self.reached("command", launched_at)

    def reached(self, phase: str, at: float) -> None:
        """The end of a phase, and the begin of the next one."""
        self.seconds[phase] = round(max(at - self._at, 0.0), 3)
        self._at = max(at, self._at)

    def committed(self, at: float, processes: Iterable[ProcessIdentity]) -> None:
        """Record the commit of the first batch, and from the processes when its workers were up."""
        up = [process.started for process in processes if WORKERS in process.command]
        if up and self._at < min(up) < at:
            self.reached("workers", min(up))
        self.reached("first batch", at)

    def __str__(self) -> str:
        return in_words(self.seconds)


def in_words(seconds: Mapping[str, float]) -> str:
    """`7.3 s: imports 1.4, session 0.8, ...`."""
    parts = ", ".join(f"{phase} {taken:.1f}" for phase, taken in seconds.items())
    return f"{sum(seconds.values()):.1f} s: {parts}"
