"""The programs of operators: parameters, schemas and deliveries."""

from __future__ import annotations

from streams_orchestration.compiler.deployment.errors import CannotRunError
from streams_orchestration.compiler.deployment.pe_graph import PeGraph
from streams_orchestration.compiler.deployment.pe_streams import PeStreams, stream_name
from streams_orchestration.compiler.event_time.roles import role_in
from streams_orchestration.compiler.parallel.intrinsics import substitute_channels
from streams_orchestration.compiler.pe_program import (
    Delivery,
    Direct,
    Exchange,
    ExportAt,
    ImportAt,
    LinksAt,
    OperatorProgram,
    Remote,
    SplitDelivery,
)
from streams_orchestration.compiler.stage_results import PeOutputPort
from streams_orchestration.model.programs import uses_links
from streams_orchestration.model.schema import parse_schema
from streams_orchestration.operators.contract.region_role import RegionRole
from streams_orchestration.operators.event_time.role import EventTimeRole


class OperatorPrograms:
    """The programs of the operators of one PE that was cut into tasks."""

    def __init__(self, graph: PeGraph, streams: PeStreams, breaks: set[tuple[int, int]]) -> None:
        """Keep the data from which `of` builds the program of any operator.

        Args:
            graph: the graph of the PE.
            streams: the streams that it reads and writes.
            breaks: the input ports, as pairs of operator and port, where tuples enter another task.
        """
        self.graph = graph
        self.streams = streams
        self.breaks = breaks
        self._by_port: dict[tuple[int, int], dict[tuple[int, int], list[int]]] = {}

    def of(self, index: int) -> OperatorProgram:
        """Return the program of one operator.

        Raises:
            CannotRunError: a stream that the operator reads has no schema, two of its streams have different schemas,
                or the operator changes Imports or Exports in a consistent region.
        """
        physical, logical = self.graph.physical.operators[index], self.graph.logical_of[index]
        implementation = self.graph.implementations[index]
        return OperatorProgram(
            index=index,
            name=physical.name,
            implementation=f"{implementation.__module__}:{implementation.__qualname__}",
            parameters=substitute_channels(logical.parameters, physical),
            inputs=tuple(self._input_schema(index, port) for port in range(len(logical.inputs))),
            mutable=tuple(port.mutable and port.mutates != () for port in logical.inputs),
            outputs=tuple(output.schema for output in logical.outputs),
            channel=physical.channel,
            max_channels=physical.max_channels,
            local_channel=physical.local_channel,
            local_max_channels=physical.local_max_channels,
            stateful=self.graph.stateful[index],
            source=self.graph.is_source(index),
            preserves=tuple(output.preserves_window_punctuation for output in logical.outputs),
            deliveries=tuple(self._branch(index, port, -1, -1) for port in range(len(logical.outputs))),
            region=self._role(index),
            ports=tuple(port.name for port in logical.inputs),
            query=self._query(index),
            pe=self.graph.pe.original,
            time_zone=self.graph.compilation.logical.time_zone,
            event_time=self._event_time(index),
            entries=self._entries(index),
            links=self._links(index),
        )

    def _links(self, index: int) -> LinksAt | None:
        """Return the Imports and Exports at the ports of an operator that may change them; None for others.

        A port with several Imports or Exports, or with an Export by `streamId`, has none that could be changed.
        """
        if not uses_links(self.graph.logical_of[index].parameters):
            return None
        name = self.graph.physical.operators[index].name
        if self.streams.unit.region is not None:
            message = (
                f"operator {name}: it changes Imports or Exports while it runs, which a reset of its consistent region "
                "could not take back; make it autonomous, in a PE without members of the region"
            )
            raise CannotRunError(message)
        imports: dict[int, list[ImportAt]] = {}
        for link in (each for each in self.graph.physical.imports if each.operator == index):
            texts = [link.parameters.get(key) for key in ("subscription", "filter")]
            subscription, condition = (None if text is None else str(text) for text in texts)
            imports.setdefault(link.port, []).append(ImportAt(link.name, link.schema or "", subscription, condition))
        exports: dict[int, list[ExportAt]] = {}
        for link in (each for each in self.graph.physical.exports if each.operator == index):
            stream = self.streams.written[PeOutputPort(index, link.port)]
            properties = dict(link.parameters.get("properties", {}))
            exports.setdefault(link.port, []).append(ExportAt(link.name, stream, properties))
        named = {(each.operator, each.port) for each in self.graph.physical.exports if "streamId" in each.parameters}
        return LinksAt(
            {port: each[0] for port, each in imports.items() if len(each) == 1},
            {port: each[0] for port, each in exports.items() if len(each) == 1 and (index, port) not in named},
        )

    def _event_time(self, index: int) -> EventTimeRole | None:
        found = self.graph.event_time.get(index)
        if found is None:
            return None
        return role_in(self.graph.compilation, found)

    def _entries(self, index: int) -> dict[int, str]:
        """Map the number of each event-time connection into an operator to the name of its stream.

        There are none outside of event-time graphs.
        """
        found = self.graph.event_time.get(index)
        connections = self.graph.physical.connections
        names: dict[int, str] = {}
        for number in () if found is None else found.connections:
            names[number] = stream_name(self.graph.compilation, PeOutputPort.of(connections[number]))
        return names

    def _query(self, index: int) -> tuple[str, ...]:
        members = sorted(self.graph.members) if self.graph.logical_of[index].engine == "dataframe" else ()
        return tuple(self.graph.physical.operators[each].name for each in members)

    def _role(self, index: int) -> RegionRole | None:
        regions = self.graph.compilation.regions
        if regions.region_of[index] < 0:
            return None
        region = regions.expanded[regions.region_of[index]]
        start = index in region.starts
        return RegionRole(
            region.index,
            start,
            start and region.trigger == "operatorDriven",
            index in region.ends,
            frozenset(dict(region.autonomous_ports).get(index, ())),
        )

    def _input_schema(self, operator: int, port: int) -> str:
        schemas: set[str | None] = set()
        for number in self.graph.incoming[operator, port]:
            connection = self.graph.physical.connections[number]
            source = self.graph.compilation.logical.operators[self.graph.physical.operators[connection.source].logical]
            schemas.add(source.outputs[connection.source_port].schema)
        links = (link for link in self.graph.physical.imports if (link.operator, link.port) == (operator, port))
        schemas |= {link.schema for link in links}
        name = self.graph.physical.operators[operator].name
        if None in schemas:
            message = f"operator {name}: the stream on input port {port} has no schema; declare it where it is produced"
            raise CannotRunError(message)
        types = {parse_schema(ddl).nullable.ddl for ddl in schemas if ddl}
        if len(types) > 1:
            message = (
                f"operator {name}: the streams on input port {port} have different schemas: {sorted(types)}; convert "
                "them to one schema, for example by a Functor"
            )
            raise CannotRunError(message)
        return types.pop() if types else ""

    def _branch(self, operator: int, port: int, splitter: int, channel: int) -> tuple[Delivery, ...]:
        """Return the deliveries of a port or of one splitter channel: remote, then direct, then splitters (rule 81)."""
        deliveries: list[Delivery] = []
        connections = self.graph.physical.connections
        here = self._outgoing(operator, port).get((splitter, channel), [])
        exported = splitter < 0 and (operator, port) in self.graph.exported
        if exported or not all(map(self.graph.is_inside, here)):
            deliveries.append(Remote(self.streams.written[PeOutputPort(operator, port, splitter, channel)]))
        for number in here:
            connection = connections[number]
            if not self.graph.is_inside(number):
                continue
            target = (connection.target, connection.target_port)
            if target in self.breaks:
                deliveries.append(Exchange(*target, number, target in self.graph.queues))
            else:
                passing = self.graph.compilation.copies.connections[number]
                mutable = passing.constness == "mutable"
                deliveries.append(Direct(*target, passing.passing == "copy", mutable, passing.attributes, number))
        for index in self.graph.splitters[operator, port, splitter, channel]:
            s = self.graph.physical.splitters[index]
            channels = tuple(self._branch(operator, port, index, c) for c in range(s.width))
            deliveries.append(
                SplitDelivery(s.id, s.policy, s.attributes, s.start, s.drops_window_punctuation, channels)
            )
        return tuple(deliveries)

    def _outgoing(self, operator: int, port: int) -> dict[tuple[int, int], list[int]]:
        """Return the connections of an output port, by splitter and channel."""
        if (operator, port) in self._by_port:
            return self._by_port[operator, port]
        by_channel = self._by_port[operator, port] = {}
        for number in self.graph.outgoing[operator, port]:
            connection = self.graph.physical.connections[number]
            by_channel.setdefault((connection.splitter, connection.channel), []).append(number)
        return by_channel
