"""The graph of a compiled application, in one form for both generations of the ADL format."""

from __future__ import annotations

from dataclasses import dataclass, field

from streams_orchestration.spl.types.types import Tuple


@dataclass(frozen=True, slots=True)
class PortEnd:
    """One end of a connection: a port of an instance (an operator or a composite), by the index of the instance."""

    instance: int
    port: int
    is_input: bool


@dataclass(frozen=True, slots=True)
class AdlQueue:
    """The queue of a threaded port; `size` is None if the file gives none."""

    policy: str
    size: int | None


@dataclass(frozen=True, slots=True)
class AdlInputPort:
    """An input port with the ends that feed it; a composite's port has no other data."""

    sources: tuple[PortEnd, ...]
    name: str = ""
    mutable: bool = False
    control: bool = False
    queue: AdlQueue | None = None


@dataclass(frozen=True, slots=True)
class AdlOutputPort:
    """An output port.

    Attributes:
        sources: for a composite, the port inside that produces the stream; empty for an operator.
        name: the name in the invocation; a composite has none.
        stream: the full name of the stream; empty for a composite.
        type: the type of its tuples; None for a composite, and if an older ADL does not give it here.
        mutable: True if receivers may change the tuples.
    """

    sources: tuple[PortEnd, ...] = ()
    name: str = ""
    stream: str = ""
    type: Tuple | None = None
    mutable: bool = False


@dataclass(frozen=True, slots=True)
class PlacementTags:
    """The tags by which operators are placed together or apart, for PEs or for hosts."""

    colocation: tuple[str, ...] = ()
    exlocation: tuple[str, ...] = ()
    isolation: bool = False

    def __bool__(self) -> bool:
        return bool(self.colocation or self.exlocation or self.isolation)


@dataclass(frozen=True, slots=True)
class AdlSettings:
    """The configs of an operator, after inheritance; None for a config that the file does not give."""

    partitions: PlacementTags = PlacementTags()
    hosts: PlacementTags = PlacementTags()
    host: str | None = None
    pool: str | None = None
    restartable: bool | None = None
    relocatable: bool | None = None
    checkpoint: float | str | None = None
    """Seconds between checkpoints, `operatorDriven`, or None without checkpoints."""
    single_threaded: bool = True
    """True if only one thread at a time submits tuples from the operator."""


@dataclass(frozen=True, slots=True)
class AnnotationValue:
    """A value of an annotation: its text, or the index of the submission-time value that supplies it."""

    text: str
    """The text of the element, in which a string has its quotes."""
    type: str
    """The type that the file gives; empty if it gives none."""
    submission: int | None = None


@dataclass(frozen=True, slots=True)
class SourceAnnotation:
    """An annotation of an instance, from the SPL source or added by the compiler of Streams."""

    tag: str
    values: dict[str, AnnotationValue]


@dataclass(frozen=True, slots=True)
class AdlInstance:
    """An operator or a composite in the graph."""

    index: int
    name: str
    """The full name, dotted, without the application's name."""
    kind: str
    line: int
    inputs: tuple[AdlInputPort, ...]
    outputs: tuple[AdlOutputPort, ...]
    annotations: tuple[SourceAnnotation, ...] = ()
    children: tuple[AdlInstance, ...] | None = None
    """The instances in a composite; None for an operator."""
    settings: AdlSettings = AdlSettings()
    parameters: dict[str, object] = field(default_factory=dict[str, object])
    """The parameters of an Import or Export; empty for other operators, since ADL omits their parameters."""


@dataclass(frozen=True, slots=True)
class Pool:
    """A host pool."""

    name: str
    tags: tuple[str, ...]
    size: int | None


@dataclass(frozen=True, slots=True)
class AdlSplitter:
    """The routing of one input port of a parallel region: `RoundRobin`, `Hash` over attributes, or `Broadcast`."""

    port: int
    kind: str
    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """A parallel region: the replicated instance, with its width or the submission-time value that gives the width."""

    instance: int
    line: int
    width: int | None
    submission: int | None
    splitters: tuple[AdlSplitter, ...]
    host_tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubmissionTimeValue:
    """A submission-time value; `default` is the literal of SPL that the file gives, or None."""

    name: str
    composite: str
    default: str | None


@dataclass(frozen=True, slots=True)
class CompiledApplication:
    """The data of a compiled application that a plan needs."""

    name: str
    main: AdlInstance
    pools: tuple[Pool, ...]
    regions: tuple[Region, ...]
    submission: dict[int, SubmissionTimeValue]
    sources: tuple[str, ...]
    """The names of the SPL files from which the application was compiled."""
    pes: tuple[tuple[str, ...], ...] = ()
    """For each PE, the names of its operators; empty if the file is not fused yet."""
