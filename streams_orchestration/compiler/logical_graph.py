"""The logical graph: the operators of the spec, with composites opened up, before the parallel transformation.

Operators and connections are numbered; a stage adds facts to those numbers and never renumbers. Everything here is
immutable and plain, so that a stage is a function of its input and its result can be stored and read back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from streams_orchestration.model.engines import EngineKind
from streams_orchestration.model.location import Location
from streams_orchestration.model.operators import WatermarkMode

Mutates = tuple[str, ...] | None
"""The attributes that a mutating input port changes; None means all attributes."""


@dataclass(frozen=True, slots=True)
class InputPort:
    """An input port with the facts of the operator model (rules 25, 35, 78)."""

    name: str
    mutable: bool = False
    mutates: Mutates = None
    control: bool = False
    expects_window_punctuation: bool = False


@dataclass(frozen=True, slots=True)
class OutputPort:
    """An output port with its stream and the facts of the operator model (rules 24, 78)."""

    stream: str
    """Full logical stream name, composite instances as a dotted prefix."""
    mutable: bool = False
    generates_window_punctuation: bool = False
    preserves_window_punctuation: bool = False
    preserved_port: int = 0
    """The input port whose window punctuation a preserving output port passes on."""
    schema: str | None = None
    """Spark DDL of the tuple type, None when not declared and not inferred."""
    rate: float | None = None
    """The declared number of tuples a second; None if none is declared."""


SingleThreaded = Literal["Always", "Never"]
"""`Always` if one thread at a time submits the output tuples whenever one thread enters the operator (rule 72).

An operator model may make this depend on the window of the invocation; here the dependence is resolved."""


@dataclass(frozen=True, slots=True)
class ThreadedPort:
    """A user's queue on an input port (rule 64)."""

    port: int
    congestion_policy: Literal["Sys.Wait", "Sys.DropFirst", "Sys.DropLast"] = "Sys.Wait"
    queue_size: int = 1000


@dataclass(frozen=True, slots=True)
class Tag:
    """A colocation or exlocation tag before it is resolved for a replica (rules 46, 47, 49)."""

    kind: Literal["plain", "byChannel", "byReplica"]
    text: str
    """The tag itself if it is plain, perhaps with channel functions; else the introducing operator's logical name."""
    level: int = -1
    """For `byChannel`: the number of parallel regions around the introducing operator, including its own, minus 1."""


