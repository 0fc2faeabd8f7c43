"""Reads what an application is doing from its catalog."""

from __future__ import annotations

import shutil
from typing import Any, cast

from pydantic import TypeAdapter
from sqlalchemy import Connection, select

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.documents import load
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors import NotDeployedError
from streams_orchestration.runtime.hosts.launcher import LAUNCHER
from streams_orchestration.runtime.observing.links import read_exports, read_imports
from streams_orchestration.runtime.programs.spread import LevelSpread
from streams_orchestration.runtime.sinks.sinks import read_sinks
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.status import ApplicationStatus, HostStatus, PeStatus
from streams_orchestration.runtime.units.unit_status import Cut, UnitEvent, UnitStatus
from streams_orchestration.runtime.units.unit_store import times_of

_levels: TypeAdapter[tuple[LevelSpread, ...]] = TypeAdapter(tuple[LevelSpread, ...])

FULL_BYTES = 4 * 1024 * 1024


def deployed_applications(home: Home) -> tuple[str, ...]:
    """The names of all applications that the catalog knows, sorted."""
    catalog = Catalog(home)
    if not catalog.exists:
        return ()
    with catalog.read() as connection:
        return tuple(connection.scalars(select(tables.application.c.name).order_by(tables.application.c.name)))


def deployed_compilation(home: Home, application: str) -> Compilation:
    """The compiled application as it was deployed.

    Raises:
        NotDeployedError: the catalog does not know it.
    """
    with _opened(home, application).read() as connection:
        return load(Compilation, _application(connection, home, application).compilation)


def read_cuts(home: Home, application: str) -> dict[str, tuple[Cut, ...]]:
    """The last complete epochs of every unit, the oldest first; PEs outside of regions have none.

    Raises:
        NotDeployedError: the catalog does not know it.
    """
    e = tables.epoch
    with _opened(home, application).read() as connection:
        _application(connection, home, application)
        cuts: dict[str, list[Cut]] = {}
        for row in connection.execute(_all(e, application).order_by(e.c.epoch)):
            cuts.setdefault(row.unit, []).append(Cut(row.epoch, row.completed_at, row.seconds or 0.0))
    return {unit: tuple(found) for unit, found in cuts.items()}


def read_status(home: Home, application: str) -> ApplicationStatus:
    """One consistent view of an application.

    Raises:
        NotDeployedError: the catalog does not know it.
    """
    with _opened(home, application).read() as connection:
        row = _application(connection, home, application)
        units = connection.execute(_all(tables.unit, application)).all()
        events: dict[str, list[UnitEvent]] = {}
        for event in connection.execute(_all(tables.unit_event, application).order_by(tables.unit_event.c.number)):
            events.setdefault(event.unit, []).append(
                UnitEvent(
                    event.at, event.kind, event.generation, event.epoch, event.attempts, event.seconds, event.cause
                )
            )
        generations = {unit.name: unit.generation for unit in units}
        logs = home.logs(application)
        hosts = tuple(
            HostStatus.of(
                host, alive=LAUNCHER.alive(host.pid, host.process_started), error=_disk_error(home),
                log=logs / f"host-{host.id}.log",
            )
            for host in connection.execute(_all(tables.host, application).order_by(tables.host.c.id))
        )  # fmt: skip
        pes = tuple(
            PeStatus(
                id=pe.id,
                operators=tuple(pe.operators),
                host=pe.host,
                unit=pe.unit,
                state=pe.state,
                generation=generations[pe.unit],
                batch=pe.batch,
                epoch=pe.epoch,
                rows_in=pe.rows_in,
                rows_out=pe.rows_out,
                busy_seconds=pe.busy_seconds,
                committed_at=pe.committed_at,
                error=pe.error,
                log=logs / f"pe-{pe.id}.log",
                permanent=pe.permanent,
                levels=_levels.validate_python(pe.levels),
                restartable=pe.restartable,
                running=pe.running,
            )
            for pe in connection.execute(_all(tables.pe, application).order_by(tables.pe.c.id))
        )
        return ApplicationStatus(
            application=application,
            state=row.state if row.wanted == "RUNNING" or row.state == "COMPLETED" else "STOPPED",
            fingerprint=row.fingerprint,
            deployed_at=row.deployed_at,
            hosts=hosts,
            pes=pes,
            units=tuple(
                UnitStatus(
                    unit.name, unit.region, unit.state, unit.generation, unit.completed_epoch,
                    min(pe.epoch for pe in pes if pe.unit == unit.name), unit.attempts, unit.max_attempts,
                    tuple(pe.id for pe in pes if pe.unit == unit.name), unit.completed_at, unit.period,
                    current_epoch=unit.pending_epoch or unit.current_epoch,
                    drain_timeout=unit.drain_timeout,
                    reset_timeout=unit.reset_timeout,
                    since=unit.since,
                    dirty=unit.dirty,
                    cause=unit.cause,
                    asked=unit.asked == unit.generation,
                    timer=unit.timer,
                    deadline=unit.deadline,
                    resets=unit.reset_count,
                    restarts=unit.restarts,
                    drain_times=times_of(unit.drains),
                    reset_times=times_of(unit.resets),
                    outage=unit.outage,
                    events=tuple(events.get(unit.name, ())),
                )
                for unit in sorted(units, key=lambda unit: (unit.region is None, unit.region, unit.name))
            ),
            sinks=read_sinks(connection, application),
            logs=logs,
            imports=read_imports(connection, application),
            exports=read_exports(connection, application),
        )  # fmt: skip


def _disk_error(home: Home) -> str | None:
    """A host that finds the disk full cannot write down that it did."""
    free = shutil.disk_usage(home.root).free
    return f"the disk of {home.root} is full: {free // 2**20} MiB are free" if free < FULL_BYTES else None


def _opened(home: Home, application: str) -> Catalog:
    catalog = Catalog(home)
    if not catalog.exists:
        raise NotDeployedError(application, (), home.root)
    return catalog


def _application(connection: Connection, home: Home, application: str) -> Any:
    a = tables.application
    row = connection.execute(select(a).where(a.c.name == application)).one_or_none()
    if row is None:
        known = tuple(connection.scalars(select(a.c.name).order_by(a.c.name)))
        raise NotDeployedError(application, known, home.root)
    return row


def _all(table: Any, application: str) -> Any:
    return cast(Any, select(table).where(table.c.application == application))
