"""The parallel transformation: regions become replicas, and streams into them are split (rules 1-41).

Width 1 is not a special case, and merging needs no object: replicas simply feed the same input port.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import prod
from typing import NamedTuple

from streams_orchestration.compiler.logical.instances import MAX_OPERATORS
from streams_orchestration.compiler.logical_graph import HostPool, ImportExport, LogicalGraph, LogicalOperator
from streams_orchestration.compiler.named_tuples import maker
from streams_orchestration.compiler.parallel.channels import (
    PathFormat,
    global_channels,
    local_channels,
    path_format,
    stream_format,
)
from streams_orchestration.compiler.parallel.checks import check_parallel_regions
from streams_orchestration.compiler.parallel.intrinsics import ChannelContext
from streams_orchestration.compiler.parallel.replicas import Replicas
from streams_orchestration.compiler.parallel.splitters import PortTemplate, crossing, dropping_splitters
from streams_orchestration.compiler.physical_graph import (
    Connection,
    PhysicalGraph,
    PhysicalOperator,
    PortLink,
    Splitter,
)
from streams_orchestration.model.diagnostics import Diagnostic


class HostPoolReplicas:
    """The host pools of an expanded application: declared pools, and clones of them for replicas (rule 36)."""

    def __init__(self, graph: LogicalGraph) -> None:
        self._graph = graph
        self._declared = {pool.name: pool for pool in graph.host_pools}
        self._pools = dict(self._declared)

    def pool_of(self, operator: LogicalOperator, channels: Sequence[int]) -> str | None:
        """Return the name of the pool of one replica: of a clone if the innermost region replicates a tag of the pool.

        The clone is made at its first use. The result is None if the operator names no pool.

        Args:
            operator: the logical operator.
            channels: global channels of the replica, outermost first.
        """
        if operator.host_pool is None or not operator.regions:
            return operator.host_pool
        region = self._graph.regions[operator.regions[-1]]
        pool = self._declared.get(operator.host_pool)
        if pool is None or not set(pool.tags) & set(region.replicate_host_tags):
            return operator.host_pool
        suffix = "".join(f"_{channel}" for channel in reversed(channels))
        name = f"{pool.name}_{region.index}{suffix}"
        if name not in self._pools:
            tags = tuple(f"{tag}{suffix}" if tag in region.replicate_host_tags else tag for tag in pool.tags)
            self._pools[name] = HostPool(name, tags, pool.size)
        return name

    @property
    def pools(self) -> tuple[HostPool, ...]:
        """The pools of the expanded application: declared pools, then clones in the order of their use."""
        return tuple(self._pools.values())


MAX_CONNECTIONS = 10_000_000
"""The most connections of an application after the parallel transformation."""


def expand(logical: LogicalGraph) -> tuple[PhysicalGraph, list[Diagnostic]]:
    """Apply the parallel transformation, in time linear in the size of the result.

    For an application that would become too large, it returns an empty graph and the error SO0501.
    """
    diagnostics = check_parallel_regions(logical)
    expansion = _Expansion(logical)
    size = expansion.size()
    if size[0] > MAX_OPERATORS or size[1] > MAX_CONNECTIONS:
        message = (
            f"the expansion has {size[0]} operators and {size[1]} connections; at most {MAX_OPERATORS} and "
            f"{MAX_CONNECTIONS} are possible"
        )
        return PhysicalGraph((), ()), [*diagnostics, Diagnostic.of("SO0501", message)]
    return expansion.graph(), diagnostics


@dataclass(frozen=True, slots=True)
class _Names:
    """The formats of the physical names of one operator and its streams."""

    operator: PathFormat
    streams: tuple[tuple[PathFormat, int], ...]
    alike: bool
    """True if the operator has a single stream, and its name equals the operator's."""

    def streams_at(self, channels: tuple[int, ...], locals_: tuple[int, ...]) -> tuple[str, ...]:
        """Return the names of the output streams of one replica, from its global and local channels."""
        return tuple(stream.at(channels[:globals_] + locals_[globals_:]) for stream, globals_ in self.streams)


class _Place(NamedTuple):
    """The channels of a replica in the regions around it: global ones, local ones, and the number of replicas."""

    channels: tuple[int, ...]
    locals: tuple[int, ...]
    maximum: int

    @classmethod
    def at(cls, rank: int, widths: tuple[int, ...]) -> _Place:
        channels = global_channels(rank, widths)
        return cls(channels, local_channels(channels, widths), prod(widths))


_connection = maker(Connection)


