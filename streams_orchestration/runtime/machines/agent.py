"""The agent of a machine: it registers the machine, renews the lease, and starts and watches the hosts wanted there.

Others write the wanted hosts into the catalog, and the agent reads them there. No process connects to an agent.
"""

from __future__ import annotations

import logging
import os
import socket
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sqlalchemy import CursorResult, bindparam, insert, select, update

from streams_orchestration import world
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.catalog.host_transitions import enter_process, fail_host, fail_hosts_of_last_boot
from streams_orchestration.runtime.catalog.outage import Outage
from streams_orchestration.runtime.catalog.rows import ApplicationRow, HostRow, MachineRow
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import (
    HostLaunchError,
    HostStartError,
    JavaError,
    MachineError,
    OtherVersionError,
    StreamsRuntimeError,
)
from streams_orchestration.runtime.hosts.launcher import HostStart
from streams_orchestration.runtime.hosts.orphans import record_processes, stop_orphans
from streams_orchestration.runtime.hosts.references import require_references
from streams_orchestration.runtime.machines.leftovers import note_machine, remove_leftovers
from streams_orchestration.runtime.machines.log_requests import answer_log_requests, drop_old_log_requests
from streams_orchestration.runtime.machines.register import shorten_leases
from streams_orchestration.runtime.machines.standbys import Standbys
from streams_orchestration.runtime.processes.processes import (
    MACHINE,
    is_alive,
    kill,
    process_space,
    process_started,
    reap_adopted,
)
from streams_orchestration.runtime.programs.deployed_pes import has_queries
from streams_orchestration.runtime.settings.limits import LEASE_SECONDS
from streams_orchestration.runtime.settings.settings import Settings
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.host_requirements import read_requirements

RENEW_SECONDS = 2.0
"""Seconds between two renewals of the lease."""
POLL_SECONDS = 0.25
"""Seconds between two checks of the processes of hosts, and the least seconds between two turns of the agent's loop."""
MAX_INTERVAL_SECONDS = 2.0
"""Seconds between two turns of the agent's loop while nothing changes in the catalog and no host ends."""
ORPHANS_SECONDS = 2.0
"""Least seconds between two checks for processes of hosts that have ended."""
LEFTOVERS_SECONDS = 20.0
"""Least seconds between two checks for files left on the disk by hosts that run elsewhere now."""

_h, _m, _p = tables.host, tables.machine, tables.process
_HOSTS = select(_h).where(_h.c.machine == bindparam("at"))
_MINE = update(_m).where(_m.c.name == bindparam("at"), _m.c.space == bindparam("here"), _m.c.pid == bindparam("agent"))
_RENEW = _MINE.values(lease_until=bindparam("until"), load=bindparam("busy"), standbys=bindparam("waiting"))
_LEAVE = _MINE.values(state="DOWN", lease_until=bindparam("until"), standbys=0)
_APPLICATIONS = select(_p.c.application).where(_p.c.space == bindparam("here")).distinct()

log = logging.getLogger("streams.agent")


@dataclass(frozen=True, slots=True)
class Machine:
    """The data that a machine registers."""

    name: str
    tags: tuple[str, ...]
    cores: int


