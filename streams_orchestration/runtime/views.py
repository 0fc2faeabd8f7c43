"""What the catalog shows a PE before it plans a batch."""

from __future__ import annotations

from pydantic import TypeAdapter
from sqlalchemy import Connection, func, select

from streams_orchestration.runtime import tables
from streams_orchestration.runtime.batches import Position
from streams_orchestration.runtime.catalog import Catalog
from streams_orchestration.runtime.errors import StaleGenerationError
from streams_orchestration.runtime.planning import SEGMENTS_LIMIT, PeView, StreamView
from streams_orchestration.runtime.program import InputStream, PeProgram
from streams_orchestration.runtime.segments import Segment
from streams_orchestration.runtime.states import newest_states

_position: TypeAdapter[Position] = TypeAdapter(Position)


def read_view(catalog: Catalog, program: PeProgram) -> PeView:
    """Read, in one transaction, where a PE stands and what its streams hold.

    Raises:
        StaleGenerationError: the application is gone from the catalog.
    """
    a, u, p = tables.application, tables.unit, tables.pe
    with catalog.read() as connection:
        row = connection.execute(
            select(
                p,
                u.c.generation,
                u.c.trigger_epoch,
                u.c.completed_epoch,
                u.c.final_epoch,
                u.c.period,
                a.c.life,
                a.c.wanted,
            )
            .join(u, (u.c.application == p.c.application) & (u.c.name == p.c.unit))
            .join(a, a.c.name == p.c.application)
            .where(p.c.application == program.application, p.c.id == program.pe)
        ).one_or_none()
        if row is None:
            message = f"PE {program.pe} of {program.application} is no longer in the catalog"
            raise StaleGenerationError(message)
        position = _position.validate_python(row.position)
        return PeView(
            life=row.life,
            wanted=row.wanted == "RUNNING",
            generation=row.generation,
            batch=row.batch,
            epoch=row.epoch,
            final=row.final,
            position=position,
            states=newest_states(connection, program.application, program.pe),
            trigger_epoch=row.trigger_epoch,
            final_epoch=row.final_epoch,
            period=row.period,
            streams={
                stream.stream: _stream(connection, program.application, stream, position) for stream in program.inputs
            },
            outstanding=_outstanding(connection, program, position, row.completed_epoch),
        )


def _outstanding(connection: Connection, program: PeProgram, position: Position, completed: int) -> int:
    """How far the slowest consumer is behind, in segments, over all streams that the PE writes.

    A consumer outside of the region cannot read the open epoch, so it is behind in what lies before that only: the
    epoch would never end if the PE waited for it.
    """
    p = tables.pe
    readers = {pe for consumers in program.consumers.values() for pe in consumers}
    if not readers:
        return 0
    rows = connection.execute(
        select(p.c.id, p.c.unit, p.c.position).where(p.c.application == program.application, p.c.id.in_(readers))
    )
    members = {row.id: row for row in rows}
    most = 0
    for stream, consumers in program.consumers.items():
        written = position.outputs.get(stream, 0)
        for outside in (False, True):
            readers = [members[pe] for pe in consumers if (members[pe].unit != program.unit) is outside]
            slowest = min((row.position["inputs"].get(stream, 0) for row in readers), default=written)
            if written - slowest > most:
                end = visible_end(connection, program.application, stream, completed, written) if outside else written
                most = max(most, end - slowest)
    return most


def visible_end(connection: Connection, application: str, stream: str, completed: int, written: int) -> int:
    """The number behind the last segment of a stream that readers outside of its region may read.

    Args:
        connection: of a transaction.
        application: that writes the stream.
        stream: its name.
        completed: the last complete epoch of its region.
        written: the number of the next segment to write.
    """
    s = tables.segment
    hidden = select(func.min(s.c.number)).where(
        s.c.application == application, s.c.stream == stream, s.c.epoch > completed
    )
    first = connection.scalar(hidden)
    return written if first is None else first


def _stream(connection: Connection, application: str, stream: InputStream, position: Position) -> StreamView:
    """The readable segments; of a foreign region only those of complete epochs (read committed)."""
    s, p, u = tables.segment, tables.pe, tables.unit
    producer = connection.execute(
        select(p.c.epoch, p.c.final, u.c.completed_epoch)
        .join(u, (u.c.application == p.c.application) & (u.c.name == p.c.unit))
        .where(p.c.application == application, p.c.id == stream.producer)
    ).one()
    query = select(s).where(
        s.c.application == application,
        s.c.stream == stream.stream,
        s.c.number >= position.inputs.get(stream.stream, 0),
    )
    ended = producer.final
    if stream.foreign:
        query = query.where(s.c.epoch <= producer.completed_epoch)
        ended = producer.final and producer.completed_epoch >= producer.epoch - 1
    rows = connection.execute(query.order_by(s.c.number).limit(SEGMENTS_LIMIT + 1))
    segments = tuple(
        (row.number, row.epoch, Segment(row.stream, row.path, row.rows, row.size, row.checksum)) for row in rows
    )
    return StreamView(segments, producer.epoch, ended)
