"""Invocations, streams and graphs while they are put together; names are decided when the document is written.

An invocation has the name that the application gives it. Without one it takes that of the variable that its statement
assigns, unless another invocation of the same statement reads it: in `late = flights.filter(...).map(...)` the last one
is `late`, and the one within is `late_Filter`. Where a statement assigns nothing an invocation is called by the stream
that it reads: `late.to_files(...)` is `late_FileSink`. So a name depends on nothing but its own statement and what that
reads. What reads nothing, and a composite, is called by its kind. A number makes a name unique that is taken already.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from streams_orchestration.builder.places import Place, located
from streams_orchestration.builder.values import plain
from streams_orchestration.model.standard import KEEPS_TYPE, STANDARD

Json = dict[str, Any]


class BuildError(ValueError):
    """An application is put together in a way that no spec could say; the message names file and line."""

    def __init__(self, message: str, place: Place) -> None:
        super().__init__(f"{place.file}:{place.line}: {message}")
        self.message = message
        self.place = place


@dataclass(eq=False)
class Port:
    """An input port of an invocation, and what feeds it."""

    streams: list[Source]
    name: str | None = None
    """None for the one that the composite gives it, or `in0`, `in1` and so on."""
    control: bool = False
    mutates: Sequence[str] | None = None

    def document(self, graph: Graph) -> Any:
        """The port as a spec has it."""
        names = [name_in(graph, stream) for stream in self.streams]
        more: Json = {"name": self.name} if self.name else {}
        more |= {"control": True} if self.control else {}
        more |= {} if self.mutates is None else {"mutates": list(self.mutates)}
        if more:
            return {"streams": names, **more}
        return names[0] if len(names) == 1 else names


@dataclass(eq=False)
class Output:
    """An output port of an invocation, or an input port of a composite: what a stream comes from."""

    graph: Graph
    node: Node | None = None
    """None for a port of the composite that the graph is of."""
    name: str | None = None
    """None when the name of the invocation will do."""
    schema: str | None = None
    rate: float | None = None
    outer: Output | None = None
    """What comes in through the port of a block; the stream in a block that comes out of it."""


Source = Output | str
"""A stream, or the name of one that is made later."""


@dataclass(eq=False)
class Node:
    """An invocation."""

    graph: Graph
    operator: str | Definition
    place: Place
    name: str | None = None
    inputs: list[Port] = field(default_factory=list[Port])
    outputs: list[Output] | None = None
    """None for what is the default: one of the invocation's name, none of a sink."""
    parameters: Json = field(default_factory=dict[str, Any])
    annotations: Json = field(default_factory=dict[str, Any])
    config: Json = field(default_factory=dict[str, Any])
    uid: str | None = None

    @property
    def kind(self) -> str:
        """What it is called by when nothing else names it."""
        operator = self.operator if isinstance(self.operator, str) else self.operator.name
        return re.sub(r"\W", "_", operator.rpartition(":")[2].rpartition(".")[2])

    def document(self) -> Json:
        """The invocation as a spec has it."""
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
        """With the names of the ports that a parallel region is divided by."""
        parallel: Json = dict(self.annotations.get("parallel") or {})
        by, broadcast = parallel.get("partitionBy"), parallel.get("broadcast")
        if isinstance(by, Mapping):
            parallel["partitionBy"] = [{"port": self._port(key), "attributes": [*names]} for key, names in by.items()]
        elif by and not isinstance(by[0], Mapping):
            alike = [self._port(port) for port in self.inputs if not set(port.streams) & set(broadcast or ())]
            parallel["partitionBy"] = [{"port": port, "attributes": [*by]} for port in alike]
        if broadcast:
            parallel["broadcast"] = [self._port(each) for each in broadcast]
        return self.annotations | ({"parallel": parallel} if parallel else {})

    def _port(self, which: Port | Source) -> str:
        """The name of an input port, or of the one that a stream comes into."""
        if isinstance(which, str):
            return which
        for position, port in enumerate(self.inputs):
            if port is which or which in port.streams:
                if not isinstance(self.operator, str):
                    return name_in(self.operator.graph, self.operator.inputs[position])
                port.name = port.name or f"in{position}"
                return port.name
        message = "a stream that is no input of this operator cannot divide it"
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
class Graph:
    """The graph of the application or of a composite."""

    root: Root
    definition: Definition | None = None
    """The composite that it is of."""
    nodes: list[Node] = field(default_factory=list[Node])
    names: dict[Node, str] = field(default_factory=dict[Node, str])
    streams: dict[Output, str] = field(default_factory=dict[Output, str])
    taken: set[str] = field(default_factory=set[str])
    inner: set[Node] = field(default_factory=set["Node"])
    """Invocations that are read by another one of the same statement."""

    def name_all(self) -> None:
        """Decide what invocations and their streams are called: explicit names first."""
        self.names, self.streams, self.taken = {}, {}, set()
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
        """Find the invocations that are read by another one of their own statement, whose variable names that one."""
        self.inner = {writer for node in self.nodes for writer in _read(node) if _statement(writer) == _statement(node)}

    def _assigned(self, node: Node) -> str:
        """The variable that an invocation is assigned to; empty where there is none that tells it from others."""
        targets = node.place.targets
        return targets[0] if node not in self.inner and len(targets) == 1 and _usable(targets[0]) else ""

    def _described(self, node: Node) -> str:
        """What an invocation without a name and a variable is called: the stream that it belongs to, and its kind."""
        if not isinstance(node.operator, str):
            return node.kind
        targets = node.place.targets
        if node in self.inner and len(targets) == 1 and _usable(targets[0]):
            return f"{targets[0]}_{node.kind}"
        read = next((stream for port in node.inputs for stream in port.streams), None)
        return node.kind if read is None else f"{_stem(read)}_{node.kind}"

    def _wanted(self, node: Node, output: Output) -> str:
        position = (node.outputs or []).index(output)
        targets = node.place.targets
        named = len(targets) == len(node.outputs or ()) and _usable(targets[position])
        return targets[position] if named else f"{self.names[node]}_{position}"

    def unique(self, wanted: str) -> str:
        """A name that nothing in the graph has yet."""
        name = next(name for name in numbered(wanted) if name not in self.taken)
        self.taken.add(name)
        return name

    def document(self) -> list[Json]:
        """The graph as a spec has it."""
        return [node.document() for node in self.nodes]


