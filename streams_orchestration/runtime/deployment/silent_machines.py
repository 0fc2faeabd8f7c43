"""Silent machines: a machine that does not renew its lease may be dead. A manual reset waits until that is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streams_orchestration import world
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import MachineRow
from streams_orchestration.runtime.machines.register import registered
from streams_orchestration.runtime.settings.limits import HEARTBEAT_LIMIT, LEASE_SECONDS
from streams_orchestration.runtime.units.reading import read_units
from streams_orchestration.runtime.units.status import HostStatus, UnitsStatus

HEARD_SECONDS = 4.0
"""Seconds within which a healthy machine is heard: its agent renews the lease every two seconds."""
POLL_SECONDS = 0.25


def await_silent_machines(catalog: Catalog, application: str, say: Callable[[str], None]) -> None:
    """Wait until each machine with hosts of an application is heard, or its hosts count as dead.

    A machine that has just died looks healthy until its lease expires. A reset before that would have no effect. The
    wait lasts little more than `LEASE_SECONDS` plus `HEARTBEAT_LIMIT` at most.

    Args:
        catalog: the catalog.
        application: name of the application.
        say: shows a message to the user, if the wait takes longer than `HEARD_SECONDS`.

    Raises:
        NotDeployedError: the application is not deployed.
    """
    began, said = world.monotonic(), False
    first = _read_signs_of_life(catalog, application)
    while True:
        now = _read_signs_of_life(catalog, application)
        silent = [name for name in first if name in now and now[name] == first[name]]
        waited = world.monotonic() - began
        if not silent or waited > LEASE_SECONDS + HEARTBEAT_LIMIT:
            return
        if waited > HEARD_SECONDS and not said:
            said = True
            say(f"no sign of life from {', '.join(silent)}; waiting to find out if its hosts are lost ...")
        world.sleep(POLL_SECONDS)


def _read_signs_of_life(catalog: Catalog, application: str) -> Mapping[str, tuple[object, ...]]:
    """Map each other machine with live running hosts to its last signs of life: its lease and its hosts' heartbeats."""
    status = read_units(catalog, application)
    with catalog.read() as connection:
        machines = {machine.name: machine for machine in registered(connection)}
    return {name: _signs_of_life(machines.get(name), hosts) for name, hosts in _elsewhere(status).items()}


def _elsewhere(status: UnitsStatus) -> dict[str, list[HostStatus]]:
    """Map each machine whose processes are not visible from here to its live running hosts."""
    found: dict[str, list[HostStatus]] = {}
    for host in status.hosts:
        if host.alive and not host.here and host.machine is not None and host.state == "RUNNING":
            found.setdefault(host.machine, []).append(host)
    return found


def _signs_of_life(machine: MachineRow | None, hosts: list[HostStatus]) -> tuple[object, ...]:
    return (None if machine is None else machine.lease_until, *(host.row.heartbeat_at for host in hosts))
