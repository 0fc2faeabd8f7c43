"""A batch before and after its tasks: the plan that they get, and the results that they return."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from streams_orchestration.operators.contract.offset import Offsets
from streams_orchestration.operators.event_time.decision import IdleDecision
from streams_orchestration.runtime.programs.counts import Counts
from streams_orchestration.runtime.programs.failure import Failure


@dataclass(frozen=True, slots=True)
class Segment:
    """One immutable part of a stream, stored in a file."""

    stream: str
    path: str
    rows: int
    size: int
    """The size in bytes."""
    checksum: int
    """CRC-32 of the file."""


@dataclass(frozen=True, slots=True)
class LinkChange:
    """The Import or Export at a port after its operator has changed it."""

    name: str
    """The name of the Import or Export."""
    port: int
    subscription: str | None = None
    """The subscription of an Import; None for an Import of a named stream."""
    filter: str | None = None
    """The filter of an Import; None if there is none."""
    stream: str = ""
    """The name of an exported stream in the transport; empty for an Import."""
    properties: dict[str, Any] = field(default_factory=dict[str, Any])
    """The properties of an Export."""


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a PE after a commit: everything that a replay needs."""

    inputs: dict[str, int] = field(default_factory=dict[str, int])
    """Stream -> number of the next segment to read; the first segment after it may have a higher number after a reset.
    """
    sources: Offsets = field(default_factory=Offsets)
    """Source operator -> its offset."""
    exhausted: tuple[str, ...] = ()
    """Source operators that have no more tuples, and foreign streams that have ended."""
    outputs: dict[str, int] = field(default_factory=dict[str, int])
    """Stream -> number of the next segment to write."""
    reached: dict[str, str] = field(default_factory=dict[str, str])
    """Source operator -> the bounded run whose end it has reached."""
    idle: dict[str, list[IdleDecision]] = field(default_factory=dict[str, list[IdleDecision]])
    """Source operator -> its decisions that partitions are idle.

    A reset keeps them, so that a replay decides the same (EV51). A plan drops the decisions of complete epochs, which
    are never replayed.
    """
    watermarks: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """Operator without output ports -> its event-time connections, by name -> their watermarks in microseconds (EV67).

    `IDLE` means a connection without a watermark, and `END` one that has ended. A sink that marks directories has its
    own watermark under the empty name.
    """
    clocks: dict[str, int] = field(default_factory=dict[str, int])
    """Source operator -> its watermark in ticks, if a source of its graph may have to wait for it (EV65).

    `IDLE` means a source that is idle, and `END` one that has ended.
    """
    wake: float | None = None
    """The unix time at which an operator wants to be called without input; None for never."""
    connected: dict[str, dict[str, bool]] = field(default_factory=dict[str, dict[str, bool]])
    """Operator -> the streams of other applications whose watermarks it takes -> True if the stream has ended (EV48).
    """
    links: dict[str, list[LinkChange]] = field(default_factory=dict[str, list[LinkChange]])
    """Operator -> the Imports and Exports at its ports that it has changed."""
    readership: int = 0
    """The number of changes of the readers of the application's streams, as in `BatchPlan`; 0 before the first batch.
    """


@dataclass(frozen=True, slots=True)
class StateFile:
    """One file of a stored state. The catalog itself holds the content of a small one, which needs no file then."""

    path: str
    """The address of the file; empty if the catalog holds the content."""
    size: int
    """The size in bytes."""
    checksum: int
    """CRC-32 of the file."""
    batch: int
    """The batch that wrote it."""
    place: str = ""
    """The path within a Spark checkpoint; empty for a file of another state."""
    content: str = ""
    """The content in base64 if the catalog holds it; empty for a file."""


@dataclass(frozen=True, slots=True)
class StoredState:
    """The stored state of one operator replica: a file with the whole state, then files with changes, in order.

    The state of a Spark query consists of the files of a checkpoint, each with its path there.
    """

    operator: str
    files: tuple[StateFile, ...]

    @property
    def is_checkpoint(self) -> bool:
        """True if the state is a Spark checkpoint."""
        return any(file.place for file in self.files)


