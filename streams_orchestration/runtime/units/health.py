"""Reads the health of units: whether their hosts and queries work (B9)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import fields

from sqlalchemy import Connection, bindparam, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import HostRow
from streams_orchestration.runtime.units.failures import PeReport, failure_of_pe, health_of
from streams_orchestration.runtime.units.region_events import FailureCause
from streams_orchestration.runtime.units.status import HostStatus
from streams_orchestration.runtime.units.unit_facts import Health

_p, _h = tables.pe, tables.host
_HOSTS = select(_h).where(_h.c.application.in_(bindparam("applications", expanding=True)))
_PES = select(*(_p.c[each.name] for each in fields(PeReport))).where(
    _p.c.application.in_(bindparam("applications", expanding=True))
)
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

    A PE that has ended needs no reset, also if it is reported to have failed; `find_failures` judges that otherwise.

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
    hosts_of: dict[tuple[str, str], set[int]] = defaultdict(set)
    failed: dict[tuple[str, str], FailureCause] = {}
    statement, named = (_PES, {}) if units is None else (_PES_OF_UNITS, {"units": list(units)})
    for pe in PeReport.all(connection, statement, {**these, **named}):
        of = (pe.application, pe.unit)
        hosts_of[of].add(pe.host)
        if not pe.final and (failure := failure_of_pe(pe, now)) is not None:
            failed.setdefault(of, failure)
    health: dict[str, dict[str, Health]] = {application: {} for application in applications}
    for (application, unit), numbers in hosts_of.items():
        members = [hosts[application, host] for host in sorted(numbers)]
        health[application][unit] = health_of(members, failed.get((application, unit)), now)
    return health
