"""How commands take turns: one process at a time starts an application."""

from __future__ import annotations

from streams_orchestration.cli.messages import note
from streams_orchestration.runtime.catalog.start_lock import Starter, StartLock, lock_start
from streams_orchestration.runtime.storage.home import Home


def locked_start(home: Home, application: str, command: str) -> StartLock:
    """The start lock of an application, for this process; says for whom it waits.

    Raises:
        BeingStartedError: another process holds it for too long.
    """

    def waiting(starter: Starter | None) -> None:
        note(f"{application} is being started by {starter or 'another process'}; waiting for it ...")

    return lock_start(home, application, command, waiting=waiting)
