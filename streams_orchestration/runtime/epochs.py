"""The trigger of consistent regions: closes an epoch when the period since the last one has passed."""

from __future__ import annotations

from sqlalchemy import select, update

from streams_orchestration.runtime import tables
from streams_orchestration.runtime.catalog import Catalog


def trigger_epochs(catalog: Catalog, application: str, units: tuple[str, ...], since: float, now: float) -> list[str]:
    """Close the open epoch of every unit whose period has passed; none while one is closing (B7).

    Args:
        catalog: of the application.
        application: its name.
        units: that this host times.
        since: unix seconds from which the first period counts.
        now: unix seconds.

    Returns:
        The units whose epoch begins to close.
    """
    u = tables.unit
    due = (u.c.application == application, u.c.name.in_(units), u.c.final_epoch.is_(None), u.c.period.is_not(None))
    with catalog.read() as connection:
        rows = connection.execute(
            select(u).where(*due, u.c.trigger_epoch == u.c.completed_epoch, u.c.state == "PROCESSING")
        ).all()
    names = [row.name for row in rows if now - max(row.completed_at or 0.0, since) >= row.period]
    if names:
        with catalog.write() as connection:
            connection.execute(
                update(u)
                .where(*due, u.c.name.in_(names), u.c.trigger_epoch == u.c.completed_epoch)
                .values(trigger_epoch=u.c.trigger_epoch + 1)
            )
    return names
