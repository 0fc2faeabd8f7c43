"""The tree of invocations: composites are opened up, and primitive operators are numbered in the order of the spec."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from streams_orchestration.model.application import Application, Composite, Invocation
from streams_orchestration.model.operators import OperatorSignature
from streams_orchestration.model.signatures import is_standard, output_names, signature_of
from streams_orchestration.model.standard import NO_NODES

MAX_OPERATORS = 1_000_000
"""The most primitive operators that an application may have, before or after the parallel transformation."""


@dataclass(slots=True, eq=False)
class CompositeInstance:
    """One invocation of a composite; the main composite has no invocation, no parent and an empty name."""

    name: str
    definition: Composite | Application
    invocation: Invocation | None = None
    parent: CompositeInstance | None = None
    outputs: tuple[str, ...] = ()
    """The streams that the invocation produces in the graph of its parent."""
    composites: list[CompositeInstance] = field(default_factory=list["CompositeInstance"])
    primitives: list[PrimitiveInstance] = field(default_factory=list["PrimitiveInstance"])
    producers: dict[str, tuple[CompositeInstance | PrimitiveInstance, int]] = field(
        default_factory=dict[str, tuple["CompositeInstance | PrimitiveInstance", int]]
    )
    """Stream inside the composite -> its producer and the producer's output port."""
    region: int = -1
    """The index of the parallel region that this invocation makes; -1 if it makes none."""
    regions: tuple[int, ...] = ()
    """All parallel regions around the operators inside, outermost first, including the region of this invocation."""

    @property
    def ports(self) -> tuple[str, ...]:
        """Names of the input ports; the main composite has none."""
        return self.definition.inputs if isinstance(self.definition, Composite) else ()

    def enclosing(self) -> tuple[CompositeInstance, ...]:
        """Return this instance and its enclosing instances, innermost first, without the main composite."""
        instances: list[CompositeInstance] = []
        instance = self
        while instance.parent is not None:
            instances.append(instance)
            instance = instance.parent
        return tuple(instances)


@dataclass(slots=True, eq=False)
class PrimitiveInstance:
    """One invocation of a primitive operator, or of an Import or Export, which are not nodes of the graph."""

    name: str
    index: int
    """The number of the operator in the logical graph; -1 for an Import or Export, which is not in it."""
    invocation: Invocation
    parent: CompositeInstance
    signature: OperatorSignature
    standard: bool
    outputs: tuple[str, ...]
    region: int = -1
    regions: tuple[int, ...] = ()


class Terminal(NamedTuple):
    """The primitive operator that produces a stream, and the composite ports on the way from there."""

    producer: PrimitiveInstance
    port: int
    path: tuple[str, ...]


def count_operators(application: Application) -> int:
    """Return the number of primitive operators of an application after its composites are opened up.

    Imports, Exports and job control planes count as well. Composites must not contain themselves.
    """
    counts: dict[str, int] = {}

    def count(graph: tuple[Invocation, ...]) -> int:
        total = 0
        for invocation in graph:
            composite = application.composites.get(invocation.operator)
            if composite is not None and invocation.operator not in counts:
                counts[invocation.operator] = count(composite.graph)
            total += counts[invocation.operator] if composite is not None else 1
        return total

    return count(application.graph)


