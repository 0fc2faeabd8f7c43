"""Units that are held for another plan: nothing new comes in. A hold ends by itself, since its redeploy may die."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, select

from streams_orchestration.runtime import clock
from streams_orchestration.runtime.catalog import tables


def is_held(until: float | None) -> bool:
    """Return True if a unit is held, by its row.

    Args:
        until: when the hold ends, in Unix seconds; None when there is none.
    """
    return until is not None and until > clock.now()


def held() -> ColumnElement[bool]:
    """Return the condition on rows of units that are held."""
    return tables.unit.c.held_until > clock.now()


def held_units(connection: Connection, application: str) -> tuple[str, ...]:
    """Return the units of an application that are held, in order of their names."""
    u = tables.unit
    return tuple(connection.scalars(select(u.c.name).where(u.c.application == application, held()).order_by(u.c.name)))