@dataclass(frozen=True, slots=True)
class PlacementGroup:
    """One placement group (partition or host) as the config search determined it (rules 42, 43)."""

    isolation: bool = False
    colocation: tuple[Tag, ...] = ()
    exlocation: tuple[Tag, ...] = ()
    introducer: str = field(default="", compare=False)
    """Full logical name of the operator, composite or application that has the config."""
    location: Location | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Threading:
    """The nearest `@threading` annotation, or else the option `threading` (rules 67, 68).

    The model is None without both.
    """

    model: Literal["manual", "automatic", "dynamic", "dedicated"] | None = None
    explicit: bool = False
    """True if an annotation sets the model, False if an option or the default does."""
    threads: int | None = None
    elastic: bool | None = None
    introducer: str = field(default="", compare=False)
    """Full logical name of the annotated composite or application."""
    location: Location | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class EventTimeAnnotation:
    """The `eventTime` annotation of an operator, with submission-time values in place (EV1, EV2).

    Times are in seconds.
    """

    attribute: str
    """The event-time attribute; `a.b` names the field b of the struct a."""
    resolution: Literal["Milliseconds", "Microseconds", "Nanoseconds"] | None = None
    """The resolution as written; None means the default of the attribute's type."""
    lag: float = 0.0
    minimum_gap: float = 0.1
    idle_after: float | None = None
    """The seconds without a tuple after which a source or a partition is idle (EV51); None means never."""
    max_ahead: float | None = None
    """The seconds beyond the watermark after which a time is suspect (EV53); None means no guard."""
    confirmations: int = 3
    """The number of suspect times in a row that move the watermark (EV53)."""
    ahead_of: str | None = None
    """The attribute from which `max_ahead` is measured instead of from the watermark (EV53); None for the watermark."""
    on_null: Literal["fail", "ignore"] = "fail"
    """The treatment of tuples without a time (EV54)."""
    max_drift: float | None = None
    """The seconds ahead of the graph's least watermark beyond which a source is not read (EV65); None for no limit."""
    location: Location | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class LogicalOperator:
    """A primitive operator invocation of the flattened application, before the parallel transformation."""

    index: int
    name: str
    """The full logical name, as in `Out.A`."""
    kind: str
    """The kind of operator that the invocation names: standard, declared or `package.module:Class`."""
    implementation: str | None
    """The `package.module:Class`; None for a compile-only operator, and for a standard one, whose kind decides."""
    inputs: tuple[InputPort, ...]
    outputs: tuple[OutputPort, ...]
    parameters: dict[str, Any]
    """The parameters, with submission-time values in place and channel functions still as text."""
    standard: bool = True
    """False if the application declares the operator, even if a standard operator has the same name."""
    regions: tuple[int, ...] = ()
    """Indexes of the enclosing parallel regions, outermost first, its own `@parallel` last."""
    composites: tuple[str, ...] = ()
    """Full logical names of the enclosing composite invocations, outermost first."""
    stateful: bool = False
    single_threaded: SingleThreaded = "Always"
    waits: tuple[tuple[int, int], ...] = ()
    """Pairs (port, other): a call on `port` waits, inside the operator, until a call on `other` signals it."""
    may_be_member: bool = True
    may_start: bool = True
    region_reason: str = ""
    threaded_ports: tuple[ThreadedPort, ...] = ()
    threading: Threading = Threading()
    partition: PlacementGroup = PlacementGroup()
    host_placement: PlacementGroup = PlacementGroup()
    host: str | None = None
    host_pool: str | None = None
    restartable: bool = True
    relocatable: bool = True
    checkpoint: Literal["periodic", "operatorDriven"] | None = None
    checkpoint_period: float | None = None
    """Seconds between two checkpoints; None unless they are periodic."""
    uncommitted: bool = False
    """True if readers outside of the operator's region see its output before an epoch is complete (B33)."""
    complete_within: float | None = None
    """For a sink, the most seconds by which its results may be behind the present (EV67); None without bound."""
    atomic: str | None = None
    submits: tuple[bool, ...] = ()
    """Per input port of a Custom operator: True if its logic submits tuples (rules 39, A35)."""
    location: Location | None = None
    parameter_locations: tuple[tuple[str, Location], ...] = field(default=(), compare=False)
    """The locations of those parameters that are not at the location of the operator."""
    engine: EngineKind = "tuples"
    event_time: EventTimeAnnotation | None = None
    watermark_mode: WatermarkMode | None = None
    """The watermark mode that the operator model declares; None for the default of the operator's kind."""
    uid: str = ""
    """The uid that the spec declares for the operator or for a composite around it; empty without one."""
    expressions: tuple[tuple[str, str, str], ...] = field(default=(), compare=False)
    """(parameter, text, canonical text) of every expression; empty until `deployable` has checked it."""

    def location_of(self, parameter: str) -> Location | None:
        """Return the location of a parameter, or by default the location of the operator; None if neither is known."""
        return dict(self.parameter_locations).get(parameter, self.location)

    @property
    def is_native(self) -> bool:
        """True for an operator that is not standard, if its location has a column, as locations in SPL have."""
        return self.location is not None and self.location.column > 0 and not self.standard

    @property
    def identity(self) -> str:
        """The name that identifies the operator in all redeploys, unique in the application."""
        return self.uid or self.name


class LogicalConnection(NamedTuple):
    """A connection from an output port to an input port of primitive operators, through ports of composites."""

    source: int
    source_port: int
    target: int
    target_port: int
    path: tuple[str, ...] = ()
    """The full names of the composite ports on its path, in order, as `left:Out.B` and `entered:Out.In`. They
    distinguish two paths between the same two ports (rule 10)."""


