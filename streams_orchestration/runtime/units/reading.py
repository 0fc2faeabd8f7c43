"""Reads the hosts, PEs and units of an application from its catalog."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection, bindparam, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import (
    ApplicationRow,
    HostRow,
    MachineRow,
    PeRow,
    UnitEventRow,
    UnitRow,
)
from streams_orchestration.runtime.catalog.states import ENDED, state_in_effect
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import NotDeployedError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.host_requirements import misplaced
from streams_orchestration.runtime.units.judged_failures import times_of_failure
from streams_orchestration.runtime.units.status import HostStatus, PeStatus, UnitsStatus
from streams_orchestration.runtime.units.unit_status import UnitStatus

FULL_BYTES = 4 * 1024 * 1024
"""The free bytes below which a disk counts as full."""
_a, _u, _e, _h, _p = tables.application, tables.unit, tables.unit_event, tables.host, tables.pe
_WANTED = select(_a.c.wanted, _a.c.state).where(_a.c.name == bindparam("of"))
_APPLICATION = select(_a).where(_a.c.name == bindparam("of"))
_UNITS = select(_u).where(_u.c.application == bindparam("of"))
_EVENTS = select(_e).where(_e.c.application == bindparam("of")).order_by(_e.c.number)
_HOSTS = select(_h).where(_h.c.application == bindparam("of")).order_by(_h.c.id)
_PES = select(_p).where(_p.c.application == bindparam("of")).order_by(_p.c.id)
_MACHINES = select(tables.machine)


def list_applications(catalog: Catalog) -> tuple[str, ...]:
    """Return the names of all applications that the catalog knows, sorted; none without a catalog."""
    if not catalog.exists:
        return ()
    with catalog.read() as connection:
        return tuple(connection.scalars(select(tables.application.c.name).order_by(tables.application.c.name)))


def open_catalog(home: Home, application: str) -> Catalog:
    """Open the catalog that holds an application. A caller that reads again keeps it: repeated statements cost less.

    Raises:
        NotDeployedError: there is no catalog, so the application is not deployed; in a catalog it is not looked for.
    """
    catalog = Catalog(home)
    if not catalog.exists:
        raise NotDeployedError(application, (), home.root)
    return catalog


def application_row(connection: Connection, home: Home, application: str) -> ApplicationRow:
    """Return the row of an application.

    Raises:
        NotDeployedError: the catalog does not know the application.
    """
    row = ApplicationRow.one_or_none(connection, _APPLICATION, {"of": application})
    if row is None:
        known = tuple(connection.scalars(select(_a.c.name).order_by(_a.c.name)))
        raise NotDeployedError(application, known, home.root)
    return row


def require_deployed(catalog: Catalog, application: str) -> None:
    """Raise NotDeployedError if there is no catalog, or it does not know the application."""
    if not catalog.exists:
        raise NotDeployedError(application, (), catalog.home.root)
    with catalog.read() as connection:
        application_row(connection, catalog.home, application)


def has_application_ended(catalog: Catalog, application: str) -> bool:
    """Return True if an application is complete, or stopped, or not known; cheaper than `read_units`."""
    with catalog.read() as connection:
        row = connection.execute(_WANTED, {"of": application}).one_or_none()
    return row is None or state_in_effect(row.wanted, row.state) in ENDED


def read_units(catalog: Catalog, application: str) -> UnitsStatus:
    """Return one consistent view of the hosts, PEs and units of an application.

    Raises:
        NotDeployedError: the catalog does not know the application.
    """
    with catalog.read() as connection:
        return units_status(connection, catalog.home, application_row(connection, catalog.home, application))


def units_status(connection: Connection, home: Home, row: ApplicationRow) -> UnitsStatus:
    """Return the status of the hosts, PEs and units of the application with this row, read in the same transaction.

    A running application is `WAITING` while one of its hosts is. If the disk of this process's state directory is full,
    hosts without an error get that error. Units of regions come first, in the order of the regions.
    """
    application, now = row.name, clock.now()
    state = state_in_effect(row.wanted, row.state)
    of = {"of": application}
    units = UnitRow.all(connection, _UNITS, of)
    events: dict[str, list[UnitEventRow]] = defaultdict(list)
    for event in UnitEventRow.all(connection, _EVENTS, of):
        events[event.unit].append(event)
    generations = {unit.name: unit.generation for unit in units}
    logs, disk = home.logs(application), _disk_error(home)
    hosts = HostRow.all(connection, _HOSTS, of)
    pes = PeRow.all(connection, _PES, of)
    pes_of: dict[str, list[PeRow]] = defaultdict(list)
    for pe in pes:
        pes_of[pe.unit].append(pe)
    placed = any(host.machine is not None for host in hosts)
    machines = {each.name: each for each in MachineRow.all(connection, _MACHINES)} if placed else {}
    wrong = misplaced([row for row in hosts if row.machine is not None and HostStatus.of(row, now).alive], machines)
    statuses: dict[int, HostStatus] = {}
    for host in hosts:
        log = _logs_of(host, machines, logs) / f"host-{host.id}.log"
        status = HostStatus.of(host, now, error=disk, log=log)
        statuses[host.id] = replace(status, misplaced=wrong.get(host.id, ()))
    return UnitsStatus(
        application=application,
        state=state if state != "RUNNING" or all(host.state != "WAITING" for host in hosts) else "WAITING",
        fingerprint=row.fingerprint,
        life=row.life,
        deployed_at=row.deployed_at,
        hosts=tuple(statuses.values()),
        pes=tuple(_pe_status(pe, generations[pe.unit], statuses[pe.host], now) for pe in pes),
        units=tuple(
            UnitStatus(
                unit,
                pes=tuple(pe.id for pe in pes_of[unit.name]),
                open_epoch=min(pe.epoch for pe in pes_of[unit.name]),
                events=tuple(events[unit.name]),
            )
            for unit in sorted(units, key=lambda unit: (unit.region is None, unit.region, unit.name))
        ),
        logs=logs,
    )


def _logs_of(host: HostRow, machines: Mapping[str, MachineRow], logs: Path) -> Path:
    """Return the directory of a host's log in the state directory of its machine; `logs` if that is not known."""
    machine = machines.get(host.machine or "")
    return Home(Path(machine.home)).logs(host.application) if machine is not None and machine.home else logs


def _pe_status(pe: PeRow, generation: int, host: HostStatus, now: float) -> PeStatus:
    log = host.log.with_name(f"pe-{pe.id}.log")
    return PeStatus(pe, generation, log, times_of_failure(pe.failures, now), host.machine, host.here)


def _disk_error(home: Home) -> str | None:
    """Return the error of a full disk, which units on it could not report themselves; None if the disk has room.

    A disk with less than `FULL_BYTES` is full. Raises OSError if it cannot be examined.
    """
    free = shutil.disk_usage(home.existing).free
    return f"the disk of {home.root} is full: {free // 2**20} MiB are free" if free < FULL_BYTES else None
