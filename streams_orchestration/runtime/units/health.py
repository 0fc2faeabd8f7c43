"""Reads the facts about units, and judges their health: whether their hosts and queries work (B9)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import fields

from sqlalchemy import Connection, bindparam, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.cause_kinds import CauseKind, FilesKind, HostKind
from streams_orchestration.runtime.catalog.rows import HostRow, PeRow, UnitRow
from streams_orchestration.runtime.catalog.states import ENDED
from streams_orchestration.runtime.settings.limits import AHEAD_SECONDS, ENTERED_LIMIT
from streams_orchestration.runtime.sinks.sinks import sinks_lag
from streams_orchestration.runtime.units.region_events import FailureCause
from streams_orchestration.runtime.units.status import HostStatus, silence_of
from streams_orchestration.runtime.units.unit_facts import Facts, Health, UnitMember

_p, _h = tables.pe, tables.host
_HOSTS = select(_h).where(_h.c.application.in_(bindparam("applications", expanding=True)))
_MEMBERS = select(*(_p.c[each.name] for each in fields(UnitMember))).where(
    _p.c.application.in_(bindparam("applications", expanding=True))
)
_MEMBERS_OF_UNITS = _MEMBERS.where(_p.c.unit.in_(bindparam("units", expanding=True)))
_Members = dict[tuple[str, str], list[UnitMember]]
"""(Application, unit) -> the PEs of the unit."""


def read_facts(connection: Connection, units: Collection[UnitRow], now: float | None = None) -> list[Facts]:
    """Return the facts about units of one application, in their order.

    Args:
        connection: the connection of a transaction.
        units: the rows of the units.
        now: unix seconds; None if the hosts need not be read, so that the health stays unknown.
    """
    if not units:
        return []
    applications = [next(iter(units)).application]
    named = {"applications": applications, "units": [unit.name for unit in units]}
    members = _by_unit(UnitMember.all(connection, _MEMBERS_OF_UNITS, named))
    health = {} if now is None else _healths(connection, applications, members, now)
    facts: list[Facts] = []
    for unit in units:
        of = (unit.application, unit.name)
        lag = unit.state not in ENDED and unit.timer == "period" and sinks_lag(connection, *of, unit.shown)
        facts.append(Facts(unit, tuple(members[of]), health.get(of, Health()), lag))
    return facts


def read_healths(connection: Connection, applications: Collection[str], now: float) -> dict[tuple[str, str], Health]:
    """Return the health of all units of several applications, by application and unit.

    Args:
        connection: the connection of a transaction.
        applications: the names of the applications.
        now: unix seconds.
    """
    rows = UnitMember.all(connection, _MEMBERS, {"applications": list(applications)})
    return _healths(connection, applications, _by_unit(rows), now)


def _by_unit(rows: Iterable[UnitMember]) -> _Members:
    members: _Members = defaultdict(list)
    for row in rows:
        members[row.application, row.unit].append(row)
    return members


def _healths(
    connection: Connection, applications: Collection[str], members: _Members, now: float
) -> dict[tuple[str, str], Health]:
    """Return the health of units from their PEs and the rows of their hosts, which are read here.

    A PE that has ended needs no reset, also if it is reported to have failed; `find_failures` judges that otherwise.
    """
    rows = HostRow.all(connection, _HOSTS, {"applications": list(applications)})
    hosts = {(row.application, row.id): HostStatus.of(row, now) for row in rows}
    health: dict[tuple[str, str], Health] = {}
    for (application, unit), pes in members.items():
        its_hosts = [hosts[application, host] for host in sorted({pe.host for pe in pes})]
        health[application, unit] = health_of(its_hosts, (pe for pe in pes if not pe.final), now)
    return health


def health_of(hosts: Iterable[HostStatus], pes: Iterable[UnitMember | PeRow], now: float) -> Health:
    """Return the health of a unit (B9).

    The cause of its failure is the first host that was launched and does not work, else its first failed PE. A host
    that was never launched causes no failure, but is among the hosts that do not work if it was not started in time.
    The unit is `up` if each launched host runs.

    Args:
        hosts: the hosts of the unit.
        pes: the PEs of the unit whose failures count.
        now: unix seconds.
    """
    failure: FailureCause | None = None
    failed_at: float | None = None
    gone: dict[int, FailureCause] = {}
    up, ahead = True, False
    for host in hosts:
        ahead = ahead or host.heard_at > now + AHEAD_SECONDS
        reason = explain_host_failure(host, now)
        if reason is not None:
            gone[host.id] = FailureCause(reason, _kind_of_host(host))
        if host.row.pid is None and host.state not in ("STARTING", "WAITING"):
            continue  # a host that was never launched finds everything rolled back when it comes
        if failure is None and reason is not None:
            failure, failed_at = gone[host.id], host.heard_at
        up = up and host.alive and host.state == "RUNNING" and reason is None
    if failure is None and (failed := next((pe for pe in pes if pe.state == "FAILED"), None)) is not None:
        failure, failed_at = failure_of_pe(failed), failed.failed_at
    return Health(failure, failed_at, up, gone, ahead)


def _kind_of_host(host: HostStatus) -> CauseKind:
    """Return the kind of the cause that a host does not work.

    For a host that has ended since it could not use a file, the kind names the host and its machine; otherwise it
    names the host alone.
    """
    if host.state == "FAILED" and host.machine is not None and host.row.storage_error is not None:
        return FilesKind(host.id, host.machine, ends=True)
    return HostKind(host.id)


def failure_of_pe(pe: UnitMember | PeRow) -> FailureCause | None:
    """Return the failure that is reported for a PE; None if it has not failed."""
    if pe.state != "FAILED":
        return None
    return FailureCause(explain_pe_failure(pe.id, pe.error), pe.kind, pe.outside)


def explain_pe_failure(pe: int, error: str | None) -> str:
    """Return the sentence that a PE has failed, with its error if that is known."""
    return f"PE {pe} failed: {error}" if error else f"PE {pe} failed"


def explain_host_failure(host: HostStatus, now: float) -> str | None:
    """Return why a host cannot work; None if it works, has ended or waits, or may still come up in time.

    `silence_of` says for how long a host may be silent. One that a new plan has entered has `ENTERED_LIMIT` to be
    launched.

    Args:
        host: the status of the host as read from the catalog.
        now: unix seconds.
    """
    if host.state == "STOPPED" and host.row.launched_at and host.row.pid is None:
        waited = now - host.row.launched_at
        return f"the new host {host.id} was not started in {waited:.0f} s" if waited > ENTERED_LIMIT else None
    if host.state in (*ENDED, "WAITING"):
        return None
    if host.state == "FAILED":
        return f"host {host.id} failed: {host.error}"
    if host.row.pid is not None and host.here and not host.alive:
        return f"host {host.id} ({host.process}) is gone" + (f"; {host.error}" if host.error else "")
    silence = silence_of(host.row, now)
    if not silence.too_long:
        return None
    if host.row.pid is None and host.machine is None:
        command = "the command that was to start it has ended"
        return f"host {host.id} did not come up in {silence.seconds:.0f} s, and {command}"
    if host.row.pid is None:
        agent = "its agent does not answer"
        return f"host {host.id} was not started on {host.machine} in {silence.seconds:.0f} s; {agent}"
    how_long = "in" if host.row.heartbeat_at is None else "for"
    return f"host {host.id} gave no heartbeat {how_long} {silence.seconds:.0f} s"
