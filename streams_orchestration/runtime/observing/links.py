"""Reads the Imports and Exports of an application, and the state of their connections."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sqlalchemy import ColumnElement, Connection, func, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import ConnectionRow, ExportRow, ImportRow
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.observing.event_time import ImportedStream
from streams_orchestration.runtime.observing.status import ConnectionStatus, ExportStatus, ImportStatus
from streams_orchestration.runtime.transport.readers import ImportingPe, importing_pes
from streams_orchestration.runtime.transport.visibility import visible_end, written_end

_e, _i, _c = tables.stream_export, tables.stream_import, tables.stream_connection


def read_imports(connection: Connection, application: str) -> tuple[ImportStatus, ...]:
    """Return the Imports of an application, ordered by name and operator."""
    rows = ImportRow.all(
        connection, select(_i).where(_i.c.application == application).order_by(_i.c.name, _i.c.operator)
    )
    connections = tuple(_connections(connection, _c.c.application == application)) if rows else ()
    return tuple(
        ImportStatus(
            row.name,
            row.pe,
            row.subscription or (f"{row.exporter}, streamId {row.stream_id}" if row.stream_id else "nothing"),
            tuple(each for each in connections if (each.name, each.pe) == (row.name, row.pe)),
        )
        for row in rows
    )


def read_exports(connection: Connection, application: str) -> tuple[ExportStatus, ...]:
    """Return the Exports of an application, ordered by name and PE."""
    rows = ExportRow.all(connection, select(_e).where(_e.c.application == application).order_by(_e.c.name, _e.c.pe))
    connections = tuple(_connections(connection, _c.c.exporter == application)) if rows else ()
    return tuple(
        ExportStatus(
            row.name,
            row.pe,
            row.stream,
            f"streamId {row.stream_id}" if row.stream_id else json.dumps(row.properties, ensure_ascii=False),
            row.waits,
            tuple(each for each in connections if each.stream == row.stream),
            "read_uncommitted" if row.uncommitted else "read_committed",
        )
        for row in rows
    )


def read_timed_imports(connection: Connection, application: str) -> dict[str, ImportedStream]:
    """Return the imported streams whose watermarks an application takes, by the key of the connection."""
    rows = ConnectionRow.all(connection, select(_c).where(_c.c.application == application, _c.c.event_time))
    timed = select(_e.c.application, _e.c.stream).where(_e.c.event_time.is_not(None)).distinct()
    known = {(row.application, row.stream) for row in connection.execute(timed)} if rows else set[tuple[str, str]]()
    return {
        row.key: ImportedStream(
            row.operator,
            row.stream if row.exporter == application else f"{row.stream} of {row.exporter}",
            (row.exporter, row.stream) in known,
        )
        for row in rows
    }


def _connections(connection: Connection, which: ColumnElement[bool]) -> Iterator[ConnectionStatus]:
    now = clock.now()
    ordered = select(_c).where(which).order_by(_c.c.exporter, _c.c.stream, _c.c.application, _c.c.key)
    readers: dict[str, dict[tuple[str, str], ImportingPe]] = {}
    for row in ConnectionRow.all(connection, ordered):
        if row.exporter not in readers:
            importing = importing_pes(connection, row.exporter, now)
            readers[row.exporter] = {(r.application, r.key): r for pes in importing.values() for r in pes}
        reader = readers[row.exporter].get((row.application, row.key))
        end = written_end if row.uncommitted else visible_end
        behind = (0, 0)
        if reader:
            last = end(connection, row.exporter, row.stream) if row.last is None else row.last
            behind = (reader.position, last)
        segments, tuples = _lag(connection, row, *behind)
        yield ConnectionStatus(
            row.exporter,
            row.stream,
            row.application,
            row.name,
            row.pe,
            bool(reader and reader.waited),
            segments,
            tuples,
            row.lost,
            row.problem,
            row.uncommitted,
        )


def _lag(connection: Connection, row: ConnectionRow, position: int, end: int) -> tuple[int, int]:
    s = tables.segment
    pending = connection.execute(
        select(func.count().label("segments"), func.sum(s.c.rows).label("tuples")).where(
            s.c.application == row.exporter,
            s.c.stream == row.stream,
            s.c.number >= position,
            s.c.number < end,
            ~s.c.retracted,
        )
    ).one()
    return pending.segments, int(pending.tuples or 0)