class InstanceTree:
    """All invocations of an application."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.main = CompositeInstance("", application)
        self.primitives: list[PrimitiveInstance] = []
        """The nodes of the graph, by index."""
        self.specials: list[PrimitiveInstance] = []
        """Imports, Exports and job control planes, in the order of the spec."""
        graphs = (application.graph, *(each.graph for each in application.composites.values()))
        self.has_uids = any(invocation.uid is not None for graph in graphs for invocation in graph)
        """True if any invocation has a uid, so that some identities differ from names."""
        self._sources: dict[tuple[int, str], tuple[Terminal, ...]] = {}
        self._open(self.main, application.graph)

    def _open(self, parent: CompositeInstance, graph: tuple[Invocation, ...]) -> None:
        application = self.application
        prefix = f"{parent.name}." if parent.name else ""
        for invocation in graph:
            name = prefix + invocation.name
            outputs = output_names(application, invocation)
            definition = application.composites.get(invocation.operator)
            child: CompositeInstance | PrimitiveInstance
            if definition is not None:
                child = CompositeInstance(name, definition, invocation, parent, outputs)
                parent.composites.append(child)
                self._open(child, definition.graph)
            else:
                standard = is_standard(application, invocation.operator)
                node = not (standard and invocation.operator in NO_NODES)
                signature = signature_of(application, invocation.operator) or OperatorSignature()
                index = len(self.primitives) if node else -1
                child = PrimitiveInstance(name, index, invocation, parent, signature, standard, outputs)
                parent.primitives.append(child)
                (self.primitives if node else self.specials).append(child)
            for port, stream in enumerate(outputs):
                parent.producers.setdefault(stream, (child, port))

    def uid(self, instance: PrimitiveInstance | CompositeInstance) -> str:
        """Return the identity of an instance: its uid, or else its name below the nearest composite with a uid.

        The result is empty if neither exists.
        """
        if not self.has_uids or instance.invocation is None or instance.parent is None:
            return ""
        own = instance.invocation.uid
        if own is not None:
            return own
        parts = [instance.invocation.name]
        for composite in instance.parent.enclosing():
            assert composite.invocation is not None
            if composite.invocation.uid is not None:
                return ".".join([composite.invocation.uid, *reversed(parts)])
            parts.append(composite.invocation.name)
        return ""

    def composites(self) -> Iterator[CompositeInstance]:
        """Yield every composite instance but the main one, parents before children."""
        pending = list(reversed(self.main.composites))
        while pending:
            instance = pending.pop()
            yield instance
            pending.extend(reversed(instance.composites))

    def sources(self, scope: CompositeInstance, stream: str) -> tuple[Terminal, ...]:
        """Return the producers of `stream` in the graph of `scope`; there are none if nothing produces it.

        A stream that is an input port of a composite may have several.
        """
        key = (id(scope), stream)
        sources = self._sources.get(key)
        if sources is None:
            sources = self._sources[key] = tuple(self._find_sources(scope, stream))
        return sources

    def _find_sources(self, scope: CompositeInstance, stream: str) -> Iterator[Terminal]:
        if stream in scope.producers:
            child, port = scope.producers[stream]
            if isinstance(child, PrimitiveInstance):
                yield Terminal(child, port, ())
            elif isinstance(child.definition, Composite) and port < len(child.definition.outputs):
                inner = child.definition.outputs[port]
                if inner in child.producers:
                    for producer, inner_port, path in self.sources(child, inner):
                        yield Terminal(producer, inner_port, (*path, f"left:{child.name}.{inner}"))
        elif stream in scope.ports and scope.parent is not None and scope.invocation is not None:
            port = scope.ports.index(stream)
            bindings = scope.invocation.inputs
            for fed in bindings[port].streams if port < len(bindings) else ():
                for producer, outer_port, path in self.sources(scope.parent, fed):
                    yield Terminal(producer, outer_port, (*path, f"entered:{scope.name}.{stream}"))

    def stream_name(self, producer: PrimitiveInstance, port: int) -> str:
        """Return the full logical name of a stream.

        It is the name of the outermost composite output through which the stream leaves composites (rule 31).
        """
        scope = producer.parent
        stream = producer.outputs[port]
        while isinstance(scope.definition, Composite) and scope.parent is not None:
            exported = scope.definition.outputs
            if scope.producers.get(stream, (None,))[0] is None or stream not in exported:
                break
            position = exported.index(stream)
            if position >= len(scope.outputs):
                break
            stream = scope.outputs[position]
            scope = scope.parent
        return f"{scope.name}.{stream}" if scope.name else stream
