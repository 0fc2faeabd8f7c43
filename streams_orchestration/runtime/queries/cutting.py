"""Cuts the operators of a PE into the tasks and levels of a Spark query.

Threads are tasks, queues are exchanges, locks are merges. A *task* is a set of operators that one Spark task runs by
direct calls; its entries are where tuples come in. Tuples leave a task through an exchange: at a threaded port, and in
front of a stateful operator that several tasks would enter (the place of its port mutex). Where the thread plan could
not prove it single-threaded, but one task only enters it, there is nothing to lock.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import networkx as nx

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.parallel.intrinsics import substitute_channels
from streams_orchestration.compiler.physical_graph import PortLink
from streams_orchestration.compiler.stage_results import PeOutputPort, ProcessingElement
from streams_orchestration.model.schema import parse_schema
from streams_orchestration.operators.contract import SourceOperator
from streams_orchestration.operators.implementation import keeps_tuples, load_operator
from streams_orchestration.operators.region import RegionRole
from streams_orchestration.runtime.errors import NotDeployableError
from streams_orchestration.runtime.regions.units import Unit, recovery_units
from streams_orchestration.runtime.tasks.program import (
    Delivery,
    Direct,
    Exchange,
    InputStream,
    OperatorProgram,
    PeProgram,
    Remote,
    Split,
    Task,
)


def stream_name(compilation: Compilation, output: PeOutputPort) -> str:
    """The name of a stream of the transport: the producer's stream, with the splitter channel where there is one."""
    stream = compilation.physical.operators[output.operator].streams[output.port]
    if output.splitter < 0:
        return stream
    # the region's port with its channels: a nested splitter is there once per channel around it
    entered = compilation.physical.splitters[output.splitter].id.partition(">")[2]
    return f"{stream}>{entered}[{output.channel}]"


def shows_uncommitted(export: PortLink) -> bool:
    """May Imports see what an Export offers before its epoch is complete."""
    return export.parameters.get("visibility") == "read_uncommitted"


def cut_pes(compilation: Compilation) -> tuple[PeProgram, ...]:
    """The programs of all PEs.

    Raises:
        NotDeployableError: see `build_program` and `recovery_units`.
    """
    units = recovery_units(compilation)
    return tuple(build_program(compilation, pe, units) for pe in compilation.fusion.pes)


def build_program(compilation: Compilation, pe: ProcessingElement, units: Sequence[Unit] | None = None) -> PeProgram:
    """Cut one PE into tasks and levels.

    Args:
        compilation: the application.
        pe: one of its PEs.
        units: its units of recovery; found anew when None.

    Raises:
        NotDeployableError: an operator has no implementation or no schema, or a loop goes through the PE.
    """
    return _Builder(compilation, pe, recovery_units(compilation) if units is None else units).build()


