"""An application in the foreground: deployed, followed, and stopped if the user wants or a failure cannot be mended."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from streams_orchestration.cli.display import Display
from streams_orchestration.cli.failures import INTERRUPTED
from streams_orchestration.cli.following import POLL_SECONDS, Follower, Foreground, ResetsExhaustedError
from streams_orchestration.cli.interrupts import BackgroundCall, Interrupts
from streams_orchestration.cli.output import write
from streams_orchestration.cli.start import Start
from streams_orchestration.cli.terminal import messages
from streams_orchestration.runtime import api


def run_application(start: Start) -> tuple[api.ApplicationStatus, int]:
    """Run an application until it ends, or until an interrupt stops it; a second interrupt ends this process at once.

    Returns:
        The application's final status, and the exit status: INTERRUPTED or TERMINATED after an interrupt, else 0.

    Raises:
        HostLaunchError: the application did not start; hosts that did start were stopped.
        ResetsExhaustedError: a unit has failed and must no longer be reset; the application was stopped.
        CatalogUnavailableError: the catalog stays unavailable for too long.
        StreamsRuntimeError, ApplicationError, OSError: the application cannot be deployed.
    """
    name, display = start.name, Display(messages())
    application = Foreground(start.catalog, name)
    display.follow_printed(start.catalog.home.logs(name).glob("pe-*.log"))
    interrupts = Interrupts(lambda: display.say(f"Stopping {name}; Ctrl-C again leaves at once ..."))
    try:
        with interrupts, display:
            after = run_in_foreground(start, application, display, interrupts)
            if after.taken_at is not None:
                api.cancel_application(start.catalog, name)  # waits until its hosts have ended
                after = application.advance_and_read()
            if problem := start.await_recording():
                display.say(problem)
    except KeyboardInterrupt:
        _leave(name)
    return after, interrupts.exit_status if interrupts.requested else 0


def _leave(name: str) -> NoReturn:
    """End this process at once, since a job that still runs on another thread would delay a normal exit."""
    write(
        f"Left at once. `streams status {name}` shows if {name} still runs, `streams cancel {name}` stops it.",
        error=True,
    )
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)


def run_in_foreground(
    start: Start, application: Foreground, display: Display, interrupts: Interrupts
) -> api.ApplicationStatus:
    """Bring an application up, follow it, and return its final status.

    Args:
        start: the start of the application.
        application: the application.
        display: the display of the application's progress.
        interrupts: the interrupts, of which the first one stops the application once it is deployed.

    Raises:
        KeyboardInterrupt: the second interrupt came; the application may still run.
        HostLaunchError: the application did not start; the hosts that did start were stopped. If it waits for a machine
            or a unit has failed, it is followed instead.
        ResetsExhaustedError: a unit has failed and must no longer be reset; the application was stopped.
        CatalogUnavailableError: the catalog stays unavailable for too long.
    """

    def launch_and_await_running() -> None:
        start.launch(display.say)
        start.await_running()

    display.show_waiting("Waiting for hosts and Spark ...")
    try:
        _wait_for(launch_and_await_running, lambda: _show_start(start, application, display))
    except api.HostLaunchError as error:
        waits = isinstance(error, api.WaitingForMachineError)
        if not waits and not api.find_failures(application.advance_and_read(), api.now()):
            _stop(application, display, interrupts)
            raise
        display.say(str(error))  # it is followed like a later failure: a reset or a new machine may mend it
    try:
        status = Follower(application, display, interrupts).follow()
    except ResetsExhaustedError:
        _stop(application, display, interrupts)  # its hosts hold the code that failed: the next run needs new processes
        raise
    return status if status.state in api.ENDED else _stop(application, display, interrupts)


def _show_start(start: Start, application: Foreground, display: Display) -> None:
    """Advance an application that starts, and show its status, once it is deployed and if the catalog can be used."""
    if not start.launched:  # another thread may still create or upgrade the catalog
        return
    with suppress(api.NotDeployedError, api.CatalogUnavailableError):
        status = application.advance_and_read()
        if status.state in ("RUNNING", "WAITING"):  # any other state is the state of an earlier run
            display.show(status, api.now())


def _stop(application: Foreground, display: Display, interrupts: Interrupts) -> api.ApplicationStatus:
    """Stop an application, and show and return its status then."""
    if not interrupts.requested:  # an interrupt has shown it already
        display.show_waiting("Stopping ...")
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
