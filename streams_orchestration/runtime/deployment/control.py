"""Starts the missing hosts of an application, and stops all of them."""

from __future__ import annotations

from sqlalchemy import Connection, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.application_transitions import stop_application, want_stopped
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.host_transitions import stop_hosts
from streams_orchestration.runtime.catalog.pe_transitions import stop_pes
from streams_orchestration.runtime.catalog.rows import HostRow
from streams_orchestration.runtime.catalog.unit_transitions import stop_units
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment.awaiting import await_status
from streams_orchestration.runtime.deployment.claims import Chosen, choose_missing, start_claimed
from streams_orchestration.runtime.deployment.lasting_hosts import require_lasting_hosts
from streams_orchestration.runtime.errors.errors import CommitUnknownError
from streams_orchestration.runtime.hosts.orphans import stop_orphans
from streams_orchestration.runtime.lineage.failure_report import report_lineage_failure
from streams_orchestration.runtime.processes.processes import is_here, kill
from streams_orchestration.runtime.sinks.completing import remove_empty
from streams_orchestration.runtime.units.controller import advance_unit, mark_taken_up
from streams_orchestration.runtime.units.failures import find_failures
from streams_orchestration.runtime.units.health import read_health
from streams_orchestration.runtime.units.reading import application_row, read_units, require_deployed
from streams_orchestration.runtime.units.region_machine import WORKING
from streams_orchestration.runtime.units.status import UnitsStatus
from streams_orchestration.runtime.units.watch import advance_units

STOP_SECONDS = 30.0
"""Default seconds that `cancel_application` gives hosts to end by themselves."""


def launch_hosts(
    catalog: Catalog,
    application: str,
    *,
    asked_at: float | None = None,
    recover: bool = True,
) -> tuple[str, ...]:
    """Start every missing host of an application that is wanted to run, and kill orphans.

    The units of dead hosts are marked as failed first.

    Concurrent callers start each host once. Orphans of dead hosts can no longer commit; they are killed while the new
    hosts come up, also if no host is to be started. The processes of the hosts that this call replaces are among them,
    so a command that tells its user which processes it found calls `stop_orphans` before.

    Args:
        catalog: the catalog.
        application: name of the application.
        asked_at: the time at which the command was entered, in unix seconds; the start-up time counts from there.
        recover: also update all units, and take up the resets that they need.

    Returns:
        The hosts in words. `host 0, pid 4711` was started here; an agent starts `host 0 on north`; `host 0 waits: ...`
        is WAITING until a machine takes it.

    Raises:
        ShortLivedProcessError: hosts would end with this process, and no machine is registered.
        NotDeployedError: the application is not deployed.
        HostLaunchError, JavaError: a host could not be started on this machine.
        StreamsRuntimeError: a redeploy has removed a unit meanwhile, or a rule of the protocol is broken.
        OtherVersionError: another version of the product wrote the program of a PE.
        CommitUnknownError: it is unknown whether the hosts were claimed, and not all are known to have been started.
    """
    require_lasting_hosts(catalog, application)
    asked_at = None if asked_at is None else clock.shared(asked_at)
    mendable: list[str] = []
    if recover:
        advance_units(catalog, application)
        failed = find_failures(read_units(catalog, application), clock.now())
        mendable += [failure.unit for failure in failed if not failure.exhausted]
    chosen = Chosen()
    unknown: CommitUnknownError | None = None
    try:
        with catalog.write() as connection:
            row = application_row(connection, catalog.home, application)
            wanted = row.wanted == "RUNNING" and row.state != "COMPLETED"
            lost = _fail_lost_units(connection, application) if wanted else []
            if wanted and recover:
                mark_taken_up(connection, application, [*mendable, *lost])
            chosen = choose_missing(connection, catalog.home, row, asked_at) if wanted else Chosen()
    except CommitUnknownError as error:
        unknown = error  # the claims may be written, and then no other process starts their hosts
    begun = start_claimed(catalog, chosen.here)
    if unknown is not None and (chosen.elsewhere or len(begun) < len(chosen.here)):
        raise unknown
    stop_orphans(catalog, application)
    return (*chosen.elsewhere, *begun)


def _fail_lost_units(connection: Connection, application: str) -> list[str]:
    """Mark the units of dead hosts as failed, so that they refuse commits of these hosts; return the units.

    The health of the units is read again in this transaction, since a host may have died after the last check, and its
    replacement would hide that.
    """
    u, now = tables.unit, clock.now()
    healths = read_health(connection, application, now, None)
    working = select(u.c.name).where(u.c.application == application, u.c.state.in_(WORKING))
    lost = [name for name in connection.scalars(working) if healths[name].failure in healths[name].gone.values()]
    for name in lost:
        advance_unit(connection, application, name, now, healths[name])
    return lost


def cancel_application(catalog: Catalog, application: str, timeout: float = STOP_SECONDS) -> UnitsStatus:
    """Stop an application, and return its status then. It keeps its state, and continues from it when deployed again.

    A complete application stays COMPLETED. Hosts finish the batches under way. A host that does not end within
    `timeout` seconds is killed, without data loss; hosts on other machines end by themselves. Processes that hosts have
    left, and empty directories of pending files, are removed. If a unit has failed for good, that is first reported to
    OpenLineage.

    Raises:
        NotDeployedError: the application is not deployed.
    """
    require_deployed(catalog, application)
    report_lineage_failure(catalog, application)
    h = tables.host
    with catalog.write() as connection:
        want_stopped(connection, application)
    await_status(catalog, application, timeout, lambda status: not any(host.alive for host in status.hosts))
    with catalog.read() as connection:
        hosts = HostRow.all(connection, select(h).where(h.c.application == application))
    for host in hosts:
        if is_here(host.space):  # hosts elsewhere end by themselves
            kill(host.pid, host.process_started)
    with catalog.write() as connection:
        stop_hosts(connection, application)
        stop_pes(connection, application)
        stop_units(connection, application)
        stop_application(connection, application)
    stop_orphans(catalog, application)
    remove_empty(catalog, application)
    return read_units(catalog, application)
