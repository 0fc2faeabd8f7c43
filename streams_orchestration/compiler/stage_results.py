"""The results of the stages after the parallel transformation: consistent regions, PEs, threads and copies.

They refer to operators and connections by their numbers in the graphs, and are immutable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from streams_orchestration.compiler.logical_graph import Mutates
from streams_orchestration.compiler.physical_graph import Connection
from streams_orchestration.compiler.time_attributes import TimeAttribute
from streams_orchestration.operators.event_time.role import EventTimeMode


@dataclass(frozen=True, slots=True)
class RegionMap:
    """Consistent regions of the logical and of the expanded graph (A12, A40)."""

    logical: tuple[ConsistentRegion, ...]
    expanded: tuple[ConsistentRegion, ...]
    region_of: tuple[int, ...]
    """For each physical operator, the index of its region in `expanded`; -1 for an autonomous operator."""


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """The policy for resets with a cause outside of the application, such as a missing service. Times are in seconds.

    Resets of this kind do not count towards the limit of consecutive attempts.
    """

    pause: float = 60.0
    """The longest pause between two resets; the first ones are shorter."""
    limit: float = 86_400.0
    """The time without a complete epoch after which the unit is no longer reset, and fails."""


DEFAULT_RESTART = RestartPolicy()


@dataclass(frozen=True, slots=True)
class ConsistentRegion:
    """A consistent region of the logical or of the expanded graph, with the operator numbers of that graph.

    Times are in seconds. The period is None for an operator-driven region.
    """

    index: int
    logical_index: int
    trigger: Literal["periodic", "operatorDriven"]
    period: float | None
    drain_timeout: float
    reset_timeout: float
    max_consecutive_reset_attempts: int
    operators: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    autonomous_ports: tuple[tuple[int, tuple[int, ...]], ...]
    restart: RestartPolicy = DEFAULT_RESTART


@dataclass(frozen=True, slots=True)
class EventTimeGraph:
    """An event-time graph: the operators that annotations of one attribute, type and resolution reach (EV8)."""

    index: int
    attribute: str
    type: str
    """The type of the attribute: bigint, timestamp, timestamp_ntz or timestamp_ns."""
    resolution: Literal["Milliseconds", "Microseconds", "Nanoseconds"]
    sources: tuple[int, ...]
    """The annotated operators of the logical graph."""
    operators: tuple[int, ...]
    """The operators of the logical graph that have a connection or an output port in this event-time graph."""
    imports: tuple[str, ...] = ()
    """The names of the Imports that bring watermarks into the graph (EV48)."""

    @property
    def time(self) -> TimeAttribute:
        """The attribute with its type and resolution."""
        return TimeAttribute(self.attribute, self.type, self.resolution)


@dataclass(frozen=True, slots=True)
class EventTimeOperator:
    """A replica of an operator in an event-time graph."""

    operator: int
    graph: int
    mode: EventTimeMode
    lag: float
    """The greatest lag of an annotation that reaches the operator, in seconds (EV8)."""
    minimum_gap: float
    """The largest `minimumGap` of the annotations upstream of the operator, in seconds (EV8)."""
    connections: tuple[int, ...]
    """The numbers of the event-time connections into the operator, in the physical graph (EV6)."""
    outputs: tuple[int, ...]
    """The operator's output ports that are in the event-time graph."""
    imports: tuple[int, ...] = ()
    """The numbers, in the physical graph, of the Imports that bring watermarks to the operator (EV48)."""


@dataclass(frozen=True, slots=True)
class EventTimeMap:
    """The event-time graphs, and the replicas in them in the order of the physical graph."""

    graphs: tuple[EventTimeGraph, ...] = ()
    operators: tuple[EventTimeOperator, ...] = ()


class PeInputPort(NamedTuple):
    """A PE input port: an operator's input port that something outside of the PE feeds (rule 62)."""

    operator: int
    port: int


class PeOutputPort(NamedTuple):
    """A PE output port: a whole output port of an operator, or one channel of its splitter (rule 62)."""

    operator: int
    port: int
    splitter: int = -1
    channel: int = -1

    @classmethod
    def of(cls, connection: Connection) -> PeOutputPort:
        """Return the port that the tuples of a connection leave by if its ends are in different PEs."""
        return cls(connection.source, connection.source_port, connection.splitter, connection.channel)


class ProcessingElement(NamedTuple):
    """One PE (rules 52-63)."""

    id: int
    operators: tuple[int, ...]
    host: int
    restartable: bool
    relocatable: bool
    inputs: tuple[PeInputPort, ...]
    outputs: tuple[PeOutputPort, ...]
    origin: int = -1
    """The fused PE that decoupling divided, whose number its operators still report; -1 for none."""
    machine: int = -1
    """The number of the machine that the decoupling decision assigns to the PE; -1 for a PE that it did not divide."""
    compiled: int = -1
    """The PE's number in the compilation, in a plan with run-time numbers (`at_run_time`, `as_deployed`); else -1."""

    @property
    def original(self) -> int:
        """The PE number that the operators report: the number of the fused PE."""
        if self.origin >= 0:
            return self.origin
        return self.compiled if self.compiled >= 0 else self.id


class Network(NamedTuple):
    """A pair of Network operators: one sends the tuples of an output port, the other receives them (rules Q5, Q6).

    Decoupling adds one for each pair of output port and receiving PE.
    """

    outputs: tuple[PeOutputPort, ...]
    """The output port, or the channels of its splitters that lead to the receiver."""
    sender: int
    receiver: int
    inputs: tuple[PeInputPort, ...]
    """The input ports of the receiving PE."""


@dataclass(frozen=True, slots=True)
class FusionPlan:
    """The partition of operators into PEs."""

    scheme: Literal["legacy", "manual", "automatic"]
    pes: tuple[ProcessingElement, ...]
    pe_of: tuple[int, ...]
    """For each physical operator, the number of its PE."""
    networks: tuple[Network, ...] = ()
    """The networks that decoupling adds, sorted by output port and receiver."""


class Queue(NamedTuple):
    """A threaded port of the finished plan (rules 64-66)."""

    operator: int
    port: int
    injected: bool
    congestion_policy: str
    queue_size: int
    single_producer: bool = False
    """True if at most one thread puts tuples into the queue, which then needs no mutex (rules 65, 75)."""


@dataclass(frozen=True, slots=True)
class OperatorThreads:
    """The threads of one physical operator (rules 73-77)."""

    threads: int
    single_threaded_on_inputs: bool
    single_threaded_on_outputs: bool
    locked: bool


@dataclass(frozen=True, slots=True)
class ThreadPlan:
    """The queues, and the number of threads that enter each operator."""

    queues: tuple[Queue, ...]
    operators: tuple[OperatorThreads, ...]
    """The threads of each physical operator."""


class Passing(NamedTuple):
    """The way in which tuples pass one connection (rules 78-91)."""

    passing: Literal["reference", "copy", "enqueue", "serialize"]
    constness: Literal["mutable", "const"]
    reason: str
    attributes: Mutates = None
    """The attributes that are copied; None copies whole tuples."""


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """The passing of tuples on each connection, by reference or as a copy, and the order of a port's consumers."""

    connections: tuple[Passing, ...]
    """The passing of each connection, in the order of the physical graph."""
    order: tuple[int, ...]
    """The numbers of the connections in serving order (rule 90); with `--faithful`, in physical order."""
    sender_copies: int
    enqueue_copies: int
    eliminated: int
