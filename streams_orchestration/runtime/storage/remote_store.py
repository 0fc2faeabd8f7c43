"""`RemoteStore`: the files that the catalog names in an object store; requests are repeated while it is unavailable."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from streams_orchestration import world
from streams_orchestration.operators.storage.durable_files import write_whole
from streams_orchestration.operators.storage.options import StorageOptions
from streams_orchestration.operators.storage.port import StorageAwayError, StorageError, StorageRefusedError
from streams_orchestration.operators.storage.remote import RemoteStorage
from streams_orchestration.operators.storage.storages import remote_storage
from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.storage.store import HERE, Store, StoreError

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

RETRY_SECONDS = 20.0
"""Seconds for which requests to an unreachable storage are repeated before the task that needs it fails."""
PAUSES = Pauses(first=0.1, longest=2.0)
"""Pauses between two attempts of a request."""
AWAY = "Check that it can be reached and is not overloaded; nothing is lost"
REFUSED = "Correct STREAMS_STORAGE and STREAMS_STORAGE_OPTIONS, the rights or the credentials"

log = logging.getLogger("streams.files")


@dataclass(frozen=True)
class RemoteStore(Store):
    """Files in an object store, below the address `root`. A file is written completely or not at all.

    Addresses of this machine (`HERE`, absolute paths) name files of its disks, as in `Store`. For all other addresses,
    methods raise StoreError if the storage stays unavailable or refuses, or if its address or options cannot be used,
    and FileNotFoundError for a missing file.
    """

    options: str = "{}"
    """The access to the object store: `StorageOptions` as JSON, with references for secrets."""
    is_patient: bool = True
    """True if requests are repeated for `RETRY_SECONDS` while the storage is unavailable."""

    @property
    def address(self) -> str:
        """The address that STREAMS_STORAGE names."""
        return self.root

    def path(self, address: str) -> Path | None:
        """Return the path for an address of this machine; None for a file in the object store."""
        return super().path(address) if address.startswith((HERE, "/")) else None

    def title(self, address: str) -> str:
        """Return the full address of a file, for messages."""
        return super().title(address) if self.path(address) is not None else self._place(address)

    def hasty(self) -> Store:
        """Return a copy of this store that does not repeat requests: it fails at once if the storage is unavailable."""
        return replace(self, is_patient=False)

    def reach(self) -> None:
        """Check by one list request, without repeated attempts, that the storage can be reached."""
        options = StorageOptions.model_validate_json(self.options)
        where = f" (endpoint {options.endpoint})" if options.endpoint is not None else ""
        try:
            remote_storage(self.root, options).listed(f"{self.root}/.none")
        except StorageError as error:
            remedy = REFUSED if isinstance(error, StorageRefusedError) else AWAY
            message = f"{self.root}{where}: {error.reason}. {remedy}"
            raise StoreError(message) from error
        except ValueError as error:
            message = f"{self.root}{where}: {error}. {REFUSED}"
            raise StoreError(message) from error

    def write(self, address: str, *parts: bytes | pa.Buffer) -> None:
        """Write a file from its parts, or replace it; a small file is written in one request."""
        if self.path(address) is not None:
            return super().write(address, *parts)
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        return self.attempt(lambda storage: storage.put(self._place(address), data))

    def read(self, address: str) -> bytes:
        """Return the whole content of a file."""
        if self.path(address) is not None:
            return super().read(address)
        return self.attempt(lambda storage: storage.get(self._place(address)))

    def size(self, address: str) -> int:
        """Return the size of a file in bytes, by one request."""
        if self.path(address) is not None:
            return super().size(address)
        return self.attempt(lambda storage: storage.file(self._place(address)).stat().st_size)

    def sizes(self, directory: str) -> dict[str, int] | None:
        """Return the size in bytes of each file below a directory of the object store, by address; never None.

        All sizes come from one list request. Files of this machine are left out.
        """
        sizes = self.attempt(lambda storage: storage.sizes(self._place(directory)))
        return {name.removeprefix(f"{self.root}/"): size for name, size in sizes.items()}

    def below(self, directory: str) -> list[str]:
        """Return the addresses of all files below a directory, first of files of this machine, then of stored ones."""
        if self.path(directory) is not None:
            return super().below(directory)
        return [*super().below(HERE + directory), *sorted(self.sizes(directory) or ())]

    def remove(self, address: str) -> None:
        """Remove a file, by one request; do nothing if it does not exist."""
        if self.path(address) is not None:
            return super().remove(address)
        return self.attempt(lambda storage: storage.file(self._place(address)).unlink(missing_ok=True))

    def remove_all(self, directory: str) -> None:
        """Remove a directory on this machine as far as possible, then its files in the object store one after another.

        The first failure in the object store is logged, and ends the removal. No error is raised.
        """
        super().remove_all(HERE + directory)
        try:
            for address in sorted(self.sizes(directory) or ()):
                self.remove(address)
        except OSError as error:
            log.warning("files that are no longer needed cannot be removed: %s", error)

    def keep(self, path: Path, address: str) -> None:
        """Upload a file to the object store, replacing a file with the same address.

        If the address is of this machine, the file is linked; see `Store.keep`.
        """
        if self.path(address) is not None:
            return super().keep(path, address)
        return self.write(address, path.read_bytes())

    def copy(self, source: str, target: str) -> None:
        """Copy a file. If both addresses are in the object store, the store itself copies the file if it can.

        If one address is of this machine, the file is uploaded or downloaded; if both are, it is linked.
        """
        if self.path(source) is not None:
            return self.keep(Path(self.title(source)), target)
        if self.path(target) is not None:
            return super().write(target, self.read(source))
        return self.attempt(lambda storage: storage.copy(self._place(source), self._place(target)))

    def fetch(self, address: str, path: Path) -> None:
        """Download a file from the object store, replacing a file at the path.

        If the address is of this machine, the file is linked; see `Store.fetch`.

        Raises:
            OSError: the file cannot be read from the store, or written on this machine.
        """
        if self.path(address) is not None:
            return super().fetch(address, path)
        path.parent.mkdir(parents=True, exist_ok=True)
        return write_whole(path, self.read(address))

    def _place(self, address: str) -> str:
        return f"{self.root}/{address}"

    def attempt(self, action: Callable[[RemoteStorage], T]) -> T:
        """Run an action in the storage, and return its result.

        While the storage is unavailable, a patient store repeats the action for `RETRY_SECONDS`, and logs each
        failure.

        Raises:
            StoreError: the storage stays unavailable or refuses, or its address or options cannot be used.
            FileNotFoundError: the file does not exist.
        """
        try:
            storage = remote_storage(self.root, StorageOptions.model_validate_json(self.options))
        except ValueError as error:
            message = f"{self.root}: {error}. {REFUSED}"
            raise StoreError(message) from error
        until = world.monotonic() + (RETRY_SECONDS if self.is_patient else 0.0)
        failures = 0
        while True:
            try:
                return action(storage)
            except StorageRefusedError as error:
                message = f"{error}. {REFUSED}"
                raise StoreError(message) from error
            except StorageAwayError as error:
                failures += 1
                if world.monotonic() + PAUSES.after(failures) > until:
                    message = f"{error}. {AWAY}"
                    raise StoreError(message) from error
                log.warning("%s; it is tried again", error)
            except FileNotFoundError as error:
                raise FileNotFoundError(2, os.strerror(2), str(error.filename or error)) from error
            world.sleep(PAUSES.after(failures))
