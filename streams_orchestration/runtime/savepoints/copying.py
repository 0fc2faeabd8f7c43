"""Savepoints that go to other places, and come from there."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from streams_orchestration.runtime.catalog.start_lock import lock_start
from streams_orchestration.runtime.savepoints.manifest import (
    Manifest,
    SavepointError,
    read_file,
    read_manifest,
    write_manifest,
)
from streams_orchestration.runtime.savepoints.place import Place
from streams_orchestration.runtime.savepoints.places import (
    here,
    new_directory,
    place_of,
    saved,
    savepoint_of,
    sweep,
)
from streams_orchestration.runtime.storage.home import Home


@dataclass(frozen=True)
class Copied:
    """A savepoint that is in one more place."""

    manifest: Manifest
    place: Place
    new: bool = True
    """Whether the savepoint was not in that place before."""


def export_savepoint(home: Home, reference: str, directory: Path) -> Copied:
    """Write a savepoint into a directory that is complete by itself; every file is read and checked.

    Args:
        home: the state directory.
        reference: of the savepoint.
        directory: that is not there, or empty.

    Raises:
        SavepointError: there is no such savepoint, it is damaged, or the directory cannot be written.
    """
    source = savepoint_of(home, reference)
    manifest = read_manifest(source)
    _refuse_taken(directory.absolute())
    target = here(directory)
    _copy(source, manifest, target)
    return Copied(manifest, target)


def _refuse_taken(target: Path) -> None:
    try:
        if not target.exists():
            return
        if not target.is_dir():
            message = f"{target} is a file. Name a directory that is not there yet."
            raise SavepointError(message)
        if next(target.iterdir(), None) is not None:
            message = f"{target} is not empty. Name a directory that is not there yet, or empty it."
            raise SavepointError(message)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        message = f"{target} cannot be looked at: {reason}. Name another directory, or give the right to read it."
        raise SavepointError(message) from error


def import_savepoint(home: Home, directory: Path, name: str | None = None) -> Copied:
    """Take a savepoint that was exported into a state directory; nothing changes if it is there already.

    Args:
        home: the state directory.
        directory: that was exported.
        name: that it gets; its own when None.

    Raises:
        SavepointError: it is no savepoint, is damaged, was made by a newer version, or another one has its name.
    """
    source = here(directory)
    manifest = read_manifest(source)
    manifest = manifest.model_copy(update={"name": name or manifest.name})
    with lock_start(home.prepare(), manifest.application, "streams savepoint import"):
        sweep(home, manifest.application)
        there = next((each for each in saved(home, manifest.application) if each.name == manifest.name), None)
        if there is not None and read_manifest(there).id == manifest.id:
            return Copied(manifest, there, new=False)
        place = place_of(home, manifest.application, manifest.name)
        _copy(source, manifest, place)
    return Copied(manifest, place)


def _copy(source: Place, manifest: Manifest, target: Place) -> None:
    """Copy one file after another, the manifest last."""
    with new_directory(target) as place:
        _require_room(manifest, place)
        for file in manifest.files:
            (place / file.name).write(read_file(source, file))
        write_manifest(place, manifest)


def _require_room(manifest: Manifest, place: Place) -> None:
    """Raise SavepointError if the files have more bytes than the file system of a directory has free."""
    if place.path is not None and manifest.size > (free := shutil.disk_usage(place.path).free):
        message = f"{place} has no room: the savepoint has {manifest.size} bytes, and {free} are free. Make room there."
        raise SavepointError(message)