@dataclass(frozen=True, slots=True)
class ParallelRegion:
    """One `@parallel` invocation (rules 3, 6, 17)."""

    index: int
    name: str
    """The full logical name of the annotated operator or composite."""
    width: int
    parents: tuple[int, ...]
    """The indexes of the enclosing regions, outermost first."""
    routing: dict[str, Routing]
    """Name of an input port of the region -> its routing. A port without an entry is routed round robin."""
    replicate_host_tags: tuple[str, ...] = ()
    width_submission: str = ""
    """Name of the submission-time value that gave the width, empty for a literal or an override (A.7, CDISP0839W)."""
    uid: str = ""
    """The identity that survives a renaming (see `LogicalOperator.uid`); empty if the name is the identity."""

    def matches(self, pattern: str) -> bool:
        """Return True if a width pattern matches the name of the region or its uid (rule 6)."""
        expression = width_pattern(pattern)
        return any(map(expression.fullmatch, filter(None, (self.name, self.uid))))


def width_pattern(pattern: str) -> re.Pattern[str]:
    """Return the regular expression for a pattern of region names, in which `*` matches any text (rule 6)."""
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")))


@dataclass(frozen=True, slots=True)
class Routing:
    """The routing of one input port of a region (rule 17)."""

    policy: Literal["roundRobin", "hash", "broadcast"] = "roundRobin"
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsistentAnnotation:
    """A `consistent` or `autonomous` annotation on an invocation (A1, A2), with the names of submission-time values."""

    kind: Literal["consistent", "autonomous"]
    scope: str
    """The full logical name of the annotated primitive operator or composite."""
    composite: bool
    trigger: Literal["periodic", "operatorDriven"] | None = None
    """The trigger that the spec sets; None if it sets none, which means periodic, and for `autonomous`."""
    values: dict[str, float | int] = field(default_factory=dict[str, float | int])
    """The resolved values of the keys that the spec sets: period, drainTimeout, resetTimeout,
    maxConsecutiveResetAttempts, restart.pause, restart.limit."""
    submission: dict[str, str] = field(default_factory=dict[str, str])
    """Key -> the name of the submission-time value that gave its value (A29.3)."""
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class ImportExport:
    """An `Import` or `Export` invocation, which is not a node of the graph (rules 34, A11)."""

    kind: Literal["import", "export"]
    name: str
    operator: int
    """The logical operator that reads the Import, or whose stream is exported."""
    port: int
    parameters: dict[str, Any]
    """The parameters, with channel functions still as text."""
    regions: tuple[int, ...] = ()
    composites: tuple[str, ...] = ()
    """The full logical names of the enclosing composite invocations, outermost first (A22)."""
    autonomous: bool = False
    schema: str | None = None
    """The Spark DDL of the stream's tuple type; None if it is unknown."""
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class HostPool:
    """A declared host pool (rule 36)."""

    name: str
    tags: tuple[str, ...] = ()
    size: int | None = None
    """The number of its hosts; None for as many as are needed."""


@dataclass(frozen=True, slots=True)
class LogicalGraph:
    """The application flattened to primitive operators: the first stage's result."""

    application: str
    operators: tuple[LogicalOperator, ...]
    connections: tuple[LogicalConnection, ...]
    regions: tuple[ParallelRegion, ...] = ()
    """Parallel regions, in the order in which rule 4 expands them."""
    annotations: tuple[ConsistentAnnotation, ...] = ()
    """The region annotations, in the order of the walk of A13."""
    imports: tuple[ImportExport, ...] = ()
    exports: tuple[ImportExport, ...] = ()
    host_pools: tuple[HostPool, ...] = ()
    submission: dict[str, Any] = field(default_factory=dict[str, Any])
    description: str = ""
    plan_only: str = ""
    """The reason why the application compiles but cannot run; empty if it can run."""
    file: str = ""
    """The path of the spec, whose directory is searched for classes, too; empty for an application built in Python."""
    time_zone: str = "UTC"
    """The time zone of expressions and queries, an IANA name."""
