"""Judges and reads the health of units: whether their hosts and queries work (B9)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields

from sqlalchemy import Connection, bindparam, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.cause_kinds import CauseKind, FilesKind, HostKind
from streams_orchestration.runtime.catalog.reading import CatalogRow
from streams_orchestration.runtime.catalog.rows import HostRow, PeRow
from streams_orchestration.runtime.catalog.states import ENDED, PeState
from streams_orchestration.runtime.settings.limits import AHEAD_SECONDS, ENTERED_LIMIT
from streams_orchestration.runtime.units.region_events import FailureCause
from streams_orchestration.runtime.units.status import HostStatus, silence_of
from streams_orchestration.runtime.units.unit_facts import Health


@dataclass(frozen=True, slots=True)
class PeReport(CatalogRow):
    """The columns of a PE that say whether it works."""

    application: str
    unit: str
    host: int
    id: int
    state: PeState
    error: str | None
    kind: CauseKind
    outside: bool
    failed_at: float | None
    final: bool


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
    failed: dict[tuple[str, str], PeReport] = {}
    statement, named = (_PES, {}) if units is None else (_PES_OF_UNITS, {"units": list(units)})
    for pe in PeReport.all(connection, statement, {**these, **named}):
        of = (pe.application, pe.unit)
        hosts_of[of].add(pe.host)
        if not pe.final and failure_of_pe(pe) is not None:
            failed.setdefault(of, pe)
    health: dict[str, dict[str, Health]] = {application: {} for application in applications}
    for (application, unit), numbers in hosts_of.items():
        members = [hosts[application, host] for host in sorted(numbers)]
        health[application][unit] = health_of(members, failed.get((application, unit)), now)
    return health


def health_of(hosts: Iterable[HostStatus], failed: PeReport | PeRow | None, now: float) -> Health:
    """Return the health of a unit (B9).

    The cause of its failure is the first host that was launched and does not work, else its failed PE. A host that was
    never launched causes no failure, but is among the hosts that do not work if it was not started in time. The unit is
    `up` if each launched host runs.

    Args:
        hosts: the hosts of the unit.
        failed: its first failed PE; None if no PE has failed.
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
    if failure is None and failed is not None:
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


def failure_of_pe(pe: PeReport | PeRow) -> FailureCause | None:
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
