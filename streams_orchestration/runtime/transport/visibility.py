"""Visibility of segments to readers outside of the stream's region: those of complete epochs, or all."""

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
"""Made once: making a statement takes longer than running it. By whether the reader is on trial with the producer."""


@dataclass(frozen=True, slots=True)
class Producer:
    """The position of the PE that writes a stream."""

    epoch: int
    """The epoch that it works in."""
    final: bool
    """True if it has made its last commit."""
    completed: int
    """Last complete epoch of its unit that the reader sees."""

    @property
    def ended(self) -> bool:
        """True if nothing more will become visible."""
        return self.final and self.completed >= self.epoch - 1


def producer_of(connection: Connection, application: str, pe: int, *, on_trial: bool = False) -> Producer:
    """Read it from the catalog.

    Args:
        connection: of a transaction.
        application: its name.
        pe: the PE.
        on_trial: for a reader that would be reverted together with it, should the redeploy of both fail: it sees what
            others do not see yet.
    """
    row = connection.execute(_PRODUCER[on_trial], {"of": application, "at": pe}).one()
    return Producer(row.epoch, row.final, row.completed)


def completed_of(connection: Connection, application: str, pe: int) -> int | None:
    """Return the last complete epoch of a PE's region that is visible to others; None where there is no such PE."""
    p, u = tables.pe, tables.unit
    return connection.scalar(
        select(tables.SHOWN_EPOCH)
        .join(p, (u.c.application == p.c.application) & (u.c.name == p.c.unit))
        .where(p.c.application == application, p.c.id == pe)
    )


def visible_end(connection: Connection, application: str, stream: str) -> int:
    """Return the number behind the last segment of the complete epochs of an exported stream."""
    pe, written = _exported(connection, application, stream)
    completed = producer_of(connection, application, pe).completed
    return end_of_epoch(connection, application, stream, completed, written)


def written_end(connection: Connection, application: str, stream: str) -> int:
    """Return the number behind the last segment of an exported stream, of whatever epoch."""
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
    """Return the number behind the last segment of an epoch and those before it.

    Args:
        connection: of a transaction.
        application: that writes the stream.
        stream: its name.
        epoch: the epoch.
        written: the number of the next segment to write.
    """
    s = tables.segment
    later = (s.c.application == application, s.c.stream == stream, s.c.epoch > epoch, ~s.c.retracted)
    first = connection.scalar(select(func.min(s.c.number)).where(*later))
    return written if first is None else first


def readable_segments(connection: Connection, application: str, stream: str, number: int, completed: int | None) -> int:
    """Return how many segments of a stream may be read from a number on.

    Args:
        connection: of a transaction.
        application: that writes the stream.
        stream: its name.
        number: of the first segment that counts.
        completed: the last complete epoch, for readers that see no further; None for those that see all.
    """
    s = tables.segment
    mine = (s.c.application == application, s.c.stream == stream, s.c.number >= number, ~s.c.retracted)
    visible = () if completed is None else (s.c.epoch <= completed,)
    return connection.scalar(select(func.count()).select_from(s).where(*mine, *visible)) or 0
