"""Holds on units: a redeploy holds units so that they begin nothing new. A hold expires, since its redeploy may die.

The clocks of two processes may differ, for example after the clock of the catalog was set. So a redeploy does not
compare times: it relies on its hold until somebody has removed the hold from the catalog.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, bindparam, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.unit_transitions import forget_holds
from streams_orchestration.runtime.clocks import clock

_u = tables.unit
_HELD = (
    select(_u.c.name).where(_u.c.application == bindparam("of"), _u.c.held_until > bindparam("now")).order_by(_u.c.name)
)


def is_held(until: float | None) -> bool:
    """Return True if a unit is held now.

    Args:
        until: the end of the hold in unix seconds, from the unit's row; None if there is no hold.
    """
    return until is not None and until > clock.now()


def held_condition() -> ColumnElement[bool]:
    """Return the SQL condition that selects the rows of units that are held."""
    return tables.unit.c.held_until > clock.now()


def held_units(connection: Connection, application: str) -> tuple[str, ...]:
    """Return the units of an application that are held, in order of their names."""
    return tuple(connection.scalars(_HELD, {"of": application, "now": clock.now()}))


def end_expired_holds(catalog: Catalog, application: str) -> bool:
    """Remove the holds of an application once all of them have expired; return True if none is left.

    While a unit is held, nothing is removed. A redeploy that finds its hold removed does not switch, so its files may
    be removed.
    """
    u = tables.unit
    mine = (u.c.application == application, u.c.held_until.is_not(None))
    ends = select(u.c.held_until).where(*mine)
    with catalog.read() as connection:
        holds = connection.scalars(ends).all()
    if not holds or any(is_held(until) for until in holds):
        return not holds
    with catalog.write() as connection:
        forget_holds(connection, application, ended_at=clock.now())
        return not connection.scalars(ends).all()
