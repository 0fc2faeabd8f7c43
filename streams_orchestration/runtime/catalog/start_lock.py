"""The start lock of an application: only its holder may change the deployment.

It is a lock on a file under the state directory. If machines share the catalog, a lock of the database comes second.
The operating system, or the database, releases a lock when its process ends, so a dead process holds none.
"""

from __future__ import annotations

import fcntl
import json
import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from streams_orchestration import world
from streams_orchestration.runtime.catalog.address import database_of
from streams_orchestration.runtime.catalog.database import SharedLock
from streams_orchestration.runtime.errors.errors import BeingStartedError, StateDirectoryError
from streams_orchestration.runtime.processes.processes import machine_name
from streams_orchestration.runtime.storage.home import Home

LOCK_TIMEOUT_SECONDS = 600.0
"""Seconds to wait for another process that holds the lock, unless the caller gives another limit."""
POLL_SECONDS = 0.2
_HOLDER = re.compile(r"(?P<command>.+) \((?P<pid>\d+) on (?P<machine>[^)]*)\)?")
"""Matches the holder's name that `_name` makes, which may be cut off."""


@dataclass(frozen=True, slots=True)
class Starter:
    """The process that holds a start lock."""

    pid: int
    since: float | None
    """The time since which it holds the lock, or is connected to the database, in unix seconds; None if not known."""
    command: str
    """The command that the process runs, such as `streams run`."""
    machine: str = ""
    """The machine of the process; empty for this machine."""

    def __str__(self) -> str:
        where = f" on {self.machine}" if self.machine else ""
        since = "" if self.since is None else f", since {time.strftime('%H:%M:%S', time.localtime(self.since))}"
        return f"`{self.command}` (pid {self.pid}{where}{since})"


class StartLock:
    """A start lock, which `lock_start` takes; a context manager that releases it.

    A function that changes the deployment takes the lock as an argument, so that its caller must hold it.
    """

    def __init__(self, home: Home, application: str, file: IO[str], shared: SharedLock | None = None) -> None:
        self.application = application
        """The name of the application."""
        self._root = home.root
        self._path = home.start_lock(application)
        self._file = file
        self._shared = shared

    def require(self, application: str) -> None:
        """Raise AssertionError if this is the start lock of another application, which is a mistake of the caller."""
        assert self.application == application, f"{application} needs its own start lock, not {self.application}'s"

    def release(self) -> None:
        """Release the lock for other processes; do nothing if it was released before."""
        if not self._file.closed:
            with suppress(OSError):  # the name is read only while the lock is held
                self._file.truncate(0)
            self.abandon()

    def take(self) -> bool:
        """Try to take the file's lock, then the database's; return True if this process now holds both.

        If the database's lock is not free, the file's lock is kept.

        Raises:
            StateDirectoryError: the file cannot be locked.
            CatalogError: the database cannot be reached.
        """
        return _locked(self._root, self._file) and (self._shared is None or self._shared.take())

    def starter(self) -> Starter | None:
        """Return the process that holds the lock; None if none does, or it is not known.

        This takes the file's lock if that is free.

        Raises:
            StateDirectoryError: the file cannot be locked.
            CatalogError: the database cannot be reached.
        """
        if not _locked(self._root, self._file):
            return _starter(self._path)
        return None if self._shared is None else _far_starter(self._shared)

    def hold(self, command: str) -> None:
        """Write into the lock file which process holds it, and with which command.

        Raises:
            StateDirectoryError: the file cannot be written.
        """
        with _using(self._root):
            self._file.truncate(0)
            json.dump({"pid": world.pid(), "since": world.now(), "command": command}, self._file)
            self._file.flush()

    def abandon(self) -> None:
        """Close the file and the connection of the lock, which releases it if this process holds it."""
        if self._shared is not None:
            self._shared.close()
        with suppress(OSError):  # on a full disk `hold` has left unwritten text; the file is closed all the same
            self._file.close()

    def __enter__(self) -> StartLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def lock_start(
    home: Home,
    application: str,
    command: str,
    *,
    waiting: Callable[[Starter | None], None] = lambda _: None,
    limit: float | None = None,
) -> StartLock:
    """Wait until no other process holds the start lock of an application, then take it.

    Args:
        home: the state directory, which exists.
        application: the name of the application.
        command: the name of this process in messages of other processes.
        waiting: called once if another process holds the lock, with that process where it is known.
        limit: the seconds to wait; `LOCK_TIMEOUT_SECONDS` if None.

    Raises:
        BeingStartedError: the other process still holds the lock.
        StateDirectoryError: the lock file cannot be made, locked or written.
        CatalogError: the database cannot be reached.
    """
    path = home.start_lock(application)
    shared = database_of(home).shared_lock(f"start of {application}", _name(command))
    with _using(home.root):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = StartLock(home, application, path.open("a+", encoding="utf-8"), shared)
    until = world.monotonic() + (LOCK_TIMEOUT_SECONDS if limit is None else limit)
    waits = False
    try:
        while not lock.take():
            if world.monotonic() >= until:
                raise BeingStartedError(application, lock.starter(), path if shared is None else shared.place)
            if not waits:
                waits = True
                waiting(lock.starter())
            world.sleep(POLL_SECONDS)
        lock.hold(command)
    except BaseException:
        lock.abandon()
        raise
    return lock


@contextmanager
def _using(root: Path) -> Generator[None]:
    """Raise StateDirectoryError in place of an OSError of the block, which uses a file of the state directory."""
    try:
        yield
    except OSError as error:
        raise StateDirectoryError(root, error.strerror or str(error)) from error


def _locked(root: Path, file: IO[str]) -> bool:
    with _using(root):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _starter(path: Path) -> Starter | None:
    """Return the process that is named in a lock file; None while the file is being written."""
    with suppress(OSError, ValueError, TypeError):
        return Starter(**json.loads(path.read_text(encoding="utf-8")))
    return None


def _name(command: str) -> str:
    return f"{command} ({world.pid()} on {machine_name()})"


def _far_starter(shared: SharedLock) -> Starter | None:
    """Return the process that holds the database's lock, which all machines see.

    None if it is free, or the name of its holder cannot be read.
    """
    name, since = shared.holder() or ("", None)
    match = _HOLDER.fullmatch(name)
    return match and Starter(int(match["pid"]), since, match["command"], match["machine"])
