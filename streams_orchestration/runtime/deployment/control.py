"""Starts the missing hosts of an application, and stops all of them."""

from __future__ import annotations

from sqlalchemy import Connection, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.application_transitions import stop_application, want_stopped
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.host_transitions import stop_hosts
from streams_orchestration.runtime.catalog.pe_transitions import stop_pes
from streams_orchestration.runtime.catalog.rows import HostRow, UnitRow
from streams_orchestration.runtime.catalog.unit_transitions import stop_units
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment.awaiting import await_status
from streams_orchestration.runtime.deployment.claims import Claimed, claim_hosts, missing_hosts, start_claimed
from streams_orchestration.runtime.deployment.lasting_hosts import require_lasting_hosts
from streams_orchestration.runtime.errors.errors import CommitUnknownError
from streams_orchestration.runtime.hosts.orphans import Orphan, stop_orphans
from streams_orchestration.runtime.lineage.failure_report import report_lineage_failure
from streams_orchestration.runtime.processes.processes import is_here, kill
from streams_orchestration.runtime.sinks.completing import remove_empty
from streams_orchestration.runtime.trials.advancing import advance_units_and_trial
from streams_orchestration.runtime.units.controller import advance_unit, mark_taken_up, unit_row
from streams_orchestration.runtime.units.failures import find_failures
from streams_orchestration.runtime.units.health import read_facts
from streams_orchestration.runtime.units.reading import application_row, read_units, require_deployed
from streams_orchestration.runtime.units.region_machine import WORKING

STOP_SECONDS = 30.0
"""Default seconds that `cancel_application` gives hosts to end by themselves."""


def launch_hosts(catalog: Catalog, application: str, *, asked_at: float | None = None) -> tuple[str, ...]:
    """Take up the resets that the units of an application need, then start its missing hosts; return these in words.

    For arguments see `start_missing_hosts`.

    Raises:
        NotDeployedError: the application is not deployed.
        HostLaunchError, JavaError: a host could not be started on this machine.
        StreamsRuntimeError: hosts would end with this process, and no machine is registered, so nothing was changed;
            another version of the product wrote the program of a PE; a redeploy has removed a unit meanwhile; or a rule
            of the protocol is broken.
    """
    require_lasting_hosts(catalog, application)
    _take_up_resets(catalog, application)
    return start_missing_hosts(catalog, application, asked_at=asked_at)


def _take_up_resets(catalog: Catalog, application: str) -> None:
    """Update all units, and take up the resets of the failed ones: each begins as soon as all hosts of its unit run.

    A unit that is no longer reset automatically stays as it is.
    """
    advance_units_and_trial(catalog, application)
    failures = find_failures(read_units(catalog, application), clock.now())
    if units := [failure.unit for failure in failures if not failure.exhausted]:
        with catalog.write() as connection:
            for unit in units:
                mark_taken_up(connection, unit_row(connection, application, unit))


def start_missing_hosts(catalog: Catalog, application: str, *, asked_at: float | None = None) -> tuple[str, ...]:
    """Start every missing host of an application that is wanted to run, and kill orphans.

    The units of dead hosts are marked as failed in the transaction that claims these hosts.

    Concurrent callers start each host once. Orphans of dead hosts can no longer commit; they are killed while the new
    hosts come up, also if no host is to be started. The processes of the hosts that this call replaces are among them,
    so a command that tells its user which processes it found calls `stop_orphans` before.

    Args:
        catalog: the catalog.
        application: name of the application.
        asked_at: the time at which the command was entered, in unix seconds; the start-up time counts from there.

    Returns:
        The hosts in words. `host 0, pid 4711` was started here; an agent starts `host 0 on north`; `host 0 waits: ...`
        is WAITING until a machine takes it.

    Raises:
        NotDeployedError: the application is not deployed.
        HostLaunchError, JavaError: a host could not be started on this machine.
        OtherVersionError: another version of the product wrote the program of a PE.
        CommitUnknownError: it is unknown whether the hosts were claimed, and not all are known to have been started.
        StreamsRuntimeError: hosts would end with this process, and no machine is registered; a redeploy has removed a
            unit meanwhile; or a rule of the protocol is broken.
    """
    asked_at = None if asked_at is None else clock.shared(asked_at)
    claimed = Claimed()
    unknown: CommitUnknownError | None = None
    try:
        with catalog.write() as connection:
            row = application_row(connection, catalog.home, application)
            if row.wanted == "RUNNING" and row.state != "COMPLETED" and (missing := missing_hosts(connection, row)):
                fail_lost_units(connection, application)
                claimed = claim_hosts(connection, catalog.home, row, missing, asked_at)
    except CommitUnknownError as error:
        unknown = error  # the claims may be written, and then no other process starts their hosts
    begun = start_claimed(catalog, claimed.here)
    if unknown is not None and (claimed.elsewhere or len(begun) < len(claimed.here)):
        raise unknown
    stop_orphans(catalog, application)
    return (*claimed.elsewhere, *begun)


def fail_lost_units(connection: Connection, application: str) -> None:
    """Mark the units of dead hosts as failed, so that they refuse commits of these hosts.

    The health of the units is read in this transaction, because the replacement of a dead host would hide its death.

    Args:
        connection: a connection in the write transaction that claims the hosts.
        application: the name of the application.

    Raises:
        InvariantError: the epoch of a unit breaks a rule of the protocol.
    """
    u, now = tables.unit, clock.now()
    working = UnitRow.all(connection, select(u).where(u.c.application == application, u.c.state.in_(WORKING)))
    for facts in read_facts(connection, working, now):
        if facts.health.failure in facts.health.gone.values():
            advance_unit(connection, facts, now)


def cancel_application(catalog: Catalog, application: str, timeout: float = STOP_SECONDS) -> tuple[Orphan, ...]:
    """Stop an application, kill its orphans, and return these. It keeps its state, and continues when deployed again.

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
    orphans = stop_orphans(catalog, application)
    remove_empty(catalog, application)
    return orphans
