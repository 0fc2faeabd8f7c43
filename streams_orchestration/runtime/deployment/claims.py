"""Claims of missing hosts.

A process that starts a host first writes a new incarnation into the host's row, in a transaction. So of several
processes that find a host missing, only one starts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection, select

from streams_orchestration import world
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.host_transitions import (
    claim_host,
    enter_process,
    make_host_wait,
    return_claim,
)
from streams_orchestration.runtime.catalog.pe_transitions import (
    PeBeforeStart,
    read_before_start,
    restore_before_start,
    set_pes_of_host,
)
from streams_orchestration.runtime.catalog.rows import ApplicationRow, HostRow
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment.lasting_hosts import refuse_short_lived
from streams_orchestration.runtime.hosts.launcher import HostStart, launch_host
from streams_orchestration.runtime.hosts.orphans import record_processes
from streams_orchestration.runtime.hosts.references import require_references
from streams_orchestration.runtime.machines.placing import arrange, residents
from streams_orchestration.runtime.machines.register import registered
from streams_orchestration.runtime.processes.processes import kill
from streams_orchestration.runtime.programs.deployed_pes import has_queries
from streams_orchestration.runtime.settings.settings import Settings
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.host_requirements import read_requirements
from streams_orchestration.runtime.units.status import HostStatus
from streams_orchestration.runtime.units.unusable_files import read_failed


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of this process to start a host: it has written a new incarnation into the host's row."""

    start: HostStart
    former: HostRow
    """The host's row before the claim."""
    pes: Sequence[PeBeforeStart]


@dataclass(slots=True)
class Claimed:
    """The claimed hosts, divided into those that this process starts and those that it does not."""

    elsewhere: list[str] = field(default_factory=list[str])
    """Descriptions of the hosts that agents start or that wait for a machine."""
    here: list[Claim] = field(default_factory=list[Claim])


def missing_hosts(connection: Connection, application: ApplicationRow) -> Sequence[HostRow]:
    """Return the missing hosts: they have unfinished PEs, and their processes are gone or they are COMPLETED."""
    h, p, u = tables.host, tables.pe, tables.unit
    name, now = application.name, clock.now()
    open_units = select(u.c.name).where(u.c.application == name, u.c.state != "COMPLETED")
    working = select(p.c.host).where(p.c.application == name, p.c.unit.in_(open_units))
    hosts = HostRow.all(connection, select(h).where(h.c.application == name, h.c.id.in_(working)))
    # a COMPLETED host may still be alive to tidy up, but it no longer runs PEs
    return [host for host in hosts if host.state == "COMPLETED" or not HostStatus.of(host, now).alive]


def claim_hosts(
    connection: Connection, home: Home, row: ApplicationRow, missing: Sequence[HostRow], asked_at: float | None
) -> Claimed:
    """Mark missing hosts, and their PEs, as STARTING; return the hosts by who starts them.

    If machines are registered, their agents start the hosts. A host that no machine takes is marked as WAITING, and its
    PEs as WANTED. Failed PEs stay FAILED.

    Args:
        connection: a connection in a write transaction.
        home: the state directory.
        row: the row of the application.
        missing: the missing hosts, as read in this transaction.
        asked_at: the time of the command in unix seconds, from which the start-up time counts; None without one.

    Raises:
        ShortLivedProcessError: hosts would end with this process, and no machine is registered.
        OtherVersionError: another version of the product wrote the program of a PE.
    """
    h = tables.host
    application = row.name
    settings = Settings(**row.settings)
    machines = registered(connection)
    refuse_short_lived(home, application, machines)
    now = clock.now()
    claimed = Claimed()
    rows = HostRow.all(connection, select(h).where(h.c.machine.is_not(None) | (h.c.application == application)))
    failed = read_failed(connection, application, [machine.name for machine in machines])
    places = arrange(residents(rows, application, [host.id for host in missing], now, failed), machines, now)
    for host in missing:
        incarnation, machine = world.new_id(), places.machines.get(host.id) if machines else None
        if machines and host.id in places.refused:
            claimed.elsewhere.append(f"host {host.id} waits: {places.refused[host.id]}")
            _wait_for_machine(connection, host, str(places.refused[host.id]))
            continue
        if machine is not None:
            claimed.elsewhere.append(f"host {host.id} on {machine.name}")
        else:
            tags = read_requirements(host.id, host.requirements).tags
            engine = settings.engine(tags, queries=has_queries(connection, application, host.id))
            start = HostStart(home, application, host.id, incarnation, Path(row.base), engine)
            claimed.here.append(Claim(start, host, read_before_start(connection, application, host.id)))
        claim_host(connection, host, incarnation, machine, asked_at)
        set_pes_of_host(connection, application, host.id, "STARTING")
    return claimed


def start_claimed(catalog: Catalog, claims: Sequence[Claim]) -> list[str]:
    """Start claimed hosts outside of any transaction, and record their processes; return the hosts in words.

    If a host was stopped or claimed by another process meanwhile, the new process is killed.

    Raises:
        HostLaunchError, JavaError, OtherVersionError: a host cannot be started, or a reference of its operators cannot
            be resolved. Hosts before the failed one stay started; the rows of the failed host and of the hosts after it
            are restored.
    """
    started: list[str] = []
    for number, claim in enumerate(claims):
        start = claim.start
        try:
            with catalog.read() as connection:
                require_references(connection, start)
            process = launch_host(start)
        except BaseException:
            for each in claims[number:]:
                _restore_claimed_rows(catalog, each)
            raise
        with catalog.write() as connection:
            entered = enter_process(
                connection, start.application, start.host, start.incarnation, process, start.incarnation
            )
            if entered:
                record_processes(connection, start.application, start.host, start.incarnation, [process])
        if entered:
            started.append(f"host {start.host}, pid {process.pid}")
        else:
            kill(process.pid, process.started)
    return started


def _restore_claimed_rows(catalog: Catalog, claim: Claim) -> None:
    """Restore the columns of a claimed host and its PEs that the claim has changed, unless another process has."""
    with catalog.write() as connection:
        if return_claim(connection, claim.former, claim.start.incarnation):
            restore_before_start(connection, claim.start.application, claim.pes)


def _wait_for_machine(connection: Connection, host: HostRow, reason: str) -> None:
    """Mark a host as WAITING until a machine takes it, with the reason why none does now, and its PEs as WANTED.

    Do nothing if it waits for the same reason already.
    """
    if host.state == "WAITING" and host.error == reason:
        return
    make_host_wait(connection, host, reason)
    set_pes_of_host(connection, host.application, host.id, "WANTED")
