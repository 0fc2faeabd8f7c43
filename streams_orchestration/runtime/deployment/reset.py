"""Reset: a unit goes back to its last complete epoch, over all its PEs, and runs on in a new generation.

Every step may be repeated: a reset that died half way is completed by the next call, of any process.
"""

from __future__ import annotations

from sqlalchemy import select, update

from streams_orchestration.model.names import nearest
from streams_orchestration.runtime import clock
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import HostRow
from streams_orchestration.runtime.deployment.control import launch
from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.hosts.launcher import HostLauncher
from streams_orchestration.runtime.limits import HEARTBEAT_LIMIT
from streams_orchestration.runtime.machines.register import registered
from streams_orchestration.runtime.processes import is_here, kill
from streams_orchestration.runtime.sinks.retraction import retract
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import remove_files
from streams_orchestration.runtime.units.controller import advance, mark_taken_up, unit_row
from streams_orchestration.runtime.units.cut_files import check_cuts
from streams_orchestration.runtime.units.health import read_health
from streams_orchestration.runtime.units.reading import read_units
from streams_orchestration.runtime.units.region_events import Event, ResetRequested, TimerFired
from streams_orchestration.runtime.units.region_machine import LIMIT
from streams_orchestration.runtime.units.unit_facts import ENDED
from streams_orchestration.runtime.units.unit_status import LOST_REMEDY
from streams_orchestration.runtime.units.watch import observe


def reset(
    home: Home,
    application: str,
    unit: str,
    *,
    generation: int | None = None,
    force: bool = False,
    launcher: HostLauncher | None = None,
) -> int:
    """Have a unit go back to its cut and run again.

    When its hosts live, it stands at the cut when this returns: one transaction raises the generation, which refuses
    every later commit of the old one, and drops the commits after the cut with all that they named. When some do not,
    they are started, and the first process that sees them up does the same (B12).

    Args:
        home: the state directory.
        application: its name.
        unit: `region-0`, or `pe-3` for a PE in no region.
        generation: of the failure; when the unit is beyond it already, nothing is done.
        force: reset although the attempts are used up: as many as configured are added to the limit (B3); also when a
            file seems to be gone.
        launcher: of hosts that are missing; see `launch`.

    Returns:
        The unit's generation.

    Raises:
        StreamsRuntimeError: the application is stopped, there is no such unit, its attempts are used up, or a file that
            its cut needs is gone.
    """
    status = read_units(home, application)
    if status.state == "STOPPED":
        message = f"{application} is stopped; run or deploy it again, then it goes on where it stood"
        raise StreamsRuntimeError(message)
    names = [known.name for known in status.units]
    if unit not in names:
        message = f"{application}: there is no unit {unit}{nearest(unit, names)}"
        raise StreamsRuntimeError(message)
    catalog = Catalog(home)
    if not force:
        _refuse_lost(catalog, application, unit)
    _end_hosts(catalog, application, unit, generation)
    observe(catalog, application, [unit])
    begin_reset(catalog, application, unit, generation=generation, force=force)
    retract(catalog, application)  # hosts do it, too, whatever becomes of this process
    # also when the unit was reset before: that call may have died before it came this far
    launch(home, application, launcher=launcher, heal=False)
    with catalog.read() as connection:
        row = unit_row(connection, application, unit)
    if row.state == LIMIT and not force:
        message = (
            f"{application}: {unit} was reset {row.attempts} times in a row without completing an epoch. Mend what its "
            f"logs say ({status.log_places}), then use `streams reset {application} --unit {unit} --force`."
        )
        raise StreamsRuntimeError(message)
    return row.generation


def _refuse_lost(catalog: Catalog, application: str, unit: str) -> None:
    """Raise StreamsRuntimeError when a file that the unit's cut needs is missing."""
    lost = check_cuts(catalog, application, [unit]).get(unit)
    if lost is not None:
        message = f"{application}: {lost}. {LOST_REMEDY}"
        raise StreamsRuntimeError(message)


def begin_reset(catalog: Catalog, application: str, unit: str, *, generation: int | None, force: bool) -> None:
    """Write down that the reset is taken up, and begin it if every host is there."""
    with catalog.write_unit(application, unit) as connection:
        row = unit_row(connection, application, unit)
        if row.state in ENDED or (generation is not None and row.generation > generation):
            return
        now = clock.now()
        mark_taken_up(connection, application, [unit])
        health = read_health(connection, application, now, [unit])[unit]
        event: Event | None = ResetRequested(force=force, healthy=health.up)
        if row.timer in ("drain", "reset") and row.deadline is not None and now >= row.deadline:
            event = TimerFired(row.timer, row.timer_number)
        garbage = advance(connection, application, unit, now, health, event)
    remove_files(catalog.store, garbage)


def _end_hosts(catalog: Catalog, application: str, unit: str, generation: int | None) -> None:
    """Kill what is left of hosts that hang or have failed, so that `launch` may start them.

    Those of a reset that has run out of time are killed, too, when they have not answered it. So are those of a machine
    that is drained and does not reach the storage: they would come to no cut at which they could be moved.
    """
    h, p = tables.host, tables.pe
    now = clock.now()
    with catalog.read() as connection:
        row = unit_row(connection, application, unit)
        hosts = HostRow.all(connection, select(h).where(h.c.application == application))
        overdue = row.timer == "reset" and row.deadline is not None and now >= row.deadline
        late = overdue and generation in (None, row.generation)
        mute = select(p.c.host).where(
            p.c.application == application, p.c.unit == unit, ~p.c.final, p.c.running != row.generation
        )
        stuck = set(connection.scalars(mute)) if late else set()
        drained = {machine.name for machine in registered(connection) if machine.state == "DRAINING"}
    cut_off = {host.id for host in hosts if host.machine in drained and host.storage_failed_at is not None}
    for host in hosts:
        silent = now - max(host.heartbeat_at or 0.0, host.launched_at)
        if host.state == "FAILED" or silent > HEARTBEAT_LIMIT or host.id in stuck | cut_off:
            if is_here(host.space):
                kill(host.pid, host.process_started)
            elif host.id in stuck | cut_off:  # its machine ends it once another one is in its place
                _give_up(catalog, host, "it did not answer a reset" if host.id in stuck else "it has no storage")


def _give_up(catalog: Catalog, host: HostRow, reason: str) -> None:
    """Count a host that cannot be killed from here as failed."""
    h = tables.host
    mine = (h.c.application == host.application, h.c.id == host.id, h.c.incarnation == host.incarnation)
    with catalog.write() as connection:
        connection.execute(update(h).where(*mine).values(state="FAILED", error=reason))
