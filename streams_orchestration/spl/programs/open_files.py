"""Files that programs of one operator have opened, by their numbers."""

from __future__ import annotations

# pyright: standard
import errno
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO


@dataclass
class OpenFile:
    """An open file; `ended` is True after a read reached the end of the file."""

    stream: IO[bytes]
    ended: bool = False

    def read(self, count: int) -> bytes:
        """Read at most `count` bytes from the current position; fewer bytes set `ended`."""
        data = self.stream.read(count)
        self.ended = self.ended or len(data) < count
        return data


@dataclass
class OpenFiles:
    """The open files of one operator, by their numbers."""

    files: dict[int, OpenFile] = field(default_factory=dict[int, OpenFile])
    last: int = 0
    """The number of the file that was opened last; numbers are not used again."""

    def open(self, path: Path, mode: str) -> int:
        """Open a file in binary mode, and return the number under which it is kept. Raises OSError if that fails."""
        opened = OpenFile(path.open(f"{mode}b"))  # the program closes it
        self.last += 1
        self.files[self.last] = opened
        return self.last

    def __getitem__(self, number: int) -> OpenFile:
        """Return the open file with a number.

        Raises:
            OSError: there is no open file of this number.
        """
        if number not in self.files:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self.files[number]
