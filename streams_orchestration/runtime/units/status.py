"""The status of the hosts, PEs and units of an application, as read from its catalog."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from streams_orchestration.runtime.catalog.rows import HostRow, PeRow
from streams_orchestration.runtime.catalog.states import ENDED, ApplicationState, HostState, PeState, heard_at
from streams_orchestration.runtime.processes.processes import is_alive, is_here
from streams_orchestration.runtime.programs.spread import LevelSpread
from streams_orchestration.runtime.settings.limits import AGENT_LIMIT, HEARTBEAT_LIMIT, START_LIMIT
from streams_orchestration.runtime.units.unit_status import UnitStatus

LOST = "LOST"
"""Shown state of a host that is gone, and of its PEs, until the catalog has recorded that."""
UNHEALTHY = "UNHEALTHY"
"""Shown state of an application while one of its units needs a reset or is being reset."""


@dataclass(frozen=True, slots=True)
class HostStatus:
    """One host: a detached process with one Spark application. Times are unix seconds."""

    row: HostRow
    alive: bool
    """True if the process with this pid and start time exists.

    On other machines, True if the host sends heartbeats or may yet start.
    """
    here: bool
    """True if the host's process can be observed from this process."""
    error: str | None
    """The error with which the host has ended, or because of which it waits or may fail soon; None without one."""
    log: Path
    misplaced: tuple[str, ...] = ()
    """The reasons why the host should not be on its machine, or should not share it with another host of the
    application.

    Each reason is a sentence without a full stop.
    """

    @property
    def id(self) -> int:
        """The number of the host."""
        return self.row.id

    @property
    def state(self) -> HostState:
        """The state in its row; `shown_state` is the current one."""
        return self.row.state

    @property
    def machine(self) -> str | None:
        """The machine on which the host runs, or whose agent is to start it; None for the machine that launched it."""
        return self.row.machine

    @property
    def heard_at(self) -> float:
        """The time of the host's last sign of life, in unix seconds; see `heard_at` of the states."""
        return heard_at(self.row.launched_at, self.row.heartbeat_at)

    @property
    def log_place(self) -> str:
        """The place of the host's log, in words."""
        return place_of_log(self.log, self.machine, here=self.here)

    @property
    def lost(self) -> bool:
        """True if the host's process is gone, and the catalog has not recorded that yet."""
        return not self.alive and self.row.pid is not None and self.state in ("STARTING", "RUNNING")

    @property
    def shown_state(self) -> str:
        """The current state, which is `LOST` for a lost host."""
        return LOST if self.lost else self.state

    @classmethod
    def of(cls, row: HostRow, now: float, *, error: str | None = None, log: Path = Path()) -> HostStatus:
        """Return the status from a host's row in the catalog, with nothing in `misplaced`.

        Whether its process exists is read from the operating system if the process is visible here. Otherwise it
        follows from the last heartbeat or, before the first one, from the time since the launch.

        Args:
            row: the row of the host.
            now: unix seconds.
            error: the error to show if the row has none.
            log: the path of the host's log.
        """
        here = is_here(row.space) and not _waits_for_agent(row)
        alive = is_alive(row.pid, row.process_started) if here else _is_heard(row, now)
        return cls(row, alive, here, row.error or error, log)

    @property
    def process(self) -> str:
        """The process in words: `pid 4711`, `pid 4711 on north`, `no process`."""
        on = f" on {self.machine}" if self.machine is not None else ""
        if self.row.pid is not None:
            return f"pid {self.row.pid}{on}"
        return f"no process{on} yet" if self.state == "STARTING" else "no process"

    def storage_problem(self, now: float) -> str | None:
        """Return why and for how long a live host does not reach the storage; None if it does, or is not alive."""
        if not self.alive or self.row.storage_error is None:
            return None
        where = f"host {self.id}" if self.machine is None else f"host {self.id} on {self.machine}"
        since = max(now - (self.row.storage_failed_at or now), 0.0)
        return f"{where} has not reached the storage for {since:.0f} s: {self.row.storage_error}"


def _waits_for_agent(row: HostRow) -> bool:
    """Return True if the host is to be started, by an agent or a command, and no process is recorded yet."""
    return row.pid is None and row.state == "STARTING"


def _is_heard(row: HostRow, now: float) -> bool:
    return row.state in ("STARTING", "RUNNING") and not silence_of(row, now).too_long


class Silence(NamedTuple):
    """The time without a sign of life of a host, and the longest such time that is allowed, in seconds."""

    seconds: float
    limit: float

    @property
    def too_long(self) -> bool:
        """True if the host does not work, or was not started."""
        return self.seconds > self.limit


