"""The dataclasses for the rows of the catalog's tables; `tables.py` documents the columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

from streams_orchestration.model.visibility import Visibility
from streams_orchestration.runtime.catalog.reading import CatalogRow
from streams_orchestration.runtime.catalog.states import (
    ApplicationState,
    EventKind,
    HostState,
    MachineState,
    PeState,
    Timer,
    TrialState,
    UnitState,
)


class StoredPosition(TypedDict):
    """A `Position` stored as JSON."""

    inputs: dict[str, int]
    sources: dict[str, dict[str, Any]]
    exhausted: list[str]
    outputs: dict[str, int]
    reached: NotRequired[dict[str, str]]
    watermarks: NotRequired[dict[str, dict[str, int]]]
    idle: NotRequired[dict[str, list[dict[str, Any]]]]
    connected: NotRequired[dict[str, dict[str, bool]]]
    clocks: NotRequired[dict[str, int]]
    links: NotRequired[dict[str, list[dict[str, Any]]]]


@dataclass(frozen=True, slots=True)
class ApplicationRow(CatalogRow):
    """The row of a deployed application."""

    name: str
    life: str
    fingerprint: str
    compilation: bytes
    base: str
    settings: dict[str, Any]
    wanted: Literal["RUNNING", "STOPPED"]
    runs_until: float | None
    bounded: str | None
    taken_at: float | None
    state: ApplicationState
    deployed_at: float
    started_at: float
    plan: int
    last_epoch: int
    last_batch: int
    last_generation: int


@dataclass(frozen=True, slots=True)
class HostRow(CatalogRow):
    """A host of an application."""

    application: str
    id: int
    incarnation: str | None
    pid: int | None
    process_started: float | None
    state: HostState
    asked_at: float | None
    launched_at: float
    start_up: dict[str, float] | None
    heartbeat_at: float | None
    error: str | None
    launches: int
    wish: dict[str, Any] | None
    machine: str | None
    space: str | None
    storage_error: str | None
    storage_failed_at: float | None


@dataclass(frozen=True, slots=True)
class MachineRow(CatalogRow):
    """A machine that has registered."""

    name: str
    space: str
    pid: int
    process_started: float
    address: str
    tags: list[str]
    cores: int
    state: MachineState
    version: str
    since: float
    lease_until: float
    standbys: int
    load: float | None
    home: str


@dataclass(frozen=True, slots=True)
class LogRequestRow(CatalogRow):
    """A request for the ends of logs of one machine."""

    id: str
    machine: str
    application: str
    names: list[str]
    lines: int
    after: dict[str, int]
    asked_at: float
    answer: list[dict[str, Any]] | None


@dataclass(frozen=True, slots=True)
class UnitRow(CatalogRow):
    """The row of a unit of recovery."""

    application: str
    name: str
    region: int | None
    period: float | None
    drain_timeout: float
    reset_timeout: float
    generation: int
    trigger_epoch: int
    current_epoch: int
    completed_epoch: int
    unclosed: int
    shown_epoch: int | None
    held_until: float | None
    drain_asked: int | None
    final_epoch: int | None
    attempts: int
    max_attempts: int
    configured_attempts: int
    restart_pause: float
    restart_limit: float
    kind: str
    give_up_at: float | None
    tries: list[Any] | None
    state: UnitState
    dirty: bool
    since: float
    timer: Timer | None
    deadline: float | None
    timer_number: int
    began_at: float
    cause: str | None
    asked: int
    outage: dict[str, float] | None
    drains: list[Any] | None
    resets: list[Any] | None
    reset_count: int
    restarts: int
    completed_at: float | None

    @property
    def shown(self) -> int:
        """The last epoch whose results are visible outside of the application."""
        return self.completed_epoch if self.shown_epoch is None else self.shown_epoch


@dataclass(frozen=True, slots=True)
class TrialRow(CatalogRow):
    """The trial of the last redeploy of an application."""

    application: str
    plan: int
    fingerprint: str
    state: TrialState
    within: float
    until: float
    ended_at: float | None
    cause: str | None
    pause: float | None
    before: bytes | None
    files: list[str]
    earlier: bytes | None
    taken_back: str | None


@dataclass(frozen=True, slots=True)
class UnitEventRow(CatalogRow):
    """An event of a unit, such as the beginning of a reset."""

    application: str
    unit: str
    number: int
    at: float
    kind: EventKind
    generation: int
    epoch: int
    attempts: int
    seconds: float | None
    cause: str | None


@dataclass(frozen=True, slots=True)
class PeRow(CatalogRow):
    """The row of a PE."""

    application: str
    id: int
    unit: str
    host: int
    feeds: bool
    operators: list[str]
    levels: list[dict[str, Any]]
    program: bytes
    state: PeState
    error: str | None
    permanent: bool
    kind: str
    outside: bool
    failures: dict[str, Any] | None
    restartable: bool
    running: int
    batch: int
    epoch: int
    exhausted: bool
    final: bool
    initial: StoredPosition
    position: StoredPosition
    bounds: dict[str, Any] | None
    rows_in: int
    rows_out: int
    busy_seconds: float
    committed_at: float | None


@dataclass(frozen=True, slots=True)
class CommitRow(CatalogRow):
    """A commit of a PE."""

    application: str
    pe: int
    batch: int
    token: str | None
    generation: int
    epoch: int
    boundary: bool
    exhausted: bool
    final: bool
    position: StoredPosition
    rows_in: int
    rows_out: int
    busy_seconds: float
    committed_at: float


@dataclass(frozen=True, slots=True)
class SegmentRow(CatalogRow):
    """A segment of a stream."""

    application: str
    stream: str
    number: int
    pe: int
    batch: int
    epoch: int
    path: str
    rows: int
    size: int
    checksum: int
    committed_at: float
    uncommitted: bool
    retracted: bool


@dataclass(frozen=True, slots=True)
class StateRow(CatalogRow):
    """The stored state of an operator at a batch."""

    application: str
    operator: str
    batch: int
    pe: int
    files: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class SinkRow(CatalogRow):
    """The row of a sink."""

    application: str
    operator: str
    pe: int
    kind: str
    place: str
    format: str | None
    read_with: dict[str, Any] | None
    visibility: Visibility
    pending: str | None
    outputs: int
    rows: int
    undeliverable: int
    routed: int
    error: str | None
    failures: int
    failed_at: float | None
    delivered_at: float | None
    gatherer: str | None
    marks: bool


@dataclass(frozen=True, slots=True)
class SinkFileRow(CatalogRow):
    """A file or other output of a sink that a reset may still delete, or that is not published yet."""

    application: str
    pending: str
    final: str | None
    operator: str
    pe: int
    generation: int
    batch: int
    epoch: int
    rows: int
    size: int
    checksum: int
    published: bool
    retracted: bool


@dataclass(frozen=True, slots=True)
class ExportRow(CatalogRow):
    """The row of an exported stream."""

    application: str
    name: str
    stream: str
    pe: int
    properties: dict[str, Any]
    stream_id: str | None
    waits: bool
    schema: str
    uncommitted: bool
    event_time: str | None


@dataclass(frozen=True, slots=True)
class ImportRow(CatalogRow):
    """The row of an Import."""

    application: str
    name: str
    operator: str
    port: int
    pe: int
    subscription: str | None
    exporter: str | None
    stream_id: str | None
    filter: str | None
    schema: str
    consistent: bool
    event_time: str | None


@dataclass(frozen=True, slots=True)
class LineageRunRow(CatalogRow):
    """The last run of an application that was begun for OpenLineage."""

    application: str
    run: str
    started_at: float
    event: Literal["", "START", "RUNNING", "COMPLETE", "ABORT", "FAIL"]
    rows: dict[str, int]


@dataclass(frozen=True, slots=True)
class ConnectionRow(CatalogRow):
    """A connection of an Import with an exported stream."""

    application: str
    key: str
    pe: int
    name: str
    operator: str
    port: int
    filter: str | None
    exporter: str
    exporter_pe: int
    stream: str
    waits: bool
    first: int
    last: int | None
    lost: int
    problem: str | None
    uncommitted: bool
    event_time: bool
