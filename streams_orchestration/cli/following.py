"""The loop that follows an application until it ends, and resets failed units unless another process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from streams_orchestration.cli.interrupts import BackgroundCall
from streams_orchestration.runtime import api

POLL_SECONDS = 0.5
SAID_SECONDS = 3.0
"""Least delay of a reset, in seconds, that is announced."""
FINISH_SECONDS = 10.0
"""The most seconds to wait, once the application is complete, until its last resets are recorded."""


class ResetsExhaustedError(api.StreamsRuntimeError):
    """A unit failed as often in a row as it may, or in a way that no reset can mend."""

    def __init__(self, failure: api.UnitFailure) -> None:
        super().__init__(
            f"{failure.application}: {failure.explanation}. "
            f"{failure.unit} is not reset: {failure.hopeless}. "
            f"{'Fix the cause' if failure.status.lost is None else api.LOST_REMEDY}, "
            "and run it again; it continues from its last commit."
        )


@dataclass(slots=True)
class Follower:
    """The loop that watches one application; all its effects go through the functions in its fields."""

    advance_and_read: Callable[[], api.ApplicationStatus]
    """Records the changes of the application's units, and returns its status."""
    show: Callable[[api.ApplicationStatus, float], None]
    reset: Callable[[api.UnitFailure], BackgroundCall[None]]
    """Begins a reset; the call ends when other processes can see that the reset is under way."""
    record: Callable[[api.UnitFailure], BackgroundCall[None]]
    """Begins to record a finished reset; it is called for one reset at a time."""
    say: Callable[[str], None]
    clock: Callable[[], float]
    pause: Callable[[float], bool]
    """Waits this many seconds; returns True as soon as the user wants to stop."""
    _known: dict[str, api.KnownFailure] = field(default_factory=dict)
    _reasons: dict[str, str] = field(default_factory=dict)
    """Unit -> cause of its last failure, so that a repeated cause is not printed again."""
    _beginning: list[tuple[str, BackgroundCall[None]]] = field(default_factory=list)
    _begun: dict[str, api.UnitFailure] = field(default_factory=dict)
    """Unit -> the failure that its newest reset answers, until that reset is recorded."""
    _recording: tuple[str, BackgroundCall[None]] | None = None

    def follow(self) -> api.ApplicationStatus:
        """Show the application and reset its failed units until it is complete or stopped, or the user wants to stop.

        Return the last status. At the end, wait at most `FINISH_SECONDS` until its resets are recorded.

        Raises:
            ResetsExhaustedError: a unit has failed and has no attempt left, or cannot be mended by a reset.
            CatalogUnavailableError: the catalog stays unavailable for too long, or until the user wants to stop.
        """
        while True:
            status, decisions = api.supervise(
                self._look, self._known, self._begin_reset, patience=api.SENSOR_GRACE_SECONDS, now=self.clock
            )
            self._known = decisions.known
            if status.state == "COMPLETED" or status.taken_at is not None:
                self._record_all(status)
            if status.state in api.ENDED:
                return status
            self._report(decisions)
            if self.pause(POLL_SECONDS):
                return status

    def _look(self) -> api.ApplicationStatus:
        """Advance and show the application, collect the results of resets and records, and return the status.

        Raises:
            CatalogUnavailableError: the catalog stays unavailable for too long, or until the user wants to stop.
        """
        status = self._advance()
        self.show(status, self.clock())
        self._collect(status)
        return status

    def _advance(self) -> api.ApplicationStatus:
        """Record the changes of the application's units once the catalog can be used, and return its status.

        After an outage there is a pause for heartbeats first.

        Raises:
            CatalogUnavailableError: the catalog stays unavailable for too long, or until the user wants to stop.
        """
        lost: float | None = None
        while True:
            try:
                status = self.advance_and_read()
            except api.CatalogUnavailableError as error:
                if lost is None:
                    lost = self.clock()
                    self.say(f"{error} Waiting for the catalog; the application keeps running.")
                if self.clock() - lost > api.OUTAGE_TIMEOUT_SECONDS or self.pause(POLL_SECONDS):
                    raise
            else:
                if lost is None:
                    return status
                self.say("The catalog can be used again.")
                lost = None
                self.pause(api.SETTLE_SECONDS)

    def _report(self, decisions: api.ResetDecisions) -> None:
        """Report new failures.

        Raises:
            ResetsExhaustedError: a unit has failed and must no longer be reset.
        """
        for failure in decisions.exhausted:
            raise ResetsExhaustedError(failure)
        now = self.clock()
        for failure in decisions.met:
            known = self._reasons.get(failure.unit) == failure.cause.reason
            waits = f". It is reset in {failure.due_at - now:.0f} s" if failure.due_at - now >= SAID_SECONDS else ""
            what = " as before" if known else f": {failure.explanation}"
            self.say(f"{failure.unit} failed{what}{waits}")
            self._reasons[failure.unit] = failure.cause.reason

    def _begin_reset(self, failure: api.UnitFailure) -> None:
        """Begin the reset that a failure needs, and say so."""
        attempt = f"attempt {failure.status.attempts + 1}"
        attempt += "" if failure.cause.outside else f" of {failure.status.max_attempts}"
        self.say(f"Resetting {failure.unit} to its last complete epoch ({attempt}) ...")
        self._beginning.append((failure.unit, self.reset(failure)))
        self._begun[failure.unit] = failure

    def _collect(self, status: api.ApplicationStatus) -> None:
        """Report resets that could not begin, and begin to record the next finished reset."""
        ended = [each for each in self._beginning if each[1].wait(0.0)]
        self._beginning = [each for each in self._beginning if each not in ended]
        for unit, task in ended:
            self._result(task, f"The reset of {unit} failed")
        if self._recording is not None and self._recording[1].wait(0.0):
            unit, task = self._recording
            self._recording = None
            if not any(each.exhausted and each.unit == unit for each in api.find_failures(status, self.clock())):
                self._result(task, f"Dagster does not show the reset of {unit}")  # else the unit's failure is reported
        done = self._done(status)
        if done and self._recording is None:
            self._recording = done[0], self.record(self._begun.pop(done[0]))

    def _done(self, status: api.ApplicationStatus) -> list[str]:
        """Return the units whose reset is finished and not recorded yet."""
        return [unit.name for unit in status.units if unit.name in self._begun and _works(unit, self._begun[unit.name])]

    def _result(self, task: BackgroundCall[None], otherwise: str) -> None:
        try:
            task.result()
        except api.StreamsRuntimeError as error:
            self.say(f"{otherwise}: {error}")

    def _record_all(self, status: api.ApplicationStatus) -> None:
        until = time.monotonic() + FINISH_SECONDS
        while self._recording is not None and time.monotonic() < until:
            self._recording[1].wait(until - time.monotonic())
            self._collect(status)
        late = [] if self._recording is None else [self._recording[0]]
        late += self._done(status)
        if late:
            self.say(
                f"Dagster does not show the reset of {', '.join(late)}: recording took more than {FINISH_SECONDS:g} s"
            )


def _works(unit: api.UnitStatus, failure: api.UnitFailure) -> bool:
    """Return True if the unit was reset because of this failure or a later one, and all its PEs run or have ended."""
    return unit.generation > failure.generation and unit.works
