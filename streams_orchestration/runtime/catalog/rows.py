"""The dataclasses for the rows of the catalog's tables; `tables.py` makes a table from every class."""

from __future__ import annotations

from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from streams_orchestration.compiler.stage_results import DEFAULT_RESTART
from streams_orchestration.operators.contract.offset import Offsets
from streams_orchestration.runtime.catalog.cause_kinds import NO_KIND, CauseKind, KindColumn
from streams_orchestration.runtime.catalog.columns import Cause, Count, Default, Flag, Key, NullableJson
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
    WantedState,
    waits_for_reset,
)
from streams_orchestration.runtime.catalog.unit_columns import (
    DurationsColumn,
    Moment,
    ResetDurations,
    Tries,
    TriesColumn,
)


class StoredPosition(TypedDict):
    """A `Position` stored as JSON."""

    inputs: dict[str, int]
    sources: Offsets
    exhausted: list[str]
    outputs: dict[str, int]
    reached: NotRequired[dict[str, str]]
    watermarks: NotRequired[dict[str, dict[str, int]]]
    idle: NotRequired[dict[str, list[dict[str, Any]]]]
    connected: NotRequired[dict[str, dict[str, bool]]]
    clocks: NotRequired[dict[str, int]]
    links: NotRequired[dict[str, list[dict[str, Any]]]]
    readership: NotRequired[int]


class StoredFailures(TypedDict):
    """The last exception of a PE's operators, stored as JSON."""

    failure: dict[str, Any]  # fields of its `OperatorFailure`
    repeats: int  # times in a row that it occurred at the same tuples
    times: list[float]  # times at which the same line of code failed in the same way, the oldest first


@dataclass(frozen=True, slots=True)
class ApplicationRow(CatalogRow):
    """The row of a deployed application."""

    name: Key[str]
    life: str  # a new id for every start from nothing
    fingerprint: str
    compilation: bytes
    base: str  # directory of the spec
    settings: dict[str, Any]  # settings with which its hosts start
    wanted: WantedState
    # unix time until which a stopped application continues, to reach its cut; it is renewed meanwhile
    runs_until: float | None
    bounded: str | None  # id of the bounded run, which reads only the present input; null for any other run
    taken_at: float | None  # time at which the bounded run had read all its input, and stopped
    state: ApplicationState
    deployed_at: float
    started_at: float  # last time at which it was wanted to run after a stop
    plan: Annotated[int, Default(1)]  # number of plans so far: hosts load a new one
    last_epoch: Annotated[Count, Default(0)]
    last_batch: Annotated[Count, Default(-1)]
    last_generation: Annotated[int, Default(0)]
    connections: Annotated[Count, Default(0)]  # number of connections so far that bring its watermarks to Imports


@dataclass(frozen=True, slots=True)
class HostRow(CatalogRow):
    """A host of an application."""

    application: Key[str]
    id: Key[int]
    incarnation: str | None  # a new id for every start of the host
    pid: int | None
    process_started: float | None
    state: HostState
    asked_at: float | None  # time at which the command that launched it was entered
    launched_at: Annotated[float, Default(0.0)]
    start_up: dict[str, float] | None  # seconds up to the first committed batch, by phase
    heartbeat_at: float | None
    error: Cause
    launches: Annotated[int, Default(0)]  # launches in a row that did not come up
    requirements: NullableJson[dict[str, Any]]  # see `stored_requirements`; null if every machine suits it
    machine: str | None  # name of the machine on which it runs, or whose agent is to start it
    space: str | None  # boot and process namespace of the machine, in which its pid is valid
    storage_error: Cause  # the reason why it does not reach the storage
    storage_failed_at: float | None  # time since which it does not reach the storage


@dataclass(frozen=True, slots=True)
class MachineRow(CatalogRow):
    """A machine that has registered."""

    name: Key[str]
    space: str
    pid: int  # pid of its agent
    process_started: float
    address: str  # its host name, for people
    tags: list[str]
    cores: int
    state: MachineState  # UP or DRAINING; DOWN once its agent has ended
    version: str  # version of the product
    since: float  # time at which its agent registered
    lease_until: float  # its agent renews the lease
    standbys: Annotated[int, Default(0)]  # hosts that wait there
    load: float | None  # processes that wanted to run, a minute's average
    home: Annotated[str, Default("")]  # its state directory


@dataclass(frozen=True, slots=True)
class LogRequestRow(CatalogRow):
    """A request for the ends of logs of one machine."""

    id: Key[str]
    machine: str
    application: str
    names: list[str]  # names of the logs: host-0, pe-3
    lines: int  # most lines of each log
    after: dict[str, int]  # name of a followed log -> position from which it is read
    asked_at: float
    answer: NullableJson[list[dict[str, Any]]]  # the ends of the logs; null before the agent has answered


