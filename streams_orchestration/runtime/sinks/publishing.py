"""Publishing: outputs of sinks become visible with their epoch or their batch.

An output that becomes a file of this machine goes through five steps; each relies on the files that are on disk by
then:

1. The commit that names the pending file relies on its content and its pending name (`Store.sync` in `commit_batch`).
2. The pending file gets its final name by a link. Nothing relies on that yet: it is repeated after a loss of power.
3. The directories of the final names are synchronised, once each.
4. The pending name is removed. The file is now found under its final name only, which step 3 has on disk.
5. A transaction forgets the row. It relies on step 3 as well; a pending name that comes back is swept.

An output that a reset takes back goes the other way (`retraction.py`): pending name, final name, its directory
synchronised, then the row.
"""

from __future__ import annotations

import contextlib
import filecmp
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from sqlalchemy import Connection, bindparam, select

from streams_orchestration.operators.errors.external_errors import REFUSED_BY_SYSTEM
from streams_orchestration.operators.storage.durable_files import checksum_of, sync_directory
from streams_orchestration.operators.storage.local import LocalStorage
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.sink_transitions import count_output, show_early
from streams_orchestration.runtime.errors.errors import OutputError
from streams_orchestration.runtime.errors.invariants import promise
from streams_orchestration.runtime.sinks.retraction import Output, remove_retracted, retracted_outputs
from streams_orchestration.runtime.storage.pending_files import fetch_waiting_file, path_of, remove_waiting_file
from streams_orchestration.runtime.storage.store import Store

ADDRESSES = "%://%"
"""The SQL pattern of final names in object stores; a sink publishes such files itself (`gathering.py`)."""

_f, _s, _p, _u = tables.sink_file, tables.sink, tables.pe, tables.unit
_complete, _here = _f.c.epoch <= tables.SHOWN_EPOCH, _f.c.final.not_like(ADDRESSES)
_VISIBLE = (
    select(
        *(_f, _s.c.visibility, _complete.label("complete"), tables.SHOWN_EPOCH.label("completed_epoch"), _p.c.unit),
        *(_p.c.final.label("ended"), _u.c.held_until),
    )
    .join(_s, (_s.c.application == _f.c.application) & (_s.c.operator == _f.c.operator))
    .join(_p, (_p.c.application == _f.c.application) & (_p.c.id == _f.c.pe))
    .join(_u, (_u.c.application == _p.c.application) & (_u.c.name == _p.c.unit))
    .where(
        *(_f.c.application == bindparam("of"), ~_f.c.retracted),
        _complete | (~_f.c.published & (_s.c.visibility == "read_uncommitted")),
    )
    .order_by(_f.c.operator, _f.c.generation, _f.c.epoch, _f.c.batch, _f.c.pending)
)
_DUE = {True: _VISIBLE.where(_f.c.final.is_not(None) & _here), False: _VISIBLE.where(_f.c.final.is_(None) | ~_here)}
"""The queries for due outputs: under True those that become files of this machine, under False all others."""


@dataclass(frozen=True, slots=True)
class DueOutput(Output):
    """An output that can become visible, or a visible one whose pending name can be removed."""

    complete: bool
    """True if its epoch is complete, so that no reset takes it back."""
    completed_epoch: int
    """The last epoch of its unit that is visible outside."""
    unit: str
    ended: bool
    """True if its PE has made its last commit."""
    held_until: float | None
    """The time at which the hold of its unit ends, in unix seconds; None if the unit is not held."""

    @property
    def place(self) -> Path:
        """The final path of an output that becomes a file."""
        return Path(cast(str, self.final))


@dataclass(frozen=True, slots=True)
class Outstanding:
    """The outputs with which a publisher has something to do, as one reading of the catalog shows them."""

    retracted: list[Output]
    files: list[DueOutput]
    deliveries: list[DueOutput]


def outstanding(catalog: Catalog, application: str, *, deliveries: bool = False) -> Outstanding:
    """Return the outputs with which a publisher has something to do.

    With `deliveries`, outputs that are delivered are read, too.
    """
    with catalog.read() as connection:
        return Outstanding(
            retracted_outputs(connection, application),
            _due(connection, application, files=True),
            _due(connection, application, files=False) if deliveries else [],
        )


def publish_files(
    catalog: Catalog, application: str, leave_out: Iterable[str] = (), seen: Outstanding | None = None
) -> tuple[int, list[OutputError]]:
    """Remove retracted outputs, then move files to their final places.

    A file is moved if its epoch is complete, or if its sink shows uncommitted outputs.

    The call may be repeated after a crash at any point, and several processes may do this at the same time. A sink with
    retracted outputs that cannot be removed is skipped. Files of the sinks in `leave_out` are not moved. `seen` has the
    outputs if they were read already.

    Returns:
        The number of files that became visible, and the errors, at most one for each sink.

    Raises:
        InvariantError: a file would become visible before its epoch is complete.
        OSError: another file has a final name, and cannot be compared; the next call continues.
    """
    seen = seen or outstanding(catalog, application)
    errors, rows = list[OutputError](), seen.files
    if seen.retracted:
        errors = remove_retracted(catalog, application, seen.retracted)
        rows = outstanding(catalog, application).files
    bad = {error.operator for error in errors} | set(leave_out)
    count = 0
    for operator, outputs in itertools.groupby(rows, key=lambda row: row.operator):
        if operator not in bad:
            moved, error = _publish(catalog, application, list(outputs))
            count += moved
            errors += [error] if error else []
    return count, errors


