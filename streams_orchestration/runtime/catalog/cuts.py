"""Statements about the cut of a unit: per PE, the batch that closed the last complete epoch."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Select, Table, and_, func, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import StoredPosition


def members(application: str, unit: str) -> Select[tuple[int]]:
    """Return the statement that selects the PEs of a unit."""
    p = tables.pe
    return select(p.c.id).where(p.c.application == application, p.c.unit == unit)


def after_cut(table: Table, application: str, unit: str, epoch: int) -> ColumnElement[bool]:
    """Return the SQL condition that selects the rows written after a cut.

    For a PE that has not closed the epoch, the condition selects all rows.

    Args:
        table: the table of commits, segments, states or files of sinks.
        application: the name of the application.
        unit: the unit whose PEs have written the rows.
        epoch: the epoch that the cut closed.
    """
    c = tables.commit.alias("cut")
    closing = (c.c.application == application, c.c.pe == table.c.pe, c.c.epoch == epoch, c.c.boundary)
    batch = select(func.coalesce(func.max(c.c.batch), -1)).where(*closing).correlate(table).scalar_subquery()
    return and_(table.c.application == application, table.c.pe.in_(members(application, unit)), table.c.batch > batch)


def commits_at_shown_cuts(application: str) -> Select[int, int, StoredPosition]:
    """Return the statement that selects PE, batch and position of the commits at the cuts that others see.

    No reset, nor the revert of a redeploy, goes back further. PEs without a complete epoch have none.
    """
    c, p, u = tables.commit, tables.pe, tables.unit
    return (
        select(c.c.pe, c.c.batch, c.c.position)
        .join(p, (p.c.application == c.c.application) & (p.c.id == c.c.pe))
        .join(u, (u.c.application == p.c.application) & (u.c.name == p.c.unit))
        .where(c.c.application == application, c.c.boundary, c.c.epoch == tables.SHOWN_EPOCH)
    )
