"""One commit: offsets consumed, segments produced, state written, files pending, epoch boundary, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime import clock
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.reading import CatalogRow
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.catalog.states import UnitState
from streams_orchestration.runtime.errors import StaleGenerationError
from streams_orchestration.runtime.programs.batches import BatchPlan, Position, TaskResult
from streams_orchestration.runtime.queries.recording import batch_counts, record
from streams_orchestration.runtime.units.controller import advance, note_commit
from streams_orchestration.runtime.units.region_machine import LIMIT

_KEPT = ("exhausted", "final", "position", "rows_in", "rows_out", "busy_seconds", "committed_at")
"""What a reset to the batch goes back to."""


@dataclass(frozen=True, slots=True)
class _Standing(CatalogRow):
    """A PE before a commit: its last batch, its totals, and what its unit does."""

    unit: str
    feeds: bool
    batch: int
    rows_in: int
    rows_out: int
    busy_seconds: float
    generation: int
    region: int | None
    unit_state: UnitState
    outage: dict[str, float] | None
    life: str


def commit_batch(
    catalog: Catalog, program: PeProgram, plan: BatchPlan, results: Sequence[TaskResult], seconds: float,
    *, commit_before: float = 0.0,
) -> None:  # fmt: skip
    """Make a batch true.

    Args:
        catalog: of the application.
        program: the PE.
        plan: the batch as planned.
        results: of all its tasks.
        seconds: wall time that the batch took.
        commit_before: wall time of the commit before, for the metrics.

    It may be repeated when the catalog was lost: what a batch with a token has committed is left as it is.

    Raises:
        StaleGenerationError: a reset, another start or another commit came in between; nothing was changed.
        CatalogUnavailableError: it may be tried again.
    """
    application, pe = program.application, program.pe
    key = {"application": application, "pe": pe, "batch": plan.batch}
    results = sorted(results, key=lambda result: (result.level, result.partition))
    now = clock.now()
    spark = now - plan.planned_at if plan.planned_at else seconds
    counts = batch_counts(plan, results, spark, commit_before)
    with catalog.write_unit(application, program.unit) as connection:
        try:
            row = _fence(connection, application, pe, plan)
        except StaleGenerationError:
            if _is_made(connection, key, plan.token):
                return
            raise
        position = _advance(plan, results)
        numbers = dict(plan.position.outputs)
        for segment in (segment for result in results for segment in result.segments):
            number = numbers.get(segment.stream, 0)
            numbers[segment.stream] = number + 1
            connection.execute(
                insert(tables.segment).values(
                    **key,
                    number=number,
                    epoch=plan.epoch,
                    committed_at=now,
                    uncommitted=segment.stream in program.seen_early,
                    **asdict(segment),
                )
            )
        for state in (state for result in results for state in result.states):
            connection.execute(insert(tables.state).values(**key, **asdict(state)))
        for file in (file for result in results for file in result.files):
            values = asdict(file) | {"generation": plan.generation, "epoch": plan.epoch}
            connection.execute(insert(tables.sink_file).values(**key, **values))
        sources = {program.operators[index].name for index in program.sources}
        foreign = {stream.stream for stream in program.inputs if stream.foreign}
        exhausted = not program.imports and sources | foreign <= set(position.exhausted)
        progress = {
            "epoch": plan.epoch + 1 if plan.boundary else plan.epoch,
            "running": plan.generation,
            "exhausted": exhausted,
            "final": plan.final,
            "position": asdict(replace(position, outputs=numbers)),
            "rows_in": row.rows_in + sum(result.rows_in for result in results),
            "rows_out": row.rows_out + sum(result.rows_out for result in results),
            "busy_seconds": row.busy_seconds + seconds,
            "committed_at": now,
        }
        connection.execute(
            insert(tables.commit).values(
                **key,
                **{name: progress[name] for name in _KEPT},
                epoch=plan.epoch,
                generation=plan.generation,
                boundary=plan.boundary,
                token=plan.token or None,
            )
        )
        if plan.final:
            progress["state"] = "COMPLETED"
        connection.execute(
            update(tables.pe)
            .where(tables.pe.c.application == application, tables.pe.c.id == pe)
            .values(batch=plan.batch, **progress)
        )
        note_commit(connection, application, row.unit, row.outage, now)
        if counts:
            record(connection, program, counts, now - spark - plan.plan_seconds, now)
        reported = any(result.consistent for result in results) and not plan.boundary
        if reported:
            _report_drain(connection, application, row.unit, plan.epoch)
        if row.feeds and exhausted:
            _announce_end(connection, application, row.unit)
        if row.region is None:
            _complete_batch(connection, application, row.unit, plan.epoch, now)
        elif plan.boundary or exhausted or reported:
            advance(connection, application, row.unit, now)


def _fence(connection: Connection, application: str, pe: int, plan: BatchPlan) -> _Standing:
    """Where the PE stands, if the commit may follow that."""
    row = _Standing.one_or_none(
        connection,
        select(
            tables.pe.c.unit,
            tables.pe.c.feeds,
            tables.pe.c.batch,
            tables.pe.c.rows_in,
            tables.pe.c.rows_out,
            tables.pe.c.busy_seconds,
            tables.unit.c.generation,
            tables.unit.c.region,
            tables.unit.c.state.label("unit_state"),
            tables.unit.c.outage,
            tables.application.c.life,
        )
        .join(
            tables.unit,
            (tables.unit.c.application == tables.pe.c.application) & (tables.unit.c.name == tables.pe.c.unit),
        )
        .join(tables.application, tables.application.c.name == tables.pe.c.application)
        .where(tables.pe.c.application == application, tables.pe.c.id == pe),
    )
    current = (row.life, row.generation, row.batch + 1) if row else None
    wanted = (plan.life, plan.generation, plan.batch)
    if row is None or current != wanted:
        message = f"PE {pe} of {application}: the commit of batch {plan.batch} came from generation {plan.generation}; "
        message += f"the catalog stands at generation {row.generation}, batch {row.batch}" if row else "it is gone"
        raise StaleGenerationError(message)
    if row.unit_state in ("UNHEALTHY", LIMIT):
        message = f"PE {pe} of {application}: the commit of batch {plan.batch} is refused: "
        message += f"{row.unit} is {row.unit_state} and goes back to its last complete epoch"
        raise StaleGenerationError(message)
    return row


def _is_made(connection: Connection, key: dict[str, Any], token: str) -> bool:
    """Whether this very commit was made before, when the answer was lost."""
    c = tables.commit
    mine = select(c.c.token).where(*(c.c[name] == value for name, value in key.items()))
    return bool(token) and connection.scalar(mine) == token


def _advance(plan: BatchPlan, results: Sequence[TaskResult]) -> Position:
    sources, exhausted = dict(plan.position.sources), set(plan.position.exhausted)
    for result in results:
        sources |= result.sources
        exhausted |= set(result.exhausted)
    return replace(plan.position, sources=sources, exhausted=tuple(sorted(exhausted)))


def _report_drain(connection: Connection, application: str, unit: str, epoch: int) -> None:
    """The operator that drives the region ends the epoch; the next batch of its PE carries the boundary (B3)."""
    u = tables.unit
    connection.execute(update(u).where(u.c.application == application, u.c.name == unit).values(drain_asked=epoch))


def _announce_end(connection: Connection, application: str, unit: str) -> None:
    """Nothing comes into the unit any more: the epoch that no PE has closed yet becomes the last."""
    u = tables.unit
    row = UnitRow.one(connection, select(u).where(u.c.application == application, u.c.name == unit))
    if row.final_epoch is not None or row.region is None:
        return
    p = tables.pe
    waiting = select(p.c.id).where(p.c.application == application, p.c.unit == unit, p.c.feeds, ~p.c.exhausted)
    if connection.execute(waiting).first() is None:
        closing = row.state in ("DRAINING", "RESETTING")
        open_epoch = row.current_epoch + 1 if closing else row.current_epoch
        working = select(func.max(p.c.epoch)).where(p.c.application == application, p.c.unit == unit)
        last = max(open_epoch, connection.scalar(working) or 0)
        this = (u.c.application == application, u.c.name == unit)
        connection.execute(update(u).where(*this).values(final_epoch=last))


def _complete_batch(connection: Connection, application: str, unit: str, epoch: int, now: float) -> None:
    """Every batch of a PE outside of regions is a cut of its own (A49)."""
    u = tables.unit
    values = {"completed_epoch": epoch, "current_epoch": epoch + 1, "completed_at": now, "attempts": 0}
    connection.execute(
        update(u)
        .where(u.c.application == application, u.c.name == unit)
        .values(**values, max_attempts=u.c.configured_attempts)
    )
