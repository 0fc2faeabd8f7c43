"""A micro-batch before and after its tasks: the plan that they get, and the results that they return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from streams_orchestration.runtime.errors import OperatorFailure
from streams_orchestration.runtime.programs.counts import Counts


@dataclass(frozen=True, slots=True)
class Segment:
    """One immutable piece of a stream."""

    stream: str
    path: str
    rows: int
    size: int
    """Bytes."""
    checksum: int
    """CRC-32 of the file."""


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a PE after a commit: everything that a replay needs."""

    inputs: dict[str, int] = field(default_factory=dict)
    """Stream -> number of the next segment to read, or of one before it: numbers have gaps after a reset."""
    sources: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Source operator -> its offset."""
    exhausted: tuple[str, ...] = ()
    """Source operators that have no more tuples, foreign streams that have ended."""
    outputs: dict[str, int] = field(default_factory=dict)
    """Stream -> number of the next segment to write."""
    reached: dict[str, str] = field(default_factory=dict)
    """Source operator -> the bounded run that it has come to the end of."""


@dataclass(frozen=True, slots=True)
class StateFile:
    """One file of a stored state."""

    path: str
    size: int
    """Bytes."""
    checksum: int
    """CRC-32 of the file."""
    batch: int
    """The batch that wrote it."""
    place: str = ""
    """Path within a Spark checkpoint, for a file of such a one; empty otherwise."""


@dataclass(frozen=True, slots=True)
class StoredState:
    """The stored state of one operator replica: a file that holds it whole, then files with what changed, in order.

    That of a query of Spark's is the files of a checkpoint, each with its place there.
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
    sources: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Source operator -> the offset to start from."""
    segments: tuple[tuple[int, int, Segment], ...] = ()
    """(operator, input port, segment), in order."""
    filters: dict[str, str] = field(default_factory=dict)
    """Stream -> the condition under which its tuples are taken."""
    bounds: dict[str, dict[str, Any]] | None = None
    """Source operator -> where a bounded run ends, where that is known; None in any other run."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """One micro-batch of a PE."""

    life: str
    generation: int
    batch: int
    epoch: int
    boundary: bool
    """The batch ends the epoch."""
    final: bool
    """The epoch is the last one: final punctuation follows the tuples."""
    limit: int
    """Tuples that a source may produce."""
    position: Position
    """Position after the batch, except for the sources, which report their own."""
    inputs: tuple[TaskInput, ...]
    states: dict[str, StoredState] = field(default_factory=dict)
    """Operator -> its newest state before the batch."""
    planned_at: float = 0.0
    """Unix seconds; 0 where it was not taken."""
    plan_seconds: float = 0.0
    token: str = ""
    """Token by which a planner recognizes its commit; empty when it commits once only."""
    bounded: str | None = None
    """The bounded run, which ends with what was there when it began; None in any other run."""

    def header(self) -> BatchPlan:
        """Return the plan without the inputs, as tasks of later levels need it."""
        return BatchPlan(
            self.life, self.generation, self.batch, self.epoch, self.boundary, self.final, self.limit, self.position,
            (), self.states, self.planned_at, self.plan_seconds,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SinkFile:
    """A file that a sink wrote, not visible yet. Paths are absolute."""

    operator: str
    pending: str
    final: str | None
    """None when the sink delivers it to something else than a file."""
    rows: int
    size: int
    checksum: int
    """CRC-32 of the file."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of one task; a commit is made of the results of all tasks."""

    level: int
    partition: int
    rows_in: int = 0
    rows_out: int = 0
    bytes_in: int = 0
    """Size of the tuples that came in."""
    seconds: float = 0.0
    """Seconds that the task took, without making its operators."""
    sources: dict[str, dict[str, Any]] = field(default_factory=dict)
    exhausted: tuple[str, ...] = ()
    bounds: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Source -> where the bounded run ends, which the task has asked it."""
    reached: tuple[str, ...] = ()
    """Sources that have come to the end of the bounded run."""
    pauses: dict[str, float] = field(default_factory=dict)
    """Source -> seconds until it may have tuples, where it reports that."""
    segments: tuple[Segment, ...] = ()
    states: tuple[StoredState, ...] = ()
    files: tuple[SinkFile, ...] = ()
    copies: dict[int, int] = field(default_factory=dict)
    """Connection -> batches copied by the sender."""
    enqueued: dict[int, int] = field(default_factory=dict)
    """Connection -> batches copied into a queue."""
    consistent: bool = False
    """The trigger operator of the region wants the epoch to end here."""
    error: str | None = None
    """An operator failed: its name and why."""
    permanent: bool = False
    """True if the same input would fail again."""
    failure: OperatorFailure | None = None
    """The error in parts, where an operator raised it."""
    outside: bool = False
    """True if the cause of the error is outside of the application."""
    metrics: Counts = field(default_factory=dict)
    """Counts of the task's meter; empty where measuring is off."""
