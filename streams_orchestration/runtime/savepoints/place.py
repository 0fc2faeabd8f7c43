"""`Place`: the directory of a savepoint, on this machine or in the storage that machines share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from streams_orchestration.runtime.storage.store import Store, StoreError


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

    def read(self) -> bytes:
        """Return the content of the file of this name.

        Raises:
            OSError: it cannot be read.
        """
        return self.store.read(self.address)

    def write(self, content: bytes) -> None:
        """Write the file of this name, whole and durable.

        Raises:
            OSError: it cannot be written.
        """
        self.store.write(self.address, content)


def reason_of(title: object, doing: str, error: OSError, remedy: str) -> str:
    """A sentence for a file that cannot be used; a storage names the file and the remedy itself."""
    if isinstance(error, StoreError):
        return f"{error}."
    return f"{title} cannot be {doing}: {error.strerror or error}. {remedy}"
