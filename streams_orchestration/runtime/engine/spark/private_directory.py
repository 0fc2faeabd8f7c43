"""The private directory of a session: its sockets and temporary files, which no other user may reach.

Its path is short, since the path of a Unix socket has some 100 bytes at most. Sockets of Spark's Python processes ask
for no secret, so the rights of the directory protect them. The fork server of its host removes the directory when it
ends, in whatever way; otherwise the next session that starts on the machine does.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from streams_orchestration.runtime.storage.in_use import is_left, use

PREFIX = "streams-spark-"
LONGEST_PATH = 40
"""The most characters of the directory for temporary files, so that paths of sockets fit on every system."""


@dataclass(frozen=True, slots=True)
class PrivateDirectory:
    """One directory, which only its user may look into. Used as a context, it is removed at the end."""

    path: Path
    mark: IO[str]
    """The mark of the process that uses the directory; while the file is open, the directory is not removed."""

    @classmethod
    def make(cls) -> PrivateDirectory:
        """Create a directory for a session of this process, and remove the directories of processes that have ended.

        It is in the directory for temporary files, or in `/tmp` if that one's path is longer than `LONGEST_PATH`.

        Raises:
            OSError: the directory for temporary files cannot be written.
        """
        usual = Path(tempfile.gettempdir())
        base = usual if len(str(usual)) <= LONGEST_PATH else Path("/tmp")  # noqa: S108  mkdtemp makes a name of its own
        for each in base.glob(f"{PREFIX}*"):
            if _is_own(each) and is_left(each):
                shutil.rmtree(each, ignore_errors=True)
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        return cls(path, use(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self.mark.close()


def _is_own(path: Path) -> bool:
    """Return True if this user has made the path; another user could have put a link there."""
    try:
        return path.lstat().st_uid == os.geteuid()
    except FileNotFoundError:  # another process has removed it
        return False