@dataclass(frozen=True, slots=True)
class UnitRow(CatalogRow):
    """The row of a unit of recovery."""

    application: Key[str]
    name: Key[str]
    region: int | None  # the least number of its regions; null for a PE in no region
    period: float | None  # seconds between drains; null if operator-driven, and for a PE in no region
    drain_timeout: float  # seconds from the trigger until an epoch must be complete (B8)
    reset_timeout: float  # seconds until every PE must run again (B8)
    generation: Annotated[int, Default(1)]
    trigger_epoch: Annotated[Count, Default(0)]  # start PEs close epochs up to this one
    current_epoch: Annotated[Count, Default(1)]  # the sequence id of the current or next drain
    completed_epoch: Annotated[Count, Default(0)]  # the cut that a reset goes back to; 0 is the initial state
    # PEs that work in the current epoch or before it, a hint: the commit of the last one tells the state machine
    unclosed: Annotated[int, Default(0)]
    shown_epoch: Count | None  # last epoch that others see while a redeploy is on trial; null if all are seen
    held_until: float | None  # end of its hold, during which nothing new comes in; null without a hold
    drain_asked: Count | None  # the sequence id that the trigger operator has begun to drain
    final_epoch: Count | None
    attempts: Annotated[int, Default(0)]  # resets since the last complete epoch (B5)
    max_attempts: int  # a forced reset raises it until an epoch is complete
    configured_attempts: int
    restart_pause: Annotated[float, Default(DEFAULT_RESTART.pause)]  # longest pause, outside cause
    restart_limit: Annotated[float, Default(DEFAULT_RESTART.limit)]  # seconds without a new epoch
    kind: Annotated[CauseKind, KindColumn(), Default(NO_KIND)]  # kind of the cause; resets are counted for each kind
    give_up_at: float | None  # time limit for a cause outside of the application
    tries: Annotated[tuple[Tries, ...], TriesColumn(), NoneType]  # resets for each kind of cause
    state: Annotated[UnitState, Default("STARTED")]
    dirty: Flag  # it cannot start without a reset
    since: Annotated[float, Default(0.0)]  # time at which it entered its state
    timer: Timer | None
    deadline: float | None  # time at which the timer fires
    timer_number: Annotated[int, Default(0)]
    began_at: Annotated[float, Default(0.0)]  # time at which the current drain or reset began
    cause: Cause  # why it is unhealthy or is being reset, kept until an epoch is complete
    asked: Annotated[int, Default(0)]  # the generation whose reset was taken up
    outage: dict[Moment, float] | None  # moments of the last outage, so far, in unix seconds
    drains: Annotated[ResetDurations, DurationsColumn(), NoneType]
    resets: Annotated[ResetDurations, DurationsColumn(), NoneType]
    reset_count: Annotated[int, Default(0)]  # all resets since the application was deployed
    restarts: Annotated[int, Default(0)]  # resets of an autonomous PE, one soon after the other
    completed_at: float | None  # time of the last complete epoch

    @property
    def shown(self) -> int:
        """The last epoch whose results are visible outside of the application."""
        return self.completed_epoch if self.shown_epoch is None else self.shown_epoch

    @property
    def waits(self) -> bool:
        """True if the unit waits for a reset."""
        return waits_for_reset(self.state, dirty=self.dirty)

    @property
    def broken(self) -> bool:
        """True if the unit needs a reset or is being reset."""
        return self.waits or self.state in ("RESETTING", "MAXIMUM_RESET_ATTEMPTS_REACHED")

    @property
    def taken_up(self) -> bool:
        """True if a process has taken up the reset of the unit's generation, so that it begins once all hosts run."""
        return self.asked == self.generation


@dataclass(frozen=True, slots=True)
class TrialRow(CatalogRow):
    """The trial of the last redeploy of an application."""

    application: Key[str]
    plan: int  # number of the plan on trial
    fingerprint: str  # fingerprint of that plan
    state: TrialState
    within: float  # seconds that the trial may take
    until: float  # time at which an open trial is reverted
    ended_at: float | None
    cause: Cause  # the reason why the plan was reverted
    pause: float | None  # longest seconds of a unit from its last commit before the redeploy to the next
    before: bytes | None  # for an open trial, the rows of the previous plan at its cut
    files: list[str]  # files of the states that these rows name
    earlier: bytes | None  # the compilation of the previous plan, unless that was restored
    taken_back: str | None  # fingerprint of a plan that this redeploy has taken back


@dataclass(frozen=True, slots=True)
class UnitEventRow(CatalogRow):
    """An event of a unit, such as the beginning of a reset. The catalog keeps the last hundred of each unit."""

    application: Key[str]
    unit: Key[str]
    number: Key[int]
    at: float
    kind: EventKind
    generation: int
    epoch: Count  # the last complete epoch then
    attempts: int
    seconds: float | None  # duration of the reset, or time until an `unhealthy` unit was noticed; else null
    cause: Cause


