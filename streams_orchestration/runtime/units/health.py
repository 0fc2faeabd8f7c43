"""Reads the health of units: whether their hosts and queries work (B9)."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, bindparam, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import HostRow
from streams_orchestration.runtime.units.failures import PeCondition, health_of
from streams_orchestration.runtime.units.status import HostStatus
from streams_orchestration.runtime.units.unit_facts import Health

# made once: making a statement takes longer than running it
_p, _h = tables.pe, tables.host
_HOSTS = select(_h).where(_h.c.application.in_(bindparam("applications", expanding=True)))
_PES = select(
    *(_p.c.application, _p.c.unit, _p.c.host, _p.c.id, _p.c.state, _p.c.error, _p.c.kind, _p.c.outside, _p.c.final)
).where(_p.c.application.in_(bindparam("applications", expanding=True)))
_PES_OF_UNITS = _PES.where(_p.c.unit.in_(bindparam("units", expanding=True)))


def read_health(
    connection: Connection, application: str, now: float, units: Collection[str] | None
) -> dict[str, Health]:
    """Return the health of units of an application by name, of all units if `units` is None; see `read_healths`."""
    return read_healths(connection, [application], now, units)[application]


def read_healths(
    connection: Connection, applications: Collection[str], now: float, units: Collection[str] | None = None
) -> dict[str, dict[str, Health]]:
    """Return the health of units of several applications, from their hosts' processes and the reports on their PEs.

    Args:
        connection: the connection of a transaction.
        applications: the names of the applications.
        now: unix seconds.
        units: the names of the units; None for all.

    Returns:
        Application -> unit -> its health.
    """
    these = {"applications": list(applications)}
    hosts = {(row.application, row.id): HostStatus.of(row, now) for row in HostRow.all(connection, _HOSTS, these)}
    pes_of: dict[tuple[str, str], list[PeCondition]] = {}
    statement, named = (_PES, {}) if units is None else (_PES_OF_UNITS, {"units": list(units)})
    for row in PeCondition.all(connection, statement, {**these, **named}):
        pes_of.setdefault((row.application, row.unit), []).append(row)
    health: dict[str, dict[str, Health]] = {application: {} for application in applications}
    for (application, unit), pes in pes_of.items():
        members = [hosts[application, host] for host in sorted({pe.host for pe in pes})]
        health[application][unit] = health_of(members, [pe for pe in pes if not pe.final], now)
    return health
