"""Reads the parts of the catalog that a PE needs to plan a batch."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import TypeAdapter
from sqlalchemy import Connection, bindparam, or_, select

from streams_orchestration.compiler.pe_program import InputStream, PeProgram
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.holds import held_condition, is_held
from streams_orchestration.runtime.catalog.rows import SegmentRow
from streams_orchestration.runtime.errors.errors import StaleGenerationError
from streams_orchestration.runtime.programs.batches import Position, Segment
from streams_orchestration.runtime.queries.pe_view import PeView, StreamView
from streams_orchestration.runtime.queries.planning import uncommitted_streams
from streams_orchestration.runtime.queries.watermark_alignment import read_clocks
from streams_orchestration.runtime.settings.limits import SEGMENTS_LIMIT
from streams_orchestration.runtime.sinks.sinks import late_outputs
from streams_orchestration.runtime.tasks.stored_states import newest_states
from streams_orchestration.runtime.transport.connections import imported_streams
from streams_orchestration.runtime.transport.readers import outstanding
from streams_orchestration.runtime.transport.visibility import Producer, producer_of
from streams_orchestration.runtime.units.region_machine import HALTED

_position: TypeAdapter[Position] = TypeAdapter(Position)
_a, _u, _p, _s = tables.application, tables.unit, tables.pe, tables.segment
_STANDING = (
    select(
        *(_p.c.batch, _p.c.epoch, _p.c.final, _p.c.position, _u.c.generation, _u.c.trigger_epoch, _u.c.drain_asked),
        *(_u.c.held_until, _u.c.completed_epoch, _u.c.shown_epoch, _u.c.final_epoch, _u.c.period),
        *(
            _u.c.reset_count,
            _u.c.state.label("unit_state"),
            _a.c.life,
            _a.c.wanted,
            _a.c.bounded,
            _p.c.bounds,
            (_a.c.plan + _a.c.connections).label("readership"),
        ),
    )
    .join(_u, (_u.c.application == _p.c.application) & (_u.c.name == _p.c.unit))
    .join(_a, _a.c.name == _p.c.application)
    .where(_p.c.application == bindparam("of"), _p.c.id == bindparam("at"))
)
_UNREAD = select(_s).where(
    _s.c.application == bindparam("of"),
    _s.c.stream == bindparam("by"),
    _s.c.number >= bindparam("begin"),
    ~_s.c.retracted,
)
_SEGMENTS = {
    name: query.order_by(_s.c.number).limit(SEGMENTS_LIMIT + 1)
    for name, query in {
        "all": _UNREAD,
        "up to a number": _UNREAD.where(_s.c.number < bindparam("end")),
        "up to an epoch": _UNREAD.where(_s.c.epoch <= bindparam("end")),
    }.items()
}


def read_view(catalog: Catalog, program: PeProgram, generation: int | None = None) -> PeView:
    """Read, in one transaction, all that planning needs: a PE's position and states, its unit, and unread segments.

    Args:
        catalog: the catalog of the application.
        program: the program of the PE.
        generation: the generation that runs the program; None for the current one. The program of another generation
            may be of another plan, and name PEs that are gone.

    Raises:
        StaleGenerationError: the PE is gone from the catalog, or its unit is in another generation.
    """
    with catalog.read() as connection:
        row = connection.execute(_STANDING, {"of": program.application, "at": program.pe}).one_or_none()
        if row is None:
            message = f"PE {program.pe} of {program.application} is no longer in the catalog"
            raise StaleGenerationError(message)
        if generation is not None and row.generation != generation:
            message = (
                f"PE {program.pe} of {program.application} runs in generation {generation}, but its unit is in "
                f"{row.generation}"
            )
            raise StaleGenerationError(message)
        position = _position.validate_python(row.position)
        on_trial = row.shown_epoch is not None
        shown = row.shown_epoch if on_trial else row.completed_epoch
        imported = imported_streams(connection, program) if program.imports else ()
        return PeView(
            life=row.life,
            wanted=row.wanted == "RUNNING",
            generation=row.generation,
            batch=row.batch,
            epoch=row.epoch,
            final=row.final,
            position=position,
            states=newest_states(connection, program.application, program.pe),
            trigger_epoch=max(row.trigger_epoch, row.drain_asked or 0),
            final_epoch=row.final_epoch,
            period=row.period,
            completed_epoch=row.completed_epoch,
            waits=row.unit_state in HALTED,
            streams=_streams(connection, program, (*program.inputs, *imported), position, on_trial=on_trial),
            imported=imported,
            draining=(
                _drained_streams(connection, program)
                if is_held(row.held_until) and not (program.driven and _has_begun(connection, program))
                else None
            ),
            bounded=row.bounded,
            resets=row.reset_count,
            readership=row.readership,
            bounds=row.bounds["ends"] if row.bounds is not None and row.bounds["run"] == row.bounded else {},
            clocks=_clocks(connection, program, row.bounded) if program.awaited_sources else {},
            outstanding=max(
                outstanding(connection, program, position, row.completed_epoch, shown),
                late_outputs(connection, program.application, program.pe, shown) if program.sinks else 0,
            ),
        )


def _clocks(connection: Connection, program: PeProgram, run: str | None) -> dict[str, int]:
    """Return the watermarks of the sources of other PEs for which the sources of a PE may have to wait (EV65)."""
    clocks = read_clocks(connection, program.application, run)
    return {name: value for name, value in clocks.items() if name in program.awaited_sources}


def _has_begun(connection: Connection, program: PeProgram) -> bool:
    """Return True if the PE has committed a part of its current epoch."""
    p, c = tables.pe, tables.commit
    closed = (c.c.application == p.c.application) & (c.c.pe == p.c.id) & (c.c.batch == p.c.batch) & c.c.boundary
    begun = (
        select(p.c.id)
        .outerjoin(c, closed)
        .where(p.c.application == program.application, p.c.id == program.pe, p.c.batch >= 0, c.c.pe.is_(None))
    )
    return connection.execute(begun).first() is not None


def _drained_streams(connection: Connection, program: PeProgram) -> frozenset[str]:
    """Return the streams of a PE whose producers are in units that are being drained, too."""
    u, p = tables.unit, tables.pe
    producers = set(
        connection.scalars(
            select(p.c.id)
            .join(u, (u.c.application == p.c.application) & (u.c.name == p.c.unit))
            .where(p.c.application == program.application, held_condition())
        )
    )
    return frozenset(stream.stream for stream in program.inputs if stream.producer in producers)


def _streams(
    connection: Connection, program: PeProgram, inputs: Sequence[InputStream], position: Position, *, on_trial: bool
) -> dict[str, StreamView]:
    """Return the PE's streams and their readable segments; uncommitted ones are read by producer, in whole batches.

    With `on_trial`, the PE also sees epochs of its own application that others do not see yet.
    """
    views = {
        stream.stream: _stream(connection, program.application, stream, position, on_trial=on_trial)
        for stream in inputs
        if not stream.uncommitted
    }
    for (exporter, pe), streams in uncommitted_streams(inputs).items():
        application = exporter or program.application
        producer = producer_of(connection, application, pe, on_trial=on_trial and exporter is None)
        views |= _uncommitted(connection, application, streams, position, producer)
    return views


def _stream(
    connection: Connection, application: str, stream: InputStream, position: Position, *, on_trial: bool
) -> StreamView:
    """Return the first segments of a stream that the PE has not read and may read, at most `SEGMENTS_LIMIT` + 1.

    Segments from another unit of recovery are readable once their epoch is complete. With `on_trial`, these include
    segments that a trial hides from others.
    """
    application, name = stream.exporter or application, stream.source or stream.stream
    key: dict[str, object] = {"of": application, "by": name}
    key["begin"] = position.inputs.get(stream.stream, stream.first)
    if stream.last is not None:  # all segments up to the last one are of complete epochs
        rows = SegmentRow.all(connection, _SEGMENTS["up to a number"], key | {"end": stream.last})
        return StreamView(_numbered(stream.stream, rows), producer_epoch=0, ended=False)
    producer = producer_of(connection, application, stream.producer, on_trial=on_trial and stream.exporter is None)
    if stream.foreign:
        rows = SegmentRow.all(connection, _SEGMENTS["up to an epoch"], key | {"end": producer.completed})
    else:
        rows = SegmentRow.all(connection, _SEGMENTS["all"], key)
    return StreamView(
        _numbered(stream.stream, rows), producer.epoch, producer.ended if stream.foreign else producer.final
    )


def _uncommitted(
    connection: Connection, application: str, streams: Sequence[InputStream], position: Position, producer: Producer
) -> dict[str, StreamView]:
    """Return the unread segments of a producer's batches in these streams, whether or not their epoch is complete.

    They are the first batches that have at most `SEGMENTS_LIMIT` segments, or the first one if it has more.
    """
    s = tables.segment
    next_of = {stream.stream: position.inputs.get(stream.stream, stream.first) for stream in streams}
    unread = [
        (s.c.stream == (stream.source or stream.stream)) & (s.c.number >= next_of[stream.stream]) for stream in streams
    ]
    query = select(s).where(s.c.application == application, or_(*unread), ~s.c.retracted)
    rows = SegmentRow.all(connection, query.order_by(s.c.batch, s.c.stream, s.c.number).limit(SEGMENTS_LIMIT + 1))
    if len(rows) > SEGMENTS_LIMIT:
        last = rows[-1].batch
        whole = [row for row in rows if row.batch < last]
        rows = whole or SegmentRow.all(connection, query.where(s.c.batch == last).order_by(s.c.stream, s.c.number))
    views: dict[str, StreamView] = {}
    for name, source in {stream.stream: stream.source or stream.stream for stream in streams}.items():
        mine = [row for row in rows if row.stream == source and row.number >= next_of[name]]
        batches = tuple(row.batch for row in mine)
        # a reset may add segments until the last epoch is complete
        views[name] = StreamView(_numbered(name, mine), producer.epoch, producer.ended, batches)
    return views


def _numbered(stream: str, rows: Sequence[SegmentRow]) -> tuple[tuple[int, int, Segment], ...]:
    return tuple((row.number, row.epoch, Segment(stream, row.path, row.rows, row.size, row.checksum)) for row in rows)
