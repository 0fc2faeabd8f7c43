"""`Store`: the files that the catalog names, by addresses that hold whatever machine reads them.

An address is relative to the place of the store, which is the state directory or the one that STREAMS_STORAGE names.
One that begins with `HERE` is of this machine only; an absolute path is what it is on this machine.
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
from streams_orchestration.operators.durable_files import (
    forget_names,
    link_or_copy,
    sync_contents,
    sync_names,
    write_durably,
)

if TYPE_CHECKING:
    import pyarrow as pa

HERE = "here:"
"""Prefix of the address of a file that only processes of one machine read, and that a reset makes again."""

log = logging.getLogger("streams.files")


class StoreError(OSError):
    """The storage cannot be reached, or refuses; `strerror` names the file and the remedy."""

    def __init__(self, message: str) -> None:
        super().__init__(errno.EIO, message)

    def __str__(self) -> str:
        return str(self.strerror)


@dataclass(frozen=True)
class Store:
    """Files in a directory of this machine, or in one that all machines mount. It travels to tasks.

    New files count only after `sync`, which a commit that names them relies on. All methods raise OSError, where a file
    is not there FileNotFoundError.
    """

    root: str
    """Directory that addresses are relative to."""
    here: str
    """The state directory of this machine."""

    @property
    def address(self) -> str:
        """The place as STREAMS_STORAGE names it; empty for the state directory."""
        return "" if self.root == self.here else self.root

    def path(self, address: str) -> Path | None:
        """Return the file on this machine; None when it is in an object store."""
        if address.startswith(HERE):
            return Path(self.here) / address.removeprefix(HERE)
        return Path(self.root) / address

    def title(self, address: str) -> str:
        """Return the address of a file as messages name it, so that a user can find the file."""
        return str(self.path(address))

    def check(self) -> None:
        """Prove that the place can be written and read."""
        if self.address:
            _proved(self)

    def hasty(self) -> Store:
        """Return this store without patience: it gives up at once while the storage is unavailable."""
        return self

    def reach(self) -> None:
        """Look whether the place is there now.

        Raises:
            StoreError: it is not; the message names it, and the remedy.
        """
        if not Path(self.root).is_dir():
            message = f"{self.root}: there is no such directory. See that it is mounted on this machine"
            raise StoreError(message)

    def write(self, address: str, data: bytes | pa.Buffer) -> None:
        """Write a new file, which `sync` has on disk; nothing is left of one that cannot be written."""
        path = self._local(address)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_durably(path, data, synced=False)

    def sync(self, addresses: Iterable[str]) -> None:
        """Have files on disk that were written, kept or copied.

        Nothing is done for files of `HERE`, which a reset makes again, and for those in an object store.
        """
        files = list(addresses)
        self.sync_contents(files)
        self.sync_names(files)

    def sync_contents(self, addresses: Iterable[str]) -> None:
        """Do the first half of `sync`, by the process that has written the files."""
        sync_contents(self._durable(addresses))

    def sync_names(self, addresses: Iterable[str]) -> None:
        """Do the second half of `sync`, by any process: one call for each directory."""
        sync_names(self._durable(addresses))

    def _durable(self, addresses: Iterable[str]) -> list[Path]:
        paths = (self.path(address) for address in addresses if not address.startswith(HERE))
        return [path for path in paths if path is not None]

    def read(self, address: str) -> bytes:
        """Return the content of a file."""
        return self._local(address).read_bytes()

    def size(self, address: str) -> int:
        """Bytes of a file."""
        return self._local(address).stat().st_size

    def sizes(self, directory: str) -> dict[str, int] | None:
        """Return the files below a directory, with their bytes; None where it is cheaper to look at each."""
        del directory
        return None

    def below(self, directory: str) -> list[str]:
        """Return the addresses of all files in a directory, those of this machine only among them."""
        files = [*_below(self._local(directory), directory)]
        return files if not self.address or directory.startswith(HERE) else [*self.below(HERE + directory), *files]

    def remove(self, address: str) -> None:
        """Remove a file; nothing where there is none."""
        self._local(address).unlink(missing_ok=True)

    def remove_all(self, directory: str) -> None:
        """Remove a directory, as far as possible."""
        shutil.rmtree(self._local(directory), ignore_errors=True)
        forget_names(self._local(directory))

    def keep(self, path: Path, address: str) -> None:
        """Store a file of this machine that never changes under an address, where it outlives its path."""
        target = self._local(address)
        target.parent.mkdir(parents=True, exist_ok=True)
        link_or_copy(path, target)

    def copy(self, source: str, target: str) -> None:
        """Give a file that never changes a second address, under which it outlives the first."""
        self.keep(self._local(source), target)

    def fetch(self, address: str, path: Path) -> None:
        """Provide a file at a path of this machine: as a second name of it, or as a copy."""
        link_or_copy(self._local(address), path)

    def _local(self, address: str) -> Path:
        path = self.path(address)
        assert path is not None
        return path


def remove_files(store: Store, addresses: Iterable[str]) -> int:
    """Remove files. Their names are never used again, so this may happen at any time after they were forgotten.

    A file that cannot be removed stops nothing: it is swept when its PE starts again.

    Returns:
        How many are gone.
    """
    count, hasty = 0, store.hasty()
    for address in addresses:
        try:
            hasty.remove(address)
        except OSError as error:
            title = store.title(address)
            if isinstance(error, StoreError):  # each of the others would be waited for as long
                log.warning("%s and what else is no longer needed cannot be removed: %s", title, error.strerror)
                break
            log.warning("%s, which is no longer needed, cannot be removed: %s", title, error.strerror)
        else:
            count += 1
    return count


def _below(directory: Path, address: str) -> Iterable[str]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return sorted(f"{address}/{path.relative_to(directory).as_posix()}" for path in files)


def _proved(store: Store) -> None:
    address = f"probe-{world.new_id()}"
    store.write(address, b"\0" * 4096)
    store.sync([address])
    try:
        if store.read(address) != b"\0" * 4096:
            message = f"{store.address}: what was written there is not what is read. See what is mounted there."
            raise StoreError(message)
    finally:
        store.remove(address)
