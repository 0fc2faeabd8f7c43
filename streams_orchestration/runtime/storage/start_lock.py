"""The start lock of an application: while one process starts it, no other one looks at what is about to change.

It is a lock on a file under the state directory. The operating system releases it when its process ends, in whatever
way, so a dead process holds none.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from streams_orchestration.runtime.errors import BeingStartedError, StateDirectoryError
from streams_orchestration.runtime.storage.home import Home

LIMIT_SECONDS = 600.0
"""How long another process is waited for."""
POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Starter:
    """The process that holds a start lock."""

    pid: int
    since: float
    """Unix seconds."""
    command: str
    """What it does, as `streams run`."""

    def __str__(self) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(self.since))
        return f"`{self.command}` (pid {self.pid}, since {clock})"


_held: set[Path] = set()
"""Lock files that this process has locked."""


class StartLock:
    """A start lock that is held; a context manager that releases it."""

    def __init__(self, path: Path, file: IO[str] | None) -> None:
        self._path = path
        self._file = file

    def release(self) -> None:
        """Let others have the application; nothing when that was done before."""
        if self._file is not None:
            _held.discard(self._path)
            self._file.truncate(0)
            self._file.close()
            self._file = None

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
    """StartLock an application for this process, after other processes have released it.

    What this process holds already it may lock again, without effect.

    Args:
        home: the state directory, which exists.
        application: its name.
        command: what messages of other processes call this one.
        waiting: called once if another process holds the lock, with that process where it is known.
        limit: seconds to wait for it; `LIMIT_SECONDS` when None.

    Raises:
        BeingStartedError: the other process still holds it.
        StateDirectoryError: the lock file cannot be written.
    """
    path = home.start_lock(application)
    if path in _held:
        return StartLock(path, None)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise StateDirectoryError(home.root, error.strerror or str(error)) from error
    until = time.monotonic() + (LIMIT_SECONDS if limit is None else limit)
    waits = False
    while not _locked(file):
        if time.monotonic() >= until:
            file.close()
            raise BeingStartedError(application, _starter(path), path)
        if not waits:
            waits = True
            waiting(_starter(path))
        time.sleep(POLL_SECONDS)
    _held.add(path)
    file.truncate(0)
    json.dump({"pid": os.getpid(), "since": time.time(), "command": command}, file)
    file.flush()
    return StartLock(path, file)


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _starter(path: Path) -> Starter | None:
    """Who wrote the file; None while it is being written."""
    with suppress(OSError, ValueError, TypeError):
        return Starter(**json.loads(path.read_text(encoding="utf-8")))
    return None
