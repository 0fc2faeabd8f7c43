"""The checks before an application is started: it can run here, and one process at a time starts it."""

from __future__ import annotations

from pathlib import Path

from streams_orchestration.cli.compiling import compiled_only
from streams_orchestration.cli.messages import note, report_diagnostics
from streams_orchestration.compiler.checking.deployable import Deployable, deployable, with_findings_of_operators
from streams_orchestration.compiler.compilation import Compilation, CompileError
from streams_orchestration.compiler.options import Options
from streams_orchestration.runtime.catalog.start_lock import Starter, StartLock, lock_start
from streams_orchestration.runtime.storage.home import Home


def compiled_to_run(spec: Path, options: Options) -> Compilation:
    """Compile an application that is to run, as `compiled_only` does; its errors come with those of its operators.

    Raises:
        ApplicationError: the application has errors.
    """
    try:
        return compiled_only(spec, options)
    except CompileError as error:
        raise with_findings_of_operators(error) from error


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
