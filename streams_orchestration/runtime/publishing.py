"""Publishing: files of sinks become visible when their epoch is complete; then a finished unit counts as completed."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from sqlalchemy import select, update

from streams_orchestration.runtime import tables
from streams_orchestration.runtime.catalog import Catalog
from streams_orchestration.runtime.errors import StreamsRuntimeError


def publish(catalog: Catalog, application: str) -> int:
    """Move the files of complete epochs to their places; may be repeated after a crash at any point.

    Returns:
        How many files were published.

    Raises:
        StreamsRuntimeError: a file is gone, or its place cannot be written.
    """
    f, p, u = tables.sink_file, tables.pe, tables.unit
    with catalog.read() as connection:
        rows = connection.execute(
            select(f.c.final, f.c.pending, f.c.operator)
            .join(p, (p.c.application == f.c.application) & (p.c.id == f.c.pe))
            .join(u, (u.c.application == p.c.application) & (u.c.name == p.c.unit))
            .where(f.c.application == application, ~f.c.published, f.c.epoch <= u.c.completed_epoch)
            .order_by(f.c.epoch, f.c.final)
        ).all()
    if not rows:
        return 0
    for row in rows:
        _move(Path(row.pending), Path(row.final), row.operator)
    for directory in {Path(row.final).parent for row in rows}:
        _sync(directory)
    with catalog.write() as connection:
        for row in rows:
            connection.execute(
                update(f).where(f.c.application == application, f.c.final == row.final).values(published=True)
            )
    return len(rows)


def complete(catalog: Catalog, application: str) -> bool:
    """Mark units whose PEs have all made their final commit, and then the application, as completed.

    Returns:
        Whether the application is completed. Call after `publish`.
    """
    u, p, a, f = tables.unit, tables.pe, tables.application, tables.sink_file
    with catalog.read() as connection:
        unfinished = set(connection.scalars(select(p.c.unit).where(p.c.application == application, ~p.c.final)))
        hidden = select(p.c.unit).join(f, (f.c.application == p.c.application) & (f.c.pe == p.c.id))
        unfinished |= set(connection.scalars(hidden.where(f.c.application == application, ~f.c.published)))
        waiting = set(
            connection.scalars(select(u.c.name).where(u.c.application == application, u.c.state != "COMPLETED"))
        )
    done = waiting - unfinished
    if done:
        with catalog.write() as connection:
            connection.execute(
                update(u).where(u.c.application == application, u.c.name.in_(done)).values(state="COMPLETED")
            )
            if done == waiting:
                connection.execute(update(a).where(a.c.name == application).values(state="COMPLETED"))
    if done == waiting:
        remove_empty(catalog, application)
    return done == waiting


def remove_empty(catalog: Catalog, application: str) -> None:
    """Remove the directories of pending files that hold none; call only when no task can write any more."""
    with catalog.read() as connection:
        pending = connection.scalars(
            select(tables.sink_file.c.pending).where(tables.sink_file.c.application == application)
        ).all()
    for directory in {Path(path).parent for path in pending}:
        with contextlib.suppress(OSError):
            directory.rmdir()


def _move(pending: Path, final: Path, operator: str) -> None:
    try:
        pending.replace(final)
    except FileNotFoundError:
        if not final.exists():
            message = f"operator {operator}: {pending}, which was to become {final}, is gone; reset with --fresh"
            raise StreamsRuntimeError(message) from None
    except OSError as error:
        message = f"operator {operator}: {final} cannot be written: {error.strerror}; mend it, then reset"
        raise StreamsRuntimeError(message) from error


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
