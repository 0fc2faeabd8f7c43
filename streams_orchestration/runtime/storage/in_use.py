"""Marks directories as used by one process, so that other processes see if that process still lives."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO

from streams_orchestration import world

MARK = ".in-use"
"""The file that the using process locks in a directory; the operating system releases the lock when the process ends.
"""


def use(directory: Path) -> IO[str]:
    """Mark an existing directory as used by this process, for as long as the returned file is open.

    The mark replaces a mark of another process.

    Raises:
        OSError: the directory cannot be written.
    """
    part = directory / f"{MARK}-{world.pid()}"
    file = part.open("w", encoding="utf-8")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # before others can see it
    part.replace(directory / MARK)
    return file


def is_left(directory: Path) -> bool:
    """Return True if a directory was marked by a process that has ended.

    False while that process lives, and if the directory has no mark or the mark cannot be opened.
    """
    try:
        with (directory / MARK).open("r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another process has it locked, or there is no mark
        return False
    return True
