"""Rolling back: every PE of a unit stands at its cut again, and what came after it is forgotten."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, delete, select, update

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import CommitRow, PeRow, UnitRow
from streams_orchestration.runtime.sinks.retraction import take_back
from streams_orchestration.runtime.tasks.stored_states import drop_states_after


def roll_back(connection: Connection, unit: UnitRow, epoch: int) -> list[str]:
    """Take every PE of a unit back to its commit that closed the last complete epoch.

    Args:
        connection: in a transaction that writes.
        unit: its row.
        epoch: the one that the PEs work in from now on.

    Returns:
        Files that are no longer named; they may be removed when the transaction is committed.
    """
    application = unit.application
    p, c = tables.pe, tables.commit
    garbage: list[str] = []
    for pe in PeRow.all(connection, select(p).where(p.c.application == application, p.c.unit == unit.name)):
        cut = CommitRow.one_or_none(
            connection,
            select(c).where(
                c.c.application == application, c.c.pe == pe.id, c.c.epoch == unit.completed_epoch, c.c.boundary
            ),
        )
        batch = cut.batch if cut is not None else -1
        garbage += drop_states_after(connection, application, pe.id, batch)
        garbage += take_back(connection, application, pe.id, batch)
        connection.execute(delete(c).where(c.c.application == application, c.c.pe == pe.id, c.c.batch > batch))
        values: dict[str, Any] = {"state": "WANTED", "error": None, "permanent": False, "batch": batch, "epoch": epoch}
        if cut is not None:
            kept = ("exhausted", "final", "position", "rows_in", "rows_out", "busy_seconds", "committed_at")
            values |= {name: getattr(cut, name) for name in kept}
            if cut.final:
                values |= {"state": "COMPLETED", "epoch": pe.epoch}
        else:
            values |= {"exhausted": False, "final": False, "position": pe.initial, "committed_at": None}
            values |= {"rows_in": 0, "rows_out": 0, "busy_seconds": 0.0}
        # numbers of segments are never used twice: who has read some that are taken back goes on behind them
        values["position"] = values["position"] | {"outputs": pe.position["outputs"]}
        connection.execute(update(p).where(p.c.application == application, p.c.id == pe.id).values(**values))
    return garbage
