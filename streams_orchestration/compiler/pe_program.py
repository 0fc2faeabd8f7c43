"""The program of a PE, which is sent to the workers that run the PE's tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from streams_orchestration.model.engines import EngineKind
from streams_orchestration.operators.contract.region_role import RegionRole
from streams_orchestration.operators.event_time.role import EventTimeRole


@dataclass(frozen=True, slots=True)
class Direct:
    """A delivery by a direct call within the task (rule 82)."""

    operator: int
    port: int
    copies: bool
    mutable: bool
    attributes: tuple[str, ...] | None
    """The attributes that are copied; None for whole tuples."""
    connection: int
    """The number of the connection in the physical graph; copies are counted by it."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A delivery through a queue, or through a merge in front of a locked stateful operator."""

    operator: int
    port: int
    connection: int
    """The number of the connection in the physical graph, as in `Direct`."""
    queue: bool
    """True for a queue, False for a merge."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A delivery to a PE output port, which is a stream of the transport."""

    stream: str


@dataclass(frozen=True, slots=True)
class SplitDelivery:
    """A splitter, which delivers every tuple to one channel (rules 20, 21)."""

    id: str
    policy: str
    attributes: tuple[str, ...]
    start: int
    drops_window_punctuation: bool
    channels: tuple[tuple[Delivery, ...], ...]


Delivery = Direct | Exchange | Remote | SplitDelivery


@dataclass(frozen=True, slots=True)
class ImportAt:
    """The Import at an input port whose operator may change it."""

    name: str
    schema: str
    subscription: str | None
    """None for an Import of a named stream."""
    filter: str | None = None


@dataclass(frozen=True, slots=True)
class ExportAt:
    """The Export with properties at an output port whose operator may change it."""

    name: str
    stream: str
    """The name of the stream in the transport."""
    properties: dict[str, Any]


@dataclass(frozen=True, slots=True)
class LinksAt:
    """The Imports by input port, and the Exports by output port, of an operator, as its spec declares them."""

    imports: dict[int, ImportAt]
    exports: dict[int, ExportAt]


@dataclass(frozen=True, slots=True)
class OperatorProgram:
    """One operator as a task runs it. Schemas are in Spark's DDL."""

    index: int
    """The operator's number in the physical graph."""
    name: str
    implementation: str
    parameters: dict[str, Any]
    inputs: tuple[str, ...]
    mutable: tuple[bool, ...]
    """Per input port: True if the operator changes tuples that arrive there."""
    outputs: tuple[str | None, ...]
    channel: int
    max_channels: int
    local_channel: int
    local_max_channels: int
    stateful: bool
    source: bool
    preserves: tuple[bool, ...]
    """Per output port: True if the operator forwards window markers there."""
    deliveries: tuple[tuple[Delivery, ...], ...]
    """For each output port its deliveries, in serving order (rule 81)."""
    region: RegionRole | None = None
    ports: tuple[str, ...] = ()
    """Names of the input ports."""
    query: tuple[str, ...] = ()
    """The names of all operators of the PE if it is one Spark query, since they share its state; else empty."""
    pe: int = 0
    """The number that the operator reports as its PE: the PE's number before decoupling."""
    time_zone: str = "UTC"
    """Time zone of its expressions or its query, an IANA name."""
    event_time: EventTimeRole | None = None
    """The operator's role in an event-time graph; None outside of such graphs."""
    entries: dict[int, str] = field(default_factory=dict[int, str])
    """Number of an event-time connection into the operator -> the name of its stream in the transport. These names
    identify the connections in the operator's state."""
    links: LinksAt | None = None
    """The Imports and Exports at the operator's ports; None unless its program reads or changes them at run time."""


@dataclass(frozen=True, slots=True)
class InputStream:
    """One stream that feeds a PE input port."""

    stream: str
    producer: int
    """The PE that writes the stream."""
    operator: int
    port: int
    foreign: bool
    """True if the stream's producer is in another unit of recovery, whose epochs mean nothing to the reader, or is the
    reading PE itself, since the stream closes a loop within it."""
    uncommitted: bool = False
    """True for a foreign stream that is read before its epoch is complete, in whole batches of the producer (B33)."""
    exporter: str | None = None
    """The other application that writes the stream, for a connection that is made at run time; else None."""
    source: str = ""
    """The name of the stream in the exporting application; `stream` is its name in the reader's positions."""
    first: int = 0
    """The first segment to read."""
    last: int | None = None
    """The number after the last segment to read; None while the stream is still exported to this Import."""
    filter: str | None = None
    """The filter of the Import, an expression that selects tuples; None selects all."""
    event_time: bool = False
    """True if the Import takes the watermarks of the stream (EV48)."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task of the query, by level and partition. `home` is the operator that its tuples enter first."""

    level: int
    partition: int
    home: int
    operators: tuple[int, ...]
    """All operators that the task may call, in topological order."""
    sources: tuple[int, ...]
    inputs: tuple[InputStream, ...]
    imports: tuple[tuple[int, int], ...] = ()
    """(operator, port) of each Import; the catalog knows which streams it reads."""
    owns: tuple[int, ...] = ()
    """The operators that this task drains, and to which it sends final punctuation.

    Stateless operators may also be called by other tasks, but each operator has one owner."""
    forwards: bool = False
    """True if the task runs no operator, and only reads streams for a task of a later level."""


