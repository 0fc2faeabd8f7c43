"""The checks before an application is started: it can run here, and one process at a time starts it."""

from __future__ import annotations

from streams_orchestration.cli.messages import note, report_diagnostics
from streams_orchestration.compiler.checking.deployable import Deployable, deployable
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.runtime.catalog.start_lock import Starter, StartLock, lock_start
from streams_orchestration.runtime.storage.home import Home


def ready(compilation: Compilation) -> Deployable:
    """The application as one that can run here; warnings go to standard error.

    Raises:
        ApplicationError: something keeps the application from running here.
    """
    wanted = deployable(compilation)
    report_diagnostics(wanted.compilation.diagnostics)
    return wanted


def locked_start(home: Home, application: str, command: str) -> StartLock:
    """Lock the start of an application for this process; reports the process that it waits for.

    Raises:
        BeingStartedError: another process holds it for too long.
    """

    def waiting(starter: Starter | None) -> None:
        note(f"{application} is being started by {starter or 'another process'}; waiting for it ...")

    return lock_start(home, application, command, waiting=waiting)
