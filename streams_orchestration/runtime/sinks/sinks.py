"""Sinks in the catalog: their targets, their visible and waiting outputs, and their failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, bindparam, case, func, select

from streams_orchestration.model.visibility import Visibility
from streams_orchestration.operators.storage.port import is_address
from streams_orchestration.operators.tuples.watermarks import END, IDLE
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.pe_transitions import fail_pe_of_sink
from streams_orchestration.runtime.catalog.rows import StoredPosition
from streams_orchestration.runtime.catalog.sink_rows import SinkFileRow, SinkRow
from streams_orchestration.runtime.catalog.sink_transitions import (
    clear_failed_attempts,
    count_failed_attempt,
    route_epochs,
)
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import OutputError
from streams_orchestration.runtime.settings.limits import OUTSTANDING_LIMIT


@dataclass(frozen=True, slots=True)
class SinkStatus:
    """The status of one sink: its visible outputs, and its waiting ones."""

    operator: str
    path: Path | None
    """The directory of its files; None if it writes to an object store or to something that is not a file."""
    format: str
    """The format of its files."""
    files: int
    """The number of visible files, or of deliveries."""
    rows: int
    """Number of rows in the visible files or deliveries."""
    kind: str = "FileSink"
    place: str = ""
    """The directory, or a description of the target."""
    visibility: Visibility = "read_committed"
    uncommitted: int = 0
    """Number of `files` that a reset would retract."""
    waiting: int = 0
    """The number of files that are not visible yet."""
    waiting_rows: int = 0
    late: int = 0
    """Number of `waiting` outputs that could be visible already: their epoch is complete."""
    error: str | None = None
    """The reason why outputs cannot become visible; None if the last attempt succeeded. Attempts are repeated."""
    failed_at: float | None = None
    """The time of the failure in unix seconds; None without `error`."""
    uncommitted_rows: int = 0
    """Number of `rows` that a reset would retract."""
    delivered_at: float | None = None
    """The time when an output last became visible, in unix seconds; None before the first."""
    read_with: Mapping[str, Any] | None = None
    """Parameters, among them `schema`, with which a FileSource reads its files; None if it cannot read them."""
    undeliverable: int = 0
    """The number of rows that the target refuses permanently, and that were set aside; they are not among `rows`."""
    epoch: int = 0
    """The last complete epoch up to which all its outputs are visible; 0 before the first."""
    watermark: int | None = None
    """The event time, in microseconds since 1970, up to which its visible outputs are complete (EV67).

    They have all tuples before it, except late ones. `END` says that its streams have ended; None without a watermark.
    """
    complete_within: float | None = None
    """Seconds by which `complete_until` may be behind now, by the sink's config; None for no bound."""

    @property
    def complete_until(self) -> float | None:
        """The watermark in unix seconds; None without a watermark, or if the sink's streams have ended."""
        return None if self.watermark is None or self.watermark == END else self.watermark / 1e6

    @property
    def is_complete(self) -> bool:
        """True if its streams have ended, and all their tuples are visible."""
        return self.watermark == END


_ITS_SINK = (
    tables.sink,
    (tables.sink.c.application == tables.sink_file.c.application)
    & (tables.sink.c.operator == tables.sink_file.c.operator),
)
_GATHERED = tables.sink_file.c.final.is_(None) & tables.sink.c.format.is_not(None) & tables.sink.c.error.is_(None)
"""The condition on files that wait to be gathered, and thus are not late."""
_EARLY = tables.sink.c.visibility == "read_uncommitted"
_LATE = (
    select(func.count(case((_EARLY, tables.sink_file.c.batch), else_=tables.sink_file.c.epoch).distinct()))
    .join(*_ITS_SINK)
    .where(
        *(tables.sink_file.c.application == bindparam("of"), tables.sink_file.c.pe == bindparam("at")),
        *(_EARLY | (tables.sink_file.c.epoch <= bindparam("completed")), ~tables.sink_file.c.published),
        *(~tables.sink_file.c.retracted, ~_GATHERED),
    )
    .group_by(tables.sink_file.c.operator)
)