@dataclass(frozen=True)
class PeProgram:
    """The program of one PE."""

    application: str
    pe: int
    unit: str
    """The name of the PE's unit of recovery."""
    starts: bool
    """True if the PE holds a start operator of its region, or is in no region."""
    autonomous: bool
    """True if the PE is in no consistent region; every batch then ends with a cut."""
    operators: dict[int, OperatorProgram]
    tasks: tuple[Task, ...]
    """The tasks, sorted by level and partition."""
    consumers: dict[str, tuple[int, ...]]
    """The streams that the PE writes -> the PEs that read them."""
    exports: tuple[str, ...] = ()
    """The written streams that other applications may import."""
    uncommitted: tuple[str, ...] = ()
    """The written streams that PEs of the application outside of the region read before the epoch is complete."""
    uncommitted_exports: tuple[str, ...] = ()
    """The written streams that Imports may read before the epoch is complete."""
    engine: EngineKind = "tuples"
    """The engine of the operators; with `dataframe`, all operators are one Spark query in one task."""

    @cached_property
    def levels(self) -> tuple[tuple[Task, ...], ...]:
        """The tasks by level."""
        count = max(task.level for task in self.tasks) + 1
        return tuple(tuple(task for task in self.tasks if task.level == level) for level in range(count))

    @cached_property
    def task_of(self) -> dict[int, Task]:
        """Home operator -> its task; tasks that only forward streams are left out."""
        return {task.home: task for task in self.tasks if not task.forwards}

    @cached_property
    def stateful(self) -> int:
        """The number of operators that may have a state."""
        return sum(operator.stateful for operator in self.operators.values())

    @cached_property
    def connection_names(self) -> dict[int, str]:
        """Number of a connection within the PE -> `Source:0 -> Target:1`, ports included."""
        names: dict[int, str] = {}
        for program in self.operators.values():
            for port, deliveries in enumerate(program.deliveries):
                for inside in _inside(deliveries):
                    target = self.operators[inside.operator].name
                    names[inside.connection] = f"{program.name}:{port} -> {target}:{inside.port}"
        return names

    @cached_property
    def seen_early(self) -> frozenset[str]:
        """The written streams that readers outside of the region may read before the epoch is complete."""
        return frozenset((*self.uncommitted, *self.uncommitted_exports))

    @cached_property
    def driven(self) -> bool:
        """True if the PE holds the operator that triggers its region."""
        return any(operator.region is not None and operator.region.trigger for operator in self.operators.values())

    @cached_property
    def drifting(self) -> dict[str, EventTimeRole]:
        """Name of a source with `maxDrift` -> its event-time role.

        Such a source is not read while too far ahead (EV65).
        """
        sources = (self.operators[index] for index in self.sources)
        roles = ((each.name, each.event_time) for each in sources)
        return {name: role for name, role in roles if role is not None and role.max_drift is not None}

    @cached_property
    def awaited_sources(self) -> frozenset[str]:
        """The names of sources in other PEs for which sources of this PE may have to wait (EV65)."""
        own = {self.operators[index].name for index in self.sources}
        return frozenset(peer for role in self.drifting.values() for peer in role.peers) - own

    @cached_property
    def may_rest(self) -> bool:
        """True if the PE has a source, an Import or an operator with a watermark of its own that may be idle (EV51)."""
        roles = [(each.source, each.event_time) for each in self.operators.values()]
        return any(role is not None and (source or role.imports or role.mode == "manual") for source, role in roles)

    @property
    def imports(self) -> tuple[tuple[int, int], ...]:
        """(operator, port) of each Import of the PE.

        A PE with Imports never ends, since further streams may be exported to it later (rule 24).
        """
        return tuple(port for task in self.tasks for port in task.imports)

    @cached_property
    def sinks(self) -> bool:
        """True if the PE holds operators without output ports, which may write to external systems."""
        return any(not operator.outputs for operator in self.operators.values())

    @property
    def inputs(self) -> tuple[InputStream, ...]:
        """All streams of the application that the PE reads."""
        return tuple(stream for task in self.tasks for stream in task.inputs)

    @cached_property
    def returning(self) -> frozenset[str]:
        """The streams that the PE writes and reads again in a later batch, since they close a loop within the PE."""
        return frozenset(each.stream for each in self.inputs if each.producer == self.pe)

    @cached_property
    def awaited_streams(self) -> frozenset[str]:
        """The streams of other units, whose ends the PE awaits."""
        return frozenset(each.stream for each in self.inputs if each.foreign) - self.returning

    @property
    def sources(self) -> tuple[int, ...]:
        """The numbers of the PE's source operators."""
        return tuple(source for task in self.tasks for source in task.sources)


def _inside(deliveries: tuple[Delivery, ...]) -> Iterator[Direct | Exchange]:
    for delivery in deliveries:
        match delivery:
            case Direct() | Exchange():
                yield delivery
            case SplitDelivery():
                for channel in delivery.channels:
                    yield from _inside(channel)
            case Remote():
                pass