def silence_of(host: HostRow, now: float) -> Silence:
    """Return the silence of a host that is wanted to run.

    From its launch it may be silent for `AGENT_LIMIT` seconds until its process starts, and for `START_LIMIT` until its
    first heartbeat. After that it may be silent for `HEARTBEAT_LIMIT`.

    Args:
        host: the host.
        now: unix seconds.
    """
    if host.pid is None:
        return Silence(now - host.launched_at, AGENT_LIMIT)
    if host.heartbeat_at is None:
        return Silence(now - host.launched_at, START_LIMIT)
    return Silence(now - host.heartbeat_at, HEARTBEAT_LIMIT)


def place_of_log(log: Path, machine: str | None, *, here: bool) -> str:
    """Return the place of a log, or of a directory of logs, in words.

    Args:
        log: its path on its machine.
        machine: the name of the machine; None if no agent runs there.
        here: True if that is this machine.
    """
    if here:
        return str(log)
    return f"{log} on {machine}" if machine is not None else f"{log} on the machine that started the host"


@dataclass(frozen=True, slots=True)
class PeStatus:
    """One PE: a Structured Streaming query. Rows are totals of committed batches since the application's start."""

    row: PeRow
    generation: int
    """The generation of its unit."""
    log: Path
    failed_times: int = 0
    """The number of recent failures of the code that failed last; 0 if no operator has failed."""
    machine: str | None = None
    """The name of its host's machine, if an agent runs there; else None."""
    here: bool = True
    """True if the PE's host runs on this machine."""

    @property
    def id(self) -> int:
        """The number of the PE."""
        return self.row.id

    @property
    def unit(self) -> str:
        """The name of its unit."""
        return self.row.unit

    @property
    def host(self) -> int:
        """The number of its host."""
        return self.row.host

    @property
    def state(self) -> PeState:
        """The state in its row; `UnitsStatus.state_of` returns the current one."""
        return self.row.state

    @property
    def levels(self) -> tuple[LevelSpread, ...]:
        """The spread of its operators and channels over the tasks of its query."""
        return tuple(map(LevelSpread.of, self.row.levels))

    @property
    def log_place(self) -> str:
        """The place of the PE's log, in words."""
        return place_of_log(self.log, self.machine, here=self.here)


@dataclass(frozen=True, slots=True)
class UnitsStatus:
    """The status of the hosts, PEs and units of one application, from which failures are found."""

    application: str
    state: ApplicationState
    fingerprint: str
    """The fingerprint of the compiled application that runs."""
    life: str
    """The id of the application's life, which begins with a fresh start; two lives may begin in one second."""
    deployed_at: float
    """Unix seconds."""
    hosts: tuple[HostStatus, ...]
    pes: tuple[PeStatus, ...]
    units: tuple[UnitStatus, ...]
    logs: Path

    @property
    def shown_state(self) -> str:
        """The current state of the application.

        A running application is `LOST` while a PE that is not complete has lost its host, and `UNHEALTHY` while a unit
        needs a reset or is being reset, or a PE has failed. Any other state is shown as it is.
        """
        if self.state != "RUNNING":
            return self.state
        if any(self.state_of(pe) == LOST for pe in self.pes):
            return LOST
        broken = any(unit.row.broken for unit in self.units) or any(pe.state == "FAILED" for pe in self.pes)
        return UNHEALTHY if broken else self.state

    def state_of(self, pe: PeStatus) -> str:
        """Return the state of a PE: `LOST` if it waits, starts or runs while its host is lost.

        Otherwise the result is the reported state, also for a PE that is complete, stopped or failed.
        """
        lost = pe.state in ("WANTED", "STARTING", "RUNNING") and any(h.id == pe.host and h.lost for h in self.hosts)
        return LOST if lost else pe.state

    def state_of_unit(self, unit: UnitStatus) -> str:
        """Return the current state of a unit.

        It is `LOST` while a PE is lost and the catalog has not recorded that yet, otherwise the recorded state.
        """
        unaware = unit.state not in ENDED and not unit.row.broken
        lost = unaware and any(pe.id in unit.pes and self.state_of(pe) == LOST for pe in self.pes)
        return LOST if lost else unit.state

    @property
    def log_places(self) -> str:
        """The places of the logs of its hosts, in words; the directory `logs` if no host has one."""
        hosts = [host for host in self.hosts if host.log.name]
        places = [place_of_log(host.log.parent, host.machine, here=host.here) for host in hosts]
        return "; ".join(dict.fromkeys(places)) or str(self.logs)