def record_failure(catalog: Catalog, application: str, operator: str, error: OutputError) -> None:
    """Record why the outputs of a sink cannot become visible.

    If an output is lost or refused, the sink's PE fails permanently, since neither waiting nor a reset helps.
    """
    s = tables.sink
    with catalog.write() as connection:
        count_failed_attempt(connection, application, operator, error.reason)
        if error.permanent:
            pe = connection.scalar(select(s.c.pe).where(s.c.application == application, s.c.operator == operator))
            if pe is not None:
                fail_pe_of_sink(connection, application, pe, clock.now(), str(error))


def route_sink(catalog: Catalog, application: str, operator: str) -> int:
    """Make a sink set undeliverable tuples of all complete epochs aside; return the last of these epochs, 0 if none."""
    s, p, u = tables.sink, tables.pe, tables.unit
    mine = (s.c.application == application, s.c.operator == operator)
    with catalog.write() as connection:
        epoch = connection.scalar(
            select(u.c.completed_epoch)
            .join(p, (p.c.application == u.c.application) & (p.c.unit == u.c.name))
            .join(s, (s.c.application == p.c.application) & (s.c.pe == p.c.id))
            .where(*mine)
        )
        route_epochs(connection, application, operator, int(epoch or 0))
    return int(epoch or 0)


def record_success(catalog: Catalog, application: str, operator: str) -> None:
    """Clear the failure of a sink, after its waiting outputs have become visible."""
    with catalog.write() as connection:
        clear_failed_attempts(connection, application, operator)


def late_outputs(connection: Connection, application: str, pe: int, completed: int) -> int:
    """Return the largest number of complete epochs that could be visible and are not, over the sinks of a PE.

    It is 0 for a PE without sinks. For a sink that shows uncommitted batches, batches count in place of epochs.
    `completed` is the last complete epoch of its unit that is visible outside.
    """
    counts = connection.scalars(_LATE, {"of": application, "at": pe, "completed": completed})
    return max((int(count) for count in counts), default=0)


_s, _f, _p, _u = tables.sink, tables.sink_file, tables.pe, tables.unit
_ITS_PE = (_p, (_p.c.application == _f.c.application) & (_p.c.id == _f.c.pe))
_ITS_UNIT = (_u, (_u.c.application == _p.c.application) & (_u.c.name == _p.c.unit))
_LAG = (
    select(func.count(_f.c.epoch.distinct()))
    .join(*_ITS_PE)
    .join(*_ITS_SINK)
    .where(
        *(_f.c.application == bindparam("of"), _f.c.epoch <= bindparam("completed"), ~_f.c.published, ~_f.c.retracted),
        *(_p.c.unit == bindparam("in_unit"), ~_GATHERED),
    )
    .group_by(_f.c.operator)
)
_seen = _f.c.published & ~_f.c.retracted
_open = case((_f.c.epoch > tables.SHOWN_EPOCH, 1), else_=0)
_COUNTS = (
    select(
        _f.c.operator,
        func.sum(case((_seen, 1), else_=0)).label("visible"),
        func.sum(case((_seen, _f.c.rows), else_=0)).label("visible_rows"),
        func.sum(case((_seen, _open), else_=0)).label("uncommitted"),
        func.sum(case((_seen, _open * _f.c.rows), else_=0)).label("uncommitted_rows"),
        func.sum(case((_seen | _f.c.retracted, 0), else_=1)).label("waiting"),
        func.sum(case((_seen | _f.c.retracted, 0), else_=_f.c.rows)).label("waiting_rows"),
        func.sum(case((_seen | _f.c.retracted | _GATHERED, 0), else_=1 - _open)).label("late"),
        func.min(case((~_seen & ~_f.c.retracted, _f.c.epoch))).label("first_waiting"),
    )
    .join(*_ITS_SINK)
    .join(*_ITS_PE)
    .join(*_ITS_UNIT)
    .where(_f.c.application == bindparam("of"))
    .group_by(_f.c.operator)
)
_SHOWN = (
    select(_s.c.operator, tables.SHOWN_EPOCH.label("shown"))
    .join(_p, (_p.c.application == _s.c.application) & (_p.c.id == _s.c.pe))
    .join(*_ITS_UNIT)
    .where(_s.c.application == bindparam("of"))
)
_commit = tables.commit
_CUTS = (
    select(_commit.c.pe, _commit.c.epoch, _commit.c.position)
    .where(_commit.c.application == bindparam("of"), _commit.c.boundary)
    .where(_commit.c.pe.in_(select(_s.c.pe).where(_s.c.application == bindparam("of"))))
    .order_by(_commit.c.batch)
)
_SINKS = select(_s).where(_s.c.application == bindparam("of")).order_by(_s.c.operator)


