"""Rescheduling: hosts that wait for a machine are started as soon as one takes them, and misplaced hosts are moved.

One agent does this for all machines: the agent of the first machine, by name, whose lease is valid.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress

from sqlalchemy import select

from streams_orchestration import world
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import HostRow, MachineRow
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment.control import start_missing_hosts
from streams_orchestration.runtime.errors.errors import BeingStartedError, StreamsRuntimeError
from streams_orchestration.runtime.errors.loop_errors import LoopErrors
from streams_orchestration.runtime.machines.placing import arrange, residents
from streams_orchestration.runtime.machines.register import registered
from streams_orchestration.runtime.redeployment.draining import describe_redeploy_under_way
from streams_orchestration.runtime.redeployment.host_moves import choose_better_machines, move_misplaced_hosts
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.host_requirements import misplaced
from streams_orchestration.runtime.units.reading import read_units
from streams_orchestration.runtime.units.status import HostStatus, UnitsStatus

MIN_INTERVAL_SECONDS = 1.0
"""The least seconds between two polls of the catalog."""
MAX_INTERVAL_SECONDS = 5.0
"""Seconds between two polls of the catalog while it does not change."""
CUT_TIMEOUT_SECONDS = 60.0
"""Seconds in which an application must reach a cut at which its hosts are moved."""
MOVE_RETRY_SECONDS = 60.0
"""Seconds between two attempts to move hosts of an application."""

log = logging.getLogger("streams.agent")

_a = tables.application
_HOSTS = select(tables.host)
_RUNNING = select(_a.c.name).where(_a.c.wanted == _a.c.state, _a.c.wanted == "RUNNING")


class HostRescheduler:
    """A thread that starts waiting hosts and moves misplaced ones, for all machines, while its agent leads.

    Args:
        home: the state directory.
        machine: name of the agent's machine.
    """

    def __init__(self, home: Home, machine: str) -> None:
        self._machine = machine
        self._catalog = Catalog(home)
        self._tried: dict[str, float] = {}
        """Application -> monotonic time of the last attempt to move its hosts."""
        self._fruitless: dict[str, tuple[object, ...]] = {}
        """Application -> the situation of its hosts and the machines for which no better arrangement was found."""
        self._over = world.Event()
        self._thread = world.Thread(target=self._run, name="rescheduling", daemon=True)

    def start(self) -> None:
        """Start the thread. Moves need it, since they wait until an application reaches a cut."""
        self._thread.start()

    def end(self) -> None:
        """Make the thread stop, without waiting for it; a move under way is finished."""
        self._over.set()

    def _run(self) -> None:
        errors = LoopErrors(log)
        while not self._over.is_set():
            mark = self._catalog.changes.mark()
            # the agent logs errors of the catalog
            with errors.survived("hosts are not started or moved"), suppress(StreamsRuntimeError):
                self.reschedule_hosts()
            self._over.wait(MIN_INTERVAL_SECONDS)
            self._catalog.changes.wait(mark, MAX_INTERVAL_SECONDS - MIN_INTERVAL_SECONDS)

    def reschedule_hosts(self) -> None:
        """Start waiting hosts that a machine takes, and move misplaced ones, if this agent leads.

        Misplaced hosts of an application with a waiting host are not moved. Moves that fail are logged.

        Raises:
            NotDeployedError: an application is dropped meanwhile.
            HostLaunchError, JavaError: a host could not be started on this machine.
            StreamsRuntimeError: a redeploy has removed a unit meanwhile, or a rule of the protocol is broken.
        """
        now = clock.now()
        with self._catalog.read() as connection:
            machines = registered(connection)
            rows = HostRow.all(connection, _HOSTS)
            running = connection.scalars(_RUNNING).all()
        if self._machine != leader(machines, now):
            return
        for application in sorted(running):
            mine = [row for row in rows if row.application == application]
            if waiting := [row.id for row in mine if row.state == "WAITING"]:
                self._launch(application, waiting, rows, machines)
            elif found := _misplaced(mine, machines, now):
                self._put_right(application, found, (*((row.id, row.machine) for row in mine), *_states(machines, now)))

    def _launch(
        self, application: str, waiting: Sequence[int], rows: Sequence[HostRow], machines: Sequence[MachineRow]
    ) -> None:
        now = clock.now()
        if arrange(residents(rows, application, waiting, now), machines, now).refused.keys() < set(waiting):
            for host in start_missing_hosts(self._catalog, application):
                log.info("%s: %s", application, host)

    def _put_right(self, application: str, reasons: Sequence[str], situation: tuple[object, ...]) -> None:
        """Move misplaced hosts of an application, if it is healthy and the last attempt is `MOVE_RETRY_SECONDS` ago.

        Nothing is moved while a redeploy is under way, or without a better arrangement. A failure of a move is logged.

        Args:
            application: name of the application.
            reasons: a sentence for each misplaced host.
            situation: its hosts and the machines. While this is a situation without a better arrangement, the search
                is skipped.
        """
        now = world.monotonic()
        if now - self._tried.get(application, -MOVE_RETRY_SECONDS) < MOVE_RETRY_SECONDS:
            return
        if self._fruitless.get(application) == situation:
            return
        with self._catalog.read() as connection:
            better = choose_better_machines(connection, application)
        if not better:
            self._fruitless[application] = situation
            return
        status = read_units(self._catalog, application)
        if not _is_well(status) or describe_redeploy_under_way(self._catalog, application) is not None:
            return
        self._tried[application] = now
        for reason in reasons:
            log.info("%s: %s", application, reason)
        try:
            for moved in move_misplaced_hosts(self._catalog, application, within=CUT_TIMEOUT_SECONDS):
                log.info("%s: host %s continues on %s", application, moved.host, moved.machine)
        except BeingStartedError:
            del self._tried[application]
        except StreamsRuntimeError as error:
            log.warning("%s", error)


def leader(machines: Sequence[MachineRow], now: float) -> str | None:
    """Return the machine whose agent leads: the first one by name with a valid lease; None without a valid lease."""
    return min((each.name for each in machines if each.state != "DOWN" and now <= each.lease_until), default=None)


def _misplaced(rows: Sequence[HostRow], machines: Sequence[MachineRow], now: float) -> list[str]:
    """Describe the live hosts of an application whose placement violates their configs."""
    placed = [row for row in rows if row.machine is not None and HostStatus.of(row, now).alive]
    found = misplaced(placed, {machine.name: machine for machine in machines})
    return [reason for reasons in found.values() for reason in reasons]


def _states(machines: Sequence[MachineRow], now: float) -> list[tuple[object, ...]]:
    return [(each.name, each.state, now <= each.lease_until, *each.tags) for each in machines]


def _is_well(status: UnitsStatus) -> bool:
    """Return True if hosts can be moved: all are running or complete, and all units work."""
    up = all(host.state in ("RUNNING", "COMPLETED") for host in status.hosts)
    return up and all(unit.works for unit in status.units)
