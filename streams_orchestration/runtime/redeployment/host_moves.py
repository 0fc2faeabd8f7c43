"""Moving hosts: units are held at a cut for a moment, and their hosts continue from it on other machines.

No tuple is lost or processed twice: commits of a host on the old machine are fenced off by their older generation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select

from streams_orchestration import world
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.host_transitions import claim_host
from streams_orchestration.runtime.catalog.rows import HostRow, MachineRow
from streams_orchestration.runtime.catalog.start_lock import lock_start
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import MachineError
from streams_orchestration.runtime.machines.placing import arrange, residents
from streams_orchestration.runtime.machines.register import registered, set_machine_state
from streams_orchestration.runtime.programs.deployed_pes import deployed_pes
from streams_orchestration.runtime.redeployment.draining import HeldUnits, drain, units_on_hold
from streams_orchestration.runtime.redeployment.trial_supervision import supervise_former_trial
from streams_orchestration.runtime.units.controller import begin_again
from streams_orchestration.runtime.units.status import HostStatus
from streams_orchestration.runtime.units.unusable_files import read_failed


@dataclass(frozen=True, slots=True)
class Moved:
    """A host that was moved to another machine."""

    application: str
    host: int
    machine: str
    """Name of its new machine."""


def drain_machine(catalog: Catalog, name: str, *, within: float) -> tuple[Moved, ...]:
    """Set a machine to DRAINING, and move its hosts to other machines, one application after the other.

    Applications that were moved before an error stay moved.

    Args:
        catalog: the catalog.
        name: name of the machine.
        within: seconds in which each application must reach a cut.

    Returns:
        The moved hosts.

    Raises:
        BeingStartedError: another process is starting or redeploying an application.
        StreamsRuntimeError: the machine is not registered, or its agent has ended; then nothing was changed. Or no
            other machine takes a host, an application did not reach a cut in time and keeps running where it is, or
            hosts or machines have changed meanwhile; then the machine stays DRAINING. Or the last redeploy of an
            application is on trial and cannot be decided, the start of an application cannot be locked, another version
            of the product wrote its plan, or a rule of the protocol is broken.
    """
    set_machine_state(catalog, name, "DRAINING")
    h = tables.host
    with catalog.read() as connection:
        hosts = HostRow.all(connection, select(h).where(h.c.machine == name))
    now = clock.now()
    applications = sorted({host.application for host in hosts if HostStatus.of(host, now).alive})
    moved: list[Moved] = []
    for application in applications:
        with lock_start(catalog.home, application, "streams machines drain"):
            supervise_former_trial(catalog, application)
            moved += _move(catalog, application, name, within)
    return tuple(moved)


def move_misplaced_hosts(catalog: Catalog, application: str, *, within: float) -> tuple[Moved, ...]:
    """Move hosts of an application whose placement violates their configs, if that leaves fewer violations.

    The application's start is locked, without waiting for another process that has locked it.

    Args:
        catalog: the catalog.
        application: name of the application.
        within: seconds in which it must reach a cut.

    Returns:
        The moved hosts.

    Raises:
        BeingStartedError: another process is starting or redeploying the application.
        StreamsRuntimeError: the application did not reach a cut in time, or its hosts, machines or units changed
            meanwhile; it keeps running where it is. Or its start cannot be locked, another version of the product wrote
            its plan, or a rule of the protocol is broken.
    """
    with lock_start(catalog.home, application, "streams agent", limit=0.0):
        return tuple(_move(catalog, application, None, within))


def choose_better_machines(connection: Connection, application: str, leave: str | None = None) -> dict[int, MachineRow]:
    """Choose new machines for the hosts of an application that should move.

    Args:
        connection: a connection in a transaction.
        application: name of the application.
        leave: the machine that its live hosts leave; None for no machine. Hosts whose placement violates their configs
            may move in either case.

    Returns:
        Host to move -> its new machine; empty if no arrangement is better.

    Raises:
        MachineError: no other machine takes a host that must leave.
    """
    now, rows = clock.now(), HostRow.all(connection, select(tables.host).where(tables.host.c.machine.is_not(None)))
    leaving = {
        row.id
        for row in rows
        if row.application == application and row.machine == leave and HostStatus.of(row, now).alive
    }
    machines = registered(connection)
    failed = read_failed(connection, application, [machine.name for machine in machines])
    hosts = residents(rows, application, leaving, now, failed)
    found = arrange(hosts, machines, now, moves=len(hosts.at))
    for host, refused in found.refused.items():
        message = f"{application} was not moved: host {host} cannot leave {leave}: {refused}"
        raise MachineError(message)
    if not leaving and found.wrong >= arrange(hosts, machines, now).wrong:
        return {}
    return {host: machine for host, machine in found.machines.items() if hosts.at.get(host) != machine.name}


def _move(catalog: Catalog, application: str, leave: str | None, within: float) -> list[Moved]:
    p = tables.pe
    with catalog.read() as connection:
        places = choose_better_machines(connection, application, leave)  # without a host to move, no unit is held
        mine = (p.c.application == application, p.c.host.in_(places), ~p.c.final)
        units = set(connection.scalars(select(p.c.unit).where(*mine)))
    if not places:
        return []
    programs = [pe.program for pe in deployed_pes(catalog, application)]
    held = HeldUnits(catalog, application, programs, units)
    with units_on_hold(held):
        if rest := drain(held, world.monotonic() + within, mend=False):
            again = f"drain {leave} again" if leave is not None else "it is tried again"
            message = (
                f"{application} was not moved: {rest} after {within:.0f} s. See `streams status {application}` for "
                f"the cause of the delay, then {again}{', or wait longer with --within' if leave is not None else ''}"
            )
            raise MachineError(message)
        with catalog.write() as connection:
            now_better = choose_better_machines(connection, application, leave)
            if not now_better.keys() <= places.keys():  # units of further hosts are not at a cut
                message = f"{application} was not moved: hosts or machines have changed meanwhile; try again"
                raise MachineError(message)
            return _place(connection, application, now_better, units)


def _place(
    connection: Connection, application: str, places: Mapping[int, MachineRow], units: Collection[str]
) -> list[Moved]:
    h = tables.host
    rows = HostRow.all(connection, select(h).where(h.c.application == application, h.c.id.in_(places)))
    for row in rows:
        claim_host(connection, row, world.new_id(), places[row.id])
    begin_again(connection, application, units)
    return [Moved(application, host, machine.name) for host, machine in places.items()]