def sinks_lag(connection: Connection, application: str, unit: str, completed: int) -> bool:
    """Return True if `OUTSTANDING_LIMIT` complete epochs of a sink are not visible yet; then no further one may end.

    Files that wait to be gathered do not count.
    """
    counts = connection.scalars(_LAG, {"of": application, "in_unit": unit, "completed": completed})
    return any(count >= OUTSTANDING_LIMIT for count in counts)


def failing_sinks(catalog: Catalog, application: str) -> list[str]:
    """Return the names of sinks whose outputs could not become visible at the last attempt."""
    s = tables.sink
    with catalog.read() as connection:
        failed = (s.c.application == application, s.c.error.is_not(None))
        return list(connection.scalars(select(s.c.operator).where(*failed)))


def read_sinks(connection: Connection, application: str) -> tuple[SinkStatus, ...]:
    """Return the status of all sinks of an application, ordered by name."""
    of = {"of": application}
    counts = {row.operator: row for row in connection.execute(_COUNTS, of)}
    shown = {row.operator: int(row.shown) for row in connection.execute(_SHOWN, of)}
    cuts = connection.execute(_CUTS, of).all()
    statuses: list[SinkStatus] = []
    for row in SinkRow.all(connection, _SINKS, of):
        now = counts.get(row.operator)
        epoch = shown.get(row.operator, 0)
        if now and now.first_waiting is not None:
            epoch = min(epoch, int(now.first_waiting) - 1)
        statuses.append(
            SinkStatus(
                operator=row.operator,
                path=None if row.format is None or is_address(row.place) else Path(row.place),
                format=row.format or "",
                kind=row.kind,
                place=row.place,
                visibility=row.visibility,
                files=row.outputs + (int(now.visible) if now else 0),
                rows=row.rows + (int(now.visible_rows) if now else 0),
                uncommitted=int(now.uncommitted) if now else 0,
                waiting=int(now.waiting) if now else 0,
                waiting_rows=int(now.waiting_rows) if now else 0,
                late=int(now.late) if now else 0,
                error=row.error,
                failed_at=row.failed_at,
                uncommitted_rows=int(now.uncommitted_rows) if now else 0,
                delivered_at=row.delivered_at,
                read_with=row.read_with,
                undeliverable=row.undeliverable,
                epoch=epoch,
                watermark=_complete_until(cuts, row, epoch),
            )
        )
    return tuple(statuses)


def _complete_until(cuts: Sequence[Any], sink: SinkRow, epoch: int) -> int | None:
    """Return the least watermark in microseconds of a sink's connections at an epoch's end; None without watermark.

    `cuts` are PE, epoch and position of the commits that end epochs, in order.
    """
    positions = [cut.position for cut in cuts if cut.pe == sink.pe and cut.epoch <= epoch]
    return _least_watermark(positions[-1], sink.operator) if positions else None


def _least_watermark(position: StoredPosition, operator: str) -> int | None:
    """Return the least watermark of a sink's connections at a position in microseconds.

    The result is None if a connection has no watermark, or there is no connection.
    """
    least = min(position.get("watermarks", {}).get(operator, {}).values(), default=IDLE)
    return None if least == IDLE else least


def watermark_of(connection: Connection, application: str, output: SinkFileRow, *, whole_epoch: bool) -> int | None:
    """Return the watermark after an output in microseconds; None without event time, or if its commit was removed.

    With `whole_epoch`, it is the watermark at the end of the output's epoch, otherwise at the end of its batch.
    """
    c = _commit.c
    last = (c.boundary, c.epoch == output.epoch) if whole_epoch else (c.batch == output.batch,)
    position = connection.scalar(
        select(c.position)
        .where(c.application == application, c.pe == output.pe, *last)
        .order_by(c.batch.desc())
        .limit(1)
    )
    return None if position is None else _least_watermark(position, output.operator)
