"""An application in the foreground: deployed, followed, and stopped when the user says so or nothing helps any more."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, Protocol

import click

from streams_orchestration.cli.deploying import stop_orphans
from streams_orchestration.cli.display import Display
from streams_orchestration.cli.failing import INTERRUPTED
from streams_orchestration.cli.following import POLL_SECONDS, Follower, ResetsExhaustedError
from streams_orchestration.cli.interrupts import Background, Interrupts
from streams_orchestration.cli.jobs import Jobs
from streams_orchestration.cli.terminal import messages
from streams_orchestration.compiler.options import Options
from streams_orchestration.runtime.errors import CatalogUnavailableError, HostLaunchError, NotDeployedError
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.failures import UnitFailure, failures


class Controls(Protocol):
    """What is needed of one application; everything blocks until it is done, but resets are only begun."""

    def cancel(self) -> None:
        """Stop it; its state is kept."""
        ...

    def begin_reset(self, failure: UnitFailure) -> None:
        """Bring what failed back to its last complete epoch, unless somebody else has done so."""
        ...

    def record_reset(self, failure: UnitFailure) -> None:
        """Write down for others that what failed works again."""
        ...

    def status(self) -> ApplicationStatus:
        """What it does now."""
        ...


def run_application(
    home: Home, name: str, spec: Path, options: Options, *, fresh: bool, started: Callable[[], None]
) -> tuple[ApplicationStatus, int]:
    """Run an application until it ends, or until an interrupt stops it.

    Args:
        home: the state directory.
        name: of the application.
        spec: path of its spec.
        options: of the compiler.
        fresh: drop what is kept of an earlier run.
        started: called when it is deployed.

    Returns:
        Its status in the end, and the exit status that an interrupt asks for, else 0.
    """
    jobs, display = Jobs(home, name), Display(messages())
    stop_orphans(jobs)

    def deploy() -> None:
        jobs.deploy(spec, options, fresh=fresh)
        started()

    interrupts = Interrupts(lambda: display.say(f"Stopping {name}; Ctrl-C again leaves at once ..."))
    try:
        with interrupts, display:
            after = run_in_foreground(deploy, jobs, display, interrupts)
    except KeyboardInterrupt:
        _leave(name)
    return after, interrupts.exit_status if interrupts.asked else 0


def _leave(name: str) -> NoReturn:
    """End this process at once; a job that still runs on another thread would hold a normal exit up."""
    click.echo(
        f"Left at once; {name} runs on. `streams status {name}` shows it, `streams cancel {name}` stops it.",
        err=True,
    )
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)


def run_in_foreground(
    deploy: Callable[[], None], controls: Controls, display: Display, interrupts: Interrupts
) -> ApplicationStatus:
    """Deploy an application and follow it; the status it ends with.

    Args:
        deploy: writes its wanted state, launches its hosts, waits for their heartbeats.
        controls: of the application.
        display: shows how far it is.
        interrupts: the first one stops the application, once it is deployed.

    Raises:
        KeyboardInterrupt: the second interrupt came; the application runs on.
        HostLaunchError: it did not come up; what did was stopped.
        ResetsExhaustedError: a unit has failed and is not to be reset any more; the application was stopped.
    """
    display.wait("Starting hosts and Spark ...")

    def show() -> ApplicationStatus:
        status = controls.status()
        display.show(status, time.time())
        return status

    def show_start() -> None:
        with suppress(NotDeployedError, CatalogUnavailableError):
            status = controls.status()
            if status.state == "RUNNING":  # else it is that of an earlier run
                display.show(status, time.time())

    def stop() -> ApplicationStatus:
        if not interrupts.asked:  # else the interrupt has said so
            display.wait("Stopping ...")
        _wait_for(controls.cancel)
        return show()

    try:
        _wait_for(deploy, show_start)
    except HostLaunchError as error:
        if not failures(controls.status(), time.time()):
            stop()
            raise
        display.say(str(error))  # a failure like a later one: a reset may mend it
    follower = Follower(
        read=controls.status,
        show=display.show,
        reset=lambda failure: Background(lambda: controls.begin_reset(failure)),
        record=lambda failure: Background(lambda: controls.record_reset(failure)),
        say=display.say,
        clock=time.time,
        pause=interrupts.pause,
    )
    try:
        status = follower.follow()
    except ResetsExhaustedError:
        stop()  # its hosts hold the code that failed: what runs next must be a new process
        raise
    return status if status.state in ("COMPLETED", "STOPPED") else stop()


def _wait_for(job: Callable[[], None], meanwhile: Callable[[], object] = lambda: None) -> None:
    """Run a job where no signal reaches it: Dagster would hold a second Ctrl-C back until the job is done."""
    running = Background(job)
    while not running.wait(POLL_SECONDS):
        meanwhile()
    running.result()
