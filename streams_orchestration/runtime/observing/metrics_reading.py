"""Reads the metrics of an application from the catalog."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pydantic import ValidationError
from sqlalchemy import Connection, func, select

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.documents import load
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.reading import CatalogRow
from streams_orchestration.runtime.catalog.states import PeState
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.observing.event_time import EventTimeInputs, event_time_inputs, event_times
from streams_orchestration.runtime.observing.links import read_timed_imports
from streams_orchestration.runtime.observing.metrics import (
    RATE_WINDOW_SECONDS,
    ApplicationMetrics,
    ReaderMetrics,
    Recorded,
    connection_metrics,
    operator_metrics,
    pe_metrics,
    queue_metrics,
    reader_metrics,
    stream_metrics,
)
from streams_orchestration.runtime.programs.counts import Counts
from streams_orchestration.runtime.queries.watermark_alignment import read_clocks
from streams_orchestration.runtime.units.reading import application_row


@dataclass(frozen=True, slots=True)
class _Measured(CatalogRow):
    """The total counts of a PE, with the PE's state. Times are unix seconds, as in `PeMetrics`."""

    pe: int
    since: float
    at: float
    counts: Counts
    state: PeState


def read_metrics(catalog: Catalog, application: str, now: float | None = None) -> ApplicationMetrics:
    """Read all metrics of an application in one transaction.

    `event_time` stays empty until an operator has reported a watermark.

    Args:
        catalog: the catalog.
        application: name of the application.
        now: unix seconds; None for the current time.

    Raises:
        NotDeployedError: the application is not deployed.
    """
    now = clock.now() if now is None else now
    with catalog.read() as connection:
        row = application_row(connection, catalog.home, application)
        recorded = _recorded(connection, application, now)
        reported = {name: said for each in recorded for name, said in each.event_time()}
        readers = _readers(connection, application, recorded, now)
        return ApplicationMetrics(
            application=application,
            life=row.life,
            at=now,
            measured=row.settings["metrics"],
            pes=tuple(pe_metrics(each, now) for each in recorded),
            operators=tuple(metrics for each in recorded for metrics in operator_metrics(each, now)),
            streams=tuple(metrics for each in recorded for metrics in stream_metrics(each, readers, now)),
            queues=tuple(metrics for each in recorded for metrics in queue_metrics(each)),
            connections=tuple(metrics for each in recorded for metrics in connection_metrics(each)),
            event_time=(
                event_times(
                    _event_time_inputs(row.compilation),
                    reported,
                    now,
                    read_timed_imports(connection, application),
                    read_clocks(connection, application, row.bounded),
                )
                if reported
                else ()
            ),
        )


@lru_cache(maxsize=8)
def _event_time_inputs(compilation: bytes) -> tuple[EventTimeInputs, ...]:
    """Return the connections of the operators in event-time graphs; none if another version wrote the compilation."""
    try:
        return event_time_inputs(load(Compilation, compilation))
    except ValidationError:
        return ()


def _recorded(connection: Connection, application: str, now: float) -> tuple[Recorded, ...]:
    m, p = tables.pe_metrics, tables.pe
    rows = _Measured.all(
        connection,
        select(m.c.pe, m.c.since, m.c.at, m.c.counts, p.c.state)
        .join(p, (p.c.application == m.c.application) & (p.c.id == m.c.pe))
        .where(m.c.application == application)
        .order_by(m.c.pe),
    )
    return tuple(
        Recorded(row.pe, row.since, row.at, row.counts, _total_before(connection, application, row, now))
        for row in rows
    )


def _total_before(connection: Connection, application: str, row: _Measured, now: float) -> tuple[float, Counts] | None:
    """Return time and counts of the first total in the window, or of the last one before it.

    Return None if the PE does not run, or there is no earlier total. If the PE has committed nothing within the window,
    return its current counts, so that the rates are 0.
    """
    if row.state != "RUNNING":
        return None
    if row.at < now - RATE_WINDOW_SECONDS:
        return now - RATE_WINDOW_SECONDS, row.counts
    s = tables.metrics_sample
    mine = select(s.c.at, s.c.counts).where(s.c.application == application, s.c.pe == row.pe, s.c.at < row.at)
    begin = now - RATE_WINDOW_SECONDS
    inside = connection.execute(mine.where(s.c.at >= begin).order_by(s.c.at).limit(1)).one_or_none()
    sample = inside or connection.execute(mine.order_by(s.c.at.desc()).limit(1)).one_or_none()
    return (sample.at, sample.counts) if sample else None


def _readers(
    connection: Connection, application: str, recorded: Sequence[Recorded], now: float
) -> dict[str, list[ReaderMetrics]]:
    """Map each stream to its readers, including PEs that have not read anything yet."""
    read = {each.pe: each.counts.get("read", {}) for each in recorded}
    readers: dict[str, list[ReaderMetrics]] = defaultdict(list)
    p = tables.pe
    for row in connection.execute(select(p.c.id, p.c.position).where(p.c.application == application).order_by(p.c.id)):
        for stream, number in row.position["inputs"].items():
            lag = _lag(connection, application, stream, number, now)
            readers[stream].append(reader_metrics(row.id, read.get(row.id, {}).get(stream, {}), *lag))
    return readers


def _lag(connection: Connection, application: str, stream: str, number: int, now: float) -> tuple[int, int, float]:
    """Return the lag of a reader: unread segments and tuples, and age of the oldest in seconds; 0 if all are read."""
    s = tables.segment
    row = connection.execute(
        select(
            func.count().label("segments"), func.sum(s.c.rows).label("rows"), func.min(s.c.committed_at).label("at")
        ).where(s.c.application == application, s.c.stream == stream, s.c.number >= number, ~s.c.retracted)
    ).one()
    return row.segments, int(row.rows or 0), max(now - row.at, 0.0) if row.segments else 0.0
