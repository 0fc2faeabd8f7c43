"""Retries of a source whose server cannot be reached, with a growing pause between attempts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from streams_orchestration.operators.contract.context import OperatorContext
from streams_orchestration.operators.contract.metrics import Gauge
from streams_orchestration.operators.errors.errors import DataError, OutsideError, RefusedError
from streams_orchestration.pauses import Pauses

Result = TypeVar("Result")
PAUSES = Pauses(first=0.5, longest=30.0)
"""Pauses between two attempts to reach a server."""


class Backoff:
    """The back-off of a source whose server is unreachable. A log message and a gauge report the outage.

    Args:
        context: the context of the source.
        is_away: the function that recognises an error after which the caller may repeat the attempt.
        refusal: the other errors that become a `DataError`, which stops the application.
    """

    def __init__(
        self,
        context: OperatorContext,
        is_away: Callable[[Exception], bool] = lambda error: isinstance(error, OutsideError),
        refusal: type[Exception] | tuple[type[Exception], ...] = RefusedError,
    ) -> None:
        self._context = context
        self._is_away = is_away
        self._refusal = refusal
        self._failures = 0

    def reached(self, attempt: Callable[[], Result]) -> Result | None:
        """Call a function that needs the server, and return its result, or None if the server cannot be reached now.

        `away` then counts and logs the outage; a successful attempt calls `back`.

        Raises:
            DataError: the server refuses permanently. Other errors of `attempt` pass unchanged.
        """
        try:
            result = attempt()
        except Exception as error:
            if self._is_away(error):
                self.away(error)
                return None
            if isinstance(error, self._refusal):
                raise DataError(str(error)) from error
            raise
        self.back()
        return result

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
