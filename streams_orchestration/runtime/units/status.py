"""What an application is doing now, as read from its catalog: plain facts, and the judgement whether it has failed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from streams_orchestration.operators.contract import Visibility
from streams_orchestration.runtime.limits import HEARTBEAT_LIMIT, START_LIMIT
from streams_orchestration.runtime.programs.spread import LevelSpread
from streams_orchestration.runtime.units.unit_status import UnitStatus

PeState = Literal["WANTED", "STARTING", "RUNNING", "COMPLETED", "STOPPED", "FAILED"]
HostState = Literal["STARTING", "RUNNING", "COMPLETED", "STOPPED", "FAILED"]
ApplicationState = Literal["RUNNING", "COMPLETED", "STOPPED", "FAILED"]


@dataclass(frozen=True, slots=True)
class HostStatus:
    """One host: a detached process that holds one Spark application. Times are unix seconds."""

    id: int
    pid: int | None
    alive: bool
    """The process with this pid and this start time exists."""
    state: HostState
    launched_at: float
    heartbeat_at: float | None
    error: str | None
    log: Path
    start_up: dict[str, float] | None = None
    """Seconds from the command to the first committed batch, by phase; None before that."""
    launches: int = 0
    """In a row without coming up."""

    @classmethod
    def of(cls, row: Any, *, alive: bool, error: str | None = None, log: Path = Path()) -> HostStatus:
        """From its row in the catalog."""
        return cls(
            row.id, row.pid, alive, row.state, row.launched_at, row.heartbeat_at, row.error or error, log,
            row.start_up, row.launches,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PeStatus:
    """One PE: a Structured Streaming query. Rows are totals since the application's start, as committed."""

    id: int
    operators: tuple[str, ...]
    host: int
    unit: str
    state: PeState
    generation: int
    batch: int
    """Last committed batch, -1 before the first."""
    epoch: int
    """The epoch it is working in."""
    rows_in: int
    rows_out: int
    busy_seconds: float
    """Wall seconds spent in committed batches."""
    committed_at: float | None
    error: str | None
    log: Path
    permanent: bool = False
    """The error comes from the data: a reset would meet it again."""
    levels: tuple[LevelSpread, ...] = ()
    """How its operators and channels are spread over the tasks of its query."""
    restartable: bool = True
    running: int = 0
    """The generation in which it was last seen to run."""


@dataclass(frozen=True, slots=True)
class SinkStatus:
    """One sink: what of it is visible, and what waits."""

    operator: str
    path: Path | None
    """Directory of its files; None when it writes to something else."""
    format: str
    """Of its files."""
    files: int
    """Visible ones; or epochs that were delivered."""
    rows: int
    """In these."""
    kind: str = "FileSink"
    place: str = ""
    """The directory, or what else it writes to."""
    visibility: Visibility = "read_committed"
    uncommitted: int = 0
    """Of `files`, how many a reset would take back."""
    waiting: int = 0
    """Files that are not visible yet."""
    waiting_rows: int = 0
    late: int = 0
    """Of `waiting`, how many could be visible already: their epoch is complete."""
    error: str | None = None
    """Why what is late cannot become visible; it is tried again and again."""
    failed_at: float | None = None
    """Unix seconds."""


@dataclass(frozen=True, slots=True)
class ConnectionStatus:
    """An exported stream and a PE that imports it."""

    exporter: str
    """Application."""
    stream: str
    importer: str
    """Application."""
    name: str
    """Of the Import."""
    pe: int
    """That reads it."""
    waited: bool
    """The exporter waits for it: the Export says so, and the importing PE is there."""
    lag_segments: int
    """That may be read and are not read yet."""
    lag_tuples: int
    lost: int
    """Tuples that were dropped before they were read, because the exporter did not wait."""
    problem: str | None
    """Why nothing flows."""
    uncommitted: bool = False
    """It is read before its epoch is complete: the Export says so, and the Import is in no region."""


@dataclass(frozen=True, slots=True)
class ImportStatus:
    """One Import, or one replica of it, and the exported streams that it reads."""

    name: str
    pe: int
    wants: str
    """What it is about, in words."""
    connections: tuple[ConnectionStatus, ...]


@dataclass(frozen=True, slots=True)
class ExportStatus:
    """One Export, or one replica of it, and who reads its stream."""

    name: str
    pe: int
    stream: str
    offers: str
    """What it is found by, in words."""
    waits: bool
    """For readers that are behind: the congestion policy."""
    connections: tuple[ConnectionStatus, ...]
    visibility: Visibility = "read_committed"


@dataclass(frozen=True, slots=True)
class ApplicationStatus:
    """All of one deployed application."""

    application: str
    state: ApplicationState
    fingerprint: str
    """Of the compiled application that runs."""
    deployed_at: float
    hosts: tuple[HostStatus, ...]
    pes: tuple[PeStatus, ...]
    units: tuple[UnitStatus, ...]
    sinks: tuple[SinkStatus, ...]
    logs: Path
    imports: tuple[ImportStatus, ...] = ()
    exports: tuple[ExportStatus, ...] = ()


def host_failure(host: HostStatus, now: float) -> str | None:
    """Why a host cannot work, None when it can.

    Args:
        host: as read from the catalog.
        now: unix seconds.
    """
    if host.state in ("COMPLETED", "STOPPED"):
        return None
    if host.state == "FAILED":
        return f"host {host.id} failed: {host.error}"
    if not host.alive:
        return f"host {host.id} (pid {host.pid}) is gone" + (f"; {host.error}" if host.error else "")
    if host.heartbeat_at is None:
        waited = now - host.launched_at
        return f"host {host.id} gave no heartbeat in {waited:.0f} s" if waited > START_LIMIT else None
    silent = now - host.heartbeat_at
    return f"host {host.id} gave no heartbeat for {silent:.0f} s" if silent > HEARTBEAT_LIMIT else None
