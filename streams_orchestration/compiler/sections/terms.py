"""Encoders that all sections of the plan document share.

They write the numbers of operators, ports and channels as names.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.sections.tables import INTEGER, TEXT, Nullable, Numbered, RecordCell, Shared

Document = dict[str, Any]
Section = dict[str, Any]
"""A document that may hold tables."""


class Terms:
    """The encoders of operator names, of the ends of connections, and of splitter channels."""

    def __init__(self, graph: PhysicalGraph | LogicalGraph | None) -> None:
        self.name = Numbered(TEXT, [operator.name for operator in graph.operators] if graph is not None else [])
        self.port = RecordCell({"operator": self.name, "port": INTEGER})
        self.end = Shared(self.port)
        """The encoder of a pair (operator, port)."""
        connections = graph.connections if graph is not None else ()
        self.source = Numbered(self.end, connections, itemgetter(0, 1))
        self.target = Numbered(self.end, connections, itemgetter(2, 3))
        """The encoder of a connection's number as its target's operator and port; `source` encodes its source's."""
        ids = [splitter.id for splitter in graph.splitters] if isinstance(graph, PhysicalGraph) else []
        self.channel = Nullable(RecordCell({"id": Numbered(TEXT, ids), "channel": INTEGER}))
        """The encoder of a pair (number of a splitter, channel); None for a connection without a splitter."""
