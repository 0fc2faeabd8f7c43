"""The place of the tests' temporary files: in memory, where there is enough of it.

Most tests synchronise files or commit to a database, and a disk takes milliseconds for each. No test depends on a disk:
those of lost power simulate one.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
"""A file system in memory, on Linux."""
LEAST_BYTES = 4 * 2**30
"""The free space that it needs: all tests together leave more than a GiB of files."""


def use_memory() -> None:
    """Let this process, and those that it starts, make temporary files in memory, unless TMPDIR names a place."""
    if "TMPDIR" not in os.environ and is_suitable(MEMORY, LEAST_BYTES):
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


def is_suitable(directory: Path, least: int) -> bool:
    """Return True if a directory has some free bytes, and its file system runs programs, which some tests write."""
    if not directory.is_dir():
        return False
    system = os.statvfs(directory)
    return system.f_bavail * system.f_frsize >= least and not system.f_flag & os.ST_NOEXEC