@dataclass(frozen=True, slots=True)
class TaskInput:
    """The input of one task of level 0 in a batch."""

    partition: int
    sources: Offsets = field(default_factory=Offsets)
    """Source operator -> the offset to start from."""
    segments: tuple[tuple[int, int, Segment], ...] = ()
    """Tuples (operator, input port, segment), in the order of reading."""
    filters: dict[str, str] = field(default_factory=dict[str, str])
    """Stream -> the condition that its tuples must meet."""
    bounds: Offsets | None = None
    """Source operator -> the end of the bounded run, if it is known; None for an unbounded run."""
    slowest: dict[str, int] = field(default_factory=dict[str, int])
    """Source operator with a limited drift -> the least watermark of its graph's other sources, in ticks (EV65)."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The plan of one batch of a PE."""

    life: str
    generation: int
    batch: int
    epoch: int
    boundary: bool
    """True if the batch ends the epoch."""
    final: bool
    """True if the epoch is the last one, so that final punctuation follows the tuples."""
    limit: int
    """The most tuples that a source may produce."""
    position: Position
    """The position after the batch, except for the sources, which report their offsets themselves."""
    inputs: tuple[TaskInput, ...]
    states: dict[str, StoredState] = field(default_factory=dict[str, StoredState])
    """Operator -> its newest state before the batch."""
    planned_at: float = 0.0
    """The time of planning in unix seconds; 0 if it is unknown."""
    plan_seconds: float = 0.0
    token: str = ""
    """The token by which a planner recognizes its commit; empty if the commit is not repeated."""
    bounded: str | None = None
    """The id of the bounded run, which reads only the input that existed when it began; None for an unbounded run."""
    resets: int = 0
    """The number of resets of the PE's unit since the application was deployed."""
    readership: int = 1
    """The number of changes of the readers of the application's streams: it rises with each redeploy, and with each
    Import of another application that begins to take watermarks. Idle operators then send again that they are idle.
    """

    def header(self) -> BatchPlan:
        """Return the plan for tasks of later levels: without the inputs, the token and the bounded run."""
        return replace(self, inputs=(), token="", bounded=None)


@dataclass(frozen=True, slots=True)
class SinkFile:
    """A file that a sink has written and that is not visible yet. Paths are absolute."""

    operator: str
    pending: str
    final: str | None
    """The path of the visible file; None if the sink delivers to something that is not a file."""
    rows: int
    size: int
    checksum: int
    """CRC-32 of the file."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of one task. A commit consists of the results of all tasks."""

    level: int
    partition: int
    rows_in: int = 0
    rows_out: int = 0
    bytes_in: int = 0
    """The bytes of the tuples that came in."""
    seconds: float = 0.0
    """The seconds that the task took, without those to create its operators."""
    sources: Offsets = field(default_factory=Offsets)
    exhausted: tuple[str, ...] = ()
    bounds: Offsets = field(default_factory=Offsets)
    """Source -> the end of the bounded run, as the task has got it from the source."""
    reached: tuple[str, ...] = ()
    """Sources that have reached the end of the bounded run."""
    pauses: dict[str, float] = field(default_factory=dict[str, float])
    """Source -> seconds until it may have tuples, if it reports that."""
    idle: dict[str, list[IdleDecision]] = field(default_factory=dict[str, list[IdleDecision]])
    """Source -> all decisions that partitions are idle, as in `Position`."""
    segments: tuple[Segment, ...] = ()
    states: tuple[StoredState, ...] = ()
    files: tuple[SinkFile, ...] = ()
    watermarks: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """The watermarks of operators without output ports, as in `Position`."""
    clocks: dict[str, int] = field(default_factory=dict[str, int])
    """The watermarks of sources, as in `Position`."""
    copies: dict[int, int] = field(default_factory=dict[int, int])
    """Connection -> batches copied by the sender."""
    enqueued: dict[int, int] = field(default_factory=dict[int, int])
    """Connection -> batches copied into a queue."""
    links: dict[str, list[LinkChange]] = field(default_factory=dict[str, list[LinkChange]])
    """The Imports and Exports that operators have changed in this batch or before, if there are changes in it."""
    consistent: bool = False
    """True if the trigger operator of the region wants the epoch to end with this batch."""
    failure: Failure | None = None
    """The failure of the task, with a message of one line; None if it has not failed."""
    metrics: Counts = field(default_factory=dict[str, Any])
    """The counts of the task's meter; empty if measuring is off."""
    wake: float | None = None
    """The earliest unix time at which an operator of the task wants to be called, as in `Position`; or None."""
