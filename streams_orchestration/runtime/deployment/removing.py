"""Removal of an application for good. It needs neither the spec nor, without the results, the deployed plan.

An interrupted removal is repeated from its beginning, since each step keeps what later steps need to find their files.
First the catalog records that the application is being removed, so it does not continue after an interruption. Then go:

1. Published results, if they are to go, and outputs that wait beside their targets. Only the catalog knows where they
   are.
2. The rows of the application in the catalog, in one transaction.
3. The files in directories that have the application's name. They are found without the catalog.

Each step is on disk before the next one begins. So after a loss of power the application is either still in the
catalog, or only step 3 is left.
"""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError
from sqlalchemy import Connection, func, select

from streams_orchestration.model.names import APPLICATION_NAME
from streams_orchestration.operators.loading.import_path import ImplementationError, import_from
from streams_orchestration.operators.storage.durable_files import forget_names, sync_removals
from streams_orchestration.operators.storage.local import files_below
from streams_orchestration.operators.storage.port import File, StorageError
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.place_of_files import is_kept
from streams_orchestration.runtime.catalog.start_lock import StartLock
from streams_orchestration.runtime.deployment.dropping import (
    begin_removal,
    delete_rows,
    published_files,
    remove_published,
)
from streams_orchestration.runtime.errors.errors import NotDeployableError, OtherVersionError, StreamsRuntimeError
from streams_orchestration.runtime.programs.deployed_pes import deployed_pes
from streams_orchestration.runtime.sinks.completing import pending_directories
from streams_orchestration.runtime.storage.home import Home, data_of
from streams_orchestration.runtime.units.reading import application_row, units_status

_DATA = "streams, states and waiting outputs"
_RESULTS = "published results"


class NotRemovedError(StreamsRuntimeError):
    """An application is not removed, or not completely; the message names the remedy."""


class RemovedFiles(NamedTuple):
    """The files that a removal removes at one place."""

    content: str
    """The kind of the files, in words."""
    place: str
    """Their directory, or their address in the storage."""
    files: int
    size: int | None
    """Bytes; None for published results in an object store, which would have to be asked for each file."""


@dataclass(frozen=True, slots=True)
class Removal:
    """The parts of one application that its removal removes."""

    application: str
    catalog: str
    """The place of the catalog."""
    rows: int
    """Rows of the application in the catalog; 0 if an interrupted removal has only left files."""
    files: tuple[RemovedFiles, ...]
    """The files by their places; places without files are left out."""


@dataclass(slots=True)
class _Found:
    """The rows and files of an application, as a removal finds them."""

    catalog: Catalog
    rows: int
    directories: dict[Path, str]
    """Directories of this machine that have the application's name -> their content in words."""
    stored: str | None
    """The address of its files in an object store; None if there is no store, or it may belong to another catalog."""
    waiting: list[Path] = field(default_factory=list[Path])
    """Directories of waiting outputs outside of `directories`."""
    published: list[File] = field(default_factory=list[File])
    """Published results outside of `directories`."""


def preview_removal(catalog: Catalog, application: str, *, results: bool = False) -> Removal:
    """Return the parts of an application that `remove_application` would remove. Nothing is changed.

    Args:
        catalog: the catalog.
        application: the name of the application. It may be one of which an interrupted removal has only left files.
        results: also remove the published results.

    Raises:
        NotRemovedError: the application runs or is to run, one of its hosts lives, or its results cannot be found.
        NotDeployedError: the catalog does not know the application, and it has no files.
        StorageSettingError: STREAMS_STORAGE cannot be used, or the catalog's files are in another storage.
        CatalogError: the catalog cannot be read.
        OSError: the storage cannot be read.
    """
    return _preview(catalog.home, application, _find(catalog, application, results=results))


def remove_application(catalog: Catalog, lock: StartLock, application: str, *, results: bool = False) -> Removal:
    """Remove a stopped application with its rows, files and logs, and return them; its savepoints stay.

    Published results stay, too, unless `results` is set. A call that was interrupted may be repeated.

    Args:
        catalog: the catalog.
        lock: the start lock of the application.
        application: the name of the application, which may be one with left files only.
        results: also remove the published results.

    Raises:
        NotRemovedError: the application runs or is to run, its results cannot be found, or a file cannot be removed; in
            the last case the removal is to be repeated.
        NotDeployedError: the catalog does not know the application, and it has no files.
        StorageSettingError: STREAMS_STORAGE cannot be used, or the catalog's files are in another storage.
        CatalogError: the catalog cannot be read or written.
        OSError: the storage cannot be read.
    """
    lock.require(application)
    home = catalog.home
    found = _find(catalog, application, results=results)
    removal = _preview(home, application, found)
    with _named(application):
        begin_removal(found.catalog, application)
        remove_published(found.published)
        _remove_directories(found.waiting)
        if found.rows:
            with found.catalog.write() as connection:
                delete_rows(connection, application)
        if found.stored is not None:
            for address in home.store.below(found.stored):
                home.store.remove(address)
        _remove_directories(found.directories)
    return removal


def _find(catalog: Catalog, application: str, *, results: bool) -> _Found:
    """Find the rows and files of an application."""
    home = catalog.home
    with catalog.read() as connection:
        rows = _rows(connection, application)
        uses_store = rows > 0 or not home.store.address or is_kept(connection, home.store)
        if rows:
            _refuse_active(connection, home, application)
    found = _Found(catalog, rows, {}, None)
    if APPLICATION_NAME.fullmatch(application):  # not a path such as `..`
        found.directories = _directories(home, application, results=results, uses_store=uses_store)
        if uses_store and home.store.path(data_of(application)) is None:
            found.stored = data_of(application)
    if rows:
        others = _other_waiting(catalog, application)
        found.waiting = sorted(
            directory
            for directory in pending_directories(catalog, application) - others
            if directory.exists() and not _is_below(directory, found.directories)
        )
        if results:
            found.published = _results(home, catalog, application, found.directories)
    elif not _has_files(home, found):
        with catalog.read() as connection:
            application_row(connection, home, application)  # raises NotDeployedError
    return found


