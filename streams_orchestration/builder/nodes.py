"""Drafts of invocations, streams and graphs while an application is built; names are decided when it is written.

An invocation without an explicit name is named by the first of these rules that applies:

1. It takes the name of the variable that its statement assigns: in `late = flights.filter(...).map(...)` the map is
   `late`. An invocation that the same statement reads further gets its kind appended: the filter is `late_Filter`.
2. In a statement that assigns nothing, it is named after the stream that it reads, and its kind:
   `late.to_files(...)` is `late_FileSink`.
3. A source and the use of a composite are named after their kind.

So a name depends only on its own statement and on the streams that the statement reads. A number is appended to a name
that is already taken.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from streams_orchestration.builder.places import CallSite, located
from streams_orchestration.builder.values import plain
from streams_orchestration.model.standard import KEEPS_TYPE, STANDARD

Json = dict[str, Any]


class BuildError(ValueError):
    """The application is built in a way that no spec can express; the message names file and line."""

    def __init__(self, message: str, place: CallSite) -> None:
        super().__init__(f"{place.file}:{place.line}: {message}")
        self.message = message
        self.place = place


@dataclass(eq=False)
class DraftPort:
    """An input port of an invocation, and the streams that it reads."""

    streams: list[DraftSource]
    name: str | None = None
    """The port's name; None for the composite's own name of the port, or `in0`, `in1` and so on."""
    control: bool = False
    mutates: Sequence[str] | None = None

    def document(self, graph: DraftGraph) -> Any:
        """Return the port in the form of a spec."""
        names = [name_in(graph, stream) for stream in self.streams]
        more: Json = {"name": self.name} if self.name else {}
        more |= {"control": True} if self.control else {}
        more |= {} if self.mutates is None else {"mutates": list(self.mutates)}
        if more:
            return {"streams": names, **more}
        return names[0] if len(names) == 1 else names


@dataclass(eq=False)
class DraftOutput:
    """The origin of a stream: an output port of an invocation, or an input port of a composite."""

    graph: DraftGraph
    node: DraftNode | None = None
    """The invocation; None for an input port of the graph's composite."""
    name: str | None = None
    """The stream's name; None to derive it from the invocation's name."""
    schema: str | None = None
    rate: float | None = None
    outer: DraftOutput | None = None
    """The stream on the other side of a block's port: outside for an input port, inside for an output port.

    None for all other streams.
    """


DraftSource = DraftOutput | str
"""A stream, or the name of a stream that is added later."""


@dataclass(eq=False)
class DraftNode:
    """An invocation of an operator or a composite, while the application is built."""

    graph: DraftGraph
    operator: str | Definition
    place: CallSite
    name: str | None = None
    inputs: list[DraftPort] = field(default_factory=list[DraftPort])
    outputs: list[DraftOutput] | None = None
    """None for the default: one stream of the invocation's name, or no stream for a sink."""
    parameters: Json = field(default_factory=dict[str, Any])
    annotations: Json = field(default_factory=dict[str, Any])
    config: Json = field(default_factory=dict[str, Any])
    uid: str | None = None

    @property
    def kind(self) -> str:
        """The class name of its operator, or the name of its composite."""
        operator = self.operator if isinstance(self.operator, str) else self.operator.name
        return re.sub(r"\W", "_", operator.rpartition(":")[2].rpartition(".")[2])

    def document(self) -> Json:
        """Return the invocation in the form of a spec.

        Raises:
            BuildError: a parallel region is split by a stream that no port reads.
            ValueError: a class or function is local or a lambda, so other processes cannot import it.
        """
        operator = self.operator if isinstance(self.operator, str) else self.graph.root.names[self.operator]
        document: Json = {"name": self.graph.names[self], "operator": operator}
        annotations = self._annotations()
        if self.inputs:
            document["inputs"] = [port.document(self.graph) for port in self.inputs]
        outputs = self._outputs(document["name"])
        if outputs is not None:
            document["outputs"] = outputs
        for key, value in (("parameters", self.parameters), ("annotations", annotations), ("config", self.config)):
            if value:
                document[key] = plain(value)
        if self.uid is not None:
            document["uid"] = self.uid
        return located(document, self.place)

    def _annotations(self) -> Json:
        """Return the annotations; a parallel region refers to ports by name.

        Raise BuildError if no port reads a stream that is named there.
        """
        parallel: Json = dict(self.annotations.get("parallel") or {})
        by, broadcast = parallel.get("partitionBy"), parallel.get("broadcast")
        if isinstance(by, Mapping):
            keys = cast("Mapping[DraftPort | DraftSource, Sequence[str]]", by)
            parallel["partitionBy"] = [{"port": self._port(key), "attributes": [*names]} for key, names in keys.items()]
        elif by and not isinstance(by[0], Mapping):
            alike = [self._port(port) for port in self.inputs if not set(port.streams) & set(broadcast or ())]
            parallel["partitionBy"] = [{"port": port, "attributes": [*by]} for port in alike]
        if broadcast:
            parallel["broadcast"] = [self._port(each) for each in broadcast]
        return self.annotations | ({"parallel": parallel} if parallel else {})

    def _port(self, which: DraftPort | DraftSource) -> str:
        """Return the name of an input port, also by a stream that it reads; a port without a name becomes `in0`, `in1`.

        A text is returned unchanged. Raise BuildError if no port reads the stream.
        """
        if isinstance(which, str):
            return which
        for position, port in enumerate(self.inputs):
            if port is which or which in port.streams:
                if not isinstance(self.operator, str):
                    return name_in(self.operator.graph, self.operator.inputs[position])
                port.name = port.name or f"in{position}"
                return port.name
        message = "a parallel region is split by a stream that this operator does not read; name one of its inputs"
        raise BuildError(message, self.place)

    def _outputs(self, name: str) -> list[Any] | None:
        if self.outputs is None:
            return None
        documents: list[Any] = []
        for output in self.outputs:
            stream = name_in(self.graph, output)
            more = {"schema": output.schema, "rate": output.rate}
            more = {key: value for key, value in more.items() if value is not None}
            documents.append({"stream": stream, **more} if more else stream)
        signature = STANDARD.get(self.operator) if isinstance(self.operator, str) else None
        default = signature is not None and signature.least_outputs and not any(each.name for each in self.outputs)
        return None if default and documents == [name] else documents


