"""`Store`: the files that the catalog names, by addresses that are valid on every machine.

An address is relative to the root of the store, which is the state directory or the place that STREAMS_STORAGE names.
Addresses that begin with `HERE`, and absolute paths, are of this machine only.
"""

from __future__ import annotations

import errno
import logging
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streams_orchestration import world
from streams_orchestration.operators.storage.durable_files import (
    forget_names,
    link_or_copy,
    sync_contents,
    sync_names,
    sync_trees,
    write_durably,
)
from streams_orchestration.operators.storage.local import files_below

if TYPE_CHECKING:
    import pyarrow as pa

HERE = "here:"
"""Prefix of the address of a file that only processes of one machine read; after a reset, the file is written again."""

FAILED_REMOVALS = 5
"""The number of removals in a row that a storage fails to do before `remove_files` skips the remaining files."""
SLOW_REMOVAL_SECONDS = 1.0
"""The seconds of one removal that the storage fails to do after which `remove_files` skips the remaining files."""

log = logging.getLogger("streams.files")


class StoreError(OSError):
    """The storage cannot be reached or refuses, or its settings are wrong; `strerror` names place and remedy."""

    def __init__(self, message: str) -> None:
        super().__init__(errno.EIO, message)

    def __str__(self) -> str:
        return str(self.strerror)


@dataclass(frozen=True)
class Store:
    """Files in a directory of this machine, or in a directory that all machines mount; the object is sent to tasks.

    New files are durable only after `sync`, on which a commit that names them relies. Methods that read or write files
    raise OSError, and FileNotFoundError for a file that does not exist.
    """

    root: str
    """The directory that addresses are relative to."""
    here: str
    """The state directory of this machine."""

    @property
    def address(self) -> str:
        """The place as STREAMS_STORAGE names it; empty for the state directory."""
        return "" if self.root == self.here else self.root

    def path(self, address: str) -> Path | None:
        """Return the path of a file on this machine, which need not exist; None for a file in an object store."""
        if address.startswith(HERE):
            return Path(self.here) / address.removeprefix(HERE)
        return Path(self.root) / address

    def title(self, address: str) -> str:
        """Return the address of a file as messages name it, so that a user can find the file."""
        return str(self.path(address))

    def check(self) -> None:
        """Check that the store can be written and read: write, sync, read and remove a file of 4 KiB.

        Do nothing for the state directory.

        Raises:
            OSError: the file cannot be written, read or removed, or its content differs from the written data.
        """
        if self.address:
            _prove(self)

    def hasty(self) -> Store:
        """Return a store of the same files that fails at once while the storage is unavailable; here, this store."""
        return self

    def reach(self) -> None:
        """Check that the store's directory exists now.

        Raises:
            StoreError: the directory is missing; the message names it and the remedy.
        """
        if not Path(self.root).is_dir():
            message = f"{self.root}: this directory does not exist. Check that it is mounted on this machine"
            raise StoreError(message)

    def write(self, address: str, *parts: bytes | pa.Buffer) -> None:
        """Write a new file from its parts, and create its directories; the file is durable after `sync`.

        If writing fails, no part of the file remains.
        """
        path = self._local(address)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_durably(path, *parts, synced=False)

    def sync(self, addresses: Iterable[str]) -> None:
        """Make written, kept or copied files durable.

        Files of `HERE` need no sync, since a reset produces them again, and neither do files in an object store.
        """
        files = list(addresses)
        self.sync_contents(files)
        self.sync_names(files)

    def sync_contents(self, addresses: Iterable[str]) -> None:
        """Sync the contents of files, the first half of `sync`; the process that has written the files does this."""
        sync_contents(self._durable(addresses))

    def sync_names(self, addresses: Iterable[str]) -> None:
        """Sync the names of files, the second half of `sync`, with one call for each directory.

        Any process can do this.
        """
        sync_names(self._durable(addresses))

    def _durable(self, addresses: Iterable[str]) -> list[Path]:
        paths = (self.path(address) for address in addresses if not address.startswith(HERE))
        return [path for path in paths if path is not None]

    def read(self, address: str) -> bytes:
        """Return the content of a file."""
        return self._local(address).read_bytes()

    def size(self, address: str) -> int:
        """Return the size of a file in bytes."""
        return self._local(address).stat().st_size

    def sizes(self, directory: str) -> dict[str, int] | None:
        """Return the files below a directory with their sizes in bytes; None, as always here, if `size` is cheaper."""
        del directory
        return None

    def below(self, directory: str) -> list[str]:
        """Return the addresses of all files below a directory; none if it does not exist.

        Addresses of `HERE` come first, if the store is not the state directory.
        """
        files = [*_below(self._local(directory), directory)]
        return files if not self.address or directory.startswith(HERE) else [*self.below(HERE + directory), *files]

    def remove(self, address: str) -> None:
        """Remove a file; do nothing if it does not exist."""
        self._local(address).unlink(missing_ok=True)

    def sync_removals(self, directory: str) -> None:
        """Make the removals of files below a directory durable; an object store needs no sync.

        Raises:
            OSError: a directory cannot be flushed.
        """
        paths = (self.path(directory), self.path(HERE + directory))
        sync_trees(path for path in paths if path is not None)

    def remove_all(self, directory: str) -> None:
        """Remove a directory with its files as far as possible; no error is raised."""
        shutil.rmtree(self._local(directory), ignore_errors=True)
        forget_names(self._local(directory))

    def keep(self, path: Path, address: str) -> None:
        """Store a file of this machine, which never changes, under an address. It survives the removal of its path.

        Raises:
            FileExistsError: the address is taken, on a file system with hard links; a copy replaces the file.
        """
        target = self._local(address)
        target.parent.mkdir(parents=True, exist_ok=True)
        link_or_copy(path, target)

    def copy(self, source: str, target: str) -> None:
        """Give an unchanging file a second address, under which it survives the removal of the first; see `keep`."""
        self.keep(self._local(source), target)

    def fetch(self, address: str, path: Path) -> None:
        """Provide a file at a path of this machine, as a hard link or as a copy.

        Raises:
            FileExistsError: there is a file at the path already, on a file system with hard links.
        """
        link_or_copy(self._local(address), path)

    def _local(self, address: str) -> Path:
        path = self.path(address)
        assert path is not None
        return path


