"""Places of savepoints: directories that are found by name, and that appear and disappear atomically.

On a file system, a directory is filled beside its place and then renamed. An object store has no rename, so there a
savepoint exists while its manifest does: the manifest is the last file to be written and the first to be removed.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.storage.durable_files import sync_directory, sync_names
from streams_orchestration.runtime.catalog.start_lock import lock_start
from streams_orchestration.runtime.savepoints.manifest import (
    MANIFEST,
    NAME,
    SavepointError,
)
from streams_orchestration.runtime.savepoints.savepoint_place import STATES, SavepointPlace, reason_of
from streams_orchestration.runtime.storage.home import SAVEPOINTS, Home
from streams_orchestration.runtime.storage.store import Store

_PARTIAL = ".partial"


def list_savepoints(home: Home, application: str | None = None) -> Iterator[SavepointPlace]:
    """Return the complete savepoints of one application, or of all, ordered by application and name.

    Raises:
        SavepointError: their directory cannot be listed; this may be raised when the iterator is used.
    """
    directory = home.store.path(SAVEPOINTS)
    names = _in_storage(home) if directory is None else _in_directory(directory)
    return (_at(home, of, name) for of, name in names if application in (None, of))


def _at(home: Home, application: str, name: str) -> SavepointPlace:
    """Return the place of a savepoint: a path if the store is on this machine, otherwise an address in the store."""
    address = f"{SAVEPOINTS}/{application}/{name}"
    path = home.store.path(address)
    return SavepointPlace(home.store, address if path is None else str(path))


def _in_directory(savepoints: Path) -> Iterator[tuple[str, str]]:
    for directory in _listed(savepoints):
        for path in _listed(directory):
            if not path.name.startswith(".") and _may_exist(path / MANIFEST):
                yield directory.name, path.name


def _in_storage(home: Home) -> Iterator[tuple[str, str]]:
    names = (address.split("/") for address in _files_below(home, SAVEPOINTS))
    return ((name[1], name[2]) for name in names if len(name) == 4 and name[3] == MANIFEST)


def _files_below(home: Home, directory: str) -> list[str]:
    """Return the addresses of all files below a directory of the storage, sorted."""
    try:
        return sorted(home.store.sizes(directory) or ())
    except OSError as error:
        remedy = "Give the right to list it."
        raise SavepointError(reason_of(home.store.title(directory), "read", error, remedy)) from error


def local_place(directory: Path) -> SavepointPlace:
    """Return the place of a directory on this machine that need not belong to a store."""
    return SavepointPlace(Store("/", "/"), str(directory.absolute()))


def place_of(home: Home, application: str, name: str) -> SavepointPlace:
    """Return the place of a new savepoint.

    Raises:
        SavepointError: the name is not valid or is taken, or the existing savepoints cannot be listed.
    """
    if not re.fullmatch(NAME, name):
        message = (
            f"{name!r} cannot be the name of a savepoint. Use up to 100 letters, digits, '_', '-' and '.', and begin "
            "with a letter or a digit."
        )
        raise SavepointError(message)
    place = _at(home, application, name)
    taken = (
        place in list_savepoints(home, application) if place.path is None else place.path in _listed(place.path.parent)
    )
    if taken:
        message = f"{application} has a savepoint {name} already. Choose another name, or remove that one."
        raise SavepointError(message)
    return place


def find_savepoint(home: Home, savepoint: str, application: str | None = None) -> SavepointPlace:
    """Find the savepoint to which a user refers. An existing directory matches, even if it holds no savepoint.

    Args:
        home: the state directory.
        savepoint: `NAME`, `APP/NAME`, the path of a directory, or the address of a savepoint in the storage.
        application: the application to prefer if several have a savepoint of that name.

    Raises:
        SavepointError: no savepoint or several savepoints match, or the existing ones cannot be listed.
    """
    known = list(list_savepoints(home))
    titles = {_title(place): place for place in known}
    if (named := titles.get(savepoint) or {str(place): place for place in known}.get(savepoint)) is not None:
        return named
    same = [place for place in known if place.name == savepoint]
    mine = [place for place in same if place.application == application]
    if len(mine or same) == 1:
        return (mine or same)[0]
    if same:
        message = f"{savepoint} is the name of several savepoints: name one of {', '.join(map(_title, same))}"
        raise SavepointError(message)
    with suppress(OSError, ValueError):  # no path at all, or one that may not be read
        if Path(savepoint).is_dir():
            directory = Path(savepoint).absolute()
            return next((place for place in known if place.path == directory), local_place(directory))
    near = nearest(savepoint, titles if "/" in savepoint else {place.name for place in known})
    there = "" if known else ". There are no savepoints yet: `streams savepoint create` takes one"
    message = f"{savepoint}: no savepoint has this name, and it is not a directory{near}{there}"
    raise SavepointError(message)


def remove_savepoint(home: Home, savepoint: str) -> str:
    """Remove a savepoint atomically, and return its title.

    Raises:
        SavepointError: no savepoint of this state directory matches, or it cannot be removed.
        BeingStartedError: the savepoint is in an object store, and another process holds its application's lock.
        StateDirectoryError: the savepoint is in an object store, and the lock cannot be written.
    """
    place = find_savepoint(home, savepoint)
    if place not in list_savepoints(home):
        message = f"{place} is not a savepoint of {home.root}. Remove an exported savepoint with `rm -r`."
        raise SavepointError(message)
    try:
        if place.path is None:
            with lock_start(home.prepare(), place.application, "streams savepoint remove"):
                home.store.remove((place / MANIFEST).address)
                home.store.remove_all(place.address)
        else:
            _remove_directory(place.path)
    except OSError as error:
        raise SavepointError(reason_of(place, "removed", error, "Give write permission there.")) from error
    return _title(place)


def _remove_directory(path: Path) -> None:
    gone = partial_of(path)
    with _locked_directory(gone):
        path.rename(gone / "removed")
        sync_directory(path.parent)


@contextmanager
def new_directory(place: SavepointPlace) -> Generator[SavepointPlace]:
    """Yield a directory to fill. It becomes `place` when the block ends, and is removed if the block raises.

    Leftovers of a killed process are removed by the next process that makes the same savepoint. In an object store, the
    caller must hold the application's start lock, and write the manifest last.

    Raises:
        SavepointError: the directory cannot be written, another process is making it, or the block raises an OSError.
    """
    try:
        if place.path is None:
            with _gone_if_it_raises(place):
                yield place
        else:
            with _filled_beside(place.path) as path:
                yield SavepointPlace(place.store, str(path))
    except OSError as error:
        remedy = "The incomplete savepoint was removed. Make room or give write permission there, then try again."
        raise SavepointError(reason_of(place, "written", error, remedy)) from error


@contextmanager
def _gone_if_it_raises(place: SavepointPlace) -> Generator[None]:
    try:
        yield
    except BaseException:
        place.store.remove_all(place.address)
        raise


@contextmanager
def _filled_beside(place: Path) -> Generator[Path]:
    partial = partial_of(place)
    partial.parent.mkdir(parents=True, exist_ok=True)
    with _locked_directory(partial):
        (partial / "new" / STATES).mkdir(parents=True)
        yield partial / "new"
        for path in (partial / "new" / STATES, partial / "new"):
            sync_directory(path)
        (partial / "new").rename(place)
        sync_names([place])


def partial_of(place: Path) -> Path:
    """Return the path that a directory has while it is being made or removed."""
    return place.parent / f".{place.name}{_PARTIAL}"


def sweep(home: Home, application: str) -> None:
    """Remove incomplete savepoints that killed processes have left. The caller holds the application's start lock.

    A savepoint stays if it cannot be removed or, on a file system, another process is writing it.

    Raises:
        SavepointError: their directory cannot be listed.
    """
    directory = home.store.path(f"{SAVEPOINTS}/{application}")
    if directory is None:
        whole = {place.address for place in list_savepoints(home, application)}
        names = (address.split("/") for address in _files_below(home, f"{SAVEPOINTS}/{application}"))
        for left in {"/".join(name[:3]) for name in names if len(name) > 3} - whole:
            home.store.remove_all(left)
        return
    for path in (path for path in _listed(directory) if path.name.endswith(_PARTIAL)):
        with suppress(OSError, SavepointError), _locked_directory(path):
            pass


@contextmanager
def _locked_directory(directory: Path) -> Generator[None]:
    """Create or empty a directory, lock it against other processes during the block, and remove it afterwards."""
    directory.mkdir(exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            message = f"another process is working on {directory}. Wait until it has ended, then try again."
            raise SavepointError(message) from error
        _clear(directory)
        try:
            yield
        finally:
            shutil.rmtree(directory, ignore_errors=True)
    finally:
        os.close(descriptor)


def _clear(directory: Path) -> None:
    for path in directory.iterdir():
        shutil.rmtree(path)


def _listed(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        message = f"{directory} cannot be read: {error.strerror}. Give the right to read it."
        raise SavepointError(message) from error


def _may_exist(path: Path) -> bool:
    """Return True if a path exists or cannot be examined. Using a path that cannot be examined raises the error."""
    try:
        return path.exists()
    except OSError:
        return True


def _title(place: SavepointPlace) -> str:
    return f"{place.application}/{place.name}"