@dataclass(eq=False)
class DraftGraph:
    """The graph of the application or of a composite."""

    root: Root
    definition: Definition | None = None
    """The composite; None for the main graph."""
    nodes: list[DraftNode] = field(default_factory=list[DraftNode])
    names: dict[DraftNode, str] = field(default_factory=dict[DraftNode, str])
    streams: dict[DraftOutput, str] = field(default_factory=dict[DraftOutput, str])
    taken: set[str] = field(default_factory=set[str])
    inner: set[DraftNode] = field(default_factory=set["DraftNode"])
    """Invocations whose output another invocation reads in the same statement, so that no variable names them."""

    def name_all(self) -> None:
        """Name all invocations and their streams. Explicit names are reserved first."""
        self.names = {}
        self.streams = {}
        self.taken = set()
        ports = self.definition.inputs if self.definition else []
        outputs = [output for node in self.nodes for output in node.outputs or ()]
        self.taken |= {each.name for each in (*ports, *outputs) if each.name} | {n.name for n in self.nodes if n.name}
        for output in (*ports, *outputs):
            if output.name:
                self.streams[output] = output.name
        for node in self.nodes:
            self.names[node] = node.name or self.unique(self._assigned(node) or self._described(node))
        for node in self.nodes:
            unnamed = [output for output in node.outputs or () if not output.name and output.outer is None]
            for output in unnamed:
                alone = len(node.outputs or ()) == 1 and isinstance(node.operator, str)
                self.streams[output] = self.names[node] if alone else self.unique(self._wanted(node, output))

    def find_inner(self) -> None:
        """Fill `inner`. The variable of a statement names the invocation that is not in `inner`."""
        self.inner = {writer for node in self.nodes for writer in _read(node) if _statement(writer) == _statement(node)}

    def _assigned(self, node: DraftNode) -> str:
        """Return the variable that names an invocation (rule 1 of the module), or an empty text."""
        targets = node.place.targets
        return targets[0] if node not in self.inner and len(targets) == 1 and _usable(targets[0]) else ""

    def _described(self, node: DraftNode) -> str:
        """Return the name of an invocation that no variable names (the other rules of the module)."""
        if not isinstance(node.operator, str):
            return node.kind
        targets = node.place.targets
        if node in self.inner and len(targets) == 1 and _usable(targets[0]):
            return f"{targets[0]}_{node.kind}"
        read = next((stream for port in node.inputs for stream in port.streams), None)
        return node.kind if read is None else f"{_stem(read)}_{node.kind}"

    def _wanted(self, node: DraftNode, output: DraftOutput) -> str:
        position = (node.outputs or []).index(output)
        targets = node.place.targets
        named = len(targets) == len(node.outputs or ()) and _usable(targets[position])
        return targets[position] if named else f"{self.names[node]}_{position}"

    def unique(self, wanted: str) -> str:
        """Reserve and return a name that is not taken in the graph, with a number appended if needed."""
        name = next(name for name in numbered(wanted) if name not in self.taken)
        self.taken.add(name)
        return name

    def document(self) -> list[Json]:
        """Return the graph in the form of a spec.

        Raises:
            BuildError: a parallel region is split by a stream that no port of its operator reads.
            ValueError: a class or function is local or a lambda, so other processes cannot import it.
        """
        return [node.document() for node in self.nodes]


