"""Export and import of savepoints."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from streams_orchestration.runtime.catalog.start_lock import lock_start
from streams_orchestration.runtime.savepoints.atomic_places import (
    find_savepoint,
    list_savepoints,
    local_place,
    new_directory,
    place_of,
    sweep,
)
from streams_orchestration.runtime.savepoints.manifest import (
    Manifest,
    SavepointError,
    read_file,
    read_manifest,
    write_manifest,
)
from streams_orchestration.runtime.savepoints.savepoint_place import SavepointPlace
from streams_orchestration.runtime.storage.home import Home


@dataclass(frozen=True)
class Copied:
    """The copy of a savepoint."""

    manifest: Manifest
    place: SavepointPlace
    new: bool = True
    """False if the target already had this savepoint, so that nothing was copied."""


def export_savepoint(home: Home, savepoint: str, directory: Path) -> Copied:
    """Copy a savepoint into a self-contained directory, and check every file against its checksum.

    Args:
        home: the state directory.
        savepoint: the savepoint, as of `find_savepoint`.
        directory: a directory that does not exist or is empty.

    Raises:
        SavepointError: the savepoint does not exist or is damaged, or the directory is not empty or cannot be written.
            Nothing is left of the copy.
    """
    source = find_savepoint(home, savepoint)
    manifest = read_manifest(source)
    _refuse_taken(directory.absolute())
    target = local_place(directory)
    _copy(source, manifest, target)
    return Copied(manifest, target)


def _refuse_taken(target: Path) -> None:
    try:
        if not target.exists():
            return
        if not target.is_dir():
            message = f"{target} is a file. Name a new directory."
            raise SavepointError(message)
        if next(target.iterdir(), None) is not None:
            message = f"{target} is not empty. Name a new directory, or empty this one."
            raise SavepointError(message)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        message = f"{target} cannot be read: {reason}. Name another directory, or give the right to read it."
        raise SavepointError(message) from error


def import_savepoint(home: Home, directory: Path, name: str | None = None) -> Copied:
    """Import an exported savepoint into a state directory.

    If the state directory has this savepoint already, nothing is copied. Incomplete savepoints that killed processes
    have left are removed.

    Args:
        home: the state directory.
        directory: the exported directory.
        name: name of the imported savepoint; None for its own name.

    Raises:
        SavepointError: the directory is not a savepoint, is damaged, or was made by a newer version of the product; or
            another savepoint has the name, or the name is not valid; or the savepoint cannot be written.
        BeingStartedError: another process holds the application's start lock.
        StateDirectoryError, CatalogError: the state directory cannot be used.
    """
    source = local_place(directory)
    manifest = read_manifest(source)
    manifest = manifest.model_copy(update={"name": name or manifest.name})
    with lock_start(home.prepare(), manifest.application, "streams savepoint import"):
        sweep(home, manifest.application)
        there = next((each for each in list_savepoints(home, manifest.application) if each.name == manifest.name), None)
        if there is not None and read_manifest(there).id == manifest.id:
            return Copied(manifest, there, new=False)
        place = place_of(home, manifest.application, manifest.name)
        _copy(source, manifest, place)
    return Copied(manifest, place)


def _copy(source: SavepointPlace, manifest: Manifest, target: SavepointPlace) -> None:
    """Copy one file after another into a new directory, the manifest last; each is checked against its checksum."""
    with new_directory(target) as place:
        _require_room(manifest, place)
        for file in manifest.files:
            (place / file.name).write(read_file(source, file))
        write_manifest(place, manifest)


def _require_room(manifest: Manifest, place: SavepointPlace) -> None:
    """Raise SavepointError if the files have more bytes than the file system of a directory has free.

    In an object store nothing is checked.
    """
    if place.path is not None and manifest.size > (free := shutil.disk_usage(place.path).free):
        message = f"{place} has no room: the savepoint has {manifest.size} bytes, and {free} are free. Make room there."
        raise SavepointError(message)
