"""Following an application until it ends, and resetting what fails while nobody else does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from streams_orchestration.runtime.catalog.outage import LIMIT_SECONDS, SETTLE_SECONDS
from streams_orchestration.runtime.errors import CatalogUnavailableError, StreamsRuntimeError
from streams_orchestration.runtime.regions.failures import UnitFailure, failures
from streams_orchestration.runtime.status import LOST_REMEDY, ApplicationStatus

POLL_SECONDS = 0.5
PATIENCE = 0.5
"""Seconds that Dagster's sensor is given to reset a failed unit first; to be second does no harm."""
RETRY_SECONDS = 30.0
"""Seconds after which the reset of the same generation is asked for again."""


class ResetsExhaustedError(StreamsRuntimeError):
    """A unit failed as often in a row as it may, or in a way that no reset can mend."""

    def __init__(self, failure: UnitFailure) -> None:
        super().__init__(
            f"{failure.application}: {failure.reason}{_log(failure)}. {failure.unit} is not reset: {failure.hopeless}. "
            f"{'Mend the cause' if failure.lost is None else LOST_REMEDY}, and run it again: it goes on where it stood."
        )


@dataclass(slots=True)
class Follower:
    """Watches one application; everything it does to the world goes through its fields."""

    read: Callable[[], ApplicationStatus]
    show: Callable[[ApplicationStatus, float], None]
    reset: Callable[[UnitFailure], None]
    say: Callable[[str], None]
    clock: Callable[[], float]
    pause: Callable[[float], bool]
    """Waits so many seconds; True as soon as the user wants to stop."""
    _due: dict[tuple[str, int], float] = field(default_factory=dict)
    """(unit, generation) of a failure -> when to ask for a reset."""

    def follow(self) -> ApplicationStatus:
        """Show the application until it is complete or stopped, or the user wants to stop.

        Raises:
            ResetsExhaustedError: a unit has failed and is not to be reset any more.
            CatalogUnavailableError: it lasts, or the user does not want to wait for it.
        """
        while True:
            status = self._read()
            now = self.clock()
            self.show(status, now)
            if status.state in ("COMPLETED", "STOPPED"):
                return status
            for failure in failures(status, now):
                self._mend(failure, now)
            if self.pause(POLL_SECONDS):
                return status

    def _read(self) -> ApplicationStatus:
        """The status as soon as the catalog can be read; then hosts have had time for a heartbeat."""
        lost: float | None = None
        while True:
            try:
                status = self.read()
            except CatalogUnavailableError as error:
                if lost is None:
                    lost = self.clock()
                    self.say(f"{error} Waiting for it; the application runs on by itself.")
                if self.clock() - lost > LIMIT_SECONDS or self.pause(POLL_SECONDS):
                    raise
            else:
                if lost is None:
                    return status
                self.say("The catalog can be used again.")
                lost = None
                self.pause(SETTLE_SECONDS)

    def _mend(self, failure: UnitFailure, now: float) -> None:
        if failure.exhausted:
            raise ResetsExhaustedError(failure)
        key = failure.unit, failure.generation
        if key not in self._due:
            self.say(f"{failure.unit} failed: {failure.reason}{_log(failure)}")
            self._due[key] = max(now + PATIENCE, failure.due_at)
        elif now >= self._due[key]:
            attempt = f"attempt {failure.attempts + 1} of {failure.max_attempts}"
            self.say(f"Resetting {failure.unit} to its last complete epoch ({attempt}) ...")
            try:
                self.reset(failure)
            except StreamsRuntimeError as error:
                self.say(f"The reset of {failure.unit} failed: {error}")
            self._due[key] = self.clock() + RETRY_SECONDS


def _log(failure: UnitFailure) -> str:
    return "" if str(failure.log) in failure.reason else f" (log: {failure.log})"
