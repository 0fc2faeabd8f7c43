"""Metrics in the catalog: the total of every PE, which each commit adds to, and a ring of its last totals for rates."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from streams_orchestration.compiler.deployment.program import PeProgram
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.upserts import upsert
from streams_orchestration.runtime.errors import NotDeployedError
from streams_orchestration.runtime.observing.metrics import (
    WINDOW_SECONDS,
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
from streams_orchestration.runtime.programs.batches import BatchPlan, TaskResult
from streams_orchestration.runtime.programs.counts import Counts, add
from streams_orchestration.runtime.storage.home import Home

SAMPLE_SECONDS = 5.0
"""Between two totals in the ring, at least."""
SAMPLES = 16
"""Totals in the ring of a PE: somewhat more than the window of the rates."""

_m = tables.pe_metrics
# made once: every commit runs them, and making a statement takes longer than running it
_TOTAL = select(_m.c.since, _m.c.sampled_at, _m.c.counts).where(
    _m.c.application == bindparam("application"), _m.c.pe == bindparam("pe")
)


def batch_counts(plan: BatchPlan, results: Sequence[TaskResult], spark: float, commit: float) -> Counts:
    """What a batch adds to the total of its PE; nothing where measuring is off.

    Args:
        plan: the batch.
        results: of all its tasks.
        spark: wall seconds from the plan to the results.
        commit: wall seconds of the commit before, which could not count itself.
    """
    if not any(result.metrics for result in results):
        return {}
    work: dict[int, int] = defaultdict(int)
    counts: Counts = {}
    for result in results:
        add(counts, result.metrics)
        work[result.level] = max(work[result.level], result.metrics["tasks"]["wall_ns"])
        for state in result.states:
            size = sum(file.size for file in state.files)
            stored = {"gauges": {"bytes": size}, "written_bytes": state.files[-1].size, "checkpoints": 1}
            add(counts, {"operators": {state.operator: {"state": stored}}})
    counts["batches"] = {
        "count": 1,
        "rows_in": sum(result.rows_in for result in results),
        "rows_out": sum(result.rows_out for result in results),
        "plan_ns": int(plan.plan_seconds * 1e9),
        "spark_ns": int(spark * 1e9),
        "work_ns": sum(work.values()),
        "commit_ns": int(commit * 1e9),
    }
    return counts


def nothing_yet(program: PeProgram) -> Counts:
    """The total of a PE before its first batch: every operator and port with 0."""
    flow = {"tuples": 0, "batches": 0, "bytes": 0, "marks": 0}
    return {
        "operators": {
            operator.name: {
                side: {str(port): dict(flow) for port in range(len(ports))}
                for side, ports in (("inputs", operator.inputs), ("outputs", operator.outputs))
            }
            for operator in program.operators.values()
        }
    }


def record(connection: Connection, program: PeProgram, counts: Counts, began: float, now: float) -> None:
    """Add what a batch counted to the total of its PE, in the transaction of its commit.

    Args:
        connection: of the transaction.
        program: the PE.
        counts: of the batch.
        began: unix seconds; of a first batch the total is known to have been 0 then.
        now: unix seconds.
    """
    key = {"application": program.application, "pe": program.pe}
    row = connection.execute(_TOTAL, key).one_or_none()
    total = add(row.counts if row else nothing_yet(program), counts)
    since, sampled = (row.since, row.sampled_at) if row else (began, began)
    if row is None:
        _sample(connection, key, began, {})
    if now - sampled >= SAMPLE_SECONDS:
        _sample(connection, key, now, total)
        sampled = now
    values = {"since": since, "at": now, "sampled_at": sampled, "counts": total}
    connection.execute(upsert(connection, _m), key | values)


def _sample(connection: Connection, key: dict[str, Any], at: float, counts: Counts) -> None:
    slot = int(at / SAMPLE_SECONDS) % SAMPLES
    connection.execute(upsert(connection, tables.metrics_sample), {**key, "slot": slot, "at": at, "counts": counts})


def read_metrics(home: Home, application: str, now: float | None = None) -> ApplicationMetrics:
    """One consistent view of an application's metrics.

    Args:
        home: the state directory.
        application: its name.
        now: unix seconds; the clock's when None.

    Raises:
        NotDeployedError: the catalog does not know it.
    """
    now = time.time() if now is None else now
    a = tables.application
    catalog = Catalog(home)
    if not catalog.exists:
        raise NotDeployedError(application, (), home.root)
    with catalog.read() as connection:
        row = connection.execute(select(a.c.life, a.c.settings).where(a.c.name == application)).one_or_none()
        if row is None:
            known = tuple(connection.scalars(select(a.c.name).order_by(a.c.name)))
            raise NotDeployedError(application, known, home.root)
        recorded = _recorded(connection, application, now)
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
        )


def _recorded(connection: Connection, application: str, now: float) -> tuple[Recorded, ...]:
    m, p = tables.pe_metrics, tables.pe
    rows = connection.execute(
        select(m, p.c.state)
        .join(p, (p.c.application == m.c.application) & (p.c.id == m.c.pe))
        .where(m.c.application == application)
        .order_by(m.c.pe)
    )
    return tuple(
        Recorded(row.pe, row.since, row.at, row.counts, _before(connection, application, row, now)) for row in rows
    )


def _before(connection: Connection, application: str, row: Any, now: float) -> tuple[float, Counts] | None:
    """The total at the beginning of the window, or the nearest one to it; of a PE that rests, what it has now."""
    if row.state != "RUNNING":
        return None
    if row.at < now - WINDOW_SECONDS:
        return now - WINDOW_SECONDS, row.counts
    s = tables.metrics_sample
    mine = select(s.c.at, s.c.counts).where(s.c.application == application, s.c.pe == row.pe, s.c.at < row.at)
    begin = now - WINDOW_SECONDS
    inside = connection.execute(mine.where(s.c.at >= begin).order_by(s.c.at).limit(1)).one_or_none()
    found = inside or connection.execute(mine.order_by(s.c.at.desc()).limit(1)).one_or_none()
    return (found.at, found.counts) if found else None


def _readers(
    connection: Connection, application: str, recorded: Sequence[Recorded], now: float
) -> dict[str, list[ReaderMetrics]]:
    """Stream -> the PEs that read it, those too that have not yet."""
    read = {each.pe: each.counts.get("read", {}) for each in recorded}
    found: dict[str, list[ReaderMetrics]] = defaultdict(list)
    p = tables.pe
    for row in connection.execute(select(p.c.id, p.c.position).where(p.c.application == application).order_by(p.c.id)):
        for stream, number in row.position["inputs"].items():
            lag = _lag(connection, application, stream, number, now)
            found[stream].append(reader_metrics(row.id, read.get(row.id, {}).get(stream, {}), *lag))
    return found


def _lag(connection: Connection, application: str, stream: str, number: int, now: float) -> tuple[int, int, float]:
    """Segments, tuples and the age of the oldest, of those that a reader has not consumed."""
    s = tables.segment
    row = connection.execute(
        select(func.count().label("segments"), func.sum(s.c.rows).label("rows"), func.min(s.c.committed_at).label("at"))
        .where(s.c.application == application, s.c.stream == stream, s.c.number >= number, ~s.c.retracted)
    ).one()  # fmt: skip
    return row.segments, int(row.rows or 0), max(now - row.at, 0.0) if row.segments else 0.0