@dataclass(frozen=True, slots=True)
class PeRow(CatalogRow):
    """The row of a PE."""

    application: Key[str]
    id: Key[int]
    unit: str
    host: int
    feeds: bool  # tuples come into the unit here: from sources, or from other units
    operators: list[str]  # names, for people
    levels: list[dict[str, Any]]  # distribution of the operators over tasks, for people
    program: bytes  # program of the PE as JSON
    state: Annotated[PeState, Default("WANTED")]
    error: Cause
    permanent: Flag  # no reset can mend the error
    kind: Annotated[CauseKind, KindColumn(), Default(NO_KIND)]  # failures of one kind have the same cause
    outside: Flag  # the cause is outside of the application
    failed_at: float | None  # unix seconds at which the error was found; null before the first one
    failures: StoredFailures | None  # null if no operator has failed
    restartable: Annotated[bool, Default(value=True)]
    running: Annotated[int, Default(0)]  # the generation in which it was last seen to run
    batch: Annotated[Count, Default(-1)]  # the last committed batch
    epoch: Annotated[Count, Default(1)]  # the open epoch, in which it works
    exhausted: Flag
    final: Flag
    initial: StoredPosition  # the position before the first batch
    position: StoredPosition
    bounds: NullableJson[dict[str, Any]]  # id of the bounded run, and its end for each source
    rows_in: Annotated[Count, Default(0)]  # from streams of other PEs, and from outside by its operators
    rows_out: Annotated[Count, Default(0)]  # to streams that leave the PE, and to targets of its sinks
    busy_seconds: Annotated[float, Default(0.0)]  # wall seconds spent in committed batches
    committed_at: float | None


KEPT_BY_COMMIT = ("exhausted", "final", "position", "rows_in", "rows_out", "busy_seconds", "committed_at")
"""The columns of a PE's row that its commit keeps, so that a reset to the batch restores them."""


@dataclass(frozen=True, slots=True)
class CommitRow(CatalogRow):
    """A commit of a PE."""

    application: Key[str]
    pe: Key[int]
    batch: Key[Count]
    token: str | None  # token of the planner's call, by which it finds its own commit
    generation: int
    epoch: Count
    boundary: bool
    exhausted: bool
    final: bool
    position: StoredPosition
    rows_in: Count  # totals up to this batch, so that a reset can go back to them
    rows_out: Count
    busy_seconds: float
    committed_at: float


@dataclass(frozen=True, slots=True)
class SegmentRow(CatalogRow):
    """A segment of a stream."""

    application: Key[str]
    stream: Key[str]
    number: Key[Count]
    pe: int
    batch: Count
    epoch: Count
    path: str
    rows: Count
    size: Count
    checksum: Count
    committed_at: float
    uncommitted: Flag  # others may read it before its epoch is complete
    retracted: Flag  # a reset has retracted it; its file stays while it may be read


@dataclass(frozen=True, slots=True)
class StateRow(CatalogRow):
    """The stored state of an operator at a batch."""

    application: Key[str]
    operator: Key[str]
    batch: Key[Count]
    pe: int
    files: list[dict[str, Any]]  # path, size, checksum and batch of each file of its chain


@dataclass(frozen=True, slots=True)
class ExportRow(CatalogRow):
    """The row of an exported stream."""

    application: Key[str]
    name: Key[str]  # name of the Export, the same for all replicas
    stream: Key[str]
    pe: int
    properties: dict[str, Any]
    stream_id: str | None
    waits: bool  # the congestion policy: the exporter waits for readers that are behind
    schema: str
    uncommitted: Flag  # may be read before its epoch is complete
    event_time: str | None  # attribute, type and resolution of its watermarks; null without any


@dataclass(frozen=True, slots=True)
class ImportRow(CatalogRow):
    """The row of an Import."""

    application: Key[str]
    name: Key[str]  # name of the Import, the same for all replicas
    operator: Key[str]  # operator that takes its tuples
    port: Key[int]
    pe: int
    subscription: str | None
    exporter: str | None  # set with a stream id, in place of a subscription
    stream_id: str | None
    filter: str | None
    schema: str
    consistent: Annotated[bool, Default(value=True)]  # its operator is in a consistent region
    event_time: str | None  # attribute, type and resolution of the watermarks that it takes


@dataclass(frozen=True, slots=True)
class LineageRunRow(CatalogRow):
    """The last run of an application for OpenLineage.

    `event` is the last event sent, or empty; `rows` has the numbers of rows that the sinks had published before.
    """

    application: Key[str]
    run: str
    started_at: float
    event: Literal["", "START", "RUNNING", "COMPLETE", "ABORT", "FAIL"]
    rows: dict[str, int]


@dataclass(frozen=True, slots=True)
class ConnectionRow(CatalogRow):
    """A connection of an Import with an exported stream."""

    application: Key[str]  # the importing application
    key: Key[str]  # the stream's name in the positions of the importing PE
    pe: int
    name: str  # name of the Import
    operator: str
    port: int
    filter: str | None
    exporter: str
    exporter_pe: int
    stream: str
    waits: bool  # the exporter waits for this reader
    first: Count  # number of the next segment when they were connected
    last: Count | None  # number after its last segment, if a redeploy has ended the connection
    lost: Annotated[Count, Default(0)]  # tuples that were dropped before they were read
    problem: str | None  # the reason why nothing flows
    uncommitted: Flag  # segments are read before their epoch is complete
    event_time: Flag  # the Import takes the watermarks of the stream
