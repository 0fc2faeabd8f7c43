"""Readers of the streams that a PE writes: which readers the PE waits for, and which segments are kept for them.

A PE waits for readers in the same application. It also waits for Imports of other applications, unless the Export says
dropConnection, or the importing PE is absent: its application is stopped, it has failed, or its host is silent. For a
reader that the PE does not wait for, the transport keeps the segments that it may be reading and the newest ones; the
segments between them are dropped and counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, func, select, update

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.kept_rows import PreviousPlan
from streams_orchestration.runtime.catalog.rows import SegmentRow, StoredPosition
from streams_orchestration.runtime.catalog.states import heard_at
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.programs.batches import Position
from streams_orchestration.runtime.settings.limits import OUTSTANDING_LIMIT, SEGMENTS_LIMIT
from streams_orchestration.runtime.transport.connections import end_of_segments
from streams_orchestration.runtime.transport.visibility import readable_segments, visible_end

HEARTBEAT_TIMEOUT_SECONDS = 60.0
"""Seconds without a heartbeat of its host after which nobody waits for an importing PE."""
KEPT_SEGMENTS = 64
"""The number of newest segments that are kept for a reader that nobody waits for, and at least the newest epoch."""

DELETED_AT_ONCE = 500
"""The most segments that one statement names, since a database limits its parameters."""

_p, _u = tables.pe, tables.unit
_READING = (
    select(_p.c.id, _p.c.unit, _p.c.position, _u.c.shown_epoch)
    .join(_u, (_u.c.application == _p.c.application) & (_u.c.name == _p.c.unit))
    .where(_p.c.application == bindparam("of"), _p.c.id.in_(bindparam("pes", expanding=True)))
)


@dataclass(frozen=True, slots=True)
class ImportingPe:
    """A PE of some application that imports an exported stream."""

    application: str
    key: str
    """The key of the connection."""
    position: int
    """The number of the next segment to read."""
    cut: int
    """The number of the next segment to read at the cut to which its unit would go back."""
    waited: bool
    """True if the exporter waits for this PE."""
    uncommitted: bool
    """True if it also reads segments of epochs that are not complete."""
    present: bool
    """True if a batch of the PE may be running: it has not failed, its host is not silent, and its plan is deployed."""
    last: int | None = None
    """The number after the last segment for it, if a redeploy has ended the connection; else None."""


def outstanding(connection: Connection, program: PeProgram, position: Position, completed: int, shown: int) -> int:
    """Return the largest lag of a reader that a PE waits for, in segments, over all streams that it writes, or 0.

    A reader outside of the region cannot read the open epoch, so only segments of earlier epochs count for it. If the
    PE waited for more, the epoch would never end. A PE never waits for itself. A result below OUTSTANDING_LIMIT may
    also count segments that a reader cannot read, since only results from this limit on make the PE wait.

    Args:
        connection: the connection of a transaction.
        program: the program of the PE.
        position: the position of the PE.
        completed: the last complete epoch of its unit.
        shown: the last complete epoch that is visible to others; it is lower while a redeploy is on trial.
    """
    application = program.application
    pes = [*{pe for consumers in program.consumers.values() for pe in consumers}]
    members = {row.id: row for row in connection.execute(_READING, {"of": application, "pes": pes})} if pes else {}
    importing = importing_pes(connection, application, clock.now()) if program.exports else {}
    most = 0
    for stream, consumers in program.consumers.items():
        written = position.outputs.get(stream, 0)
        readers = defaultdict[int | None, list[int]](list)  # up to the epoch that they see; None: all that is written
        for reader in importing.get(stream, ()):
            if reader.waited:
                readers[None if reader.uncommitted else shown].append(reader.position)
        for row in (members[pe] for pe in consumers if pe != program.pe):  # a PE does not wait for itself
            early = row.unit == program.unit or stream in program.uncommitted
            sees = shown if row.shown_epoch is None else completed
            readers[None if early else sees].append(row.position["inputs"].get(stream, 0))
        for sees, positions in readers.items():
            behind = written - min(positions, default=written)
            if behind >= OUTSTANDING_LIMIT:  # numbers have gaps after a reset, and not all are visible outside
                behind = readable_segments(connection, application, stream, min(positions), sees)
            most = max(most, behind)
    return most


def importing_pes(connection: Connection, exporter: str, now: float) -> dict[str, list[ImportingPe]]:
    """Return the importing PEs of all applications by exported stream.

    PEs of a previous plan that may be restored are among them; connections with a problem are left out.
    """
    c, p, u, a, h = tables.stream_connection, tables.pe, tables.unit, tables.application, tables.host
    by_stream: dict[str, list[ImportingPe]] = defaultdict(list)
    rows = connection.execute(
        select(
            c.c.application,
            c.c.stream,
            c.c.key,
            c.c.first,
            c.c.last,
            c.c.waits,
            c.c.uncommitted,
            p.c.id,
            p.c.state,
            p.c.position,
            tables.SHOWN_EPOCH.label("cut"),
            a.c.wanted,
            h.c.heartbeat_at,
            h.c.launched_at,
        )
        .join(p, (p.c.application == c.c.application) & (p.c.id == c.c.pe))
        .join(u, (u.c.application == p.c.application) & (u.c.name == p.c.unit))
        .join(a, a.c.name == c.c.application)
        .join(h, (h.c.application == p.c.application) & (h.c.id == p.c.host))
        .where(c.c.exporter == exporter, c.c.problem.is_(None))
    )
    for row in rows:
        heard = heard_at(row.launched_at, row.heartbeat_at)
        first: int = row.first
        cut = _cut(connection, row.application, row.id, row.cut)
        present = row.state != "FAILED" and now - heard <= HEARTBEAT_TIMEOUT_SECONDS
        by_stream[row.stream].append(
            ImportingPe(
                row.application,
                row.key,
                row.position["inputs"].get(row.key, first),
                first if cut is None else cut["inputs"].get(row.key, first),
                row.waits and present and row.wanted == "RUNNING",
                row.uncommitted,
                present,
                row.last,
            )
        )
    for stream, reader in _importing_before(connection, exporter):
        if reader.key not in {each.key for each in by_stream[stream]}:
            by_stream[stream].append(reader)
    return by_stream


def _importing_before(connection: Connection, exporter: str) -> Iterator[tuple[str, ImportingPe]]:
    """Yield exported streams with the PEs that import them in previous plans that may be restored.

    The positions of these PEs are those at the cuts of the previous plans.
    """
    t, a = tables.trial, tables.application
    on_trial = select(t.c.before, a.c.name, a.c.wanted).join(a, a.c.name == t.c.application)
    for row in connection.execute(on_trial.where(t.c.state == "OPEN")):
        before = PreviousPlan.load(row.before)
        positions = {pe["id"]: pe["position"]["inputs"] for pe in before.rows["pe"]}
        for link in before.rows["stream_connection"]:
            mine = (link["exporter"], link["application"]) == (exporter, row.name) and link["pe"] in positions
            if mine and link["problem"] is None:
                cut = positions[link["pe"]].get(link["key"], link["first"])
                waited = link["waits"] and row.wanted == "RUNNING"
                yield (
                    link["stream"],
                    ImportingPe(
                        row.name, link["key"], cut, cut, waited, link["uncommitted"], present=False, last=link["last"]
                    ),
                )


def _cut(connection: Connection, application: str, pe: int, completed: int) -> StoredPosition | None:
    """Return the position to which a reset would take an importing PE back; None if it would begin at its start."""
    c = tables.commit
    return connection.scalar(
        select(c.c.position).where(c.c.application == application, c.c.pe == pe, c.c.boundary, c.c.epoch == completed)
    )


def drop_read_exports(connection: Connection, exporter: str, needed: Mapping[str, int], now: float) -> list[str]:
    """Delete the segments of exported streams that no reader needs, and the ended connections that are read to the end.

    Readers for which the exporter does not wait may lose tuples: these are added to the connection's count of lost
    ones. Files are not removed here. `needed` maps a stream to the first segment that the application itself needs; a
    stream that it does not read is missing. `now` is in unix seconds. The connection is in a write transaction.

    Returns:
        The files that are no longer needed.
    """
    s, e, c = tables.segment, tables.stream_export, tables.stream_connection
    exported = connection.scalars(select(e.c.stream).where(e.c.application == exporter).distinct()).all()
    importing = importing_pes(connection, exporter, now)
    paths: list[str] = []
    for stream in {*exported, *importing}:
        end = (visible_end if stream in exported else end_of_segments)(connection, exporter, stream)
        newest = min(end - KEPT_SEGMENTS, _last_epoch(connection, exporter, stream, end))
        readers, lost = importing.get(stream, []), defaultdict[str, int](int)
        mine = (s.c.application == exporter, s.c.stream == stream, ~s.c.retracted)
        gone: list[int] = []
        for row in SegmentRow.all(connection, select(s).where(*mine, s.c.number < min(end, needed.get(stream, end)))):
            if any(_keeps(reader, row.number, newest) for reader in readers):
                continue
            gone.append(row.number)
            paths.append(row.path)
            for reader in readers:
                if row.number >= reader.position and (reader.last is None or row.number < reader.last):
                    lost[reader.key] += row.rows
        for at in range(0, len(gone), DELETED_AT_ONCE):
            connection.execute(delete(s).where(*mine, s.c.number.in_(gone[at : at + DELETED_AT_ONCE])))
        for key, rows in lost.items():
            connection.execute(update(c).where(c.c.exporter == exporter, c.c.key == key).values(lost=c.c.lost + rows))
        for reader in readers:
            if reader.last is not None and reader.cut >= reader.last:
                mine_ = (c.c.application == reader.application, c.c.key == reader.key)
                connection.execute(delete(c).where(*mine_))
    return paths


def drop_unread_exports(connection: Connection, exporter: str, written: Collection[str]) -> list[str]:
    """Delete the segments of exported streams that a redeploy has ended, and that no Import still reads.

    Imports of a previous plan that may be restored count as readers. Files are not removed here.

    Returns:
        The files that are no longer needed.
    """
    s, c = tables.segment, tables.stream_connection
    read = {*connection.scalars(select(c.c.stream).where(c.c.exporter == exporter))}
    read |= {stream for stream, _ in _importing_before(connection, exporter)}
    gone = (s.c.application == exporter, s.c.stream.not_in(written), s.c.stream.not_in(read))
    paths = list(connection.scalars(select(s.c.path).where(*gone)))
    connection.execute(delete(s).where(*gone))
    return paths


def _keeps(reader: ImportingPe, number: int, newest: int) -> bool:
    if reader.last is not None:
        return reader.cut <= number < reader.last
    read_next = reader.position + SEGMENTS_LIMIT
    return number >= reader.cut and (reader.waited or number < read_next or number >= newest)


def _last_epoch(connection: Connection, application: str, stream: str, end: int) -> int:
    """Return the number of the first segment of the epoch of segment `end` - 1; `end` if there is no such segment."""
    s = tables.segment
    mine = (s.c.application == application, s.c.stream == stream)
    epoch = select(s.c.epoch).where(*mine, s.c.number == end - 1).scalar_subquery()
    first = connection.scalar(select(func.min(s.c.number)).where(*mine, s.c.epoch == epoch))
    return end if first is None else first


def exporters_done(connection: Connection, application: str) -> Iterable[str]:
    """Return the completed applications from which this one imports, without order.

    A completed application no longer collects garbage, so its importers do.
    """
    c, a = tables.stream_connection, tables.application
    return connection.scalars(
        select(a.c.name)
        .join(c, c.c.exporter == a.c.name)
        .where(c.c.application == application, a.c.state == "COMPLETED")
        .distinct()
    ).all()
