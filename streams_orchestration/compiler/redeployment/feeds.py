"""The feeds of parallel regions: the routing that decides which channel of an operator receives a tuple."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Literal, NamedTuple

from streams_orchestration.compiler.logical_graph import LogicalConnection, LogicalGraph
from streams_orchestration.compiler.parallel.splitters import crossing

FeedKind = Literal["hash", "roundRobin", "broadcast", "source", "import"]


class Feed(NamedTuple):
    """The way in which tuples enter the channels of a region: by a splitter, or from operators of the region."""

    kind: FeedKind
    attributes: tuple[str, ...] = ()
    """The attributes by which a hash splitter routes, in order; empty for other kinds of feeds."""


class Level(NamedTuple):
    """One parallel region around an operator, with the feeds of the operator's input ports."""

    region: str
    """The full logical name of the region."""
    width: int
    ports: tuple[tuple[Feed, ...], ...]
    """For each input port of the operator, its feeds; several if different splitters lead to the port."""


class Feeds:
    """The feeds of the parallel regions of one application."""

    def __init__(self, graph: LogicalGraph) -> None:
        self.graph = graph
        self._regions = {region.name: region for region in graph.regions}
        self._incoming: dict[int, list[LogicalConnection]] = defaultdict(list)
        for connection in graph.connections:
            self._incoming[connection.target].append(connection)
        self._imported: dict[int, set[int]] = defaultdict(set)
        for link in graph.imports:
            self._imported[link.operator].add(link.port)

    def levels(self, operator: int) -> tuple[Level, ...]:
        """Return the regions around a logical operator, outermost first."""
        model = self.graph.operators[operator]
        return tuple(
            Level(
                self.graph.regions[region].name,
                self.graph.regions[region].width,
                tuple(self._port(operator, port, region) for port in range(len(model.inputs))),
            )
            for region in model.regions
        )

    def _port(self, operator: int, port: int, region: int) -> tuple[Feed, ...]:
        here = (each for each in self._incoming[operator] if each.target_port == port)
        feeds = self._ways(here, region)
        if port in self._imported[operator]:
            feeds.add(Feed("import"))
        return tuple(sorted(feeds))

    def _ways(self, connections: Iterable[LogicalConnection], region: int) -> set[Feed]:
        """Return the feeds through which the tuples of some connections entered a region, found by a walk upstream.

        A source or an Import upstream that is reached without entering the region has the feed `source` or `import`.
        """
        name = self.graph.regions[region].name
        feeds: set[Feed] = set()
        pending, seen = [*connections], set[int]()
        while pending:
            connection = pending.pop()
            entries = crossing(self.graph, connection, self._regions).entries
            entry = next((each for each in entries if each.region.name == name), None)
            if entry is not None:
                feeds.add(Feed(entry.routing.policy, entry.routing.attributes))
            elif connection.source not in seen:
                seen.add(connection.source)
                pending += self._incoming[connection.source]
                if self._imported[connection.source]:
                    feeds.add(Feed("import"))
                elif not self._incoming[connection.source]:
                    feeds.add(Feed("source"))
        return feeds
