"""Directories that one process uses for itself: others see whether it still lives, whatever their process space."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO

from streams_orchestration import world

MARK = ".in-use"
"""File in the directory, locked by the process that uses it; the operating system releases it when that one ends."""


def use(directory: Path) -> IO[str]:
    """Mark a directory as used by this process, as long as the file that is returned is open.

    Args:
        directory: that is there.

    Raises:
        OSError: it cannot be written.
    """
    part = directory / f"{MARK}-{world.pid()}"
    file = part.open("w", encoding="utf-8")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # before others can see it
    part.replace(directory / MARK)
    return file


def is_left(directory: Path) -> bool:
    """Return True if a directory was marked by a process that has ended."""
    try:
        with (directory / MARK).open("r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another process has it locked, or there is no mark
        return False
    return True
