"""Retries of a source whose server cannot be reached, with a growing pause between attempts."""

from __future__ import annotations

from streams_orchestration.operators.context import OperatorContext
from streams_orchestration.operators.metrics import Gauge
from streams_orchestration.operators.pauses import Pauses

PAUSES = Pauses(first=0.5, longest=30.0)
"""Pauses between two attempts to reach a server."""


class HoldUp:
    """The back-off of a source whose server is unreachable. A log message and a gauge report the outage."""

    def __init__(self, context: OperatorContext) -> None:
        self._context = context
        self._failures = 0

    def away(self, error: Exception) -> None:
        """Count a failed attempt, log it with the pause that follows, and mark the source as away."""
        self._failures += 1
        self._context.away = True
        self._context.logger.warning("%s; trying again in %.1f s, and nothing is lost", error, self.pause)
        self._context.metrics.errors.add(1)
        self._gauge().set(self._failures)

    def back(self) -> None:
        """End an outage: log it, reset the pause and the mark; do nothing if the last attempt succeeded."""
        if self._failures:
            self._context.logger.warning("reached again after %d failed attempts", self._failures)
            self._failures = 0
            self._context.away = False
            self._gauge().set(0)

    @property
    def pause(self) -> float:
        """Seconds until the next attempt; 0 if the last one succeeded."""
        return PAUSES.after(self._failures)

    def _gauge(self) -> Gauge:
        return self._context.metrics.gauge("failed_tries", "to reach the source's server, in a row")
