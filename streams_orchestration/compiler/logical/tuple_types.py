"""Tuple types of all streams, declared or inferred through standard operators."""

from __future__ import annotations

from collections import defaultdict

from streams_orchestration.compiler.logical.instances import (
    CompositeInstance,
    InstanceTree,
    PrimitiveInstance,
    Terminal,
)
from streams_orchestration.model.application import Application
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.schema import Schema, parse_schema
from streams_orchestration.model.standard import KEEPS_TYPE

Port = tuple[int, int]
"""An output port: the identity of the operator's instance, and the number of the port."""


class TupleTypes:
    """The tuple types of all output ports of an application, None for unknown ones.

    An input port that reads streams of different types is reported to `diagnostics`.
    """

    def __init__(self, tree: InstanceTree, diagnostics: list[Diagnostic]) -> None:
        self._tree = tree
        self._types: dict[Port, Schema] = {}
        self.used: set[str] = set()
        """Names of the schemas to which outputs refer."""
        application = tree.application
        producers = [*tree.primitives, *tree.specials]
        for producer in producers:
            for port, output in enumerate(producer.invocation.outputs or ()):
                schema = self._declared(application, output.tuple_type)
                if schema is not None:
                    self._types[id(producer), port] = schema
        self._pass_on(producers)
        self._check_fan_in(producers, diagnostics)

    def _declared(self, application: Application, text: str | None) -> Schema | None:
        if text is None:
            return None
        if text.isidentifier():
            self.used.add(text)
            text = application.schemas.get(text)
        schema = parse_schema(text) if text is not None else None
        return schema if schema is not None and not schema.errors else None

    def _feeds(self, consumer: PrimitiveInstance) -> list[list[Terminal]]:
        return [
            [terminal for stream in binding.streams for terminal in self._tree.sources(consumer.parent, stream)]
            for binding in consumer.invocation.inputs
        ]

    def _pass_on(self, producers: list[PrimitiveInstance]) -> None:
        """Propagate known types downstream through operators that submit the type that they read.

        Each type passes each operator once.
        """
        readers: dict[Port, list[PrimitiveInstance]] = defaultdict(list)
        for consumer in producers:
            if consumer.standard and consumer.invocation.operator in KEEPS_TYPE:
                for feeds in self._feeds(consumer)[:1]:
                    for terminal in feeds:
                        readers[id(terminal.producer), terminal.port].append(consumer)
        pending = list(self._types)
        while pending:
            port = pending.pop()
            for consumer in readers[port]:
                for output in range(len(consumer.outputs)):
                    key = (id(consumer), output)
                    if key not in self._types:
                        self._types[key] = self._types[port]
                        pending.append(key)

    def _check_fan_in(self, producers: list[PrimitiveInstance], diagnostics: list[Diagnostic]) -> None:
        for consumer in producers:
            for port, feeds in enumerate(self._feeds(consumer)):
                types = [self._types.get((id(terminal.producer), terminal.port)) for terminal in feeds]
                known = [(schema, feed) for schema, feed in zip(types, feeds, strict=True) if schema is not None]
                for schema, feed in known[1:]:
                    if schema.nullable != known[0][0].nullable:
                        first, other = known[0][1].producer.name, feed.producer.name
                        message = (
                            f"input port {port} reads ({known[0][0].ddl}) of {first} and ({schema.ddl}) of {other}"
                        )
                        location = consumer.invocation.location("inputs", port)
                        diagnostics.append(Diagnostic.of("SO0304", message, operator=consumer.name, location=location))
                        break

    def of(self, producer: PrimitiveInstance, port: int) -> Schema | None:
        """Return the tuple type of an output port; None if it is unknown."""
        return self._types.get((id(producer), port))

    def of_stream(self, scope: CompositeInstance, stream: str) -> list[Schema | None]:
        """Return the tuple types of the streams with a name, None for unknown ones; empty if nothing produces them."""
        return [self.of(terminal.producer, terminal.port) for terminal in self._tree.sources(scope, stream)]
