"""Cuts the operators of a PE into the tasks and levels of a Spark query.

Threads become tasks, queues become exchanges, locks become merges. A *task* is a set of operators that one Spark task
runs by direct calls; tuples come in at its entries. Tuples leave a task through an exchange: at a threaded port, and in
front of a stateful operator that several tasks would enter, in place of its port mutex. An operator that only one task
enters needs no lock, even if the thread plan could not prove it single-threaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.components import strong_components
from streams_orchestration.compiler.deployment.errors import CannotRunError
from streams_orchestration.compiler.deployment.operator_programs import OperatorPrograms
from streams_orchestration.compiler.deployment.pe_graph import PeGraph, connections_by_pe
from streams_orchestration.compiler.deployment.pe_streams import PeStreams
from streams_orchestration.compiler.deployment_plan import Unit
from streams_orchestration.compiler.pe_program import InputStream, PeProgram, Task
from streams_orchestration.compiler.stage_results import ProcessingElement
from streams_orchestration.compiler.walks import CircleError, levels, producers_first, reached
from streams_orchestration.model.engines import EngineKind


def cut_pes(compilation: Compilation, units: Sequence[Unit]) -> tuple[PeProgram, ...]:
    """Return the programs of all PEs.

    Args:
        compilation: the application.
        units: its units of recovery.

    Raises:
        CannotRunError: schemas of streams are missing or differ, a loop goes through several PEs of one unit, or
            through one PE in a consistent region, or an operator in a consistent region changes Imports or Exports.
        ImplementationError: an operator has no implementation, or it cannot be imported.
    """
    connections = connections_by_pe(compilation)
    programs = tuple(_program(compilation, pe, units, connections[pe.id]) for pe in compilation.fusion.pes)
    _refuse_loops(programs)
    return programs


def _program(
    compilation: Compilation, pe: ProcessingElement, units: Sequence[Unit], connections: Sequence[int]
) -> PeProgram:
    """Cut one PE, which has these connections, into tasks and levels."""
    unit = next(unit for unit in units if pe.id in unit.pes)
    return _Cut(PeGraph(compilation, pe, connections, returns=unit.region is None), unit).program()


def _refuse_loops(programs: Sequence[PeProgram]) -> None:
    """Raise CannotRunError if PEs of one unit feed each other: they would wait for each other at epoch boundaries."""
    place = {program.pe: number for number, program in enumerate(programs)}
    successors: list[list[int]] = [[] for _ in programs]
    for program in programs:
        for stream in program.inputs:
            if not stream.foreign:
                successors[place[stream.producer]].append(place[program.pe])
    loop = next((part for part in strong_components(successors) if len(part) > 1), None)
    if loop is not None:
        names = ", ".join(map(str, sorted(programs[number].pe for number in loop)))
        message = (
            f"the PEs {names} of one consistent region feed each other in a loop, so none could close an epoch; "
            "fuse the operators in between as well, or keep the first and the last apart with partitionExlocation"
        )
        raise CannotRunError(message)


class _Cut:
    """A PE that is being cut into tasks."""

    def __init__(self, graph: PeGraph, unit: Unit) -> None:
        self.graph = graph
        self.unit = unit
        self.streams = PeStreams(graph, unit)

    def program(self) -> PeProgram:
        """Cut until no two tasks share a stateful operator, and return the program.

        Each cut makes a task, which may share operators again.
        """
        remote = self.streams.inputs()
        if self.graph.is_query:
            return self._whole(remote)
        breaks = {port for port in self.graph.inside_ports(self.graph.members) if port in self.graph.queues}
        reach = self._reaches(remote, breaks)
        while shared := self._shared(reach, breaks):
            breaks |= self.graph.inside_ports(shared)
            reach = self._reaches(remote, breaks)
        homes = set(reach)
        exchanges = {
            home: {target for operator in reach[home] for target in self._exchange_targets(operator, breaks)}
            for home in sorted(homes)
        }
        level_of = self._levels(exchanges)
        tasks = self._tasks(level_of, reach, remote)
        return self._program(tasks, breaks, "tuples")

    def _whole(self, remote: Mapping[int, list[InputStream]]) -> PeProgram:
        """Return the program of a PE that is one Spark query: its operators are one task."""
        calls = self._calls(set())
        operators = producers_first(self.graph.members, calls)
        reads = tuple(stream for operator in operators for stream in remote.get(operator, ()))
        imports = tuple(self.graph.imported)
        task = Task(0, 0, operators[0], operators, (), reads, imports, owns=operators)
        return self._program((task,), set(), "dataframe")

    def _program(self, tasks: tuple[Task, ...], breaks: set[tuple[int, int]], engine: EngineKind) -> PeProgram:
        programs = OperatorPrograms(self.graph, self.streams, breaks)
        return PeProgram(
            application=self.graph.compilation.logical.application,
            pe=self.graph.pe.id,
            unit=self.unit.name,
            starts=self.graph.pe.id in self.unit.starts,
            autonomous=self.unit.region is None,
            operators={i: programs.of(i) for i in sorted(self.graph.members)},
            tasks=tasks,
            consumers=self.streams.consumers(),
            exports=self.streams.exports(),
            uncommitted=self.streams.uncommitted(),
            uncommitted_exports=self.streams.uncommitted_exports(),
            engine=engine,
        )

    def _levels(self, graph: Mapping[int, set[int]]) -> dict[int, int]:
        try:
            return levels(graph)
        except CircleError as error:
            loop = " -> ".join(self.graph.physical.operators[number].name for number in error.nodes)
            message = (
                f"PE {self.graph.pe.id}: a loop goes through {loop}; a loop inside of one PE runs only outside of "
                "consistent regions, and without dataframe queries"
            )
            raise CannotRunError(message) from error

    def _reaches(
        self, remote: Mapping[int, list[InputStream]], breaks: set[tuple[int, int]]
    ) -> dict[int, tuple[int, ...]]:
        """Map each operator with which a task begins to all operators that the task runs."""
        homes = {i for i in self.graph.members if self.graph.is_source(i)} | set(remote) | {o for o, _ in breaks}
        # an operator that nothing feeds begins a task, too: it is drained and ended like the others
        homes |= {i for i in self.graph.members if not self.graph.is_fed(i)}
        calls = self._calls(breaks)
        return {home: producers_first(reached((home,), calls), calls) for home in homes}

    def _shared(self, reach: Mapping[int, tuple[int, ...]], breaks: set[tuple[int, int]]) -> set[int]:
        """Return the stateful operators that several tasks would run.

        Of two such operators on one path, only the upstream one is returned.
        """
        tasks = Counter(operator for part in reach.values() for operator in part)
        shared = {operator for operator, count in tasks.items() if count > 1 and self.graph.stateful[operator]}
        calls = self._calls(breaks)
        # with a merge in front of the first operators, a single task may call the others
        behind = reached({following for operator in shared for following in calls[operator]}, calls)
        return shared - behind

    def _calls(self, breaks: set[tuple[int, int]]) -> dict[int, set[int]]:
        graph: dict[int, set[int]] = {operator: set() for operator in sorted(self.graph.members)}
        for numbers in self.graph.outgoing.values():
            for number in numbers:
                c = self.graph.physical.connections[number]
                if self.graph.is_inside(number) and (c.target, c.target_port) not in breaks:
                    graph[c.source].add(c.target)
        self._levels(graph)
        return graph

    def _exchange_targets(self, operator: int, breaks: set[tuple[int, int]]) -> set[int]:
        ports = range(len(self.graph.logical_of[operator].outputs))
        numbers = (number for port in ports for number in self.graph.outgoing[operator, port])
        targets = (self.graph.physical.connections[number] for number in numbers if self.graph.is_inside(number))
        return {c.target for c in targets if (c.target, c.target_port) in breaks}

    def _tasks(
        self, level_of: dict[int, int], reach: dict[int, tuple[int, ...]], remote: dict[int, list[InputStream]]
    ) -> tuple[Task, ...]:
        planned: list[tuple[int, int, bool]] = []
        for home in sorted(level_of):
            planned.append((level_of[home], home, False))
            if level_of[home] and home in remote:
                planned.append((0, home, True))
        tasks: list[Task] = []
        of_level = Counter[int]()
        for level, home, forwards in sorted(planned):
            partition = of_level[level]
            of_level[level] += 1
            reads = tuple(remote.get(home, ())) if level == 0 else ()
            imports = tuple(port for port in self.graph.imported if port[0] == home) if level == 0 else ()
            sources = (home,) if self.graph.is_source(home) else ()
            operators = () if forwards else reach[home]
            tasks.append(Task(level, partition, home, operators, sources, reads, imports, forwards=forwards))
        owner = {operator: task.home for task in tasks for operator in task.operators}
        return tuple(replace(task, owns=tuple(o for o in task.operators if owner[o] == task.home)) for task in tasks)
