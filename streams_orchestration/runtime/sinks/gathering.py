"""Gathering: files of complete epochs are merged into fewer and larger ones before they are published.

Only files that no reset can take back are merged. The merged file replaces the others in one transaction, so that every
tuple is in exactly one of them at any moment; its final name is recorded before it is used (`publishing.py`).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from sqlalchemy import Connection, func, select

from streams_orchestration import world
from streams_orchestration.operators.implementations.implementation import load
from streams_orchestration.operators.sinks.gathering import GatheringSink, Roll
from streams_orchestration.operators.storage.durable_files import checksum_of
from streams_orchestration.operators.storage.local import files_below
from streams_orchestration.operators.storage.port import StorageAwayError, StorageRefusedError, is_address
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.holds import is_held
from streams_orchestration.runtime.catalog.sink_transitions import (
    count_output,
    enter_gatherer,
    merge_outputs,
    name_output,
)
from streams_orchestration.runtime.errors.errors import OutputError
from streams_orchestration.runtime.sinks.directories import SinkDirectories
from streams_orchestration.runtime.sinks.publishing import DueOutput, fetch_checked, missing_file_error, waits
from streams_orchestration.runtime.storage.pending_files import (
    MERGED,
    fetch_waiting_file,
    forget_file,
    path_of,
    store_waiting_file,
    waiting_of,
)
from streams_orchestration.runtime.storage.store import Store, StoreError
from streams_orchestration.runtime.storage.unusable_files import is_of_files

MANY = 64
"""The number of waiting files in a directory at which they are merged early, since every merge reads all waiting files.
"""


class Gatherer:
    """The gathering of one sink's files."""

    def __init__(self, catalog: Catalog, application: str, sink: GatheringSink) -> None:
        self.catalog = catalog
        self.application = application
        self.sink = sink
        self.flushing = False
        """True if complete outputs become visible at once, without waiting for more."""
        self.clock: Callable[[], float] = world.monotonic
        self._channel = f"{max(sink.context.channel, 0):03d}"
        self._since: dict[str, float] = {}
        """Name of a pending file -> the time by `clock` when its epoch was first seen to be complete."""
        self._directories = SinkDirectories(catalog, application, sink)
        self._watermark: int | None = None
        """The watermark of the sink's channel at the last check; None if it had no watermark."""
        self._token: str | None = None
        """The mark by which the catalog knows this object as the only one that may name merged files; None before a
        sweep."""

    @property
    def _store(self) -> Store:
        return self.catalog.store

    @property
    def _waiting(self) -> str:
        return waiting_of(self.application, self.sink.context.pe)

    @property
    def marks(self) -> bool:
        """True if the sink marks complete directories, so that there may be something to do without outputs."""
        return self._directories.marks

    def ready(self, rows: Sequence[DueOutput]) -> bool:
        """Return True if the sink has work to do: outputs of `outstanding` to publish or merge, or directories to mark.

        Read the watermark, and note which outputs are seen for the first time.
        """
        unnamed, named = _divided(rows)
        self._read_watermark(unnamed)
        full = bool(named) or any(len(group) >= MANY or self._leading(group) for group in self._groups(unnamed))
        return full or (self.marks and bool(self._directories.due()))

    def _read_watermark(self, rows: Sequence[DueOutput]) -> None:
        """Read the watermark by which directories are closed; it is None without outputs, or if the sink marks none."""
        self._watermark = self._directories.watermark() if rows and self.marks else None

    def load(self) -> None:
        """Import the modules that the sink needs."""
        load(self.sink)

    def flush(self) -> None:
        """Publish complete outputs at once from now on."""
        self.flushing = True

    def close(self) -> None:
        """Do nothing, since nothing stays open between two calls."""

    def deliver(self, rows: Sequence[DueOutput]) -> int:
        """Merge the outputs that are to be published now, give the result a final name, and mark complete directories.

        The first call with outputs removes leftover merged files. Outputs with a final name in an object store are sent
        there. If `MANY` outputs of a directory wait on, they are merged without a final name. The call may be repeated
        after a crash at any point. The rows are outputs of the sink, as `outstanding` returns them.

        Returns:
            The number of files that got a final name or were sent, and of directories that were marked.

        Raises:
            OutputError: a file cannot be read or written, or the store cannot be reached, or refuses.
            OSError: an error that concerns neither; see `is_of_files`.
        """
        try:
            return self._deliver(rows)
        except OSError as error:
            if not is_of_files(error):
                raise
            where = f"{error.filename or 'a file'} cannot be used: {error.strerror}"
            reason = str(error) if isinstance(error, StoreError) else where
            raise OutputError(self.sink.context.name, f"{reason}; it is tried again, nothing is lost") from error

    def _deliver(self, rows: Sequence[DueOutput]) -> int:
        if self._token is None and rows:
            self._sweep(rows[0].unit)
        unnamed, named = _divided(rows)
        self._read_watermark(unnamed)
        for row in named:
            self._send(row)
        count = len(named)
        for waiting in self._groups(unnamed):
            group = waiting
            while number := self._leading(group):
                row = self._replace(group[:number], named=True)
                if row is not None and is_address(str(row.final)):
                    self._send(row)
                group, count = group[number:], count + 1
            if len(group) >= MANY:
                self._replace(group[_tail([row.size for row in group]) :], named=False)
        return count + (self._directories.mark() if self.marks else 0)

    def _groups(self, rows: Sequence[DueOutput]) -> Iterator[list[DueOutput]]:
        """Note when each output was first seen, and yield the outputs of each directory, in order of batches."""
        now, known = self.clock(), self._since
        self._since = {row.pending: known.get(row.pending, now) for row in rows}
        ordered = sorted(rows, key=lambda row: (row.pending.rpartition("/")[0], row.batch))
        for _, group in itertools.groupby(ordered, key=lambda row: row.pending.rpartition("/")[0]):
            yield list(group)

    def _leading(self, rows: Sequence[DueOutput]) -> int:
        """Return how many of the first files of a directory are to be published now as one file; 0 if they wait on.

        The epochs, bytes and seconds of the sink's `Roll` decide. All files are due if the sink flushes, its unit is
        held or has ended, or the watermark has passed the directory.
        """
        if not rows:
            return 0
        roll = self.sink.roll() or Roll(seconds=0)
        first, size = rows[0], 0
        for number, row in enumerate(rows):
            if row.epoch - first.epoch >= roll.epochs:
                return number
            size += row.size
            if size >= roll.size:
                return number + 1
        passed = self.clock() - self._since[first.pending] >= roll.seconds
        closed = first.completed_epoch - first.epoch + 1 >= roll.epochs
        closed = closed or (self.marks and self._directories.is_past(self._directory(first), self._watermark))
        return len(rows) if passed or closed or first.ended or is_held(first.held_until) or self.flushing else 0

    def _directory(self, row: DueOutput) -> str:
        """Return the directory of an output, relative to the directory of the sink."""
        return path_of(self._store, row.pending).parent.relative_to(self.sink.pending()).as_posix()

    def _send(self, row: DueOutput) -> None:
        """Upload a file to an object store, count it, and delete the pending copy.

        Do nothing if another process has done so. The epoch is complete, so no reset takes the file back.
        """
        try:
            self.sink.storage().publish(fetch_checked(self._store, row), str(row.final))
            fetch_checked(self._store, row)  # the upload has read the file after the first check
        except FileNotFoundError:
            if waits(self.catalog, self.application, row.pending):
                raise missing_file_error(row) from None
            return  # another process has sent it
        except StorageRefusedError as error:
            raise OutputError(row.operator, str(error), refused=True) from error
        except (OSError, StorageAwayError) as error:
            reason = f"{row.pending} cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
            raise OutputError(row.operator, f"{reason}; it is tried again, nothing is lost") from error
        with self.catalog.write_unit(self.application, row.unit) as connection:
            count_output(connection, self.application, row)
        forget_file(self._store, row.pending)  # only now, since a repetition sends the file again

    def _replace(self, rows: Sequence[DueOutput], *, named: bool) -> DueOutput | None:
        """Replace several files by one, or name a single file; the replaced files are removed like retracted ones.

        With `named`, the new file gets its final name; otherwise it waits on.

        Returns:
            The merged output as the catalog has it; None if another process has changed the files.
        """
        since = min(self._since[row.pending] for row in rows)
        merged = rows[0] if len(rows) == 1 else self._merge(rows)
        if merged is None:
            return None
        pending, path = merged.pending, path_of(self._store, merged.pending)
        final = str(self.sink.final(path, rows[0].epoch, rows[-1].batch)) if named else None
        try:
            taken = not self._enter(rows, merged, final)
        except Exception:
            self._token = None  # the catalog may not name the merged file, so the next call sweeps
            raise
        if taken and len(rows) > 1:  # another process was here meanwhile
            forget_file(self._store, pending)
        elif len(rows) > 1:
            self._since[pending] = since
        return None if taken else replace(merged, final=final)

    def _enter(self, rows: Sequence[DueOutput], merged: DueOutput, final: str | None) -> bool:
        """Enter the merged file in place of its parts, or the final name of a single file.

        Return False, and change nothing, if another process has changed the rows.
        """
        f = tables.sink_file
        mine = (f.c.application == self.application, f.c.pending.in_([row.pending for row in rows]))
        with self.catalog.write_unit(self.application, rows[0].unit) as connection:
            there = connection.scalar(
                select(func.count()).where(*mine, f.c.final.is_(None), ~f.c.retracted, ~f.c.published)
            )
            if there != len(rows) or (len(rows) > 1 and not self._confirm_token(connection)):
                return False
            if final is not None:
                self._directories.enter(connection, self._directory(rows[0]))
            if len(rows) == 1:
                name_output(connection, self.application, rows[0].pending, final)
            else:
                named = replace(merged, epoch=rows[0].epoch, final=final)
                merge_outputs(connection, self.application, [row.pending for row in rows], named)
            return True

    def _confirm_token(self, connection: Connection) -> bool:
        """Confirm that this process is still the gatherer, or forget the token, since another process has swept.

        Without the token, this process sweeps again. Return True if the token is confirmed.
        """
        s = tables.sink
        own = (s.c.application == self.application, s.c.operator == self.sink.context.name)
        if connection.scalar(select(s.c.gatherer).where(*own)) == self._token:
            return True
        self._token = None
        return False

    def _merge(self, rows: Sequence[DueOutput]) -> DueOutput | None:
        """Write a file with the tuples of several, and sync its name; None if another process has taken them."""
        store, files = self._store, [path_of(self._store, row.pending) for row in rows]
        merged = files[0].with_name(f"{MERGED}-{self._channel}-{world.new_id()}{files[0].suffix}")
        try:
            for row in rows:
                fetch_checked(store, row)
            self.sink.merge(files, merged)
            _require_unaltered(store, rows, merged)
            size, checksum = merged.stat().st_size, checksum_of(merged)
            pending = store_waiting_file(store, merged, self._waiting)
            store.sync([pending])
            total = sum(row.rows for row in rows)
            return replace(rows[-1], pending=pending, rows=total, size=size, checksum=checksum)
        except (OSError, pa.ArrowInvalid) as error:
            with contextlib.suppress(OSError):  # it is swept later
                merged.unlink(missing_ok=True)
            lost = None if isinstance(error, StoreError) else _missing(store, rows)
            if lost is not None and not waits(self.catalog, self.application, lost.pending):
                return None
            name = self.sink.context.name
            if lost is not None:
                file = store.title(lost.pending)
                message = f"the file of rows {file}, which was to be published, is gone: start over with --fresh"
                raise OutputError(name, message, lost=True) from error
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            message = f"files in {merged.parent} cannot be merged: {reason}; it is tried again, nothing is lost"
            raise OutputError(name, message) from error

    def _sweep(self, unit: str) -> None:
        """Remove merged files that the catalog does not name, since a process died before they replaced others.

        The merged files are listed first. Then a transaction reads which are named; from there on no other process may
        name one of them (`_confirm_token`), so the others are removed. Files that another process merges later are not
        in the list. Raises OSError if a directory cannot be read or a file cannot be removed.
        """
        f = tables.sink_file
        store = self._store
        token = world.new_id()
        pattern, pending_of_sink = f"{MERGED}-{self._channel}-*", self.sink.pending()
        paths = files_below(pending_of_sink, pattern)
        put = [
            pending
            for pending in (store.below(self._waiting) if store.address else ())
            if (mine := path_of(store, pending)).match(pattern) and mine.is_relative_to(pending_of_sink)
        ]
        with self.catalog.write_unit(self.application, unit) as connection:
            named = set(connection.scalars(select(f.c.pending).where(f.c.application == self.application)))
            enter_gatherer(connection, self.application, self.sink.context.name, token)
        kept = {path_of(store, pending) for pending in named}
        for path in paths:
            if path not in kept:
                path.unlink(missing_ok=True)
        for pending in put:
            if pending not in named:
                forget_file(store, pending)
        self._token = token


