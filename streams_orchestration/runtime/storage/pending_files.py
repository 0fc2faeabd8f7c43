"""Waiting files of sinks: tasks write them, and the publisher of any machine takes them.

Their addresses are paths of this machine. If STREAMS_STORAGE names a place that machines share, the files are stored
there instead.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from streams_orchestration.operators.storage.local import files_below
from streams_orchestration.runtime.storage.home import data_of
from streams_orchestration.runtime.storage.store import Store, remove_files

log = logging.getLogger("streams.files")

MERGED = "merged"
"""Prefix of the names of files into which a publisher has merged several."""
BEGUN = ".*"
"""Pattern of the names of files that are not complete yet, as `write_whole` makes them."""
_KIND = "waiting"
_DEPTH = 4
"""The number of parts in the result of `waiting_of`; the parts after them are the path in the state directory."""


def waiting_of(application: str, pe: int) -> str:
    """Return the address of the directory for the waiting outputs of a PE's sinks."""
    return f"{data_of(application)}/{_KIND}/pe-{pe}"


def remove_abandoned(store: Store, application: str, directories: Iterable[Path]) -> bool:
    """Remove the files that killed publishers of an application have left: merged files, and copies they had begun.

    Call this only if all outputs are published, so that commits can no longer name a merged file. The sinks keep
    pending files in these directories of this machine.

    Returns:
        False if some of these files may remain, since a file could not be removed or a directory not be listed. The
        reason is logged.
    """
    left: list[str] = []
    is_listed = True
    try:
        left += [
            str(path)
            for directory in directories
            for pattern in (f"{MERGED}-*", BEGUN)
            for path in files_below(directory, pattern)
        ]
        waiting = store.below(f"{data_of(application)}/{_KIND}") if store.address else []
        left += [address for address in waiting if address.rpartition("/")[2].startswith(MERGED)]
    except OSError as error:
        log.warning("files that killed publishers left cannot be removed: %s", error)
        is_listed = False
    return remove_files(store, left) == len(left) and is_listed


def store_waiting_file(store: Store, path: Path, directory: str) -> str:
    """Return the address of a finished file for the catalog; if machines share a storage, first store the file there.

    The file stays at its path. It is not stored, and the address is the path, without a shared storage or if the path
    is outside of the state directory, since a user chose that place. `directory` is the result of `waiting_of`.

    Raises:
        OSError: the file cannot be stored.
    """
    if not store.address or not path.is_relative_to(store.here):
        return str(path)
    address = f"{directory}/{path.relative_to(store.here).as_posix()}"
    store.keep(path, address)
    return address


def path_of(store: Store, pending: str) -> Path:
    """Return the path that a waiting file has, or would have after `fetch_waiting_file`, on this machine."""
    if Path(pending).is_absolute():
        return Path(pending)
    return Path(store.here, *Path(pending).parts[_DEPTH:])


def fetch_waiting_file(store: Store, pending: str) -> Path:
    """Fetch a waiting file from the storage if this machine lacks it, and return its path on this machine.

    If the storage lacks the file, too, there is none at the path.

    Raises:
        OSError: the storage cannot be read.
    """
    path = path_of(store, pending)
    if not path.exists() and str(path) != pending:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError, FileExistsError):
            store.fetch(pending, path)
    return path


def remove_waiting_file(store: Store, pending: str) -> None:
    """Remove a waiting file from the storage, and its copy on this machine; a missing file is not an error.

    Raises:
        OSError: the file cannot be removed.
    """
    store.remove(pending)
    path_of(store, pending).unlink(missing_ok=True)


def forget_file(store: Store, pending: str) -> None:
    """Remove a waiting file and its copy on this machine; a failure is logged, and the file is swept later."""
    remove_files(store, dict.fromkeys((pending, str(path_of(store, pending)))))
