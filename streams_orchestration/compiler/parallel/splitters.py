"""The templates of output ports: consumers, and the splitters that lead to consumers in parallel regions.

Every replica of an operator has the same splitters on a port, so the tree is made once for the logical port, as a
template (rules 9-15, 17, 21-23).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from streams_orchestration.compiler.logical_graph import LogicalConnection, LogicalGraph, ParallelRegion, Routing

_ROUND_ROBIN = Routing()


class RegionEntry(NamedTuple):
    """The entry of a connection into a parallel region, through one port of the region."""

    region: ParallelRegion
    port: str
    way: tuple[object, ...]
    """The key that distinguishes this splitter from others on the same output port (rule 10)."""
    splitter: tuple[object, ...]
    """The logical splitter: the region's port, and the connection that enters the region at this port."""

    @property
    def routing(self) -> Routing:
        """The routing of the port; round robin if the region declares none."""
        return self.region.routing.get(self.port, _ROUND_ROBIN)


class RegionCrossing(NamedTuple):
    """The regions that one logical connection leaves and enters."""

    common: int
    """The number of parallel regions that contain both ends of the connection."""
    leaves: int
    """The number of regions that the connection leaves."""
    entries: tuple[RegionEntry, ...]
    """The regions that the connection enters, outermost first."""


def crossing(graph: LogicalGraph, connection: LogicalConnection, regions: dict[str, ParallelRegion]) -> RegionCrossing:
    """Return the regions that a connection leaves and enters; the composite ports on its path decide (rule 16)."""
    source, _, target, target_port, path = connection
    start, end = graph.operators[source], graph.operators[target]
    leaves = int(start.name in regions)
    entries: list[RegionEntry] = []
    for position, step in enumerate(path):
        kind, _, place = step.partition(":")
        name, _, port = place.rpartition(".")
        if name not in regions:
            continue
        if kind == "left":
            leaves += 1
        else:
            incoming = _incoming(connection, path, position)
            entries.append(RegionEntry(regions[name], port, (place, *path[:position]), (place, *incoming)))
    if end.name in regions:
        port = end.inputs[target_port].name
        place = f"{end.name}.{port}"
        incoming = _incoming(connection, path, len(path))
        entries.append(RegionEntry(regions[end.name], port, (place, *path), (place, *incoming)))
    return RegionCrossing(len(start.regions) - leaves, leaves, tuple(entries))


def _incoming(connection: LogicalConnection, path: Sequence[str], position: int) -> tuple[object, ...]:
    """Return the connection that reaches a region's port: from a composite's input port, or from a producer."""
    if position and path[position - 1].startswith("entered:"):
        return (path[position - 1],)
    return (connection.source, connection.source_port, *path[:position])


def dropping_splitters(crossings: Sequence[RegionCrossing]) -> frozenset[tuple[object, ...]]:
    """Return the logical splitters that drop window punctuation, since replicas of a region feed them (rule 23)."""
    return frozenset(each.entries[0].splitter for each in crossings if each.leaves and each.entries)


class SplitterTemplate(NamedTuple):
    """The data that a splitter has in common on all replicas of a logical output port."""

    region: ParallelRegion
    region_port: str
    routing: Routing
    parent: int
    """The number of the splitter to whose channel this one belongs, -1 for none."""
    parent_channel: int
    rank: int
    """The rank of the channels that lead to this splitter through the entered regions around its region; 0 for a
    splitter of the outermost entered region."""
    outer: int
    """The number of possible values of `rank`."""
    common: int
    """The number of the producer's regions that also contain the region of this splitter."""
    drops: bool
    repetition: int
    """The number of this splitter, from 0, among the splitters of one output port to one region port."""


class ConnectionTemplate(NamedTuple):
    """The copies of one logical connection on every replica of its output port."""

    target: int
    target_port: int
    left: int
    """The number of source replicas that share each set of targets: the product of the widths of the regions left."""
    splitters: tuple[int, ...]
    """For every rank of the target within the regions that the connection enters, its splitter; -1 for none."""
    channels: tuple[int, ...]
    """For every rank in `splitters`, the channel of its splitter that leads to the target; -1 without a splitter."""


@dataclass(slots=True)
class PortTemplate:
    """All connections of one logical output port."""

    port: int
    splitters: list[SplitterTemplate] = field(default_factory=list[SplitterTemplate])
    connections: list[ConnectionTemplate] = field(default_factory=list[ConnectionTemplate])
    _numbers: dict[tuple[object, ...], int] = field(default_factory=dict[tuple[object, ...], int])
    _repetitions: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])

    def add(
        self,
        connection: LogicalConnection,
        crossing_: RegionCrossing,
        source_widths: Sequence[int],
        dropping: frozenset[tuple[object, ...]],
    ) -> None:
        """Add a connection of this port, which uses existing splitters where it can."""
        leaves: list[tuple[int, int]] = [(-1, -1)]
        for entry in crossing_.entries:
            if entry.routing.policy == "broadcast":
                # Looked through: no splitter of its own, those below move up (rule 14).
                leaves = [leaf for leaf in leaves for _ in range(entry.region.width)]
            else:
                leaves = list(self._split(entry, leaves, crossing_.common, dropping))
        left = prod(source_widths[crossing_.common :])
        splitters, channels = zip(*leaves, strict=True)
        self.connections.append(
            ConnectionTemplate(connection.target, connection.target_port, left, splitters, channels)
        )

    def _split(
        self, entry: RegionEntry, leaves: list[tuple[int, int]], common: int, dropping: frozenset[tuple[object, ...]]
    ) -> Iterator[tuple[int, int]]:
        for rank, (parent, channel) in enumerate(leaves):
            key = (*entry.way, rank)
            number = self._numbers.get(key)
            if number is None:
                number = self._numbers[key] = len(self.splitters)
                region_port = f"{entry.region.name}.{entry.port}"
                repetition = self._repetitions.get((region_port, rank), 0)
                self._repetitions[region_port, rank] = repetition + 1
                self.splitters.append(
                    SplitterTemplate(
                        entry.region,
                        region_port,
                        entry.routing,
                        parent,
                        channel,
                        rank,
                        len(leaves),
                        common,
                        entry.splitter in dropping,
                        repetition,
                    )
                )
            for branch in range(entry.region.width):
                yield number, branch
