"""Completing: a unit whose results are all published is marked as completed, and then the application is.

No process looks for files of a complete application. So the files that no commit names are removed before, and their
removal is on disk.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Self

from sqlalchemy import Connection, bindparam, select, union

from streams_orchestration.operators.storage.durable_files import forget_names, sync_trees
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.application_transitions import complete_application
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.holds import held_units
from streams_orchestration.runtime.catalog.unit_transitions import complete_units, forget_holds
from streams_orchestration.runtime.sinks.directories import unmarked_units
from streams_orchestration.runtime.storage.home import data_of
from streams_orchestration.runtime.storage.pending_files import path_of, remove_abandoned

log = logging.getLogger("streams.garbage")

_f, _p, _u = tables.sink_file, tables.pe, tables.unit
_PLAN = select(tables.application.c.plan).where(tables.application.c.name == bindparam("of"))
_WAITING_UNITS = select(_u.c.name).where(_u.c.application == bindparam("of"), _u.c.state != "COMPLETED")
_UNFINISHED_UNITS = union(
    select(_p.c.unit).where(_p.c.application == bindparam("of"), ~_p.c.final),
    select(_p.c.unit)
    .join(_f, (_f.c.application == _p.c.application) & (_f.c.pe == _p.c.id))
    .where(_f.c.application == bindparam("of")),
    unmarked_units(),
    select(_u.c.name).where(_u.c.application == bindparam("of"), _u.c.shown_epoch.is_not(None)),
)
"""Units with an open PE, an output that is not visible, a directory to mark, or a redeploy on trial."""


def complete(catalog: Catalog, application: str, sweep: Callable[[], bool] | None = None) -> bool:
    """Mark finished units as completed; if all units are, sweep, mark the application, and remove empty directories.

    A unit is finished when all its PEs have made their final commit, all its outputs are published, all its sink
    directories are marked, and no redeploy of the unit is on trial.

    Call it after publishing. Nothing is marked while a redeploy or a savepoint holds units, or if the plan or the
    finished units have changed during the sweep. A complete application has no hold left, not even an expired one.
    `sweep` removes the files that no commit names, and returns False if nothing is to be marked yet. Afterwards nobody
    starts a host that was killed meanwhile, or looks for files. By default, only files of killed publishers are
    removed.

    Returns:
        True if the application is completed.
    """
    with catalog.read() as connection:
        ends = _Ends.read(connection, application)
    if ends.done:
        if ends.are_all:
            if sweep is None:
                clear_after_publishers(catalog, application)
                flush_removals(catalog, application)
            elif not sweep():
                return False
        with catalog.write() as connection:
            # read again: a redeploy may have begun, or switched, during the sweep
            if _Ends.read(connection, application) != ends or held_units(connection, application):
                return False
            complete_units(connection, application, ends.done)
            if ends.are_all:
                # an expired hold would be in force again if the clock were set back
                forget_holds(connection, application)
                complete_application(connection, application)
    if ends.are_all:
        remove_empty(catalog, application)
    return ends.are_all


class _Ends(NamedTuple):
    """The finished units that are not yet marked as completed, and the plan to which they belong."""

    plan: int
    """The number of the deployed plan."""
    done: frozenset[str]
    """The finished units."""
    are_all: bool
    """True if the plan has no unfinished unit."""

    @classmethod
    def read(cls, connection: Connection, application: str) -> Self:
        of = {"of": application}
        waiting = frozenset(connection.scalars(_WAITING_UNITS, of))
        done = waiting - frozenset(connection.scalars(_UNFINISHED_UNITS, of))
        return cls(connection.scalars(_PLAN, of).one(), done, done == waiting)


def clear_after_publishers(catalog: Catalog, application: str) -> bool:
    """Remove the files that killed publishers have left; return False if some may be left. See `remove_abandoned`.

    The storage is asked once, without waiting for it.
    """
    return remove_abandoned(catalog.store.hasty(), application, pending_directories(catalog, application))


def flush_removals(catalog: Catalog, application: str) -> bool:
    """Make all removals of an application's files durable, and return True; log a failure and return False.

    Without it, files may be found again after a loss of power.
    """
    try:
        catalog.store.sync_removals(data_of(application))
        sync_trees(pending_directories(catalog, application))
    except OSError as error:
        log.warning("the removal of files that no commit names is not on disk yet: %s", error)
        return False
    return True


def remove_empty(catalog: Catalog, application: str) -> None:
    """Remove the directories of pending files that are empty; call this only when tasks can no longer write."""
    for directory in pending_directories(catalog, application):
        places: list[Path] = []
        with contextlib.suppress(FileNotFoundError):  # another ending host may remove the directory at the same time
            places = sorted((path for path in directory.rglob("*") if path.is_dir()), reverse=True)
        for place in places:
            with contextlib.suppress(OSError):
                place.rmdir()
        with contextlib.suppress(OSError):
            directory.rmdir()
        forget_names(directory)


def pending_directories(catalog: Catalog, application: str) -> set[Path]:
    """Return the outermost directories of this machine in which the sinks of an application keep pending files."""
    s, f = tables.sink, tables.sink_file
    with catalog.read() as connection:
        of_sinks = select(s.c.place, s.c.pending).where(s.c.application == application, s.c.pending.is_not(None))
        its_sink = (s.c.application == f.c.application) & (s.c.operator == f.c.operator)
        waiting = select(s.c.place, f.c.pending).join(f, its_sink).where(f.c.application == application)
        seen = {(row.place, path_of(catalog.store, row.pending)) for row in connection.execute(of_sinks)}
        seen |= {(row.place, path_of(catalog.store, row.pending).parent) for row in connection.execute(waiting)}
    return {_outermost(directory, Path(place)) for place, directory in seen}


def _outermost(directory: Path, place: Path) -> Path:
    """Return the directory directly in a sink's place that holds a directory of pending files.

    Return the directory of pending files itself if it is not below the place.
    """
    return place / directory.relative_to(place).parts[0] if place in directory.parents else directory