def _rows(connection: Connection, application: str) -> int:
    """Return the number of the application's rows in all tables; 0 if it is not deployed."""
    counted = [
        select(func.count()).select_from(table).where(table.c.application == application)
        for table in tables.metadata.sorted_tables
        if "application" in table.c
    ]
    a = tables.application
    known = connection.scalar(select(a.c.name).where(a.c.name == application)) is not None
    return 1 + sum(connection.scalar(each) or 0 for each in counted) if known else 0


def _refuse_active(connection: Connection, home: Home, application: str) -> None:
    """Raise NotRemovedError if an application is to run or a host lives, and NotDeployedError if it is unknown."""
    row = application_row(connection, home, application)
    status = units_status(connection, home, row)
    alive = [f"host {host.id}, {host.process}" for host in status.hosts if host.alive]
    if alive:
        state = f"it has running hosts ({'; '.join(alive)})"
    elif row.wanted == "RUNNING" and status.state != "COMPLETED":
        state = f"it is {status.state}, so its hosts would be started again"
    else:
        return
    message = f"{application} is not removed: {state}. Stop it first: `streams cancel {application}`."
    raise NotRemovedError(message)


def _directories(home: Home, application: str, *, results: bool, uses_store: bool) -> dict[Path, str]:
    """Return the directories of this machine that have the name of an application, with their content in words.

    Directories in the storage are among them only if `uses_store` is set.
    """
    directories = {home.data(application): _DATA}
    if uses_store and (stored := home.store.path(data_of(application))) is not None:
        directories[stored] = _DATA
    directories[home.artifacts / application] = "documents of the compiler and profiles"
    if uses_store and results:
        directories[home.results(application)] = _RESULTS
    directories[home.logs(application)] = "logs"  # the last one, since the shell completes names by it
    return directories


def _other_waiting(catalog: Catalog, application: str) -> set[Path]:
    """Return the directories in which outputs of other applications wait."""
    a = tables.application
    with catalog.read() as connection:
        others = connection.scalars(select(a.c.name).where(a.c.name != application)).all()
    return {directory for other in others for directory in pending_directories(catalog, other)}


def _results(home: Home, catalog: Catalog, application: str, directories: Iterable[Path]) -> list[File]:
    """Return the published results outside of the application's directories."""
    with catalog.read() as connection:
        base = application_row(connection, home, application).base
    import_from(base)
    try:
        files = published_files(home, [placed.program for placed in deployed_pes(catalog, application)])
    except (ImplementationError, ValidationError, OtherVersionError, NotDeployableError) as error:
        reason = error.__cause__ if isinstance(error, NotDeployableError) else error
        message = (
            f"{application} is not removed: its published results cannot be found: {reason}. Remove the application "
            "without --results, and its results by hand."
        )
        raise NotRemovedError(message) from error
    return [file for file in files if not (isinstance(file, Path) and _is_below(file, directories))]


def _is_below(path: Path, directories: Iterable[Path]) -> bool:
    return any(path.is_relative_to(directory) for directory in directories)


def _has_files(home: Home, found: _Found) -> bool:
    """Return True if an application that the catalog does not know has files that an interrupted removal left."""
    left = any(directory.exists() for directory in found.directories)
    if left:
        found.catalog.refuse_other_place()
    return left or (found.stored is not None and bool(home.store.below(found.stored)))


def _preview(home: Home, application: str, found: _Found) -> Removal:
    parts = [_measured(content, directory) for directory, content in found.directories.items()]
    if found.stored is not None and home.store.path(found.stored) is None:
        sizes = home.store.sizes(found.stored) or {}
        place = home.store.title(found.stored)
        parts.insert(0, RemovedFiles(_DATA, place, len(sizes), sum(sizes.values())))
    parts += [_measured("waiting outputs", directory) for directory in found.waiting]
    by_place: dict[str, list[File]] = {}
    for file in found.published:
        by_place.setdefault(str(file).rpartition("/")[0], []).append(file)
    for place, files in by_place.items():
        paths = [file for file in files if isinstance(file, Path)]
        size = sum(path.stat().st_size for path in paths) if len(paths) == len(files) else None
        parts.append(RemovedFiles(_RESULTS, place, len(files), size))
    return Removal(application, found.catalog.name, found.rows, tuple(part for part in parts if part.files))


def _measured(content: str, directory: Path) -> RemovedFiles:
    files = files_below(directory)
    return RemovedFiles(content, str(directory), len(files), sum(path.stat().st_size for path in files))


def _remove_directories(directories: Iterable[Path]) -> None:
    """Remove directories in their order, and flush each removal to disk; raise OSError if one cannot be removed."""
    for directory in directories:
        if directory.exists():
            shutil.rmtree(directory)
            forget_names(directory)
        sync_removals([directory])


@contextmanager
def _named(application: str) -> Generator[None]:
    """Raise NotRemovedError in place of an error about a file, with the remedy."""
    try:
        yield
    except (OSError, StorageError) as error:
        reason = str(error)
        if isinstance(error, OSError) and error.strerror:
            reason = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        message = (
            f"{application} is not removed completely: {reason}. Remove the cause, then repeat the command, which "
            "removes the rest."
        )
        raise NotRemovedError(message) from error
