"""Temporary files of tests in memory, where there is room: on a disk, many small files take time."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
"""A file system in memory."""
ROOM = 4 * 1024**3
"""Bytes that must be free in it, and half of the bytes of memory that must be available."""
PREFIX = "t"
"""The beginning of the names of directories, which end with the process. They are short, since paths of sockets are."""


def begin() -> Path | None:
    """Let temporary files of this process and its children be in memory, and return their directory.

    Where the user has chosen a directory, or there is no room, nothing changes, and None is returned. What was left by
    processes that have ended is removed.
    """
    if os.environ.get("TMPDIR") or not _has_room():
        return None
    for left in MEMORY.glob(f"{PREFIX}[0-9]*"):
        if not Path(f"/proc/{left.name.removeprefix(PREFIX)}").exists():
            shutil.rmtree(left, ignore_errors=True)
    directory = MEMORY / f"{PREFIX}{os.getpid()}"
    directory.mkdir(mode=0o755, exist_ok=True)
    os.environ["TMPDIR"] = tempfile.tempdir = str(directory)
    return directory


def remove(directory: Path) -> None:
    """Remove a directory, if it is in memory."""
    if directory.is_relative_to(MEMORY):
        shutil.rmtree(directory, ignore_errors=True)


def _has_room() -> bool:
    try:
        facts, memory = os.statvfs(MEMORY), Path("/proc/meminfo").read_text()
    except OSError:
        return False
    available = re.search(r"^MemAvailable: +(\d+) kB$", memory, re.MULTILINE)
    runs_programs = not facts.f_flag & os.ST_NOEXEC
    free = facts.f_bavail * facts.f_frsize
    return runs_programs and free > ROOM and available is not None and int(available[1]) * 1024 > 2 * ROOM
