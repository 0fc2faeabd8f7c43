"""`Place`: the directory of a savepoint, on this machine or in the storage that machines share."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from streams_orchestration.runtime.storage.store import Store, StoreError

STATES = "states"
"""The directory of the states in a savepoint."""
KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
    stat.S_IFDIR: "a directory",
}
"""Files that are no plain ones, in words."""


class UnfitFileError(Exception):
    """A file of a savepoint that is not read, and the reason."""


@dataclass(frozen=True)
class Place:
    """A directory with the files of a savepoint; as text it is where a user finds it."""

    store: Store
    address: str
    """Address in the store; an absolute path is a directory of this machine."""

    def __str__(self) -> str:
        return self.store.title(self.address)

    @property
    def name(self) -> str:
        """Return the last part of the address."""
        return self.address.rpartition("/")[2]

    @property
    def application(self) -> str:
        """The name before it: among savepoints of a store, whose it is."""
        return self.address.rpartition("/")[0].rpartition("/")[2]

    @property
    def path(self) -> Path | None:
        """The directory on this machine; None when it is in an object store."""
        return self.store.path(self.address)

    def __truediv__(self, name: str) -> Place:
        return Place(self.store, f"{self.address}/{name}")

    def size(self) -> int:
        """Return the bytes of the file of this name, which is not read for that.

        Raises:
            UnfitFileError: it is no plain file, or stands in a directory of the savepoint that is a symbolic link.
            OSError: it cannot be looked at.
        """
        if self.path is None:
            return self.store.size(self.address)
        if self.path.parent.name == STATES and (kind := _kind(self.path.parent)) != "a directory":
            message = f"{self.path.parent} is {kind}"
            raise UnfitFileError(message)
        if (kind := _kind(self.path)) is not None:
            message = f"it is {kind}"
            raise UnfitFileError(message)
        return self.path.lstat().st_size

    def read(self) -> bytes:
        """Return the content of the file of this name.

        Raises:
            UnfitFileError: see `size`.
            OSError: it cannot be read.
        """
        size = self.size()
        if self.path is None:
            return self.store.read(self.address)
        # the file may be another one by now: such a link is not followed, and such a pipe not waited for
        descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                message = "it is no plain file"
                raise UnfitFileError(message)
            return file.read(size + 1)

    def write(self, content: bytes) -> None:
        """Write the file of this name, its content on disk.

        Raises:
            OSError: it cannot be written.
        """
        self.store.write(self.address, content)
        self.store.sync_contents([self.address])


def _kind(path: Path) -> str | None:
    """Return the kind of a file that is no plain one, in words; no link is followed."""
    return KINDS.get(stat.S_IFMT(path.lstat().st_mode))


def reason_of(title: object, doing: str, error: OSError, remedy: str) -> str:
    """A sentence for a file that cannot be used; a storage names the file and the remedy itself."""
    if isinstance(error, StoreError):
        return f"{error}."
    return f"{title} cannot be {doing}: {error.strerror or error}. {remedy}"
