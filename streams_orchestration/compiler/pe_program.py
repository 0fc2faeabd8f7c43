"""The program of a PE: what its tasks run, as it travels to the workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from streams_orchestration.model.engines import EngineKind
from streams_orchestration.operators.region import RegionRole


@dataclass(frozen=True, slots=True)
class Direct:
    """A call within the task (rule 82)."""

    operator: int
    port: int
    copies: bool
    mutable: bool
    attributes: tuple[str, ...] | None
    connection: int
    """Number of the connection in the physical graph, by which copies are counted."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """Through a queue, or a merge in front of a locked stateful operator."""

    operator: int
    port: int
    connection: int
    queue: bool


@dataclass(frozen=True, slots=True)
class Remote:
    """To a PE output port: a stream of the transport."""

    stream: str


@dataclass(frozen=True, slots=True)
class Split:
    """One channel for every tuple (rules 20, 21)."""

    id: str
    policy: str
    attributes: tuple[str, ...]
    start: int
    drops_window_punctuation: bool
    channels: tuple[tuple[Delivery, ...], ...]


Delivery = Direct | Exchange | Remote | Split


@dataclass(frozen=True, slots=True)
class OperatorProgram:
    """One operator as a task runs it. Schemas are Spark DDL."""

    index: int
    """In the physical graph."""
    name: str
    implementation: str
    parameters: dict[str, Any]
    inputs: tuple[str, ...]
    mutable: tuple[bool, ...]
    """Per input port: the operator changes tuples that arrive there."""
    outputs: tuple[str | None, ...]
    channel: int
    max_channels: int
    local_channel: int
    local_max_channels: int
    stateful: bool
    source: bool
    preserves: tuple[bool, ...]
    """Per output port: window markers that arrive are passed on."""
    deliveries: tuple[tuple[Delivery, ...], ...]
    """Per output port, in serving order (rule 81)."""
    region: RegionRole | None = None
    ports: tuple[str, ...] = ()
    """Names of the input ports."""
    query: tuple[str, ...] = ()
    """The operators of its PE where they are one query of Spark's, which have one state."""
    pe: int = 0
    """As the operator knows it: the PE that it was in before it was decoupled."""
    time_zone: str = "UTC"
    """Of its expressions or its query, an IANA name."""


@dataclass(frozen=True, slots=True)
class InputStream:
    """One stream that feeds a PE input port."""

    stream: str
    producer: int
    """The PE that writes it."""
    operator: int
    port: int
    foreign: bool
    """The producer is not in the reader's unit of recovery, so its epochs mean nothing to the reader."""
    uncommitted: bool = False
    """A foreign one that is read before its epoch is complete, by whole batches of the producer (B33)."""
    exporter: str | None = None
    """Another application that writes it, which is connected while this one runs."""
    source: str = ""
    """Its name there; `stream` is the name among the positions of the reader."""
    first: int = 0
    """Segment to begin with."""
    last: int | None = None
    """The segment behind its last one, of a stream that is exported to this Import no more."""
    filter: str | None = None
    """Of the Import: which tuples to take."""


@dataclass(frozen=True, slots=True)
class Task:
    """A place in the query: level and partition. `home` is the operator that its entries belong to."""

    level: int
    partition: int
    home: int
    operators: tuple[int, ...]
    """All operators that it may call, in topological order."""
    sources: tuple[int, ...]
    inputs: tuple[InputStream, ...]
    imports: tuple[tuple[int, int], ...] = ()
    """(operator, port) of Imports: which streams those are the catalog says."""
    owns: tuple[int, ...] = ()
    """The operators that it drains and gives final punctuation; other tasks may call stateless ones too."""
    forwards: bool = False
    """It only reads streams for a task of a later level."""


@dataclass(frozen=True)
class PeProgram:
    """All of one PE."""

    application: str
    pe: int
    unit: str
    """Its unit of recovery."""
    starts: bool
    """It holds a start operator of its region, or is in no region."""
    autonomous: bool
    """In no region: every batch is a cut."""
    operators: dict[int, OperatorProgram]
    tasks: tuple[Task, ...]
    """Sorted by level and partition."""
    consumers: dict[str, tuple[int, ...]]
    """Streams that it writes -> the PEs that read them."""
    exports: tuple[str, ...] = ()
    """Those of them that other applications may import."""
    uncommitted: tuple[str, ...] = ()
    """Streams that it writes and that PEs of the application outside of the region see before the epoch is complete."""
    uncommitted_exports: tuple[str, ...] = ()
    """Streams that it writes and that Imports may see before the epoch is complete."""
    engine: EngineKind = "tuples"
    """What runs its operators; those of one that is a `dataframe` are one query of Spark's, and one task here."""

    @cached_property
    def levels(self) -> tuple[tuple[Task, ...], ...]:
        """The tasks of every level."""
        count = max(task.level for task in self.tasks) + 1
        return tuple(tuple(task for task in self.tasks if task.level == level) for level in range(count))

    @cached_property
    def task_of(self) -> dict[int, Task]:
        """Home operator -> the task whose entries it has."""
        return {task.home: task for task in self.tasks if not task.forwards}

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
        """Streams that it writes and that readers outside of the region may see before the epoch is complete."""
        return frozenset((*self.uncommitted, *self.uncommitted_exports))

    @cached_property
    def driven(self) -> bool:
        """It holds the operator that triggers its region."""
        return any(operator.region is not None and operator.region.trigger for operator in self.operators.values())

    @property
    def imports(self) -> tuple[tuple[int, int], ...]:
        """(operator, port) of its Imports. It never ends then: more may be exported at any time (rule 24)."""
        return tuple(port for task in self.tasks for port in task.imports)

    @cached_property
    def sinks(self) -> bool:
        """It holds operators without output ports, which may write to something outside."""
        return any(not operator.outputs for operator in self.operators.values())

    @property
    def inputs(self) -> tuple[InputStream, ...]:
        """All streams of the application that it reads."""
        return tuple(stream for task in self.tasks for stream in task.inputs)

    @property
    def sources(self) -> tuple[int, ...]:
        """Its source operators."""
        return tuple(source for task in self.tasks for source in task.sources)


def _inside(deliveries: tuple[Delivery, ...]) -> Iterator[Direct | Exchange]:
    for delivery in deliveries:
        match delivery:
            case Direct() | Exchange():
                yield delivery
            case Split():
                for channel in delivery.channels:
                    yield from _inside(channel)
            case Remote():
                pass