class _Expansion:
    def __init__(self, logical: LogicalGraph) -> None:
        self.logical = logical
        self.regions = {region.name: region for region in logical.regions}
        self.names = frozenset(self.regions)
        self.crossings = [crossing(logical, connection, self.regions) for connection in logical.connections]
        self.widths = [tuple(logical.regions[region].width for region in each.regions) for each in logical.operators]

    def size(self) -> tuple[int, int]:
        """Return the numbers of physical operators and of connections that the expansion will have (rule 15)."""
        connections = 0
        for connection, each in zip(self.logical.connections, self.crossings, strict=True):
            entered = prod(entry.region.width for entry in each.entries)
            connections += prod(self.widths[connection.source]) * entered
        return sum(map(prod, self.widths)), connections

    def graph(self) -> PhysicalGraph:
        replicas = Replicas(self.logical)
        pools = HostPoolReplicas(self.logical)
        operators = tuple(self.operators(replicas, pools))
        connections, splitters = self.connections(replicas, operators)
        return PhysicalGraph(
            operators,
            tuple(connections),
            tuple(splitters),
            tuple(link for each in self.logical.imports for link in self.links(each, replicas)),
            tuple(link for each in self.logical.exports for link in self.links(each, replicas)),
            pools.pools,
        )

    def operators(self, replicas: Replicas, pools: HostPoolReplicas) -> Iterator[PhysicalOperator]:
        formats = [self.formats(operator) for operator in self.logical.operators]
        places: dict[tuple[int, ...], list[_Place]] = {}
        for index, (logical, rank) in enumerate(replicas.owners):
            operator = self.logical.operators[logical]
            names = formats[logical]
            widths = replicas.widths[logical]
            if not widths:
                streams = tuple([stream.text for stream, _ in names.streams])
                yield PhysicalOperator(
                    index, names.operator.text, logical, streams=streams, host_pool=operator.host_pool
                )
                continue
            if widths not in places:
                places[widths] = [_Place.at(rank, widths) for rank in range(prod(widths))]
            channels, locals_, maximum = places[widths][rank]
            name = names.operator.at(channels)
            yield PhysicalOperator(
                index,
                name,
                logical,
                channels,
                locals_[-1],
                widths[-1],
                maximum,
                (name,) if names.alike else names.streams_at(channels, locals_),
                operator.host_pool and pools.pool_of(operator, channels),
                widths,
            )

    def formats(self, operator: LogicalOperator) -> _Names:
        path = (*operator.composites, operator.name)
        streams = tuple(stream_format(output.stream, path, self.names) for output in operator.outputs)
        name = path_format(path, self.names)
        return _Names(name, streams, streams == ((name, name.levels),))

    def templates(self) -> dict[int, list[PortTemplate]]:
        """Map each logical operator to the templates of its output ports.

        A template holds all connections and splitters of one port.
        """
        dropping = dropping_splitters(self.crossings)
        templates: dict[int, list[PortTemplate]] = defaultdict(list)
        for connection, each in zip(self.logical.connections, self.crossings, strict=True):
            ports = templates[connection.source]
            if not ports or ports[-1].port != connection.source_port:
                ports.append(PortTemplate(connection.source_port))
            ports[-1].add(connection, each, self.widths[connection.source], dropping)
        return templates

    def connections(
        self, replicas: Replicas, operators: tuple[PhysicalOperator, ...]
    ) -> tuple[list[Connection], list[Splitter]]:
        templates = self.templates()
        paths = self.region_paths()
        connections: list[Connection] = []
        splitters: list[Splitter] = []
        for source, (logical, rank) in enumerate(replicas.owners):
            for template in templates.get(logical, ()):
                first = len(splitters)
                if template.splitters:
                    splitters += self.splitters(template, operators[source], rank, first, paths)
                port = template.port
                for target, target_port, left, leaves, channels in template.connections:
                    indexes = replicas.indexes[target]
                    if len(leaves) == 1 and leaves[0] < 0:
                        # the case of nearly all connections within a region
                        connections.append(_connection((source, port, indexes[rank // left], target_port, -1, -1)))
                        continue
                    begin = rank // left * len(leaves)
                    targets = indexes[begin : begin + len(leaves)]
                    numbers = [first + leaf if leaf >= 0 else -1 for leaf in leaves]
                    ends = zip(repeat(source), repeat(port), targets, repeat(target_port), numbers, channels)
                    connections.extend(map(_connection, ends))
        return connections, splitters

    def region_paths(self) -> dict[int, PathFormat]:
        """Map each region to the format of its name, with placeholders for the channels of outer regions only."""
        paths: dict[int, PathFormat] = {}
        for region in self.logical.regions:
            parts = region.name.split(".")
            names = [".".join(parts[: length + 1]) for length in range(len(parts))]
            paths[region.index] = path_format(names, self.names - {region.name})
        return paths

    def splitters(
        self, template: PortTemplate, source: PhysicalOperator, rank: int, first: int, paths: dict[int, PathFormat]
    ) -> Iterator[Splitter]:
        """Yield the splitters on one port of one replica."""
        widths = self.widths[source.logical]
        for index, each in enumerate(template.splitters, first):
            common = rank // prod(widths[each.common :])
            parents = [self.logical.regions[parent].width for parent in each.region.parents]
            channels = global_channels(common * each.outer + each.rank, parents)
            port = each.region_port.rpartition(".")[2]
            identity = f"{source.name}:{template.port}>{paths[each.region.index].at(channels)}.{port}"
            width = each.region.width
            nested = each.parent >= 0
            yield Splitter(
                index,
                f"{identity}#{each.repetition + 1}" if each.repetition else identity,
                source.index,
                template.port,
                each.region_port,
                "hash" if each.routing.policy == "hash" else "roundRobin",
                each.routing.attributes,
                width,
                first + each.parent if nested else -1,
                each.parent_channel,
                (each.parent_channel if nested else max(source.channel, 0)) % width,
                each.drops,
            )

    def links(self, link: ImportExport, replicas: Replicas) -> Iterator[PortLink]:
        """Yield an import or export at every replica of the operator that it touches (rule 34).

        Yield nothing if it is not in the same parallel regions as the operator, which is an error (rule 35).
        """
        operator = self.logical.operators[link.operator]
        if link.regions != operator.regions:
            return
        widths = replicas.widths[link.operator]
        name = path_format((*link.composites, link.name), self.names)
        for rank, index in enumerate(replicas.indexes[link.operator]):
            channels = global_channels(rank, widths)
            context = ChannelContext.at(channels, widths)
            parameters = {
                key: context.substitute(value, bare=key in ("subscription", "filter"))
                for key, value in link.parameters.items()
            }
            yield PortLink(link.kind, name.at(channels), index, link.port, parameters, link.schema, link.location)