class _Builder:
    def __init__(self, compilation: Compilation, pe: ProcessingElement, units: Sequence[Unit]) -> None:
        self.compilation = compilation
        self.pe = pe
        self.members = set(pe.operators)
        self.unit = next(unit for unit in units if pe.id in unit.pes)
        physical, logical = compilation.physical, compilation.logical
        self.physical = physical
        self.logical_of = {i: logical.operators[physical.operators[i].logical] for i in pe.operators}
        self.implementations = {i: load_operator(self.logical_of[i]) for i in pe.operators}
        self.queues = {(queue.operator, queue.port) for queue in compilation.threads.queues}
        self.outgoing: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.incoming: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number in compilation.copies.order:
            connection = physical.connections[number]
            if connection.source in self.members:
                self.outgoing[connection.source, connection.source_port].append(number)
            if connection.target in self.members:
                self.incoming[connection.target, connection.target_port].append(number)
        self.splitters: dict[tuple[int, int, int, int], list[int]] = defaultdict(list)
        for splitter in physical.splitters:
            if splitter.operator in self.members:
                key = (splitter.operator, splitter.port, splitter.parent, splitter.parent_channel)
                self.splitters[key].append(splitter.index)
        self.stateful = {i: self._is_stateful(i) for i in pe.operators}
        self.streams = {output: stream_name(compilation, output) for output in pe.outputs}
        self.imported = sorted(
            {(link.operator, link.port) for link in physical.imports if link.operator in self.members}
        )
        self.exported = {(link.operator, link.port) for link in physical.exports if link.operator in self.members}

    def build(self) -> PeProgram:
        remote = self._remote_inputs()
        breaks = {port for port in self._inside_ports(self.members) if port in self.queues}
        reach = self._reaches(remote, breaks)
        while shared := self._shared(reach, breaks):
            breaks |= self._inside_ports(shared)
            reach = self._reaches(remote, breaks)
        homes = set(reach)
        exchanges = nx.DiGraph()
        exchanges.add_nodes_from(homes)
        for home in homes:
            for operator in reach[home]:
                for target in self._exchange_targets(operator, breaks):
                    exchanges.add_edge(home, target)
        try:
            generations = list(nx.topological_generations(exchanges))
        except nx.NetworkXUnfeasible:
            loop = " -> ".join(self.physical.operators[a].name for a, _ in nx.find_cycle(exchanges))
            message = f"PE {self.pe.id}: a loop goes through {loop}; loops inside of one PE cannot run"
            raise NotDeployableError(message) from None
        level_of = {home: level for level, generation in enumerate(generations) for home in generation}
        tasks = self._tasks(level_of, reach, remote)
        programs = {i: self._operator(i, breaks) for i in sorted(self.members)}
        return PeProgram(
            application=self.compilation.logical.application,
            pe=self.pe.id,
            unit=self.unit.name,
            starts=self.pe.id in self.unit.starts,
            autonomous=self.unit.region is None,
            operators=programs,
            tasks=tasks,
            consumers=self._consumers(),
            exports=tuple(sorted(self.streams[PeOutputPort(*port, -1, -1)] for port in self.exported)),
            uncommitted=self._uncommitted(),
            uncommitted_exports=self._uncommitted_exports(),
        )

    def _ports(self, operator: int) -> int:
        return len(self.logical_of[operator].inputs)

    def _is_source(self, operator: int) -> bool:
        return issubclass(self.implementations[operator], SourceOperator)

    def _is_stateful(self, operator: int) -> bool:
        round_robin = any(s.operator == operator and s.policy == "roundRobin" for s in self.physical.splitters)
        return self.logical_of[operator].stateful or keeps_tuples(self.implementations[operator]) or round_robin

    def _remote_inputs(self) -> dict[int, list[InputStream]]:
        found: dict[int, list[InputStream]] = defaultdict(list)
        pe_of = self.compilation.fusion.pe_of
        for operator, port in self.pe.inputs:
            seen: set[str] = set()
            for number in self.incoming[operator, port]:
                connection = self.physical.connections[number]
                if connection.source in self.members:
                    continue
                output = PeOutputPort(
                    connection.source, connection.source_port, connection.splitter, connection.channel
                )
                name = stream_name(self.compilation, output)
                if name not in seen:
                    seen.add(name)
                    producer = pe_of[connection.source]
                    foreign = producer not in self.unit.pes
                    uncommitted = foreign and self._shows_uncommitted(connection.source)
                    found[operator].append(InputStream(name, producer, operator, port, foreign, uncommitted))
        for operator, _ in self.imported:
            found.setdefault(operator, [])
        return found

    def _shows_uncommitted(self, operator: int) -> bool:
        """May operators outside of its region see its streams before an epoch is complete."""
        logical = self.compilation.logical.operators[self.physical.operators[operator].logical]
        return logical.uncommitted and self.compilation.regions.region_of[operator] >= 0

    def _uncommitted(self) -> tuple[str, ...]:
        """The streams that it writes, that PEs outside of its unit read, and that these see uncommitted."""
        consumers = self._consumers()
        return tuple(
            sorted(
                name
                for output, name in self.streams.items()
                if self._shows_uncommitted(output.operator) and set(consumers[name]) - set(self.unit.pes)
            )
        )

    def _uncommitted_exports(self) -> tuple[str, ...]:
        found = (
            self.streams[PeOutputPort(link.operator, link.port, -1, -1)]
            for link in self.physical.exports
            if link.operator in self.members and shows_uncommitted(link)
        )
        return tuple(sorted({*found}))

    def _consumers(self) -> dict[str, tuple[int, ...]]:
        """The PEs that read each stream that this one writes."""
        pe_of = self.compilation.fusion.pe_of
        found: dict[str, set[int]] = {name: set() for name in self.streams.values()}
        for numbers in self.outgoing.values():
            for connection in (self.physical.connections[number] for number in numbers):
                if connection.target not in self.members:
                    output = PeOutputPort(
                        connection.source, connection.source_port, connection.splitter, connection.channel
                    )
                    found[self.streams[output]].add(pe_of[connection.target])
        return {stream: tuple(sorted(pes)) for stream, pes in found.items()}

    def _inside_ports(self, operators: Collection[int]) -> set[tuple[int, int]]:
        """Input ports of these operators that something inside of the PE feeds."""
        return {
            (operator, port)
            for (operator, port), numbers in self.incoming.items()
            if operator in operators and any(self.physical.connections[n].source in self.members for n in numbers)
        }

    def _reaches(
        self, remote: Mapping[int, list[InputStream]], breaks: set[tuple[int, int]]
    ) -> dict[int, tuple[int, ...]]:
        """The operators that every task runs, by the operator that the task begins with."""
        homes = {i for i in self.members if self._is_source(i)} | set(remote) | {o for o, _ in breaks}
        # what nothing feeds is drained and ended nevertheless
        homes |= {i for i in self.members if not any(self.incoming[i, port] for port in range(self._ports(i)))}
        calls = self._calls(breaks)
        return {home: self._reach(home, calls) for home in homes}

    def _shared(self, reach: Mapping[int, tuple[int, ...]], breaks: set[tuple[int, int]]) -> set[int]:
        """Stateful operators that several tasks would run, without those that are behind others."""
        tasks = Counter(operator for part in reach.values() for operator in part)
        shared = {operator for operator, count in tasks.items() if count > 1 and self.stateful[operator]}
        calls = self._calls(breaks)
        # a merge in front of the first ones may make one task of what calls the others
        return {operator for operator in shared if not shared & nx.ancestors(calls, operator)}

    def _calls(self, breaks: set[tuple[int, int]]) -> nx.DiGraph:
        graph = nx.DiGraph()
        graph.add_nodes_from(sorted(self.members))
        for numbers in self.outgoing.values():
            for number in numbers:
                c = self.physical.connections[number]
                if c.target in self.members and (c.target, c.target_port) not in breaks:
                    graph.add_edge(c.source, c.target)
        if not nx.is_directed_acyclic_graph(graph):
            loop = " -> ".join(self.physical.operators[a].name for a, _ in nx.find_cycle(graph))
            message = f"PE {self.pe.id}: a loop goes through {loop}; loops inside of one PE cannot run"
            raise NotDeployableError(message)
        return graph

    def _reach(self, home: int, calls: nx.DiGraph) -> tuple[int, ...]:
        part = calls.subgraph({home, *nx.descendants(calls, home)})
        return tuple(nx.lexicographical_topological_sort(part))

    def _exchange_targets(self, operator: int, breaks: set[tuple[int, int]]) -> set[int]:
        ports = range(len(self.logical_of[operator].outputs))
        targets = (self.physical.connections[n] for port in ports for n in self.outgoing[operator, port])
        return {c.target for c in targets if c.target in self.members and (c.target, c.target_port) in breaks}

    def _tasks(
        self, level_of: dict[int, int], reach: dict[int, tuple[int, ...]], remote: dict[int, list[InputStream]]
    ) -> tuple[Task, ...]:
        planned: list[tuple[int, int, bool]] = []
        for home in sorted(level_of):
            planned.append((level_of[home], home, False))
            if level_of[home] and home in remote:
                planned.append((0, home, True))
        tasks: list[Task] = []
        for level, home, forwards in sorted(planned):
            partition = sum(task.level == level for task in tasks)
            reads = tuple(remote.get(home, ())) if level == 0 else ()
            imports = tuple(port for port in self.imported if port[0] == home) if level == 0 else ()
            sources = (home,) if self._is_source(home) else ()
            operators = () if forwards else reach[home]
            tasks.append(Task(level, partition, home, operators, sources, reads, imports, forwards=forwards))
        owner = {operator: task.home for task in tasks for operator in task.operators}
        return tuple(replace(task, owns=tuple(o for o in task.operators if owner[o] == task.home)) for task in tasks)

    def _operator(self, index: int, breaks: set[tuple[int, int]]) -> OperatorProgram:
        physical, logical = self.physical.operators[index], self.logical_of[index]
        implementation = self.implementations[index]
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
            stateful=self.stateful[index],
            source=self._is_source(index),
            preserves=tuple(output.preserves_window_punctuation for output in logical.outputs),
            deliveries=tuple(self._deliveries(index, port, breaks) for port in range(len(logical.outputs))),
            region=self._role(index),
            pe=self.pe.original,
        )

    def _role(self, index: int) -> RegionRole | None:
        regions = self.compilation.regions
        if regions.region_of[index] < 0:
            return None
        region = regions.expanded[regions.region_of[index]]
        start = index in region.starts
        return RegionRole(
            region.index, start, start and region.trigger == "operatorDriven", index in region.ends,
            frozenset(dict(region.autonomous_ports).get(index, ())),
        )  # fmt: skip

    def _input_schema(self, operator: int, port: int) -> str:
        found = set()
        for number in self.incoming[operator, port]:
            connection = self.physical.connections[number]
            source = self.compilation.logical.operators[self.physical.operators[connection.source].logical]
            found.add(source.outputs[connection.source_port].schema)
        links = (link for link in self.physical.imports if (link.operator, link.port) == (operator, port))
        found |= {link.schema for link in links}
        name = self.physical.operators[operator].name
        if None in found:
            message = f"operator {name}: the stream on input port {port} has no schema; declare it where it is produced"
            raise NotDeployableError(message)
        found = {parse_schema(ddl).nullable.ddl for ddl in found if ddl}
        if len(found) > 1:
            message = f"operator {name}: the streams on input port {port} have different schemas: {sorted(found)}"
            raise NotDeployableError(message)
        return found.pop() if found else ""

    def _deliveries(self, operator: int, port: int, breaks: set[tuple[int, int]]) -> tuple[Delivery, ...]:
        return self._branch(operator, port, -1, -1, breaks)

    def _branch(
        self, operator: int, port: int, splitter: int, channel: int, breaks: set[tuple[int, int]]
    ) -> tuple[Delivery, ...]:
        """What hangs on a port, or on one channel of a splitter: remote, then direct, then splitters (rule 81)."""
        deliveries: list[Delivery] = []
        here = [
            n
            for n in self.outgoing[operator, port]
            if (self.physical.connections[n].splitter, self.physical.connections[n].channel) == (splitter, channel)
        ]
        exported = splitter < 0 and (operator, port) in self.exported
        if exported or any(self.physical.connections[n].target not in self.members for n in here):
            deliveries.append(Remote(self.streams[PeOutputPort(operator, port, splitter, channel)]))
        for number in here:
            connection = self.physical.connections[number]
            if connection.target not in self.members:
                continue
            target = (connection.target, connection.target_port)
            if target in breaks:
                deliveries.append(Exchange(*target, number, target in self.queues))
            else:
                passing = self.compilation.copies.connections[number]
                mutable = passing.constness == "mutable"
                deliveries.append(Direct(*target, passing.passing == "copy", mutable, passing.attributes, number))
        for index in self.splitters[operator, port, splitter, channel]:
            s = self.physical.splitters[index]
            channels = tuple(self._branch(operator, port, index, c, breaks) for c in range(s.width))
            deliveries.append(Split(s.id, s.policy, s.attributes, s.start, s.drops_window_punctuation, channels))
        return tuple(deliveries)
