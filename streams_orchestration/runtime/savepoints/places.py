"""Where savepoints are: directories that appear whole, are known by name, and go whole."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.storage.local import sync
from streams_orchestration.runtime.savepoints.manifest import (
    MANIFEST,
    NAME,
    STATES,
    SavepointError,
)
from streams_orchestration.runtime.storage.home import Home

_PARTIAL = ".partial"


def saved(home: Home, application: str | None = None) -> Iterator[Path]:
    """The savepoints of a home, of one application or of all, by name; what is not whole is none.

    Raises:
        SavepointError: where they are cannot be looked at.
    """
    for directory in _listed(home.all_savepoints):
        for path in _listed(directory) if application in (None, directory.name) else []:
            if not path.name.startswith(".") and _may_exist(path / MANIFEST):
                yield path


def place_of(home: Home, application: str, name: str) -> Path:
    """Where a new savepoint goes.

    Raises:
        SavepointError: the name cannot be used, there is a savepoint of that name, or it cannot be looked for.
    """
    if not re.fullmatch(NAME, name):
        message = (
            f"{name!r} cannot be the name of a savepoint. Use up to 100 letters, digits, '_', '-' and '.', and begin "
            "with a letter or a digit."
        )
        raise SavepointError(message)
    place = home.savepoints(application) / name
    if place in _listed(place.parent):
        message = f"{application} has a savepoint {name} already. Choose another name, or remove that one."
        raise SavepointError(message)
    return place


def savepoint_of(home: Home, reference: str, application: str | None = None) -> Path:
    """The directory that a user means.

    Args:
        home: the state directory.
        reference: `NAME`, `APP/NAME`, or the path of a directory.
        application: whose savepoint is meant where several have one of that name.

    Raises:
        SavepointError: nothing is known by this name, or more than one savepoint is.
    """
    known = list(saved(home))
    titles = {_title(path): path for path in known}
    if reference in titles:
        return titles[reference]
    same = [path for path in known if path.name == reference]
    mine = [path for path in same if path.parent.name == application]
    if len(mine or same) == 1:
        return (mine or same)[0]
    if same:
        message = f"{reference} is the name of several savepoints: name one of {', '.join(map(_title, same))}"
        raise SavepointError(message)
    with suppress(OSError, ValueError):  # no path at all, or one that may not be looked at
        if Path(reference).is_dir():
            return Path(reference).absolute()
    near = nearest(reference, titles if "/" in reference else {path.name for path in known})
    there = "" if known else ". There are none: `streams savepoint create` makes one"
    message = f"{reference}: no savepoint has this name, and it is no directory{near}{there}"
    raise SavepointError(message)


def remove(home: Home, reference: str) -> str:
    """Remove a savepoint, whole or not at all; its title.

    Raises:
        SavepointError: there is none of this name, or it cannot be removed.
    """
    place = savepoint_of(home, reference)
    if place not in saved(home):
        message = f"{place} is no savepoint of {home.root}. What was exported is removed as any directory is."
        raise SavepointError(message)
    gone = partial_of(place)
    try:
        with _alone(gone):
            place.rename(gone / "removed")
            sync(place.parent)
    except OSError as error:
        message = f"{place} cannot be removed: {error.strerror}. Give write permission there."
        raise SavepointError(message) from error
    return _title(place)


@contextmanager
def new_directory(place: Path) -> Generator[Path]:
    """A directory to fill, which becomes `place` when the block ends, and goes when it raises.

    What a process that was killed has left is removed by the next one that makes the same.

    Raises:
        SavepointError: it cannot be written, or another process is making it.
    """
    partial = partial_of(place)
    try:
        partial.parent.mkdir(parents=True, exist_ok=True)
        with _alone(partial):
            (partial / "new" / STATES).mkdir(parents=True)
            yield partial / "new"
            for path in (partial / "new" / STATES, partial / "new"):
                sync(path)
            (partial / "new").rename(place)
            sync(place.parent)
    except OSError as error:
        message = (
            f"{place} cannot be written: {error.strerror or error}. Nothing is left of it. Make room or give write "
            "permission there, then try again."
        )
        raise SavepointError(message) from error


def partial_of(place: Path) -> Path:
    """Where a directory is while it is being made."""
    return place.parent / f".{place.name}{_PARTIAL}"


def sweep(home: Home, application: str) -> None:
    """Remove what killed processes have left of savepoints of an application.

    Raises:
        SavepointError: where they are cannot be looked at.
    """
    left = (path for path in _listed(home.savepoints(application)) if path.name.endswith(_PARTIAL))
    for path in left:
        with suppress(OSError, SavepointError), _alone(path):
            pass


@contextmanager
def _alone(directory: Path) -> Generator[None]:
    """An empty directory that no other process uses, and that is gone afterwards."""
    directory.mkdir(exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            message = f"another process is at work on {directory}. Wait until it has ended, then try again."
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
        message = f"{directory} cannot be looked at: {error.strerror}. Give the right to read it."
        raise SavepointError(message) from error


def _may_exist(path: Path) -> bool:
    """Is it there; what may not be looked at is an error when it is read or written."""
    try:
        return path.exists()
    except OSError:
        return True


def _title(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
