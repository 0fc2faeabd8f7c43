"""Retraction: removes outputs that a reset has rolled back and that others may have seen.

The transaction of the reset only marks them. Any process may then remove them, again after a crash, before newer
outputs of the same sink become visible. The order of the steps keeps processes of an old generation from publishing
them again.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, bindparam, delete, func, select, update

from streams_orchestration.model.visibility import Visibility
from streams_orchestration.operators.storage.durable_files import sync_directory
from streams_orchestration.operators.storage.local import is_same
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.cuts import after_cut
from streams_orchestration.runtime.catalog.sink_rows import SinkFileRow
from streams_orchestration.runtime.catalog.sink_transitions import forget_retracted, retract_outputs
from streams_orchestration.runtime.errors.errors import OutputError
from streams_orchestration.runtime.storage.pending_files import path_of, remove_waiting_file
from streams_orchestration.runtime.storage.store import Store, remove_files

_f, _s = tables.sink_file, tables.sink
_RETRACTED = (
    # a removed sink has no row; its early outputs are removed all the same
    select(_f, func.coalesce(_s.c.visibility, "read_uncommitted").label("visibility"))
    .outerjoin(_s, (_s.c.application == _f.c.application) & (_s.c.operator == _f.c.operator))
    .where(_f.c.application == bindparam("of"), _f.c.retracted)
)


@dataclass(frozen=True, slots=True)
class Output(SinkFileRow):
    """An output of a sink, and the visibility of its sink."""

    visibility: Visibility


def mark_retracted(connection: Connection, application: str, unit: str, epoch: int) -> list[str]:
    """Mark the outputs and segments that a unit has made after its cut as retracted, in the transaction of a reset.

    A segment that others read uncommitted stays until they have gone past it, since their current batch may name it.
    The cut closed `epoch`.

    Returns:
        The files that can no longer be named, to be removed after the transaction.
    """
    s = tables.segment
    retract_outputs(connection, application, unit, epoch)
    after = after_cut(s, application, unit, epoch)
    garbage = connection.scalars(delete(s).where(after, ~s.c.uncommitted).returning(s.c.path)).all()
    connection.execute(update(s).where(after).values(retracted=True))
    return list(garbage)


def remove_all_retracted(catalog: Catalog, application: str, garbage: Iterable[str] = ()) -> list[OutputError]:
    """Remove the outputs of sinks that resets have retracted, and their rows; a call may be repeated after a crash.

    `garbage` are files that the transaction of a reset no longer names. They are removed first, and left without an
    error if that fails (`remove_files`).

    Returns:
        The errors, at most one for each sink; outputs that could not be removed stay marked.
    """
    remove_files(catalog.store, garbage)
    with catalog.read() as connection:
        rows = retracted_outputs(connection, application)
    return remove_retracted(catalog, application, rows)


def retracted_outputs(connection: Connection, application: str) -> list[Output]:
    """Return the outputs of sinks that resets have retracted and that are still to be removed."""
    return Output.all(connection, _RETRACTED, {"of": application})


def remove_retracted(catalog: Catalog, application: str, rows: Iterable[Output]) -> list[OutputError]:
    """Remove the given retracted outputs, and their rows; return the errors as `remove_all_retracted` does."""
    errors: dict[str, OutputError] = {}
    done: list[str] = []
    shown: list[Output] = []
    for row in rows:
        try:
            if _remove(catalog.store, row):
                shown.append(row)
            else:
                done.append(row.pending)
        except OSError as error:
            errors[row.operator] = _not_removed(row, error)
    for directory, rows_there in itertools.groupby(sorted(shown, key=_directory), key=_directory):
        there = list(rows_there)
        try:
            with contextlib.suppress(FileNotFoundError):
                sync_directory(directory)
            done += [row.pending for row in there]
        except OSError as error:
            errors[there[0].operator] = _not_removed(there[0], error)
    if done:
        with catalog.write() as connection:
            forget_retracted(connection, application, done)
    return list(errors.values())


def _directory(row: Output) -> Path:
    return Path(row.final or "").parent


def _not_removed(row: Output, error: OSError) -> OutputError:
    place = row.final or row.pending
    message = f"{place}, which a reset retracted, cannot be removed: {error.strerror}; it is tried again"
    failed = OutputError(row.operator, message)
    failed.__cause__ = error
    return failed


def _remove(store: Store, row: Output) -> bool:
    """Remove the names of an output; return True if it may have had a final name, whose removal is not synced yet.

    The pending name goes first, so no publisher that still runs can give the file its final name again. A sink that
    shows uncommitted outputs never uses a final name twice, so a late call cannot remove a file of a replay. The final
    file stays if it is another file, or has another size than the output. Raises OSError if a name cannot be removed.
    """
    if row.final is None or row.visibility == "read_committed":
        remove_waiting_file(store, row.pending)  # outputs after the cut were never visible
        return False
    final = Path(row.final)
    mine = is_same(path_of(store, row.pending), final)
    remove_waiting_file(store, row.pending)
    if mine and final.exists() and final.stat().st_size == row.size:
        final.unlink(missing_ok=True)
    return True
