"""Starts and stops the hosts of applications, and waits until applications run or have stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, CursorResult, select, update

from streams_orchestration import world
from streams_orchestration.runtime import clock
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import ApplicationRow, HostRow
from streams_orchestration.runtime.errors import (
    CatalogUnavailableError,
    CommitUnknownError,
    HostLaunchError,
    WaitingForMachineError,
)
from streams_orchestration.runtime.hosts.launcher import HostLauncher, HostStart, LocalLauncher
from streams_orchestration.runtime.hosts.orphans import record_processes, stop_orphans
from streams_orchestration.runtime.hosts.pes import has_queries, require_references
from streams_orchestration.runtime.lineage.giving_up import report_failure
from streams_orchestration.runtime.machines.placing import arrange, residents
from streams_orchestration.runtime.machines.register import registered
from streams_orchestration.runtime.processes import is_here, kill, process_space
from streams_orchestration.runtime.settings import Settings
from streams_orchestration.runtime.sinks.publishing import remove_empty
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.controller import advance, mark_taken_up
from streams_orchestration.runtime.units.failures import FailedAgainError, failures
from streams_orchestration.runtime.units.reading import opened_catalog, read_units
from streams_orchestration.runtime.units.region_machine import WORKING
from streams_orchestration.runtime.units.status import HostStatus, UnitsStatus
from streams_orchestration.runtime.units.unit_facts import Health, Trouble
from streams_orchestration.runtime.units.watch import observe
from streams_orchestration.runtime.units.wishes import read_wish

POLL_SECONDS = 0.1
STOP_SECONDS = 30.0
"""Default seconds that `cancel` gives hosts to end by themselves."""
FAILING_SECONDS = 3.0
"""Seconds for which a unit may be in need of a reset while its application starts. After that, the start has failed."""
HEALING_SECONDS = 12.0
"""Seconds for which a unit may be in need of a reset while others reset it: two looks of Dagster's sensor."""


def launch(
    home: Home,
    application: str,
    *,
    asked_at: float | None = None,
    launcher: HostLauncher | None = None,
    heal: bool = True,
) -> tuple[str, ...]:
    """Start every missing host of an application that is wanted to run. Concurrent callers start each host once.

    Orphans of dead hosts are killed while the new hosts come up; they can commit nothing any more.

    Args:
        home: the state directory.
        application: name of the application.
        asked_at: the time at which the command was entered, in unix seconds; the start-up time counts from there.
        launcher: starts the hosts; None for processes on this machine.
        heal: also take up the resets that units need, for example because their host died.

    Returns:
        The hosts in words. `host 0, pid 4711` was started here; an agent starts `host 0 on north`; `host 0 waits: ...`
        is WAITING until a machine takes it.

    Raises:
        NotDeployedError: the application is not deployed.
        HostLaunchError, JavaError: a host could not be started on this machine.
    """
    catalog = opened_catalog(home, application)
    read_units(home, application, catalog)
    asked_at = None if asked_at is None else clock.shared(asked_at)
    observe(catalog, application)
    failed = failures(read_units(home, application, catalog), clock.now()) if heal else ()
    mendable = [failure.unit for failure in failed if not failure.exhausted]
    a, chosen, unknown = tables.application, _Chosen(), None
    try:
        with catalog.write() as connection:
            row = ApplicationRow.one(connection, select(a).where(a.c.name == application))
            wanted = row.wanted == "RUNNING" and row.state != "COMPLETED"
            if wanted and heal:
                mark_taken_up(connection, application, [*mendable, *_lost(connection, application)])
            chosen = _choose_missing(connection, home, row, asked_at) if wanted else _Chosen()
    except CommitUnknownError as error:  # nobody else would start a host that was claimed after all
        unknown = error
    begun = _start(catalog, launcher or LocalLauncher(), chosen.here)
    if unknown is not None and (chosen.elsewhere or len(begun) < len(chosen.here)):
        raise unknown
    stop_orphans(home, application)
    return (*chosen.elsewhere, *begun)


@dataclass(frozen=True, slots=True)
class _Claim:
    """The claim of this process to start a host: it has written a new incarnation into the host's row."""

    start: HostStart
    former: HostRow
    """The host's row before the claim."""
    pes: tuple[tuple[int, dict[str, Any]], ...]
    """For each PE of the host, its number and the state columns of its row before the claim."""


