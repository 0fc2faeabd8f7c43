"""The loop that follows an application in the foreground until it ends, and resets failed units unless others do."""

from __future__ import annotations

import time
from contextlib import suppress

from streams_orchestration.cli.display import Display
from streams_orchestration.cli.interrupts import BackgroundCall, Interrupts
from streams_orchestration.cli.recording import record_cancel
from streams_orchestration.cli.start import jobs_of
from streams_orchestration.runtime import api

POLL_SECONDS = 0.5
CANCEL_SECONDS = 60.0
"""Seconds until a host that does not end is killed."""
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


class Foreground:
    """One application in the foreground.

    The runtime resets a unit at once, and a job of Dagster records the reset later. Every other call blocks until it is
    done.
    """

    def __init__(self, catalog: api.Catalog, name: str) -> None:
        self._catalog = catalog
        self._name = name
        self._seen = 0
        """The mark of the catalog's changes at the last call of `ended`."""

    def cancel(self) -> None:
        """Stop the application, wait until it has stopped, and record that in Dagster; see `record_cancel`."""
        api.cancel_application(self._catalog, self._name, CANCEL_SECONDS)
        record_cancel(self._catalog, self._name)

    def begin_reset(self, failure: api.UnitFailure) -> BackgroundCall[object]:
        """Begin the reset of a failed unit, unless another process has done so.

        The call ends when other processes can see that the reset is under way. For errors see `reset_unit`.
        """
        return BackgroundCall(lambda: api.reset_failed_unit(self._catalog, failure))

    def begin_recording(self, failure: api.UnitFailure) -> BackgroundCall[object]:
        """Begin to record in Dagster that the failed unit works again, unless a run has recorded it already.

        The reset job runs in this process, and waits until the PEs of the unit work. For the errors of the call see
        `Jobs.record_reset`.
        """
        return BackgroundCall(lambda: jobs_of(self._catalog, self._name).record_reset(failure.unit, failure.generation))

    def advance_and_read(self) -> api.ApplicationStatus:
        """Record the changes of the application's units, and return its status.

        Raises:
            NotDeployedError: the application is not deployed.
            StreamsRuntimeError: a unit was removed meanwhile, or a rule of the protocol is broken.
        """
        return api.advance_and_read_status(self._catalog, self._name)

    def ended(self) -> bool:
        """Return True if the application is complete or stopped.

        The catalog is read only if it has changed since the last call. The result is False if it has not changed, or
        cannot be read.
        """
        mark = self._catalog.changes.mark()
        if mark == self._seen:
            return False
        self._seen = mark
        with suppress(api.CatalogUnavailableError):
            return api.has_application_ended(self._catalog, self._name)
        return False


