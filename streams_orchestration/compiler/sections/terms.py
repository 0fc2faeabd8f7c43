"""Encoders that all sections of the plan document share.

They write the numbers of operators, ports and channels as names.
"""

from __future__ import annotations

from functools import cache, cached_property
from operator import itemgetter
from typing import Any

from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.sections.tables import INTEGER, TEXT, Encoder, nullable, numbered, record

Document = dict[str, Any]
Section = dict[str, Any]
"""A document that may hold tables."""


class Terms:
    """The encoders of operator names, of the ends of connections, and of splitter channels."""

    def __init__(self, graph: PhysicalGraph | LogicalGraph) -> None:
        self._graph = graph

    @cached_property
    def name(self) -> Encoder:
        """The encoder of an operator's number."""
        return numbered(TEXT, (operator.name for operator in self._graph.operators))

    @cached_property
    def port(self) -> Encoder:
        """The encoder of a pair (operator, port)."""
        return record({"operator": self.name, "port": INTEGER})

    @cached_property
    def end(self) -> Encoder:
        """The encoder of a pair (operator, port) that occurs several times, and is encoded once."""
        return cache(self.port)

    @cached_property
    def source(self) -> Encoder:
        """The encoder of a connection's number as its source's operator and port."""
        return numbered(self.end, map(itemgetter(0, 1), self._graph.connections))

    @cached_property
    def target(self) -> Encoder:
        """The encoder of a connection's number as its target's operator and port."""
        return numbered(self.end, map(itemgetter(2, 3), self._graph.connections))

    @cached_property
    def channel(self) -> Encoder:
        """The encoder of a pair (number of a splitter, channel); null for a connection without a splitter."""
        splitters = self._graph.splitters if isinstance(self._graph, PhysicalGraph) else ()
        return nullable(record({"id": numbered(TEXT, (each.id for each in splitters)), "channel": INTEGER}))