@dataclass(eq=False)
class Definition:
    """A composite: a graph with ports."""

    name: str
    place: Place
    graph: Graph
    inputs: list[Output] = field(default_factory=list[Output])
    outputs: list[Source] = field(default_factory=list[Source])
    annotations: Json = field(default_factory=dict[str, Any])
    config: Json = field(default_factory=dict[str, Any])
    block: Node | None = None
    """The only invocation of a composite that was written in its place: a block."""

    def document(self) -> Json:
        """The composite as a spec has it."""
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

    main: Graph = field(init=False)
    definitions: list[Definition] = field(default_factory=list[Definition])
    reserved: set[str] = field(default_factory=set[str])
    """Names that no composite may take: those of declared operators."""
    names: dict[Definition, str] = field(default_factory=dict[Definition, str])

    def __post_init__(self) -> None:
        self.main = Graph(self)

    def name_all(self) -> None:
        """Decide all names."""
        self.names.clear()
        for definition in sorted(self.definitions, key=lambda each: each.block is not None):
            taken = {*self.names.values(), *self.reserved} if definition.block is not None else set[str]()
            self.names[definition] = next(name for name in numbered(definition.name) if name not in taken)
        graphs = (self.main, *(definition.graph for definition in self.definitions))
        for graph in graphs:
            graph.find_inner()
        for graph in graphs:
            graph.name_all()


def schema_of(stream: Source) -> str | None:
    """Return the schema of a stream, which standard operators may pass on; None where nothing says what it is."""
    seen: set[Output] = set()
    while isinstance(stream, Output) and stream not in seen:
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


def _stem(stream: Source) -> str:
    """What names a stream by itself: its name, its variable, else what names the stream that it is made from."""
    while isinstance(stream, Output):
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


def name_in(graph: Graph, stream: Source) -> str:
    """What a stream of a graph is called; ports and streams of blocks take the names that they have elsewhere."""
    if isinstance(stream, str):
        return stream
    if stream not in graph.streams:
        wanted = "Stream" if stream.outer is None else name_in(stream.outer.graph, stream.outer)
        graph.streams[stream] = graph.unique(wanted)
    return graph.streams[stream]


def reached(stream: Source, graph: Graph, place: Place) -> Source:
    """The same stream in another graph: through the ports of the blocks in between.

    Raises:
        BuildError: one of the graphs is that of a composite, which nothing comes into but by its ports.
    """
    if isinstance(stream, str) or stream.graph is graph:
        return stream
    around = list(_around(graph))
    while stream.graph not in around:
        stream = _out_of(stream, place)
    for inner in reversed(around[: around.index(stream.graph)]):
        stream = _into(stream, inner)
    return stream


def _around(graph: Graph) -> Iterator[Graph]:
    """A graph, and those that it is a block in."""
    yield graph
    while graph.definition is not None and graph.definition.block is not None:
        graph = graph.definition.block.graph
        yield graph


def _out_of(stream: Output, place: Place) -> Output:
    definition = stream.graph.definition
    if definition is None or definition.block is None:
        where = "the application" if definition is None else f"the composite {definition.name}"
        message = f"a stream of {where} is read in another graph, which it reaches by an input port only"
        raise BuildError(message, place)
    block = definition.block
    block.outputs = block.outputs or []
    if stream in definition.outputs:
        return block.outputs[definition.outputs.index(stream)]
    definition.outputs.append(stream)
    block.outputs.append(Output(block.graph, block, schema=None, outer=stream))
    return block.outputs[-1]


def _into(stream: Output, graph: Graph) -> Output:
    definition = graph.definition
    assert definition is not None
    assert definition.block is not None
    for port in definition.inputs:
        if port.outer is stream:
            return port
    definition.inputs.append(Output(graph, outer=stream))
    definition.block.inputs.append(Port([stream]))
    return definition.inputs[-1]


def _read(node: Node) -> Iterator[Node]:
    """The invocations whose streams an invocation reads."""
    for port in node.inputs:
        yield from (each.node for each in port.streams if isinstance(each, Output) and each.node is not None)


def _statement(node: Node) -> tuple[str, int]:
    return node.place.file, node.place.statement


def _usable(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) is not None


def numbered(name: str) -> Iterator[str]:
    """A name, and then the same with a number behind it."""
    yield name
    yield from (f"{name}_{number}" for number in itertools.count(2))