class Follower:
    """The loop that watches one application in the foreground."""

    def __init__(self, application: Foreground, display: Display, interrupts: Interrupts) -> None:
        self._application = application
        self._display = display
        self._interrupts = interrupts
        self._resetter = api.Resetter(self._begin_reset, api.SENSOR_GRACE_SECONDS)
        self._reasons: dict[str, str] = {}
        """Unit -> cause of its last failure, so that a repeated cause is not printed again."""
        self._beginning: list[tuple[str, BackgroundCall[object]]] = []
        self._begun: dict[str, api.UnitFailure] = {}
        """Unit -> the failure that its newest reset answers, until that reset is recorded."""
        self._recording: tuple[str, BackgroundCall[object]] | None = None
        """The unit whose reset is being recorded, one at a time; None while no reset is recorded."""

    def follow(self) -> api.ApplicationStatus:
        """Show the application and reset its failed units until it is complete or stopped, or the user wants to stop.

        Return the last status. At the end, wait at most `FINISH_SECONDS` until its resets are recorded.

        Raises:
            ResetsExhaustedError: a unit has failed and has no attempt left, or cannot be mended by a reset.
            CatalogUnavailableError: the catalog stays unavailable for too long, or until the user wants to stop.
        """
        while True:
            status = self._advance_and_show()
            decisions = self._resetter.request_resets(status, api.now())
            self._report_ended_calls(status)
            self._begin_next_recording(status)
            if status.state == "COMPLETED" or status.taken_at is not None:
                self._record_all(status)
            if status.state in api.ENDED:
                return status
            for failure in decisions.exhausted:
                raise ResetsExhaustedError(failure)
            self._report_new_failures(decisions)
            if self._pause(POLL_SECONDS):
                return status

    def _advance_and_show(self) -> api.ApplicationStatus:
        """Advance and show the application, and return its status."""
        status = self._advance()
        self._display.show(status, api.now())
        return status

    def _advance(self) -> api.ApplicationStatus:
        """Record the changes of the application's units once the catalog can be used, and return its status.

        After an outage there is a pause for heartbeats first.
        """
        lost: float | None = None
        while True:
            try:
                status = self._application.advance_and_read()
            except api.CatalogUnavailableError as error:
                if lost is None:
                    lost = api.now()
                    self._display.say(f"{error} Waiting for the catalog; the application keeps running.")
                if api.now() - lost > api.OUTAGE_TIMEOUT_SECONDS or self._pause(POLL_SECONDS):
                    raise
            else:
                if lost is None:
                    return status
                self._display.say("The catalog can be used again.")
                lost = None
                self._pause(api.SETTLE_SECONDS)

    def _pause(self, seconds: float) -> bool:
        """Wait this many seconds, at most until the application ends; return True as soon as the user wants to stop."""
        return self._interrupts.pause(seconds, self._application.ended)

    def _report_new_failures(self, decisions: api.ResetDecisions) -> None:
        now = api.now()
        for failure in decisions.met:
            known = self._reasons.get(failure.unit) == failure.cause.reason
            waits = f". It is reset in {failure.due_at - now:.0f} s" if failure.due_at - now >= SAID_SECONDS else ""
            what = " as before" if known else f": {failure.explanation}"
            self._display.say(f"{failure.unit} failed{what}{waits}")
            self._reasons[failure.unit] = failure.cause.reason

    def _begin_reset(self, failure: api.UnitFailure) -> None:
        """Begin the reset that a failure needs, and say so."""
        attempt = f"attempt {failure.status.row.attempts + 1}"
        attempt += "" if failure.cause.outside else f" of {failure.status.row.max_attempts}"
        self._display.say(f"Resetting {failure.unit} to its last complete epoch ({attempt}) ...")
        self._beginning.append((failure.unit, self._application.begin_reset(failure)))
        self._begun[failure.unit] = failure

    def _report_ended_calls(self, status: api.ApplicationStatus) -> None:
        """Report resets that could not begin, and a reset that could not be recorded."""
        ended = [each for each in self._beginning if each[1].wait(0.0)]
        self._beginning = [each for each in self._beginning if each not in ended]
        for unit, task in ended:
            self._report_error(task, f"The reset of {unit} failed")
        if self._recording is not None and self._recording[1].wait(0.0):
            unit, task = self._recording
            self._recording = None
            if not any(each.exhausted and each.unit == unit for each in api.find_failures(status, api.now())):
                self._report_error(
                    task, f"Dagster does not show the reset of {unit}"
                )  # else the unit's failure is reported

    def _begin_next_recording(self, status: api.ApplicationStatus) -> None:
        """Begin to record the next finished reset, unless another one is being recorded."""
        done = self._done(status)
        if done and self._recording is None:
            self._recording = done[0], self._application.begin_recording(self._begun.pop(done[0]))

    def _done(self, status: api.ApplicationStatus) -> list[str]:
        """Return the units whose reset is finished and not recorded yet."""
        return [unit.name for unit in status.units if unit.name in self._begun and _works(unit, self._begun[unit.name])]

    def _report_error(self, task: BackgroundCall[object], otherwise: str) -> None:
        try:
            task.result()
        except api.StreamsRuntimeError as error:
            self._display.say(f"{otherwise}: {error}")

    def _record_all(self, status: api.ApplicationStatus) -> None:
        until = time.monotonic() + FINISH_SECONDS
        while self._recording is not None and time.monotonic() < until:
            self._recording[1].wait(until - time.monotonic())
            self._report_ended_calls(status)
            self._begin_next_recording(status)
        late = [] if self._recording is None else [self._recording[0]]
        late += self._done(status)
        if late:
            self._display.say(
                f"Dagster does not show the reset of {', '.join(late)}: recording took more than {FINISH_SECONDS:g} s"
            )


def _works(unit: api.UnitStatus, failure: api.UnitFailure) -> bool:
    """Return True if the unit was reset because of this failure or a later one, and all its PEs run or have ended."""
    return unit.generation > failure.generation and unit.works
