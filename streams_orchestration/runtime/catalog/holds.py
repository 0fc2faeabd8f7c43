"""Holds on units: a redeploy holds units so that they begin nothing new. A hold expires, since its redeploy may die."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, select

from streams_orchestration.runtime import clock
from streams_orchestration.runtime.catalog import tables


def is_held(until: float | None) -> bool:
    """Return True if a unit is held now.

    Args:
        until: the end of the hold in unix seconds, from the unit's row; None if there is no hold.
    """
    return until is not None and until > clock.now()


def held() -> ColumnElement[bool]:
    """Return the condition on rows of units that are held."""
    return tables.unit.c.held_until > clock.now()


def held_units(connection: Connection, application: str) -> tuple[str, ...]:
    """Return the units of an application that are held, in order of their names."""
    u = tables.unit
    return tuple(connection.scalars(select(u.c.name).where(u.c.application == application, held()).order_by(u.c.name)))