@dataclass(slots=True)
class _Chosen:
    """The missing hosts, divided into those that this process starts and those that it does not."""

    elsewhere: list[str] = field(default_factory=list[str])
    """Descriptions of the hosts that agents start or that wait for a machine."""
    here: list[_Claim] = field(default_factory=list[_Claim])


def _choose_missing(connection: Connection, home: Home, row: ApplicationRow, asked_at: float | None) -> _Chosen:
    """Mark missing hosts with unfinished PEs as STARTING. If machines are registered, their agents start the hosts."""
    h, p, u = tables.host, tables.pe, tables.unit
    application = row.name
    settings = Settings(**row.settings)
    chosen, now, machines = _Chosen(), clock.now(), registered(connection)
    open_units = select(u.c.name).where(u.c.application == application, u.c.state != "COMPLETED")
    working = select(p.c.host).where(p.c.application == application, p.c.unit.in_(open_units))
    hosts = HostRow.all(connection, select(h).where(h.c.application == application, h.c.id.in_(working)))
    # a COMPLETED host may still be alive to tidy up, but it runs no PEs any more
    missing = [host for host in hosts if host.state == "COMPLETED" or not HostStatus.of(host, now).alive]
    rows = HostRow.all(connection, select(h).where(h.c.machine.is_not(None) | (h.c.application == application)))
    places = arrange(residents(rows, application, [host.id for host in missing], now), machines, now)
    for host in missing:
        incarnation = world.new_id()
        where: dict[str, Any] = {"machine": None, "space": process_space(), "pid": None, "process_started": None}
        if machines and host.id in places.refused:
            chosen.elsewhere.append(f"host {host.id} waits: {places.refused[host.id]}")
            _wait_for_machine(connection, host, str(places.refused[host.id]))
            continue
        if machines:
            machine = places.machines[host.id]
            chosen.elsewhere.append(f"host {host.id} on {machine.name}")
            where |= {"machine": machine.name, "space": machine.space}
        else:
            tags = read_wish(host.id, host.wish).tags
            engine = settings.engine(tags, queries=has_queries(connection, application, host.id))
            start = HostStart(home, application, host.id, incarnation, Path(row.base), engine)
            chosen.here.append(_Claim(start, host, _pes_of(connection, host)))
        connection.execute(
            update(h)
            .where(h.c.application == application, h.c.id == host.id)
            .values(
                **where, incarnation=incarnation, state="STARTING", asked_at=asked_at, launched_at=clock.now(),
                heartbeat_at=None, error=None, start_up=None, launches=host.launches + 1,
            )
        )  # fmt: skip
        connection.execute(
            update(p)
            .where(p.c.application == application, p.c.host == host.id, ~p.c.final, p.c.state != "FAILED")
            .values(state="STARTING", error=None, permanent=False)
        )
    return chosen


def _pes_of(connection: Connection, host: HostRow) -> tuple[tuple[int, dict[str, Any]], ...]:
    p = tables.pe
    mine = (p.c.application == host.application, p.c.host == host.id)
    rows = connection.execute(select(p.c.id, p.c.state, p.c.error, p.c.permanent).where(*mine))
    return tuple((row.id, {"state": row.state, "error": row.error, "permanent": row.permanent}) for row in rows)


def _start(catalog: Catalog, launcher: HostLauncher, claims: Sequence[_Claim]) -> list[str]:
    """Start claimed hosts outside of any transaction, and record their processes; return the hosts in words.

    If a host was stopped or claimed by another process meanwhile, the new process is killed.

    Raises:
        HostLaunchError, JavaError: a host could not be started. Its rows and those of the hosts after it are restored.
    """
    h, started = tables.host, list[str]()
    for number, claim in enumerate(claims):
        start = claim.start
        try:
            with catalog.read() as connection:
                require_references(connection, start)
            process = launcher.launch(start)
        except BaseException:
            for each in claims[number:]:
                _give_back(catalog, each)
            raise
        with catalog.write() as connection:
            row = update(h).where(*_is_claimed(start, process.pid))
            recorded = row.values(pid=process.pid, process_started=process.started)
            entered: CursorResult[tuple[()]] = connection.execute(recorded)
            if entered.rowcount:
                record_processes(connection, start.application, start.host, start.incarnation, [process])
        if entered.rowcount:
            started.append(f"host {start.host}, pid {process.pid}")
        else:
            kill(process.pid, process.started)
    return started


