"""The register of machines: each machine's state, hosts and lease."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, select, update

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import HostRow, MachineRow
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import MachineError
from streams_orchestration.runtime.settings.limits import AHEAD_SECONDS, LEASE_SECONDS
from streams_orchestration.runtime.units.status import HostStatus

_m = tables.machine
_MACHINES = select(_m).order_by(_m.c.name)
_LATE = select(_m.c.name).where(_m.c.lease_until > bindparam("after"))


@dataclass(frozen=True, slots=True)
class MachineStatus:
    """A registered machine as shown to users."""

    row: MachineRow
    state: str
    """UP, DRAINING, DOWN after its agent has ended in order, or LOST after its lease has expired otherwise."""
    hosts: tuple[str, ...]
    """`APPLICATION/NUMBER` of each host that lives or is being started there."""
    lease_seconds: float
    """Seconds until its lease expires; negative after that."""

    @property
    def name(self) -> str:
        """The name of the machine."""
        return self.row.name


def registered(connection: Connection) -> tuple[MachineRow, ...]:
    """Return the rows of all registered machines, ordered by name."""
    return tuple(MachineRow.all(connection, _MACHINES))


def shorten_leases(catalog: Catalog) -> None:
    """Shorten leases that last longer than a new one would, because the clock was set back since their renewal.

    A lease that is at most `AHEAD_SECONDS` too long is left. Do nothing while this process is not sure of the shared
    time (`clock.is_sure`). The rows belong to other agents, so they are changed in a `write` transaction, by the names
    of their machines: an agent may renew its lease meanwhile.
    """
    if not clock.is_sure():
        return
    end = clock.now() + LEASE_SECONDS
    late = {"after": end + AHEAD_SECONDS}
    with catalog.read() as connection:
        if connection.execute(_LATE, late).first() is None:
            return
    with catalog.write() as connection:
        names = connection.scalars(_LATE, late).all()
        connection.execute(update(_m).where(_m.c.name.in_(names)).values(lease_until=end))


def read_machines(catalog: Catalog) -> tuple[MachineStatus, ...]:
    """Return the status of all registered machines, ordered by name; none without a catalog."""
    if not catalog.exists:
        return ()
    with catalog.read() as connection:
        return _statuses(connection)


def _statuses(connection: Connection) -> tuple[MachineStatus, ...]:
    machines = registered(connection)
    hosts = HostRow.all(connection, select(tables.host).where(tables.host.c.machine.is_not(None)))
    now = clock.now()
    on: dict[str, list[str]] = {}
    for row in sorted(hosts, key=lambda row: (row.application, row.id)):
        if HostStatus.of(row, now).alive:
            on.setdefault(row.machine or "", []).append(f"{row.application}/{row.id}")
    return tuple(_status(machine, on, now) for machine in machines)


def _status(machine: MachineRow, hosts: Mapping[str, Sequence[str]], now: float) -> MachineStatus:
    lost = machine.state != "DOWN" and now > machine.lease_until
    return MachineStatus(
        machine, "LOST" if lost else machine.state, tuple(hosts.get(machine.name, ())), machine.lease_until - now
    )


def set_machine_state(catalog: Catalog, name: str, state: str) -> None:
    """Set whether new hosts are placed on a machine: `UP` allows that, `DRAINING` does not. No host is moved.

    Raises:
        MachineError: the machine is not registered, or its agent has ended.
    """
    with _write_machine(catalog, name) as (connection, machine):
        if machine.state == "DOWN":
            message = f"machine {name} is down; start its agent with `streams agent --name {name}` first"
            raise MachineError(message)
        connection.execute(update(_m).where(_m.c.name == name).values(state=state))


def forget_machine(catalog: Catalog, name: str) -> None:
    """Remove a machine from the register.

    Raises:
        MachineError: the machine is not registered, its agent is up, or hosts live there.
    """
    with _write_machine(catalog, name) as (connection, machine):
        if machine.state in ("UP", "DRAINING"):
            message = f"machine {name} is {machine.state}; end its agent first"
            raise MachineError(message)
        if machine.hosts:
            message = f"machine {name} has running hosts: {', '.join(machine.hosts)}; stop their applications first"
            raise MachineError(message)
        connection.execute(delete(_m).where(_m.c.name == name))


@contextmanager
def _write_machine(catalog: Catalog, name: str) -> Generator[tuple[Connection, MachineStatus]]:
    """Give the block a write transaction, and a machine in it; raise MachineError if the machine is not registered."""
    known: dict[str, MachineStatus] = {}
    if catalog.exists:
        with catalog.write() as connection:
            known = {each.name: each for each in _statuses(connection)}
            if name in known:
                yield connection, known[name]
                return
    others = f"the machines are {', '.join(known)}" if known else "`streams agent` registers one"
    message = f"there is no machine {name}; {others}"
    raise MachineError(message)
