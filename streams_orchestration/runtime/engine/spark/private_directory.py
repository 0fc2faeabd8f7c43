"""The private directory of a session: its sockets and temporary files, which no other user may reach.

Its path is short, since the path of a Unix socket has some 100 bytes at most. Sockets of Spark's Python processes ask
for no secret, so the rights of the directory protect them. The fork server of its host removes the directory when it
ends, in whatever way; otherwise the next session that starts on the machine does.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Self

PREFIX = "streams-spark-"
LOCK = "lock"
"""File in the directory that the session's process keeps locked as long as it lives."""
LONGEST_PATH = 40
"""The most characters of the directory for temporary files, so that paths of sockets fit on every system."""


@dataclass(frozen=True, slots=True)
class PrivateDirectory:
    """One directory, which only its user may look into. Used as a context, it is removed at the end."""

    path: Path
    lock: int
    """The descriptor of the locked file; while it is open, the directory is not removed."""

    @classmethod
    def make(cls) -> PrivateDirectory:
        """Create a directory for a session of this process, and remove the directories of processes that have ended.

        It is in the directory for temporary files, or in `/tmp` if that one's path is longer than `LONGEST_PATH`.

        Raises:
            OSError: the directory for temporary files cannot be written.
        """
        usual = Path(tempfile.gettempdir())
        base = usual if len(str(usual)) <= LONGEST_PATH else Path("/tmp")  # noqa: S108  mkdtemp makes a name of its own
        _sweep(base)
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        part = path / f"{LOCK}.part"
        lock = os.open(part, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        part.rename(path / LOCK)  # others find it only when it is locked
        return cls(path, lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)


def _sweep(base: Path) -> None:
    for left in base.glob(f"{PREFIX}*/{LOCK}"):
        with contextlib.suppress(OSError):  # in use, or removed by another process
            if left.parent.lstat().st_uid != os.geteuid():
                continue
            descriptor = os.open(left, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left.parent, ignore_errors=True)
            finally:
                os.close(descriptor)
