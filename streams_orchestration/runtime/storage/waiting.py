"""Files of sinks that wait until they may leave: written by tasks, taken by the publisher, on whichever machine it is.

They are paths of this machine as long as STREAMS_STORAGE names no place that machines share; else they are put there.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from streams_orchestration.runtime.storage.home import data_of
from streams_orchestration.runtime.storage.store import Store, remove_files

_KIND = "waiting"
_DEPTH = 4
"""Names of `waiting_of`; what follows them is the path in the state directory of the machine that has written it."""


def waiting_of(application: str, pe: int) -> str:
    """Address of the directory with what the sinks of a PE wait with."""
    return f"{data_of(application)}/{_KIND}/pe-{pe}"


def hand_over(store: Store, path: Path, directory: str) -> str:
    """Make a finished file available to all machines; returns the address for the catalog. The path stays.

    Args:
        store: of the application.
        path: of this machine. What does not lie in the state directory is where a user has wanted it, and stays there.
        directory: as of `waiting_of`.

    Raises:
        OSError: it cannot be put.
    """
    if not store.address or not path.is_relative_to(store.here):
        return str(path)
    address = f"{directory}/{path.relative_to(store.here).as_posix()}"
    store.keep(path, address)
    return address


def path_of(store: Store, pending: str) -> Path:
    """Return the path of a waiting file on this machine, where it need not exist."""
    if Path(pending).is_absolute():
        return Path(pending)
    return Path(store.here, *Path(pending).parts[_DEPTH:])


def taken(store: Store, pending: str) -> Path:
    """Return a file that waits, on this machine; it is not there if it is nowhere.

    Raises:
        OSError: the storage cannot be read.
    """
    path = path_of(store, pending)
    if not path.exists() and str(path) != pending:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError, FileExistsError):
            store.fetch(pending, path)
    return path


def take_away(store: Store, pending: str) -> None:
    """Remove a file that waits, and the copy of it on this machine.

    Raises:
        OSError: it cannot be removed.
    """
    store.remove(pending)
    path_of(store, pending).unlink(missing_ok=True)


def forget_file(store: Store, pending: str) -> None:
    """Remove a waiting file that was delivered or merged; what cannot be removed is swept later."""
    remove_files(store, {pending, str(path_of(store, pending))})
