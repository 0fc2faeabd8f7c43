"""What the stages after the parallel transformation give: consistent regions, PEs, threads and copies.

They speak of operators and connections by the numbers that the graphs gave them, and are as immutable and plain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from streams_orchestration.compiler.logical_graph import Mutates


@dataclass(frozen=True, slots=True)
class RegionMap:
    """Consistent regions of the logical and of the expanded graph (A12, A40)."""

    logical: tuple[ConsistentRegion, ...]
    expanded: tuple[ConsistentRegion, ...]
    region_of: tuple[int, ...]
    """Per physical operator the index into `expanded`, -1 when autonomous."""


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """Resets for a cause outside of the application, such as a service that is away: these are not counted. Seconds."""

    pause: float = 60.0
    """The longest pause between two resets; the first ones are shorter."""
    limit: float = 86_400.0
    """How long such resets go on while no epoch completes."""


DEFAULT_RESTART = RestartPolicy()


@dataclass(frozen=True, slots=True)
class ConsistentRegion:
    """One consistent region; operator numbers are logical or physical, as the tuple that holds it says."""

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


class PeInputPort(NamedTuple):
    """A PE input port: an operator's input port that something outside of the PE feeds (rule 62)."""

    operator: int
    port: int


class PeOutputPort(NamedTuple):
    """A PE output port: an operator's output port, or one splitter channel of it (rule 62)."""

    operator: int
    port: int
    splitter: int = -1
    channel: int = -1


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
    """The PE that it was a part of before it was decoupled, whose number its operators still have; -1 for none."""
    machine: int = -1
    """The machine of that PE on which the decision put it."""
    compiled: int = -1
    """The number that it was compiled with, where it runs under the one that it had before a redeploy; -1 elsewhere."""

    @property
    def original(self) -> int:
        """The PE as its operators know it, by the number that it was fused with."""
        if self.origin >= 0:
            return self.origin
        return self.compiled if self.compiled >= 0 else self.id


class Network(NamedTuple):
    """A pair of Network operators: one sends what leaves an output port, the other receives it (rules Q5, Q6).

    There is one for each output port and PE behind it, where there was one PE before it was decoupled.
    """

    outputs: tuple[PeOutputPort, ...]
    """The output port, or those channels of its splitters that lead there."""
    sender: int
    receiver: int
    inputs: tuple[PeInputPort, ...]
    """Where the receiving PE takes the tuples in."""


@dataclass(frozen=True, slots=True)
class FusionPlan:
    """Operators partitioned into PEs."""

    scheme: Literal["legacy", "manual", "automatic"]
    pes: tuple[ProcessingElement, ...]
    pe_of: tuple[int, ...]
    """Per physical operator the id of its PE."""
    networks: tuple[Network, ...] = ()
    """Between PEs that were one before they were decoupled; sorted by output port and receiver."""


class Queue(NamedTuple):
    """A threaded port of the finished plan (rules 64-66)."""

    operator: int
    port: int
    injected: bool
    congestion_policy: str
    queue_size: int
    single_producer: bool = False
    """At most one thread puts tuples into it, so that putting needs no mutex (rules 65, 75)."""


@dataclass(frozen=True, slots=True)
class OperatorThreads:
    """Rules 73-77 for one physical operator."""

    threads: int
    single_threaded_on_inputs: bool
    single_threaded_on_outputs: bool
    locked: bool


@dataclass(frozen=True, slots=True)
class ThreadPlan:
    """Queues, and which operators several threads enter."""

    queues: tuple[Queue, ...]
    operators: tuple[OperatorThreads, ...]
    """Per physical operator."""
    single_threaded_outputs: tuple[PeOutputPort, ...] = ()
    """PE output ports that at most one thread submits to (rule 75)."""


class Passing(NamedTuple):
    """How tuples pass one connection (rules 78-91)."""

    passing: Literal["reference", "copy", "enqueue", "serialize"]
    constness: Literal["mutable", "const"]
    reason: str
    attributes: Mutates = None
    """A copy of these attributes only; None copies whole tuples."""


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """The passing of every connection, and the order in which a port serves its consumers."""

    connections: tuple[Passing, ...]
    """Per connection of the physical graph, same order."""
    order: tuple[int, ...]
    """Connection numbers in serving order (rule 90); the physical order when --faithful."""
    sender_copies: int
    enqueue_copies: int
    eliminated: int
