"""The private directory of a session: its sockets and temporary files, away from what all users share.

Its path is short, since that of a Unix socket has some 100 bytes. Sockets of Spark's Python processes ask for no
secret, so the rights of the directory are what protects them. It is removed by the fork server of its host when that
ends, however it ends, and otherwise by the next session that starts on the machine.
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
"""File in the directory that the process of its session holds a lock on as long as it lives."""
LONGEST_PATH = 40
"""Characters of the directory for temporary files, so that paths of sockets fit in every system."""


@dataclass(frozen=True, slots=True)
class PrivateDirectory:
    """One directory, which only its user may look into. Used as a context, it is removed at the end."""

    path: Path
    lock: int
    """Descriptor of the locked file: while it is open the directory stays."""

    @classmethod
    def make(cls) -> PrivateDirectory:
        """Make one for a session of this process, and remove those of processes that have ended.

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
