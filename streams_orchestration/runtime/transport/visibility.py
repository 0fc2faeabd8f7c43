"""Decides which segments readers outside of the stream's region may see: segments of complete epochs, or all."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, func, select

from streams_orchestration.runtime.catalog import tables

_p, _u = tables.pe, tables.unit
_PRODUCER = {
    on_trial: select(_p.c.epoch, _p.c.final, completed.label("completed"))
    .join(_u, (_u.c.application == _p.c.application) & (_u.c.name == _p.c.unit))
    .where(_p.c.application == bindparam("of"), _p.c.id == bindparam("at"))
    for on_trial, completed in ((False, tables.SHOWN_EPOCH), (True, _u.c.completed_epoch))
}
"""The statements of `producer_of`; the key is True for a reader that is on trial together with the producer."""
_s = tables.segment
_READABLE = (
    select(func.count())
    .select_from(_s)
    .where(
        *(_s.c.application == bindparam("of"), _s.c.stream == bindparam("named")),
        *(_s.c.number >= bindparam("first"), ~_s.c.retracted),
    )
)
_READABLE_UP_TO = _READABLE.where(_s.c.epoch <= bindparam("completed"))


@dataclass(frozen=True, slots=True)
class Producer:
    """The epochs of a PE that writes a stream: the open one and the last complete one."""

    epoch: int
    """The open epoch of the PE."""
    final: bool
    """True if the PE has made its last commit."""
    completed: int
    """The last complete epoch of the producer's unit that the reader sees."""

    @property
    def ended(self) -> bool:
        """True if the PE has made its last commit, and the reader sees all its epochs."""
        return self.final and self.completed >= self.epoch - 1


def producer_of(connection: Connection, application: str, pe: int, *, on_trial: bool = False) -> Producer:
    """Read the open and the last complete epoch of the PE that writes a stream from the catalog.

    With `on_trial`, the reader is on trial together with the PE, and sees epochs that others do not see yet.

    Raises:
        NoResultFound: the PE does not exist.
    """
    row = connection.execute(_PRODUCER[on_trial], {"of": application, "at": pe}).one()
    return Producer(row.epoch, row.final, row.completed)


def completed_of(connection: Connection, application: str, pe: int) -> int | None:
    """Return the last complete epoch of a PE's region that is visible outside; None if the PE does not exist."""
    p, u = tables.pe, tables.unit
    return connection.scalar(
        select(tables.SHOWN_EPOCH)
        .join(p, (u.c.application == p.c.application) & (u.c.name == p.c.unit))
        .where(p.c.application == application, p.c.id == pe)
    )


def visible_end(connection: Connection, application: str, stream: str) -> int:
    """Return the number of the first segment of an exported stream whose epoch is not visible outside.

    Only complete epochs are visible, and of a redeploy on trial only the epochs before it. If all segments are visible,
    the result is the number of the next segment.

    Raises:
        NoResultFound: the stream is not exported.
    """
    pe, written = _exported(connection, application, stream)
    completed = producer_of(connection, application, pe).completed
    return end_of_epoch(connection, application, stream, completed, written)


def written_end(connection: Connection, application: str, stream: str) -> int:
    """Return the number after the last segment of an exported stream, whether its epoch is complete or not.

    Raises:
        NoResultFound: the stream is not exported.
    """
    return _exported(connection, application, stream)[1]


def _exported(connection: Connection, application: str, stream: str) -> tuple[int, int]:
    """Return the PE that writes an exported stream, and the number of its next segment."""
    e, p = tables.stream_export, tables.pe
    row = connection.execute(
        select(p.c.id, p.c.position)
        .join(e, (e.c.application == p.c.application) & (e.c.pe == p.c.id))
        .where(e.c.application == application, e.c.stream == stream)
        .limit(1)
    ).one()
    return row.id, row.position["outputs"].get(stream, 0)


def end_of_epoch(connection: Connection, application: str, stream: str, epoch: int, written: int) -> int:
    """Return the number of the first segment after an epoch; `written` if there is none.

    `written` is the number of the next segment to write.
    """
    s = tables.segment
    later = (s.c.application == application, s.c.stream == stream, s.c.epoch > epoch, ~s.c.retracted)
    first = connection.scalar(select(func.min(s.c.number)).where(*later))
    return written if first is None else first


def readable_segments(connection: Connection, application: str, stream: str, number: int, completed: int | None) -> int:
    """Return the number of segments of a stream that a reader can see from a segment on, without retracted ones.

    `number` is the first segment to count. `completed` is the last complete epoch that the reader sees; None for
    readers that see all segments.
    """
    statement = _READABLE if completed is None else _READABLE_UP_TO
    mine = {"of": application, "named": stream, "first": number}
    return connection.scalar(statement, mine if completed is None else mine | {"completed": completed}) or 0
