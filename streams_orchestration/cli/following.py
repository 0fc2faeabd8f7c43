"""Following an application until it ends, and resetting what fails while nobody else does, all units at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from streams_orchestration.runtime.catalog.outage import LIMIT_SECONDS, SETTLE_SECONDS
from streams_orchestration.runtime.errors import CatalogUnavailableError, StreamsRuntimeError
from streams_orchestration.runtime.regions.failures import UnitFailure
from streams_orchestration.runtime.regions.healing import Known, heal
from streams_orchestration.runtime.status import LOST_REMEDY, ApplicationStatus

POLL_SECONDS = 0.5
PATIENCE = 0.5
"""Seconds that Dagster's sensor is given to reset a failed unit first; to be second does no harm."""
FINISH_SECONDS = 5.0
"""Resets that are still waited for when all is over are given so long to end."""


class Reset(Protocol):
    """A reset that was begun, and that somebody waits for."""

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, after so many seconds at most."""
        ...

    def result(self) -> object:
        """Nothing, or its error raised."""
        ...


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
    reset: Callable[[UnitFailure], Reset]
    """Begins a reset, and returns at once."""
    say: Callable[[str], None]
    clock: Callable[[], float]
    pause: Callable[[float], bool]
    """Waits so many seconds; True as soon as the user wants to stop."""
    _known: dict[str, Known] = field(default_factory=dict)
    _under_way: list[tuple[str, Reset]] = field(default_factory=list)
    """Unit and reset, the oldest first. One that failed again may have several: the older ones end by themselves."""

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
            self._collect()
            if status.state in ("COMPLETED", "STOPPED"):
                return status
            self._heal(status, now)
            if self.pause(POLL_SECONDS):
                return status

    def finish(self) -> None:
        """Let the resets that are still waited for end, when the application has."""
        until = time.monotonic() + FINISH_SECONDS
        for _, reset in self._under_way:
            reset.wait(max(until - time.monotonic(), 0.0))

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

    def _heal(self, status: ApplicationStatus, now: float) -> None:
        """Begin a reset of every unit that needs one now."""
        healing = heal(status, now, self._known, patience=PATIENCE)
        self._known = healing.known
        for failure in healing.exhausted:
            raise ResetsExhaustedError(failure)
        for failure in healing.met:
            self.say(f"{failure.unit} failed: {failure.reason}{_log(failure)}")
        for failure in (request.failure for request in healing.resets):
            attempt = f"attempt {failure.attempts + 1} of {failure.max_attempts}"
            self.say(f"Resetting {failure.unit} to its last complete epoch ({attempt}) ...")
            self._under_way.append((failure.unit, self.reset(failure)))

    def _collect(self) -> None:
        """Say how resets have failed, unless a later one has taken their place."""
        ended = [(unit, reset) for unit, reset in self._under_way if reset.wait(0.0)]
        newest = dict(self._under_way)
        self._under_way = [each for each in self._under_way if each not in ended]
        for unit, reset in ended:
            try:
                reset.result()
            except StreamsRuntimeError as error:
                if reset is newest[unit]:
                    self.say(f"The reset of {unit} failed: {error}")


def _log(failure: UnitFailure) -> str:
    return "" if str(failure.log) in failure.reason else f" (log: {failure.log})"
