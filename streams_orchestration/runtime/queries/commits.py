"""Commits a batch in one transaction: read offsets, written segments, states, files of sinks, and epoch boundary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.pe_transitions import advance_pe
from streams_orchestration.runtime.catalog.reading import CatalogRow
from streams_orchestration.runtime.catalog.rows import KEPT_BY_COMMIT
from streams_orchestration.runtime.catalog.states import PeState, UnitState
from streams_orchestration.runtime.catalog.unit_columns import Moment
from streams_orchestration.runtime.catalog.unit_transitions import (
    announce_final_epoch,
    complete_batch,
    count_closed,
    request_drain,
)
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import StaleGenerationError, StreamsRuntimeError, explained
from streams_orchestration.runtime.errors.invariants import promise
from streams_orchestration.runtime.programs.batches import BatchPlan, Position, TaskResult
from streams_orchestration.runtime.programs.counts import Counts
from streams_orchestration.runtime.queries.recording import Total, batch_counts, record
from streams_orchestration.runtime.transport.connections import change_links, connect
from streams_orchestration.runtime.units.controller import advance_unit, note_commit, unit_row
from streams_orchestration.runtime.units.health import read_facts
from streams_orchestration.runtime.units.region_machine import HALTED

_u, _p, _a, _m = tables.unit, tables.pe, tables.application, tables.pe_metrics
_SEGMENT, _STATE, _FILE, _COMMIT = map(insert, (tables.segment, tables.state, tables.sink_file, tables.commit))
_STANDING = (
    select(
        *(_p.c.unit, _p.c.feeds, _p.c.state, _p.c.batch, _p.c.rows_in, _p.c.rows_out, _p.c.busy_seconds),
        *(_u.c.generation, _u.c.region, _u.c.state.label("unit_state"), _u.c.outage),
        *(_u.c.current_epoch, _u.c.final_epoch, _u.c.unclosed, _a.c.life),
        *(_m.c.since, _m.c.sampled_at, _m.c.counts, _p.c.bounds),
    )
    .join(_u, (_u.c.application == _p.c.application) & (_u.c.name == _p.c.unit))
    .join(_a, _a.c.name == _p.c.application)
    .outerjoin(_m, (_m.c.application == _p.c.application) & (_m.c.pe == _p.c.id))
    .where(_p.c.application == bindparam("of"), _p.c.id == bindparam("at"))
)


@dataclass(frozen=True, slots=True)
class _PeBeforeCommit(CatalogRow):
    """The state of a PE before a commit: its last batch, its totals, and the state of its unit."""

    unit: str
    feeds: bool
    state: PeState
    batch: int
    rows_in: int
    rows_out: int
    busy_seconds: float
    generation: int
    region: int | None
    unit_state: UnitState
    outage: dict[Moment, float] | None
    current_epoch: int
    final_epoch: int | None
    unclosed: int
    life: str
    since: float | None
    sampled_at: float | None
    counts: Counts | None
    bounds: dict[str, Any] | None

    @property
    def total(self) -> Total | None:
        """The measured total of the PE; None if nothing was measured."""
        if self.since is None or self.sampled_at is None or self.counts is None:
            return None
        return Total(self.since, self.sampled_at, self.counts)


def commit_batch(
    catalog: Catalog,
    program: PeProgram,
    plan: BatchPlan,
    results: Sequence[TaskResult],
    seconds: float,
    *,
    commit_before: float = 0.0,
) -> None:
    """Commit a batch, connect changed Imports and Exports, and advance the unit if its epoch or its input ends.

    The end of an epoch that an operator requests, the end of the unit's input, the metrics, and the first commit after
    a reset are recorded with it. The call may be repeated after an outage of the catalog: a batch with a token is
    committed only once.

    Args:
        catalog: the catalog of the application.
        program: the program of the PE.
        plan: the plan of the batch.
        results: the results of all its tasks.
        seconds: the wall time of the batch.
        commit_before: the wall time of the previous commit, for the metrics.

    Raises:
        StaleGenerationError: a reset, another start or another commit came in between, or a reset is due; nothing was
            changed.
        CatalogUnavailableError: the call may be repeated.
        StreamsRuntimeError: the names of files that the tasks have written could not be synced to disk; or the batch
            breaks a rule of the recovery protocol, or the catalog cannot be used, and then nothing was changed.
    """
    application, pe = program.application, program.pe
    key = {"application": application, "pe": pe, "batch": plan.batch}
    results = sorted(results, key=lambda result: (result.level, result.partition))
    now = clock.now()
    spark = now - plan.planned_at if plan.planned_at else seconds
    counts = batch_counts(plan, results, spark, commit_before)
    try:
        catalog.store.sync_names(_written(plan, results))
    except OSError as error:
        message = f"batch {plan.batch}: {explained(error)}"
        raise StreamsRuntimeError(message) from error
    changed = any(result.links for result in results)
    with catalog.write() if changed else catalog.write_unit(application, program.unit) as connection:
        try:
            row = _fence(connection, application, pe, plan)
        except StaleGenerationError:
            if _is_made(connection, key, plan.token):
                return
            raise
        _check(program, plan, results, row)
        progress = _progress(program, plan, results, row, seconds, now)
        closes = row.region is not None and plan.boundary and plan.epoch == row.current_epoch
        with catalog.together(connection):
            _insert_outputs(connection, program, plan, results, key, now)
            kept = {name: progress[name] for name in KEPT_BY_COMMIT}
            if any(result.bounds for result in results):
                progress["bounds"] = _bounds(row, plan, results)
            epoch = {"epoch": plan.epoch, "generation": plan.generation, "boundary": plan.boundary}
            connection.execute(_COMMIT, [key | kept | epoch | {"token": plan.token or None}])
            advance_pe(connection, application, pe, plan.batch, progress)
            if row.region is None:
                complete_batch(connection, application, row.unit, plan.epoch, now)
            elif closes:
                count_closed(connection, application, row.unit)
            if counts:
                record(connection, program, row.total, counts, now - spark - plan.plan_seconds, now)
        if changed:  # Imports and Exports of any application may be connected otherwise
            for result in results:
                change_links(connection, application, result.links)
            connect(connection, f"{application}.{pe}.{plan.batch:012}")
        note_commit(connection, application, row.unit, row.outage, now)
        advances = closes and row.unclosed <= 1
        if any(result.consistent for result in results) and not plan.boundary:
            request_drain(connection, application, row.unit, plan.epoch)
            advances = True
        if row.feeds and progress["exhausted"] and row.final_epoch is None:
            advances |= _announce_end(connection, application, row.unit)
        if advances and row.region is not None:
            (facts,) = read_facts(connection, [unit_row(connection, application, row.unit)])
            advance_unit(connection, facts, now)


def _check(program: PeProgram, plan: BatchPlan, results: Sequence[TaskResult], row: _PeBeforeCommit) -> None:
    """Check the invariants of a commit (B4, B18)."""
    batch = f"batch {plan.batch} of PE {program.pe} of {program.application}"
    tasks = {(result.level, result.partition) for result in results}
    promise(len(tasks) == len(results), "B18", f"{batch} has two results of one task")
    if row.region is not None:
        late = f"{batch} is in epoch {plan.epoch}, and {row.unit} has completed epoch {row.current_epoch - 1}"
        promise(plan.epoch >= row.current_epoch, "B4", late)
    promise(plan.boundary or not plan.final, "B18", f"{batch} is the last one and does not end its epoch")


def _written(plan: BatchPlan, results: Sequence[TaskResult]) -> Iterator[str]:
    """Yield the addresses of all files that the tasks of a batch have written."""
    for result in results:
        yield from (segment.path for segment in result.segments)
        states = (file for state in result.states for file in state.files)
        yield from (file.path for file in states if file.batch == plan.batch and file.path)
        yield from (file.pending for file in result.files)


def _progress(
    program: PeProgram, plan: BatchPlan, results: Sequence[TaskResult], row: _PeBeforeCommit, seconds: float, now: float
) -> dict[str, Any]:
    """Return the columns of the PE's row that a batch changes, without the number of the batch."""
    position = _advance(plan, results)
    numbers = dict(plan.position.outputs)
    for segment in (segment for result in results for segment in result.segments):
        numbers[segment.stream] = numbers.get(segment.stream, 0) + 1
    sources = {program.operators[index].name for index in program.sources}
    if plan.final:  # nobody reads what operators submit at their end into a loop that has ended
        behind = {stream: numbers.get(stream, 0) for stream in program.returning}
        position = replace(position, inputs=position.inputs | behind)
    return {
        "epoch": plan.epoch + 1 if plan.boundary else plan.epoch,
        "running": plan.generation,
        "exhausted": not program.imports and sources | program.awaited_streams <= set(position.exhausted),
        "final": plan.final,
        "position": asdict(replace(position, outputs=numbers)),
        "rows_in": row.rows_in + sum(result.rows_in for result in results),
        "rows_out": row.rows_out + sum(result.rows_out for result in results),
        "busy_seconds": row.busy_seconds + seconds,
        "committed_at": now,
        "state": "COMPLETED" if plan.final else row.state,
    }


