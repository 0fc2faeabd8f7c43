"""`SavepointPlace`: the directory of a savepoint, on this machine or in the storage that machines share."""

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
"""File type, as `stat.S_IFMT` returns it -> its name in words. Plain files are not listed."""


class UnfitFileError(Exception):
    """A file of a savepoint is refused, such as a link or a pipe; the message gives the reason."""


@dataclass(frozen=True)
class SavepointPlace:
    """The directory or a file of a savepoint. Its text is the location shown to users."""

    store: Store
    address: str
    """Address in the store. An absolute path is on this machine."""

    def __str__(self) -> str:
        return self.store.title(self.address)

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.address.rpartition("/")[2]

    @property
    def application(self) -> str:
        """The last part but one of the address: the application of a savepoint in a store."""
        return self.address.rpartition("/")[0].rpartition("/")[2]

    @property
    def path(self) -> Path | None:
        """The path on this machine; None in an object store."""
        return self.store.path(self.address)

    def __truediv__(self, name: str) -> SavepointPlace:
        return SavepointPlace(self.store, f"{self.address}/{name}")

    def size(self) -> int:
        """Return the size of this file in bytes, without reading it.

        Raises:
            UnfitFileError: it is not a plain file, or its directory is the savepoint's `states` as a symbolic link.
            OSError: it cannot be examined.
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
        """Return the content of this file; on this machine, at most one byte more than its size when the call began.

        Raises:
            UnfitFileError: it is not a plain file of the savepoint.
            OSError: the file cannot be read.
        """
        size = self.size()
        if self.path is None:
            return self.store.read(self.address)
        # the file may have been replaced since: a link is not followed, and a pipe does not block
        descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                message = "it is not a plain file"
                raise UnfitFileError(message)
            return file.read(size + 1)

    def write(self, content: bytes) -> None:
        """Write this file, and sync its content to disk.

        Raises:
            OSError: the file cannot be written.
        """
        self.store.write(self.address, content)
        self.store.sync_contents([self.address])


def _kind(path: Path) -> str | None:
    """Return the type of a file in words, or None for a plain file. A link is not followed."""
    return KINDS.get(stat.S_IFMT(path.lstat().st_mode))


def reason_of(title: object, doing: str, error: OSError, remedy: str) -> str:
    """Return the message for a file that cannot be used. The message of a `StoreError` is kept as it is."""
    if isinstance(error, StoreError):
        return f"{error}."
    return f"{title} cannot be {doing}: {error.strerror or error}. {remedy}"
