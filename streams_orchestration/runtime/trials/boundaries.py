"""Deletes the rows of replaced units and hosts, and inserts the cut, states and hosts with which a new plan begins."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict

from sqlalchemy import Connection, delete, insert, select

from streams_orchestration.compiler.deployment_plan import HostRequirements
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.host_transitions import delete_hosts, insert_host, set_requirements
from streams_orchestration.runtime.catalog.rows import KEPT_BY_COMMIT, PeRow
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.programs.batches import StoredState
from streams_orchestration.runtime.units.host_requirements import stored_requirements


def forget_units(connection: Connection, application: str, units: Collection[str]) -> None:
    """Delete the rows of units and their PEs, with their commits, states, metrics and epochs.

    Rows of streams, sinks and events stay, and so do all files.
    """
    p, u, e = tables.pe, tables.unit, tables.epoch
    pes = list(connection.scalars(select(p.c.id).where(p.c.application == application, p.c.unit.in_(units))))
    for table in (tables.commit, tables.state, tables.pe_metrics, tables.metrics_sample):
        connection.execute(delete(table).where(table.c.application == application, table.c.pe.in_(pes)))
    connection.execute(delete(p).where(p.c.application == application, p.c.id.in_(pes)))
    connection.execute(delete(u).where(u.c.application == application, u.c.name.in_(units)))
    connection.execute(delete(e).where(e.c.application == application, e.c.unit.in_(units)))


def insert_cut(connection: Connection, application: str, unit: str, epoch: int, generation: int) -> None:
    """Insert a complete epoch of a unit, and for each of its PEs a commit at its position that closes the epoch.

    The row of the unit is not changed.

    Args:
        connection: a connection in a write transaction.
        application: the name of the application.
        unit: the name of the unit.
        epoch: the number of the complete epoch.
        generation: the generation of the commits.
    """
    p = tables.pe
    pes = PeRow.all(connection, select(p).where(p.c.application == application, p.c.unit == unit))
    for pe in pes:
        values = {name: getattr(pe, name) for name in KEPT_BY_COMMIT} | {"committed_at": pe.committed_at or clock.now()}
        key = {"application": application, "pe": pe.id, "batch": pe.batch}
        connection.execute(
            insert(tables.commit).values(**key, **values, generation=generation, epoch=epoch, boundary=True)
        )
    connection.execute(
        insert(tables.epoch).values(
            application=application,
            unit=unit,
            epoch=epoch,
            cut={str(pe.id): pe.batch for pe in pes},
            completed_at=clock.now(),
            seconds=0.0,
        )
    )


def insert_states(connection: Connection, application: str, pe: int, batch: int, states: Iterable[StoredState]) -> None:
    """Insert the states with which the operators of a PE continue after a batch."""
    for state in states:
        files = [asdict(file) for file in state.files]
        values = {"application": application, "pe": pe, "batch": batch, "operator": state.operator}
        connection.execute(insert(tables.state).values(**values, files=files))


def place_hosts(connection: Connection, application: str, hosts: Mapping[int, HostRequirements]) -> None:
    """Insert new hosts as STOPPED, write the requirements of all given hosts, and delete the application's other hosts.

    The processes of deleted hosts then end.
    """
    h = tables.host
    there = set(connection.scalars(select(h.c.id).where(h.c.application == application)))
    for host, required in sorted(hosts.items()):
        if host in there:
            set_requirements(connection, application, host, stored_requirements(required))
        else:
            insert_host(connection, application, host, stored_requirements(required), clock.now())
    delete_hosts(connection, application, there - set(hosts))