class Agent:
    """The loop of one agent. The constructor creates a missing catalog, and upgrades an older one.

    It raises StateDirectoryError if the home cannot be written, and CatalogError if the catalog cannot be used. The
    launcher starts the hosts of the machine, and keeps some on standby.
    """

    def __init__(self, home: Home, machine: Machine, launcher: Standbys) -> None:
        self._home = home
        self._machine = machine
        self._launcher = launcher
        self._catalog: Catalog = create_catalog(home)
        self._outage = Outage(float("inf"), log)
        self._hosts: list[HostRow] = []
        """Hosts of the machine, as last read."""
        self._renewed = 0.0
        self._tidied = 0.0
        self._cleared = 0.0
        self._ended = False

    def run(self) -> None:
        """Register the machine once no other agent holds its lease, and run until `end` is called.

        The machine is recorded in the state directory. At the end the standbys are ended, and the machine is marked as
        down.

        Outages of the catalog are waited out before the end. `STREAMS_MACHINE` is set in this process.

        Raises:
            CatalogUnavailableError: the machine could not be marked as down within `RENEW_SECONDS`.
            StreamsRuntimeError, OSError: the machine cannot be registered, or another agent has registered it since; or
                the state directory, a log or the catalog cannot be used.
        """
        os.environ[MACHINE] = self._machine.name
        self._outage.through(self.await_former)
        self._outage.through(self.register)
        note_machine(self._home, self._machine.name)
        log.info("machine %s is registered in %s", self._machine.name, self._catalog.name)
        while not self._ended:
            mark = self._catalog.changes.mark()
            self._outage.through(self.turn)
            self._await_change(mark)
        self._launcher.end()
        Outage(RENEW_SECONDS, log).through(self.leave)
        log.info("the agent of machine %s has ended; hosts that it has started keep running", self._machine.name)

    def end(self) -> None:
        """Make the loop end; the hosts keep running."""
        self._ended = True
        self._catalog.changes.wake()

    def _await_change(self, mark: int) -> None:
        """Wait until the catalog changes, a host ends, or `MAX_INTERVAL_SECONDS` are over; at least `POLL_SECONDS`."""
        until = world.monotonic() + MAX_INTERVAL_SECONDS
        world.sleep(POLL_SECONDS)
        while not self._ended and world.monotonic() < until and not any(map(self._has_ended, self._hosts)):
            if self._catalog.changes.wait(mark, POLL_SECONDS):
                return

    def turn(self) -> None:
        """Renew the lease, start wanted hosts, report ended ones, answer requests for logs, and keep standbys.

        At longer intervals, also kill orphans, delete leftover files, and drop old requests for logs. As the first
        process of a container, collect the adopted children that have ended.

        Raises:
            StreamsRuntimeError, OSError: the machine was removed, or another agent has registered it; or the catalog or
                a log cannot be used.
        """
        now = world.monotonic()
        if now - self._renewed >= RENEW_SECONDS:
            self._renew()
            self._renewed = now
        with self._catalog.read() as connection:
            self._hosts = HostRow.all(connection, _HOSTS, {"at": self._machine.name})
        answer_log_requests(self._catalog, self._home, self._machine.name)
        for host in self._hosts:
            if host.state == "STARTING" and host.pid is None:
                self._start_alone(host)
            elif self._has_ended(host):
                self._report(host, f"its process {host.pid} on {self._machine.name} has ended")
        if now - self._tidied >= ORPHANS_SECONDS:
            self._tidy()
            self._tidied = now
        if now - self._cleared >= LEFTOVERS_SECONDS:
            self._clear()
            self._cleared = now
        self._launcher.keep()
        if world.pid() == 1:
            reap_adopted()

    def await_former(self) -> None:
        """Wait until a lease of this machine's name, held by an agent of another boot, has expired, or `end` is called.

        If that lease is renewed meanwhile, return at once; `register` then raises MachineError. Before the wait, which
        is logged, leases are shortened that last too long (`shorten_leases`).
        """
        named = select(tables.machine).where(tables.machine.c.name == self._machine.name)
        lease: float | None = None
        shorten_leases(self._catalog)
        while not self._ended:
            with self._catalog.read() as connection:
                row = MachineRow.one_or_none(connection, named)
            if row is None or row.state == "DOWN" or row.space == process_space() or clock.now() > row.lease_until:
                return
            if lease is None:
                wait = row.lease_until - clock.now()
                log.info(
                    "machine %s is already registered by another agent; this agent takes over in %.0f s unless that "
                    "one renews its lease",
                    row.name,
                    wait,
                )
            elif lease != row.lease_until:
                return
            lease = row.lease_until
            world.sleep(POLL_SECONDS)

    def register(self) -> None:
        """Enter the machine into the catalog, in place of an earlier row of this name, with a new lease.

        A drained machine stays drained. Hosts that ran here before the last boot are marked as failed.

        Raises:
            MachineError: another agent has registered the machine, and lives.
        """
        m, name = tables.machine, self._machine.name
        product = version("streams-orchestration")
        with self._catalog.write() as connection:
            row = MachineRow.one_or_none(connection, select(m).where(m.c.name == name))
            now, state = clock.now(), "UP"
            if row is not None:
                _refuse_other(row, now)
                state = "DRAINING" if row.state == "DRAINING" else state
                connection.execute(m.delete().where(m.c.name == name))
                fail_hosts_of_last_boot(connection, name)
            connection.execute(
                insert(m).values(
                    name=name,
                    space=process_space(),
                    pid=world.pid(),
                    process_started=process_started(world.pid()),
                    address=socket.gethostname(),
                    tags=list(self._machine.tags),
                    cores=self._machine.cores,
                    state=state,
                    version=product,
                    since=now,
                    lease_until=now + LEASE_SECONDS,
                    standbys=0,
                    load=world.load_average()[0],
                    home=str(self._home.root),
                )
            )

    def _renew(self) -> None:
        until = clock.now() + LEASE_SECONDS
        values = {"until": until, "busy": world.load_average()[0], "waiting": self._launcher.waiting}
        with self._catalog.note() as connection:
            renewed: CursorResult[tuple[()]] = connection.execute(_RENEW, self._mine() | values)
        if renewed.rowcount == 0:
            message = (
                f"machine {self._machine.name} was removed, or another agent has registered it; start this agent "
                "again, or with another --name if that agent runs"
            )
            raise MachineError(message)
        shorten_leases(self._catalog)

    def leave(self) -> None:
        """Mark the machine as down, and end its lease; do nothing if another agent has registered it."""
        with self._catalog.write() as connection:
            connection.execute(_LEAVE, self._mine() | {"until": clock.now()})

    def _mine(self) -> dict[str, Any]:
        """Return the parameters of statements on the row of this agent."""
        return {"at": self._machine.name, "here": process_space(), "agent": world.pid()}

    def _start_alone(self, host: HostRow) -> None:
        """Start a host, unless its application is no longer wanted to run.

        If its programs, its launch or an unexpected error prevent the start, report why in its row.
        """
        try:
            self._start(host)
        except OtherVersionError as error:
            self._report(host, f"it cannot be started on {self._machine.name}: {error}")
        except StreamsRuntimeError:
            raise
        except Exception as error:
            log.exception("host %s of %s cannot be started", host.id, host.application)
            self._report(host, f"it cannot be started on {self._machine.name}: {error!r}; see the agent's log")

    def _start(self, host: HostRow) -> None:
        a = tables.application
        with self._catalog.read() as connection:
            row = ApplicationRow.one_or_none(connection, select(a).where(a.c.name == host.application))
            queries = has_queries(connection, host.application, host.id)
        if row is None or row.wanted != "RUNNING":
            return
        # if the agent dies before it has recorded the process, the process finds no host of its incarnation, and ends
        incarnation = world.new_id()
        engine = Settings(**row.settings).engine(read_requirements(host.id, host.requirements).tags, queries=queries)
        start = HostStart(self._home, host.application, host.id, incarnation, Path(row.base), engine)
        try:
            with self._catalog.read() as connection:
                require_references(connection, start)
            process = self._launcher.launch(start)
        except (HostLaunchError, JavaError) as error:
            log.error("%s", error)
            self._report(host, f"it {error.reason}" if isinstance(error, HostStartError) else str(error))
            return
        with self._catalog.write() as connection:
            record_processes(connection, host.application, host.id, incarnation, [process])
            entered = enter_process(connection, host.application, host.id, host.incarnation, process, incarnation)
        if not entered:
            kill(process.pid, process.started)
            return
        log.info("host %s of %s is started, pid %s", host.id, host.application, process.pid)

    def _has_ended(self, host: HostRow) -> bool:
        working = host.state in ("STARTING", "RUNNING") and host.pid is not None
        return working and host.space == process_space() and not is_alive(host.pid, host.process_started)

    def _report(self, host: HostRow, error: str) -> None:
        """Record that and why a host has failed, unless the host has recorded its end itself or was replaced."""
        with self._catalog.write() as connection:
            fail_host(connection, host, error)

    def _tidy(self) -> None:
        """Kill orphans on this machine, which `stop_orphans` logs, and drop old requests for logs."""
        drop_old_log_requests(self._catalog)
        with self._catalog.read() as connection:
            applications = connection.scalars(_APPLICATIONS, {"here": process_space()}).all()
        for application in applications:
            stop_orphans(self._catalog, application)

    def _clear(self) -> None:
        """Remove and log files left by hosts that were killed here and run elsewhere now."""
        for path in remove_leftovers(self._catalog, self._home, self._machine.name):
            log.info("%s, a leftover of a host, was removed", path)


def _refuse_other(row: MachineRow, now: float) -> None:
    """Raise MachineError if another live agent holds the name."""
    same = row.space == process_space()
    lives = is_alive(row.pid, row.process_started) and row.pid != world.pid() if same else now <= row.lease_until
    if row.state == "DOWN" or not lives:
        return
    where = "here" if same else f"on {row.address}"
    wait = "" if same else f", or wait {row.lease_until - now:.0f} s if that agent has ended"
    message = f"an agent {where} (pid {row.pid}) has registered machine {row.name}; use another --name{wait}"
    raise MachineError(message)