def _missing(store: Store, rows: Sequence[DueOutput]) -> DueOutput | None:
    """Return the first output whose file is neither here nor in the storage; None also if that cannot be found out."""
    try:
        return next((row for row in rows if not fetch_waiting_file(store, row.pending).exists()), None)
    except OSError:
        return None


def _require_unaltered(store: Store, rows: Sequence[DueOutput], merged: Path) -> None:
    """Check files again after they were merged. If one was altered, remove the merged file."""
    try:
        for row in rows:
            fetch_checked(store, row)
    except OutputError:
        merged.unlink(missing_ok=True)
        raise


def _divided(rows: Sequence[DueOutput]) -> tuple[list[DueOutput], list[DueOutput]]:
    """Divide outputs into those without a final name and those with a final name in an object store."""
    return [row for row in rows if row.final is None], [row for row in rows if row.final is not None]


def _tail(sizes: Sequence[int]) -> int:
    """Return the index of the first file to merge; the last `MANY` // 2 files are always merged.

    Each earlier file that is merged is no larger than all later files together, so a byte is rewritten only once for
    every doubling of the waiting bytes.
    """
    begin, total = len(sizes), 0
    while begin and (sizes[begin - 1] <= total or len(sizes) - begin < MANY // 2):
        begin -= 1
        total += sizes[begin]
    return begin
