"""The streams that one PE reads and writes in the transport: names, readers, and visibility."""

from __future__ import annotations

from collections import defaultdict

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.deployment.pe_graph import PeGraph
from streams_orchestration.compiler.deployment_plan import Unit
from streams_orchestration.compiler.pe_program import InputStream
from streams_orchestration.compiler.physical_graph import PortLink
from streams_orchestration.compiler.stage_results import PeInputPort, PeOutputPort


def stream_name(compilation: Compilation, output: PeOutputPort) -> str:
    """Return the name of a stream in the transport: the producer's stream, and its splitter channel if there is one."""
    stream = compilation.physical.operators[output.operator].streams[output.port]
    if output.splitter < 0:
        return stream
    return f"{stream}>{compilation.physical.splitters[output.splitter].entrance}[{output.channel}]"


def shows_uncommitted(export: PortLink) -> bool:
    """Return True if Imports may read an Export before its epoch is complete."""
    return export.parameters.get("visibility") == "read_uncommitted"


class PeStreams:
    """The streams of one PE."""

    def __init__(self, graph: PeGraph, unit: Unit) -> None:
        self.graph = graph
        self.unit = unit
        ends = [graph.physical.connections[number] for number in sorted(graph.returning)]
        outputs = (*graph.pe.outputs, *map(PeOutputPort.of, ends))
        self.written = {output: stream_name(graph.compilation, output) for output in outputs}
        """Output port of the PE, or of a loop within it -> the stream that it writes."""
        self._ports = dict.fromkeys([*graph.pe.inputs, *(PeInputPort(c.target, c.target_port) for c in ends)])

    def inputs(self) -> dict[int, list[InputStream]]:
        """Return the streams that the PE reads from other PEs and from loops of its own, by operator.

        An operator that reads Imports has an entry, too; the imported streams are not in it.
        """
        streams: dict[int, list[InputStream]] = defaultdict(list)
        pe_of = self.graph.compilation.fusion.pe_of
        for operator, port in self._ports:
            seen: set[str] = set()
            for number in self.graph.incoming[operator, port]:
                connection = self.graph.physical.connections[number]
                if self.graph.is_inside(number):
                    continue
                name = stream_name(self.graph.compilation, PeOutputPort.of(connection))
                if name not in seen:
                    seen.add(name)
                    producer = pe_of[connection.source]
                    foreign = producer not in self.unit.pes or producer == self.graph.pe.id
                    uncommitted = foreign and self._shows_uncommitted(connection.source)
                    streams[operator].append(InputStream(name, producer, operator, port, foreign, uncommitted))
        for operator, _ in self.graph.imported:
            streams.setdefault(operator, [])
        return streams

    def _shows_uncommitted(self, operator: int) -> bool:
        """Return True if readers outside of an operator's region may read its streams before an epoch is complete."""
        logical = self.graph.compilation.logical.operators[self.graph.physical.operators[operator].logical]
        return logical.uncommitted and self.graph.compilation.regions.region_of[operator] >= 0

    def uncommitted(self) -> tuple[str, ...]:
        """Return the written streams that PEs of other units may read before the epoch is complete."""
        consumers = self.consumers()
        return tuple(
            sorted(
                name
                for output, name in self.written.items()
                if self._shows_uncommitted(output.operator) and set(consumers[name]) - set(self.unit.pes)
            )
        )

    def uncommitted_exports(self) -> tuple[str, ...]:
        """Return the exported streams that Imports may read before the epoch is complete."""
        exported = (
            self.written[PeOutputPort(link.operator, link.port)]
            for link in self.graph.physical.exports
            if link.operator in self.graph.members and shows_uncommitted(link)
        )
        return tuple(sorted({*exported}))

    def consumers(self) -> dict[str, tuple[int, ...]]:
        """Return the PEs that read each written stream, ascending; none for a stream that is only exported.

        The PE itself is one of them if it reads the stream in a later batch.
        """
        pe_of = self.graph.compilation.fusion.pe_of
        readers: dict[str, set[int]] = {name: set() for name in self.written.values()}
        for numbers in self.graph.outgoing.values():
            for number in numbers:
                connection = self.graph.physical.connections[number]
                if not self.graph.is_inside(number):
                    readers[self.written[PeOutputPort.of(connection)]].add(pe_of[connection.target])
        return {stream: tuple(sorted(pes)) for stream, pes in readers.items()}

    def exports(self) -> tuple[str, ...]:
        """Return the names of the streams that the PE writes for Imports."""
        return tuple(sorted(self.written[PeOutputPort(*port)] for port in self.graph.exported))