def _bounds(row: _PeBeforeCommit, plan: BatchPlan, results: Sequence[TaskResult]) -> dict[str, Any]:
    """Return the bounded run with its end for each source whose end is known; a reset does not change these ends.

    Ends of an earlier run are forgotten.
    """
    known: dict[str, Any] = row.bounds["ends"] if row.bounds is not None and row.bounds["run"] == plan.bounded else {}
    found = {name: bound for result in results for name, bound in result.bounds.items()}
    return {"run": plan.bounded, "ends": known | found}


def _insert_outputs(
    connection: Connection,
    program: PeProgram,
    plan: BatchPlan,
    results: Sequence[TaskResult],
    key: dict[str, Any],
    now: float,
) -> None:
    """Insert the rows of the segments, states and files that the tasks have written; number each stream's segments."""
    numbers = dict(plan.position.outputs)
    segments: list[dict[str, Any]] = []
    for segment in (segment for result in results for segment in result.segments):
        number = numbers.get(segment.stream, 0)
        numbers[segment.stream] = number + 1
        early = segment.stream in program.seen_early
        columns = {"number": number, "epoch": plan.epoch, "committed_at": now, "uncommitted": early}
        segments.append(key | asdict(segment) | columns)
    states = [key | asdict(state) for result in results for state in result.states]
    columns = {"generation": plan.generation, "epoch": plan.epoch}
    files = [key | asdict(file) | columns for result in results for file in result.files]
    for statement, rows in ((_SEGMENT, segments), (_STATE, states), (_FILE, files)):
        if rows:
            connection.execute(statement, rows)


