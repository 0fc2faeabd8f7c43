"""An application in the foreground: deployed, followed, and stopped if the user wants or a failure cannot be mended."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from streams_orchestration.cli.bringing_up import Start, jobs_of
from streams_orchestration.cli.display import Display
from streams_orchestration.cli.failures import INTERRUPTED
from streams_orchestration.cli.following import POLL_SECONDS, Follower, ResetsExhaustedError
from streams_orchestration.cli.interrupts import BackgroundCall, Interrupts
from streams_orchestration.cli.output import write
from streams_orchestration.cli.terminal import messages
from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.runtime import api


class Foreground:
    """One application in the foreground: calls of the runtime act on it at once, and jobs of Dagster record them later.

    Every call blocks until it is done, except that a reset is only begun.
    """

    def __init__(self, home: api.Home, name: str, start: Start | None = None) -> None:
        self._home = home
        self._name = name
        self._start = start
        self._catalog = api.Catalog(home)
        self._seen = 0
        """The mark of the catalog's changes at the last call of `ended`."""

    def cancel(self) -> None:
        """Stop the application."""
        jobs_of(self._home, self._name).cancel()

    def settle(self) -> None:
        """Wait until the hosts of an application that has stopped by itself have ended; see `cancel_application`.

        A host that does not end in time is killed.
        """
        api.cancel_application(self._catalog, self._name)

    def begin_reset(self, failure: api.UnitFailure) -> None:
        """Begin the reset of a failed unit, unless another process has done so. Resets run in parallel.

        Errors are as of `reset_unit` in `runtime.deployment.reset`.
        """
        api.reset_failed_unit(self._home, failure)

    def record_reset(self, failure: api.UnitFailure) -> None:
        """Record in Dagster that the failed unit works again, unless a run has recorded it already.

        The reset job runs in this process, and waits until the PEs of the unit work. For errors see
        `Jobs.record_reset`.
        """
        jobs_of(self._home, self._name).record_reset(failure)

    def deployed(self) -> bool:
        """Return True once the start has brought the application up."""
        return self._start is not None and self._start.launched

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


def run_application(
    home: api.Home, spec: Path, lock: api.StartLock, wanted: Deployable, request: api.Request
) -> tuple[api.ApplicationStatus, int]:
    """Run an application until it ends, or until an interrupt stops it; a second interrupt ends this process at once.

    Args:
        home: the state directory.
        spec: the path of the application's spec.
        lock: the start lock of the application; it is released when the hosts are launched.
        wanted: the application.
        request: how the application begins.

    Returns:
        The application's final status, and the exit status: INTERRUPTED or TERMINATED after an interrupt, else 0.

    Raises:
        HostLaunchError: the application did not start; hosts that did start were stopped.
        ResetsExhaustedError: a unit has failed and must no longer be reset; the application was stopped.
        CatalogUnavailableError: the catalog stays unavailable for too long.
        StreamsRuntimeError, ApplicationError, OSError: the application cannot be deployed.
    """
    name = wanted.name
    start, display = Start(home, spec, wanted), Display(messages())
    application = Foreground(home, name, start)
    display.follow_printed(home.logs(name).glob("pe-*.log"))

    def launch_and_wait() -> None:
        start.launch(lock, request, display.say)
        start.await_running()

    interrupts = Interrupts(lambda: display.say(f"Stopping {name}; Ctrl-C again leaves at once ..."))
    try:
        with interrupts, display:
            after = run_in_foreground(launch_and_wait, application, display, interrupts)
            if after.taken_at is not None:
                application.settle()
                after = application.advance_and_read()
            if problem := start.recorded():
                display.say(problem)
    except KeyboardInterrupt:
        _leave(name)
    return after, interrupts.exit_status if interrupts.requested else 0


def _leave(name: str) -> NoReturn:
    """End this process at once, since a job that still runs on another thread would delay a normal exit."""
    write(
        f"Left at once; {name} runs on. `streams status {name}` shows it, `streams cancel {name}` stops it.",
        error=True,
    )
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)


def run_in_foreground(
    launch_and_wait: Callable[[], None], application: Foreground, display: Display, interrupts: Interrupts
) -> api.ApplicationStatus:
    """Bring an application up, follow it, and return its final status.

    Args:
        launch_and_wait: the function that deploys the application, launches its hosts, and waits until its PEs run.
        application: the application.
        display: the display of the application's progress.
        interrupts: the interrupts, of which the first one stops the application once it is deployed.

    Raises:
        KeyboardInterrupt: the second interrupt came; the application runs on.
        HostLaunchError: the application did not start; the hosts that did start were stopped. If it waits for a machine
            or a unit has failed, it is followed instead.
        ResetsExhaustedError: a unit has failed and must no longer be reset; the application was stopped.
        CatalogUnavailableError: the catalog stays unavailable for too long.
    """
    display.wait("Waiting for hosts and Spark ...")
    try:
        _wait_for(launch_and_wait, lambda: _show_start(application, display))
    except api.HostLaunchError as error:
        waits = isinstance(error, api.WaitingForMachineError)
        if not waits and not api.find_failures(application.advance_and_read(), api.now()):
            _stop(application, display, interrupts)
            raise
        display.say(str(error))  # it is followed like a later failure: a reset or a new machine may mend it
    follower = Follower(
        advance_and_read=application.advance_and_read,
        show=display.show,
        reset=lambda failure: BackgroundCall(lambda: application.begin_reset(failure)),
        record=lambda failure: BackgroundCall(lambda: application.record_reset(failure)),
        say=display.say,
        clock=api.now,
        pause=lambda seconds: interrupts.pause(seconds, application.ended),
    )
    try:
        status = follower.follow()
    except ResetsExhaustedError:
        _stop(application, display, interrupts)  # its hosts hold the code that failed: the next run needs new processes
        raise
    return status if status.state in api.ENDED else _stop(application, display, interrupts)


def _show_start(application: Foreground, display: Display) -> None:
    """Advance an application that starts, and show its status, once it is deployed and if the catalog can be used."""
    if not application.deployed():  # another thread may still create or upgrade the catalog
        return
    with suppress(api.NotDeployedError, api.CatalogUnavailableError):
        status = application.advance_and_read()
        if status.state in ("RUNNING", "WAITING"):  # any other state is the state of an earlier run
            display.show(status, api.now())


def _stop(application: Foreground, display: Display, interrupts: Interrupts) -> api.ApplicationStatus:
    """Stop an application, and show and return its status then."""
    if not interrupts.requested:  # an interrupt has shown it already
        display.wait("Stopping ...")
    _wait_for(application.cancel)
    status = application.advance_and_read()
    display.show(status, api.now())
    return status


def _wait_for(job: Callable[[], None], meanwhile: Callable[[], object] = lambda: None) -> None:
    """Run a job on another thread, wait for it, and raise its error if it has one.

    On this thread, Dagster would delay a second Ctrl-C until the job ends.

    Args:
        job: the job.
        meanwhile: a function that is called repeatedly until the job is done.
    """
    running = BackgroundCall(job)
    while not running.wait(POLL_SECONDS):
        meanwhile()
    running.result()
