"""Moving hosts: an application stands still at a cut for a moment, and some of its hosts go on there on other machines.

Nothing is lost and nothing is done twice: what a host on the old machine might still commit is of an older generation.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from streams_orchestration.runtime import clock
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import HostRow
from streams_orchestration.runtime.catalog.start_lock import lock_start
from streams_orchestration.runtime.deployment.deployment import begin_again
from streams_orchestration.runtime.errors import MachineError, NoMachineError
from streams_orchestration.runtime.hosts.pes import deployed_pes
from streams_orchestration.runtime.machines.register import choose, load_of, registered, set_state
from streams_orchestration.runtime.redeployment.draining import drain, held
from streams_orchestration.runtime.redeployment.trying import await_trial
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.status import HostStatus
from streams_orchestration.runtime.units.wishes import read_wish


@dataclass(frozen=True, slots=True)
class Moved:
    """A host that goes on elsewhere."""

    application: str
    host: int
    machine: str
    """Where it goes on."""


def drain_machine(home: Home, name: str, *, within: float) -> tuple[Moved, ...]:
    """Start no more hosts on a machine, and move its hosts elsewhere, one application after the other.

    Args:
        home: the state directory.
        name: of the machine.
        within: seconds in which each application must come to a cut.

    Returns:
        What was moved.

    Raises:
        MachineError: there is no such machine, no other one takes a host, or an application did not come to a cut in
            time: it runs on where it is. The machine takes no more hosts all the same.
    """
    set_state(home, name, "DRAINING")
    catalog = Catalog(home)
    h = tables.host
    with catalog.read() as connection:
        hosts = HostRow.all(connection, select(h).where(h.c.machine == name))
    now = clock.now()
    applications = sorted({host.application for host in hosts if HostStatus.of(host, now).alive})
    moved: list[Moved] = []
    for application in applications:
        with lock_start(home, application, "streams machines drain"):
            await_trial(home, application)
            moved += _move(catalog, application, name, within)
    return tuple(moved)


def _move(catalog: Catalog, application: str, machine: str, within: float) -> list[Moved]:
    p, h = tables.pe, tables.host
    with catalog.read() as connection:
        _places(connection, application, machine)  # where there is none, nothing is held
        here = select(h.c.id).where(h.c.application == application, h.c.machine == machine)
        mine = (p.c.application == application, p.c.host.in_(here), ~p.c.final)
        units = set(connection.scalars(select(p.c.unit).where(*mine)))
    programs = [pe.program for pe in deployed_pes(catalog, application)]
    with held(catalog, application, units):
        if rest := drain(catalog, application, programs, units, time.monotonic() + within, mend=False):
            message = (
                f"{application} runs on where it is: {rest} after {within:.0f} s. See `streams status {application}` "
                f"for what holds it up, then drain {machine} again, or wait longer with --within"
            )
            raise MachineError(message)
        with catalog.write() as connection:
            return _place(connection, application, machine, units)


def _places(connection: Connection, application: str, machine: str) -> dict[int, tuple[str, str]]:
    """Host -> the machine, and its process space, on which it goes on.

    Raises:
        MachineError: no other machine takes one of them.
    """
    h, now = tables.host, clock.now()
    hosts = HostRow.all(connection, select(h).where(h.c.machine.is_not(None)).order_by(h.c.id))
    load, machines = load_of(hosts, application, now), registered(connection)
    places: dict[int, tuple[str, str]] = {}
    for host in hosts:
        if host.application != application or host.machine != machine or not HostStatus.of(host, now).alive:
            continue
        try:
            chosen = choose(read_wish(host.id, host.wish), machines, load, now)
        except NoMachineError as error:
            message = f"{application} runs on where it is: host {host.id} cannot leave {machine}: {error}"
            raise MachineError(message) from error
        load.add(chosen.name)
        places[host.id] = chosen.name, chosen.space
    return places


def _place(connection: Connection, application: str, machine: str, units: Collection[str]) -> list[Moved]:
    h = tables.host
    places = _places(connection, application, machine)
    for host, (name, space) in places.items():
        connection.execute(
            update(h)
            .where(h.c.application == application, h.c.id == host)
            .values(
                machine=name, space=space, incarnation=uuid.uuid4().hex, pid=None, process_started=None,
                state="STARTING", launched_at=clock.now(), heartbeat_at=None, error=None, start_up=None,
            )
        )  # fmt: skip
    begin_again(connection, application, units)
    return [Moved(application, host, name) for host, (name, _) in places.items()]