def _fence(connection: Connection, application: str, pe: int, plan: BatchPlan) -> _PeBeforeCommit:
    """Return the state of the PE before the commit."""
    row = _PeBeforeCommit.one_or_none(connection, _STANDING, {"of": application, "at": pe})
    current = (row.life, row.generation, row.batch + 1) if row else None
    wanted = (plan.life, plan.generation, plan.batch)
    if row is None or current != wanted:
        message = f"PE {pe} of {application}: the commit of batch {plan.batch} came from generation {plan.generation}; "
        message += f"the catalog is at generation {row.generation}, batch {row.batch}" if row else "it is gone"
        raise StaleGenerationError(message)
    if row.unit_state in HALTED:
        message = f"PE {pe} of {application}: the commit of batch {plan.batch} is refused: "
        message += f"{row.unit} is {row.unit_state} and goes back to its last complete epoch"
        raise StaleGenerationError(message)
    return row


def _is_made(connection: Connection, key: dict[str, Any], token: str) -> bool:
    """Return True if an earlier attempt has made this commit, so that only its answer was lost.

    Return False for a batch without a token.
    """
    c = tables.commit
    mine = select(c.c.token).where(*(c.c[name] == value for name, value in key.items()))
    return bool(token) and connection.scalar(mine) == token


def _advance(plan: BatchPlan, results: Sequence[TaskResult]) -> Position:
    sources, exhausted = dict(plan.position.sources), set(plan.position.exhausted)
    idle, clocks, links = dict(plan.position.idle), dict(plan.position.clocks), dict(plan.position.links)
    for result in results:
        sources |= result.sources
        idle |= result.idle
        clocks |= result.clocks
        links |= result.links
        exhausted |= set(result.exhausted)
    through = {name: plan.bounded for result in results for name in result.reached if plan.bounded is not None}
    watermarks = {name: dict(reached) for name, reached in plan.position.watermarks.items()}
    for result in results:
        for name, reached in result.watermarks.items():
            before = watermarks.setdefault(name, {})
            before |= {connection: max(value, before.get(connection, value)) for connection, value in reached.items()}
    return replace(
        plan.position,
        sources=sources,
        exhausted=tuple(sorted(exhausted)),
        reached=plan.position.reached | through,
        watermarks=watermarks,
        idle=idle,
        clocks=clocks,
        links=links,
        wake=min((result.wake for result in results if result.wake is not None), default=None),
    )


def _announce_end(connection: Connection, application: str, unit: str) -> bool:
    """Record that the unit gets no more input, so that the open epoch is its last one.

    Nothing is recorded while a PE that feeds the unit has more input, or for a unit outside of regions.

    Returns:
        True if this call has recorded it.
    """
    row = unit_row(connection, application, unit)
    if row.final_epoch is not None or row.region is None:
        return False
    p = tables.pe
    waiting = select(p.c.id).where(p.c.application == application, p.c.unit == unit, p.c.feeds, ~p.c.exhausted)
    if connection.execute(waiting.limit(1)).first() is not None:
        return False
    closing = row.state in ("DRAINING", "RESETTING")
    open_epoch = row.current_epoch + 1 if closing else row.current_epoch
    working = select(func.max(p.c.epoch)).where(p.c.application == application, p.c.unit == unit)
    announce_final_epoch(connection, application, unit, max(open_epoch, connection.scalar(working) or 0))
    return True
