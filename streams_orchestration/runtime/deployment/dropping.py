"""Dropping of an application with its hosts, its state in the catalog, and its published results."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import Connection, delete

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.model.brief import plural
from streams_orchestration.operators.references import UnresolvedReferenceError
from streams_orchestration.operators.storage.durable_files import forget_names, sync_removals, sync_trees
from streams_orchestration.operators.storage.port import File, StorageError
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.application_transitions import want_removed
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.control import cancel_application
from streams_orchestration.runtime.deployment.opening import OpenedApplication
from streams_orchestration.runtime.errors.errors import NotDeployableError
from streams_orchestration.runtime.sinks.outputs import operators_of
from streams_orchestration.runtime.storage.home import Home, data_of
from streams_orchestration.runtime.transport.connections import disconnect
from streams_orchestration.runtime.units.reading import read_units


def refuse_running(opened: OpenedApplication) -> None:
    """Raise NotDeployableError if the deployed application runs: its state may be dropped only while it is stopped.

    Raise NotDeployedError if another process has dropped it meanwhile.
    """
    if not opened.deployed:
        return
    status = read_units(opened.catalog, opened.name)
    alive = [host.process for host in status.hosts if host.alive]
    if status.state in ("RUNNING", "WAITING") and alive:
        message = (
            f"{opened.name} is running ({', '.join(alive)}), and --fresh would drop its state. "
            f"Stop it first: `streams cancel {opened.name}`."
        )
        raise NotDeployableError(message)


def refuse_left_files(home: Home, programs: tuple[PeProgram, ...]) -> None:
    """Raise NotDeployableError if a sink's target cannot be read, or has files of an earlier run without state.

    It raises ImplementationError or ValidationError if the class of an operator cannot be imported or has other
    parameters.
    """
    if left := published_files(home, programs):
        place = str(left[0]).rpartition("/")[0]
        message = (
            f"{place} has {plural(len(left), 'file')} of an earlier run without state, or of another installation; "
            "move the old results away, name another directory, or drop them with --fresh"
        )
        raise NotDeployableError(message)


def drop_application(opened: OpenedApplication, programs: tuple[PeProgram, ...]) -> None:
    """Stop the hosts of the deployed application, and remove its state, logs and published results.

    Its savepoints stay. Data in the storage that cannot be removed are left.

    Args:
        opened: the application.
        programs: the programs of the PEs whose published results are removed.

    Raises:
        NotDeployableError, ImplementationError, ValidationError: the target of an operator cannot be read; only the
            hosts were stopped.
        OSError: a published result cannot be removed; the hosts were stopped, and earlier results are removed already.
            Or a removal cannot be flushed to disk.
        NotDeployedError: another process has dropped the application meanwhile.
    """
    home, catalog, application = opened.home, opened.catalog, opened.name
    if opened.deployed:
        cancel_application(catalog, application)
    published = published_files(home, programs)
    begin_removal(catalog, application)
    remove_published(published)
    with catalog.write() as connection:
        delete_rows(connection, application)
    home.store.remove_all(data_of(application))
    directories = [home.data(application), home.results(application), home.logs(application)]
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)
        forget_names(directory)
    if (stored := home.store.path(data_of(application))) is not None:
        directories.append(stored)
    sync_trees(directories)  # a directory that cannot be removed may have lost some of its files
    sync_removals(directories)


def begin_removal(catalog: Catalog, application: str) -> None:
    """Record that files of an application are removed from now on, so that it cannot continue without them."""
    with catalog.write() as connection:
        want_removed(connection, application)


def delete_rows(connection: Connection, application: str) -> None:
    """Delete the rows of an application, and the connections from its exported streams, from all tables."""
    connection.execute(delete(tables.application).where(tables.application.c.name == application))
    for table in tables.metadata.sorted_tables:
        if "application" in table.c:
            connection.execute(delete(table).where(table.c.application == application))
    disconnect(connection, application)


def remove_published(files: Iterable[File]) -> None:
    """Remove published files, and flush the removals to disk; a missing file is not an error.

    Raises:
        OSError: a file cannot be removed, or its removal cannot be flushed.
    """
    files = list(files)
    for file in files:
        file.unlink(missing_ok=True)
    sync_removals(file for file in files if isinstance(file, Path))


def published_files(home: Home, programs: Iterable[PeProgram]) -> list[File]:
    """Return the files in the targets of all operators that look like published by these operators.

    Raises:
        NotDeployableError: a target cannot be read.
        ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
    """
    files: list[File] = []
    for program in programs:
        for name, operator, context, parameters in operators_of(home, program):
            try:
                files += operator.published(context, parameters)
            except (StorageError, UnresolvedReferenceError) as error:
                message = (
                    f"{name}: {error}. A new run begins only after a check for files of an earlier run there: correct "
                    "the target, or give the right to list it"
                )
                raise NotDeployableError(message) from error
    return files