def remove_files(store: Store, addresses: Iterable[str]) -> int:
    """Remove files whose rows were deleted; log failures instead of raising errors.

    Names of files are never used again, so the removal may happen at any time. A file that cannot be removed is
    skipped, and is swept when its PE starts again. All remaining files are skipped if the storage is away, since each
    of them would be waited for. The storage counts as away after `FAILED_REMOVALS` errors of the storage in a row, or
    one that took more than `SLOW_REMOVAL_SECONDS`.

    Returns:
        The number of files that are gone for certain, including files that did not exist.
    """
    count, failures, hasty = 0, 0, store.hasty()
    for address in addresses:
        began = world.monotonic()
        try:
            hasty.remove(address)
        except OSError as error:
            title = store.title(address)
            if isinstance(error, StoreError):  # a single answer may be lost
                failures += 1
                if failures == FAILED_REMOVALS or world.monotonic() - began > SLOW_REMOVAL_SECONDS:
                    text = "%s and other files that are no longer needed cannot be removed: %s"
                    log.warning(text, title, error.strerror)
                    break
            log.warning("%s, which is no longer needed, cannot be removed: %s", title, error.strerror)
        else:
            count += 1
            failures = 0
    return count


def _below(directory: Path, address: str) -> Iterable[str]:
    return sorted(f"{address}/{path.relative_to(directory).as_posix()}" for path in files_below(directory))


def _prove(store: Store) -> None:
    address = f"probe-{world.new_id()}"
    store.write(address, b"\0" * 4096)
    store.sync([address])
    try:
        if store.read(address) != b"\0" * 4096:
            message = (
                f"{store.address}: the data that were read differ from the data that were written. Check the file "
                "system that is mounted there."
            )
            raise StoreError(message)
    finally:
        store.remove(address)