def _give_back(catalog: Catalog, claim: _Claim) -> None:
    """Restore the rows of a claimed host and its PEs, unless another process has changed them."""
    h, p, start, former = tables.host, tables.pe, claim.start, asdict(claim.former)
    with catalog.write() as connection:
        given: CursorResult[tuple[()]] = connection.execute(update(h).where(*_is_claimed(start)).values(**former))
        for pe, values in claim.pes if given.rowcount else ():
            its_row = (p.c.application == start.application, p.c.id == pe, p.c.state == "STARTING")
            connection.execute(update(p).where(*its_row).values(**values))


def _is_claimed(start: HostStart, pid: int = 0) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for the row of a claimed host that has no process yet, or has reported this process."""
    h = tables.host
    mine = (h.c.application == start.application, h.c.id == start.host, h.c.incarnation == start.incarnation)
    return (*mine, (h.c.pid.is_(None) & (h.c.state == "STARTING")) | (h.c.pid == pid))


def _wait_for_machine(connection: Connection, host: HostRow, reason: str) -> None:
    """Mark a host as WAITING until a machine takes it, with the reason why none does now."""
    h, p = tables.host, tables.pe
    if host.state == "WAITING" and host.error == reason:
        return
    connection.execute(
        update(h)
        .where(h.c.application == host.application, h.c.id == host.id)
        .values(
            machine=None, space=process_space(), pid=None, process_started=None, incarnation=world.new_id(),
            state="WAITING", launched_at=clock.now(), heartbeat_at=None, start_up=None, error=reason,
        )
    )  # fmt: skip
    mine = (p.c.application == host.application, p.c.host == host.id, ~p.c.final, p.c.state != "FAILED")
    connection.execute(update(p).where(*mine).values(state="WANTED", error=None, permanent=False))


def _lost(connection: Connection, application: str) -> list[str]:
    """Mark the units of dead hosts as failed, so that they refuse commits of these hosts; return the units."""
    h, p, u = tables.host, tables.pe, tables.unit
    lost: list[str] = []
    hosts = HostRow.all(connection, select(h).where(h.c.application == application, h.c.pid.is_not(None)))
    now = clock.now()
    for host in hosts:
        status = HostStatus.of(host, now)
        if status.alive:
            continue
        members = select(p.c.unit).where(p.c.application == application, p.c.host == host.id, ~p.c.final)
        working = (u.c.application == application, u.c.name.in_(members), u.c.state.in_(WORKING))
        trouble = Trouble(f"host {host.id} ({status.process}) is gone", host.heartbeat_at or host.launched_at)
        for name in connection.scalars(select(u.c.name).where(*working)).all():
            advance(connection, application, name, clock.now(), Health(trouble, up=False))
            lost.append(name)
    return lost


def await_engines(home: Home, application: str, timeout: float) -> None:
    """Wait until no live host is starting its engine any more, but at most `timeout` seconds."""

    def up(status: UnitsStatus) -> bool:
        return not any(host.alive and host.state == "STARTING" for host in status.hosts)

    _await(home, application, Catalog(home), timeout, up)


def await_running(
    home: Home, application: str, timeout: float, unit: str | None = None, failed: int | None = None
) -> UnitsStatus:
    """Wait until every PE runs or is complete.

    Args:
        home: the state directory.
        application: name of the application.
        timeout: most seconds to wait.
        unit: wait for this unit's PEs only, while another process resets it whenever it fails; None for all units.
        failed: the failed generation of the unit. Return as soon as the unit has recovered from it.

    Raises:
        HostLaunchError: a host or a PE failed, a unit needs a reset (again), the application was stopped, or the time
            ran out; the message names the log. If no machine takes a host, it is a WaitingForMachineError.
    """
    catalog = Catalog(home)
    patience = FAILING_SECONDS if unit is None else HEALING_SECONDS
    failing: dict[str, float] = {}  # unit -> since when

    def running(status: UnitsStatus) -> bool:
        units = {each.name: each for each in status.units if unit in (None, each.name)}
        if failed is not None and all(each.came_back_from(failed) for each in units.values()):
            return True
        if status.state == "STOPPED":
            if _has_taken_all(catalog, application):
                return True
            message = f"{application} was stopped"
            raise HostLaunchError(message)
        observe(catalog, application)
        pes = [pe for pe in status.pes if pe.unit in units]
        if unit is None:
            _require_working(status)
        now = clock.now()
        failures_now = {failure.unit: failure for failure in failures(status, now) if failure.unit in units}
        for name in units.keys() - failures_now.keys():
            failing.pop(name, None)
        for name, failure in failures_now.items():
            hopeless = unit is not None and failure.exhausted
            if hopeless or now - failing.setdefault(name, now) > patience:
                raise FailedAgainError(failure)
        if any(each.waits or each.state == "RESETTING" for each in units.values()):
            return False
        return status.state == "COMPLETED" or all(pe.state in ("RUNNING", "COMPLETED") for pe in pes)

    status = _await(home, application, catalog, timeout, running)
    if status is None:
        late = read_units(home, application, catalog)
        require_machines(late)
        message = f"the PEs of {unit or application} did not all run after {timeout:.0f} s (logs: {late.log_places})"
        raise HostLaunchError(message)
    return status


def _has_taken_all(catalog: Catalog, application: str) -> bool:
    """Return True if the application's bounded run has read all its input."""
    a = tables.application
    with catalog.read() as connection:
        return connection.scalar(select(a.c.taken_at).where(a.c.name == application)) is not None


