"""Rolling back: every PE of a unit is set to its cut again, and what came after the cut is deleted.

All rows of a kind are changed by one statement, however many PEs the unit has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.cuts import after_cut, members
from streams_orchestration.runtime.catalog.pe_transitions import columns_at_commit, set_pes_to_cut
from streams_orchestration.runtime.catalog.reading import CatalogRow
from streams_orchestration.runtime.catalog.rows import KEPT_BY_COMMIT, CommitRow, StoredPosition, UnitRow
from streams_orchestration.runtime.errors.invariants import promise
from streams_orchestration.runtime.sinks.retraction import mark_retracted
from streams_orchestration.runtime.tasks.stored_states import drop_states_after


@dataclass(frozen=True, slots=True)
class _Member(CatalogRow):
    """A PE before it is rolled back."""

    id: int
    epoch: int
    initial: StoredPosition
    position: StoredPosition


def roll_back(connection: Connection, unit: UnitRow, *, to: int, epoch: int) -> list[str]:
    """Roll every PE of a unit back to its commit that closed a complete epoch, or to its start if there is none.

    Later commits and states are deleted, and later outputs and segments deleted or marked as retracted. The row of the
    unit is not changed.

    Args:
        connection: a connection in a write transaction.
        unit: the row of the unit.
        to: the complete epoch at whose cut the PEs continue: the last one, or after a trial the last visible one.
        epoch: the epoch that the PEs work in from now on.

    Returns:
        Files that the catalog no longer names, to be removed when the transaction is committed.

    Raises:
        InvariantError: the epoch is complete already, or some PEs have a cut and others have none.
    """
    application = unit.application
    name = unit.name
    p, c = tables.pe, tables.commit
    mine = (p.c.application == application, p.c.unit == name)
    pes = _Member.all(connection, select(p.c.id, p.c.epoch, p.c.initial, p.c.position).where(*mine))
    closing = (c.c.application == application, c.c.pe.in_(members(application, name)), c.c.epoch == to)
    cuts = {row.pe: row for row in CommitRow.all(connection, select(c).where(*closing, c.c.boundary))}
    promise(
        epoch > to,
        "B4",
        f"{name} of {application} should repeat epoch {epoch}, but epoch {to} is complete",
    )
    lacking = [pe.id for pe in pes if cuts and pe.id not in cuts]
    promise(not lacking, "B30", f"the PEs {lacking} of {name} of {application} have no cut at epoch {to}")
    garbage = drop_states_after(connection, application, name, to)
    garbage += mark_retracted(connection, application, name, to)
    connection.execute(delete(c).where(after_cut(c, application, name, to)))
    if pes:
        at_cut = {pe.id: _at_cut(pe, cuts.get(pe.id), to, epoch) for pe in pes}
        set_pes_to_cut(connection, application, at_cut)
    return garbage


def _at_cut(pe: _Member, cut: CommitRow | None, completed: int, epoch: int) -> dict[str, Any]:
    """Return the columns of a PE at its cut; without a cut, at its start.

    The next numbers of its segments stay as they are. Decisions of its clock since the cut are kept without their
    epoch, and earlier decisions are dropped.
    """
    final = cut is not None and cut.final
    values: dict[str, Any] = columns_at_commit(final=final) | {"epoch": pe.epoch if final else epoch}
    if cut is None:
        values |= {"batch": -1, "exhausted": False, "final": False, "position": pe.initial, "committed_at": None}
        values |= {"rows_in": 0, "rows_out": 0, "busy_seconds": 0.0}
    else:
        values |= {name: getattr(cut, name) for name in KEPT_BY_COMMIT} | {"batch": cut.batch}
    # numbers of segments are never used twice: a reader of retracted segments continues behind them
    # decisions of a clock since the cut are kept: the replay repeats them at the same places
    kept: dict[str, Any] = {"outputs": pe.position["outputs"]}
    if "idle" in pe.position:
        kept["idle"] = {
            name: [each | {"epoch": None} for each in decisions if each["epoch"] is None or each["epoch"] > completed]
            for name, decisions in pe.position["idle"].items()
        }
    return values | {"position": values["position"] | kept}
