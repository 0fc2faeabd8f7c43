"""The controller of units: passes facts from the catalog to their state machines, and carries out their actions.

It keeps nothing in memory. Hosts, Dagster's sensor, `streams run`, `streams reset` and the commit that closes an epoch
call it at any time, and every call is one transaction. If one of these processes dies, another continues.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.pe_transitions import begin_pes_again
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.catalog.states import ENDED
from streams_orchestration.runtime.catalog.unit_columns import Moment
from streams_orchestration.runtime.catalog.unit_transitions import (
    begin_unit_again,
    note_first_commit,
    note_taken_up,
    reset_unit_to_cut,
    step_unit,
    take_unit_back,
)
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import UnitRemovedError
from streams_orchestration.runtime.errors.invariants import promise
from streams_orchestration.runtime.units.health import read_facts
from streams_orchestration.runtime.units.region_events import BegunAgain, Event
from streams_orchestration.runtime.units.region_machine import HALTED, LIMIT, begins_reset, step
from streams_orchestration.runtime.units.region_record import RegionRecord
from streams_orchestration.runtime.units.roll_back import roll_back
from streams_orchestration.runtime.units.unit_facts import Facts, advanced
from streams_orchestration.runtime.units.unit_store import STEADY_SECONDS, columns_of, log_event, record_of, settings_of

_UNIT = select(tables.unit).where(
    tables.unit.c.application == bindparam("of"), tables.unit.c.name == bindparam("named")
)


def unit_row(connection: Connection, application: str, unit: str) -> UnitRow:
    """Return the row of a unit.

    Raises:
        UnitRemovedError: there is none, as after a redeploy to a plan without this unit.
    """
    row = UnitRow.one_or_none(connection, _UNIT, {"of": application, "named": unit})
    if row is None:
        raise UnitRemovedError(application, unit)
    return row


def would_change(facts: Facts, now: float) -> bool:
    """Return True if `advance_unit` would change the unit."""
    record = record_of(facts.unit)
    return facts.unit.state not in ENDED and advanced(settings_of(facts), record, facts, now)[0] != record


def mark_taken_up(connection: Connection, unit: UnitRow) -> None:
    """Record that a process has taken up the reset of a unit, which begins as soon as all its hosts run.

    The first call for an outage, before its reset has begun, is logged with its time.
    """
    outage = dict(unit.outage or {})
    if outage and "began" not in outage and not unit.taken_up:
        outage["asked"] = clock.now()
        log_event(connection, unit, record_of(unit), "taken up", outage["asked"], generation=unit.generation)
    note_taken_up(connection, unit, outage)


def advance_unit(connection: Connection, facts: Facts, now: float, event: Event | None = None) -> list[str]:
    """Pass new events to the state machine of a unit, roll back if a reset begins, and store and log the changes.

    A unit that has ended stays as it is.

    Args:
        connection: a connection in a write transaction.
        facts: the facts about the unit, read in this transaction.
        now: unix seconds.
        event: an event that no fact in the catalog shows, which is a requested reset; None without one.

    Returns:
        Files that the catalog no longer names, to be removed when the transaction is committed; none without a reset.

    Raises:
        InvariantError: the epoch that would be completed or repeated breaks a rule of the recovery protocol.
    """
    unit = facts.unit
    if unit.state in ENDED:
        return []
    before, settings = record_of(unit), settings_of(facts)
    record = before if event is None else step(settings, before, event, now)
    resets = begins_reset(before, record)
    if not resets:
        record, resets = advanced(settings, record, facts, now)
    if record == before:
        return []
    if record.completed_epoch > before.completed_epoch:
        _complete(connection, unit, record, now)
    outage = dict(unit.outage or {})
    fails = record.state == "UNHEALTHY" and before.state not in HALTED
    if fails or (record.state == "STARTED" and record.cause != before.cause):
        outage = _begin_outage(connection, facts, record, now)
    garbage: list[str] = []
    generation = unit.generation
    if resets:
        outage = _reset_in_outage(outage, now)
        garbage = roll_back(connection, unit, to=unit.completed_epoch, epoch=record.current_epoch + 1)
        generation += 1
        log_event(connection, unit, record, "reset began", now, generation=generation, cause=record.cause)
    if before.state == "RESETTING" and record.resets != before.resets:
        outage["done"] = now
        log_event(
            connection,
            unit,
            record,
            "reset done",
            now,
            generation=generation,
            seconds=record.resets.seconds[-1],
            cause=record.cause,
        )
    if record.state == LIMIT != before.state:
        log_event(connection, unit, record, "attempts used up", now, generation=generation, cause=record.cause)
    if resets:
        restarts = unit.restarts + 1 if now - (record.resets.at or 0.0) < STEADY_SECONDS else 1
        reset_unit_to_cut(connection, unit, columns_of(record), outage, now, restarts=restarts)
    else:
        step_unit(connection, unit, columns_of(record), outage, now)
    return garbage


def _begin_outage(connection: Connection, facts: Facts, record: RegionRecord, now: float) -> dict[Moment, float]:
    """Log that a unit has become unhealthy, and return the times of its outage.

    It has failed at the time in its health, or now if its health shows no earlier time.
    """
    unit, failed_at = facts.unit, facts.health.failed_at
    failed = now if failed_at is None else min(failed_at, now)
    log_event(
        connection, unit, record, "unhealthy", now, generation=unit.generation, seconds=now - failed, cause=record.cause
    )
    return {"failed": failed, "detected": now}


def _reset_in_outage(outage: dict[Moment, float], now: float) -> dict[Moment, float]:
    """Return the times of an outage in which a reset begins now.

    If there is no outage, or the last one had a reset already, a new outage begins now.
    """
    if "began" in outage or not outage:
        outage = {"failed": now, "detected": now}
    return {**outage, "asked": outage.get("asked", now), "began": now}


def begin_again(
    connection: Connection, application: str, units: Collection[str], resets: Mapping[str, str] | None = None
) -> None:
    """Start units after the last commits of their PEs, in a new generation that fences off old processes.

    Their failures are forgotten, and they have all attempts again. A unit continues in the lowest open epoch of its
    PEs. If a reset was under way, this is a later epoch than the one in its record.

    Args:
        connection: a connection in a write transaction.
        application: the name of the application.
        units: the names of the units.
        resets: name of a unit -> the reason why it must first be reset, as soon as its hosts run.
    """
    u = tables.unit
    rows = UnitRow.all(connection, select(u).where(u.c.application == application, u.c.name.in_(units)))
    for facts in read_facts(connection, rows):
        unit = facts.unit
        epochs = (member.epoch for member in facts.members if not member.final)
        event = BegunAgain(min(epochs, default=unit.current_epoch), cause=(resets or {}).get(unit.name))
        now = clock.now()
        begin_unit_again(connection, unit, _begun(facts, event, now), now)
    begin_pes_again(connection, application, units)


def take_back(connection: Connection, unit: UnitRow) -> list[str]:
    """Roll a unit back to its cut, in a new generation; return the files that the catalog no longer names.

    This counts as no reset, and the resets before still count, since no epoch is complete.

    Raises:
        InvariantError: the rollback breaks a rule of the protocol.
    """
    event = BegunAgain(unit.current_epoch + 1, forgives=False)
    garbage = roll_back(connection, unit, to=unit.completed_epoch, epoch=event.sequence)
    (facts,) = read_facts(connection, [unit])
    now = clock.now()
    take_unit_back(connection, unit, _begun(facts, event, now), now)
    return garbage


def _begun(facts: Facts, event: BegunAgain, now: float) -> dict[str, Any]:
    """Return the columns of the record of a unit that begins again."""
    return columns_of(step(settings_of(facts), record_of(facts.unit), event, now))


def note_commit(
    connection: Connection, application: str, unit: str, outage: dict[Moment, float] | None, now: float
) -> None:
    """Record and log the time of the first commit after a reset; do nothing for any other commit.

    Args:
        connection: a connection in a write transaction.
        application: the name of the application.
        unit: the name of the unit that has committed.
        outage: the times of the unit's last outage, from its row; None if it had none.
        now: unix seconds.

    Raises:
        StreamsRuntimeError: the unit does not exist, as after a redeploy without it.
    """
    if outage is not None and "began" in outage and "committed" not in outage:
        note_first_commit(connection, application, unit, outage, now)
        row = unit_row(connection, application, unit)
        log_event(connection, row, record_of(row), "first commit", now, generation=row.generation)


def _complete(connection: Connection, unit: UnitRow, record: RegionRecord, now: float) -> None:
    """Insert a completed epoch with its time, its duration and its cut: for each PE, the batch that closed the epoch.

    PEs that had ended before the epoch are not in the cut.
    """
    c, p = tables.commit, tables.pe
    named, epoch = f"{unit.name} of {unit.application}", record.completed_epoch
    promise(epoch > unit.completed_epoch, "B4", f"{named} completes epoch {epoch} after epoch {unit.completed_epoch}")
    closing = (c.c.application == p.c.application) & (c.c.pe == p.c.id) & (c.c.epoch == epoch) & c.c.boundary
    members = connection.execute(
        select(p.c.id, p.c.final, c.c.batch)
        .outerjoin(c, closing)
        .where(p.c.application == unit.application, p.c.unit == unit.name)
    ).all()
    cut = {str(row.id): row.batch for row in members if row.batch is not None}
    unclosed = [row.id for row in members if row.batch is None and not row.final]
    promise(not unclosed, "B18", f"{named} completes epoch {epoch}, which its PEs {unclosed} have not closed")
    connection.execute(
        insert(tables.epoch).values(
            application=unit.application,
            unit=unit.name,
            epoch=record.completed_epoch,
            cut=cut,
            completed_at=now,
            seconds=record.drains.seconds[-1],
        )
    )