def _require_working(status: UnitsStatus) -> None:
    """Raise HostLaunchError if a host or a PE of a starting application has failed, or a host waits for a machine."""
    require_machines(status)
    for host in status.hosts:
        if host.state == "FAILED" or (not host.alive and host.state in ("STARTING", "RUNNING")):
            reason = host.error or f"its process is gone ({host.process})"
            message = f"host {host.id} of {status.application} failed: {reason} (log: {host.log_place})"
            raise HostLaunchError(message)
    taken_up = {unit.name for unit in status.units if unit.asked}
    for pe in status.pes:
        if pe.state == "FAILED" and pe.unit not in taken_up:
            raise HostLaunchError(pe.error or f"PE {pe.id} failed (log: {pe.log_place})")


def require_machines(status: UnitsStatus) -> None:
    """Raise WaitingForMachineError if hosts wait for a machine."""
    if status.state == "WAITING":
        waiting = {host.id: host.error or "" for host in status.hosts if host.state == "WAITING"}
        raise WaitingForMachineError(status.application, waiting)


def cancel(home: Home, application: str, timeout: float = STOP_SECONDS) -> UnitsStatus:
    """Stop an application. It keeps its state, and continues from it when it is deployed again.

    Hosts finish the batches under way. A host that does not end within `timeout` seconds is killed, without data loss.

    Raises:
        NotDeployedError: the application is not deployed.
    """
    read_units(home, application)
    report_failure(home, application)
    a, h, p, u = tables.application, tables.host, tables.pe, tables.unit
    catalog = Catalog(home)
    with catalog.write() as connection:
        connection.execute(update(a).where(a.c.name == application).values(wanted="STOPPED", runs_until=None))
    _await(home, application, catalog, timeout, lambda status: not any(host.alive for host in status.hosts))
    with catalog.read() as connection:
        hosts = HostRow.all(connection, select(h).where(h.c.application == application))
    for host in hosts:
        if is_here(host.space):  # others end their own
            kill(host.pid, host.process_started)
    with catalog.write() as connection:
        connection.execute(update(h).where(h.c.application == application, h.c.state == "WAITING").values(error=None))
        for table in (h, p, u):
            connection.execute(
                update(table)
                .where(table.c.application == application, table.c.state != "COMPLETED")
                .values(state="STOPPED")
            )
        connection.execute(update(a).where(a.c.name == application, a.c.state != "COMPLETED").values(state="STOPPED"))
    stop_orphans(home, application)
    remove_empty(catalog, application)
    return read_units(home, application)


def _await(
    home: Home, application: str, catalog: Catalog, timeout: float, condition: Callable[[UnitsStatus], bool]
) -> UnitsStatus | None:
    """Poll until a status meets the condition, and return it; return None after `timeout` seconds."""
    until = world.monotonic() + timeout
    while True:
        late = world.monotonic() > until
        try:
            status = read_units(home, application, catalog)
        except CatalogUnavailableError:
            if late:
                raise
        else:
            if condition(status):
                return status
            if late:
                return None
        world.sleep(POLL_SECONDS)