@dataclass(eq=False)
class Definition:
    """A composite: a graph with ports."""

    name: str
    place: CallSite
    graph: DraftGraph
    inputs: list[DraftOutput] = field(default_factory=list[DraftOutput])
    outputs: list[DraftSource] = field(default_factory=list[DraftSource])
    annotations: Json = field(default_factory=dict[str, Any])
    config: Json = field(default_factory=dict[str, Any])
    block: DraftNode | None = None
    """The only invocation, if the composite is a block; None for a composite that was defined for reuse."""

    def document(self) -> Json:
        """Return the composite in the form of a spec.

        Raises:
            BuildError: a parallel region is split by a stream that no port of its operator reads.
            ValueError: a class or function is local or a lambda, so other processes cannot import it.
        """
        document: Json = {}
        if self.inputs:
            document["inputs"] = [name_in(self.graph, port) for port in self.inputs]
        if self.outputs:
            document["outputs"] = [name_in(self.graph, stream) for stream in self.outputs]
        for key, value in (("annotations", self.annotations), ("config", self.config)):
            if value:
                document[key] = plain(value)
        document["graph"] = self.graph.document()
        return located(document, self.place)


@dataclass(eq=False)
class Root:
    """All graphs of an application."""

    main: DraftGraph = field(init=False)
    definitions: list[Definition] = field(default_factory=list[Definition])
    reserved: set[str] = field(default_factory=set[str])
    """Names that no composite may take: standard and declared operators."""
    names: dict[Definition, str] = field(default_factory=dict[Definition, str])

    def __post_init__(self) -> None:
        self.main = DraftGraph(self)

    def name_all(self) -> None:
        """Name all composites, invocations and streams."""
        self.names.clear()
        for definition in sorted(self.definitions, key=lambda each: each.block is not None):
            taken = {*self.names.values(), *self.reserved} if definition.block is not None else set[str]()
            self.names[definition] = next(name for name in numbered(definition.name) if name not in taken)
        graphs = (self.main, *(definition.graph for definition in self.definitions))
        for graph in graphs:
            graph.find_inner()
        for graph in graphs:
            graph.name_all()


def schema_of(stream: DraftSource) -> str | None:
    """Return the schema of a stream, or None if it is unknown. Some standard operators pass their input's schema on."""
    seen: set[DraftOutput] = set()
    while isinstance(stream, DraftOutput) and stream not in seen:
        seen.add(stream)
        node = stream.node
        if stream.schema is not None:
            return stream.schema
        if stream.outer is not None:
            stream = stream.outer
        elif node is not None and node.operator in KEEPS_TYPE and node.inputs and node.inputs[0].streams:
            stream = node.inputs[0].streams[0]
        else:
            return None
    return None


def _stem(stream: DraftSource) -> str:
    """Return the base for naming a stream's readers: its name, its variable, or the stem of the stream it reads."""
    while isinstance(stream, DraftOutput):
        node, name = stream.node, stream.name
        if name is None and stream.outer is not None:
            stream = stream.outer
            continue
        if name is not None or node is None:
            return name or "Stream"
        position, targets = (node.outputs or []).index(stream), node.place.targets
        named = node not in node.graph.inner and len(targets) == len(node.outputs or ()) and _usable(targets[position])
        if node.name is not None or named:
            return node.name or targets[position]
        read = next((each for port in node.inputs for each in port.streams), None)
        if read is None or not isinstance(node.operator, str):
            return node.kind
        stream = read
    return stream


def name_in(graph: DraftGraph, stream: DraftSource) -> str:
    """Return a stream's name in a graph, reserved at first use; a block's port takes the name on its other side."""
    if isinstance(stream, str):
        return stream
    if stream not in graph.streams:
        wanted = "Stream" if stream.outer is None else name_in(stream.outer.graph, stream.outer)
        graph.streams[stream] = graph.unique(wanted)
    return graph.streams[stream]


def _read(node: DraftNode) -> Iterator[DraftNode]:
    """Yield the invocations whose streams an invocation reads."""
    for port in node.inputs:
        yield from (each.node for each in port.streams if isinstance(each, DraftOutput) and each.node is not None)


def _statement(node: DraftNode) -> tuple[str, int]:
    return node.place.file, node.place.statement


def _usable(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) is not None


def numbered(name: str) -> Iterator[str]:
    """Yield a name, then the name with the suffixes `_2`, `_3` and so on."""
    yield name
    yield from (f"{name}_{number}" for number in itertools.count(2))