def _due(connection: Connection, application: str, *, files: bool) -> list[DueOutput]:
    """Return the outputs that can become visible, and the visible ones whose pending names can be removed, in order.

    With `files`, these are the outputs that become files of this machine, otherwise the outputs that are delivered.
    """
    return DueOutput.all(connection, _DUE[files], {"of": application})


def waits(catalog: Catalog, application: str, pending: str) -> bool:
    """Return True if an output is still to become visible: no process has published or retracted it."""
    f = tables.sink_file
    with catalog.read() as connection:
        mine = (f.c.application == application, f.c.pending == pending, ~f.c.published, ~f.c.retracted)
        return connection.execute(select(f.c.pending).where(*mine)).first() is not None


def _publish(catalog: Catalog, application: str, rows: list[DueOutput]) -> tuple[int, OutputError | None]:
    """Publish files of one sink until one fails, and record which are visible.

    Return the number of files that became visible, and the error of the one that failed, if any.
    After an OSError, the next call publishes the files that were linked before it.
    """
    done: list[DueOutput] = []
    error: OutputError | None = None
    for row in rows:
        try:
            if not row.published:
                shown = row.complete or row.visibility == "read_uncommitted"
                promise(shown, "B32", f"{row.final} would become visible before epoch {row.epoch} is complete")
                _link(catalog, application, row)
            done.append(row)
        except OutputError as stopped:
            error = stopped
            break
    linked = [row for row in done if not row.published]
    try:
        _remove_pending_names(catalog.store, linked)
    except OSError as failed:
        error = _not_written(linked[0], failed)
        error.__cause__ = failed
        done = [row for row in done if row.published]
        linked = []
    if done:
        with catalog.write_unit(application, done[0].unit) as connection:
            for row in done:
                if row.complete:
                    early = f"{row.final} of epoch {row.epoch} counts as kept; {row.unit} is at {row.completed_epoch}"
                    promise(row.epoch <= row.completed_epoch, "B32", early)
                    count_output(connection, application, row)
                else:
                    show_early(connection, application, row)
    return len(linked), error


def _link(catalog: Catalog, application: str, row: DueOutput) -> None:
    """Give a file its final name; an existing file is never replaced.

    Do nothing if another process has published or retracted the file.
    """
    final = row.place
    try:
        LocalStorage().publish(fetch_checked(catalog.store, row), str(final))
    except FileExistsError:
        if _is_copied(catalog.store, row):  # another process has published the file that was copied here
            return
        message = (
            f"{final} exists already and was not written by this sink; move it away, then publishing is tried again"
        )
        raise OutputError(row.operator, message) from None
    except FileNotFoundError:
        there = final.exists() and final.stat().st_size == row.size
        if not there and waits(catalog, application, row.pending):
            raise missing_file_error(row) from None
    except OSError as error:
        raise _not_written(row, error) from error


def _remove_pending_names(store: Store, linked: Sequence[DueOutput]) -> None:
    """Sync the final names of files to disk, then remove their pending names."""
    for directory in sorted({row.place.parent for row in linked}):
        # another process published the file, and its directory was removed since
        with contextlib.suppress(FileNotFoundError):
            sync_directory(directory)
    for row in linked:
        remove_waiting_file(store, row.pending)


def _not_written(row: DueOutput, error: OSError) -> OutputError:
    reason = f"{row.place} cannot be written: {error.strerror}"
    if error.errno in REFUSED_BY_SYSTEM:
        message = f"{reason}; check the path, and the permissions of the user that runs the hosts"
        return OutputError(row.operator, message, refused=True)
    return OutputError(row.operator, f"{reason}; it is tried again, nothing is lost")


def fetch_checked(store: Store, row: DueOutput) -> Path:
    """Fetch an output's file if needed, check its size and checksum, and return its local path; it may be missing.

    Raises:
        OutputError: the file is truncated or was altered.
        OSError: the storage cannot be read.
    """
    path = fetch_waiting_file(store, row.pending)
    try:
        is_same = (path.stat().st_size, checksum_of(path)) == (row.size, row.checksum)
    except FileNotFoundError:
        return path
    if not is_same:
        purpose = "be delivered" if row.final is None else f"become {row.final}"
        message = (
            f"{store.title(row.pending)}, which was to {purpose}, is truncated or was altered: restore it from a "
            "copy, or start over with --fresh"
        )
        raise OutputError(row.operator, message, lost=True)
    return path


def _is_copied(store: Store, row: DueOutput) -> bool:
    """Return True if the final name already has the content of the file that was copied to this machine.

    False if the file needs no copy or was not copied. Raises OSError if the final file is missing or cannot be read.
    """
    path = path_of(store, row.pending)
    return str(path) != row.pending and path.exists() and filecmp.cmp(path, row.place, shallow=False)


def missing_file_error(row: DueOutput) -> OutputError:
    """Return the error that the file of an output is missing."""
    message = f"the file of {row.final}, which was to be published from {row.pending}, is gone: start over with --fresh"
    return OutputError(row.operator, message, lost=True)
