"""The growth of event-time graphs along the streams of the logical graph (EV4-EV12).

Annotations with the same attribute, type and resolution grow together, since their graphs merge wherever they meet
(EV8). Loops are cut, so what remains is acyclic, and a watermark never waits for itself.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from streams_orchestration.compiler.components import strong_components
from streams_orchestration.compiler.disjoint_sets import DisjointSets
from streams_orchestration.compiler.logical.control_ports import is_control_port
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.time_attributes import TimeAttribute, attribute_type
from streams_orchestration.compiler.walks import reached

Port = tuple[int, int]
"""An operator and one of its output ports."""


class Ends(NamedTuple):
    """The two ends of a connection. Connections with equal ends are either all in a graph, or all outside."""

    source: int
    source_port: int
    target: int
    target_port: int


@dataclass(frozen=True, slots=True)
class EventTimeStart:
    """An annotated operator, where event time begins."""

    operator: int
    time: TimeAttribute
    outputs: tuple[int, ...]
    """The output ports that have the event-time attribute (EV4)."""
    lag: float
    minimum_gap: float


class EventTimeImport(NamedTuple):
    """An Import that takes the watermarks of the exported stream (EV48)."""

    name: str
    operator: int
    """The operator that reads the Import."""
    port: int
    time: TimeAttribute


@dataclass(frozen=True, slots=True)
class Reach:
    """The part of the logical graph that event time of one attribute, type and resolution reaches."""

    time: TimeAttribute
    starts: tuple[EventTimeStart, ...]
    imports: tuple[EventTimeImport, ...]
    """The Imports that bring watermarks into this part."""
    operators: frozenset[int]
    ports: frozenset[Port]
    """The output ports in this part of the graph."""
    connections: tuple[Ends, ...]
    """The connections in this part, in the order of the logical graph (EV6)."""
    left_out: tuple[Ends, ...]
    """The connections that event time does not follow, since they would close a loop (EV12)."""
    lags: Mapping[int, float]
    """For each operator, the greatest lag that reaches it (EV8); 0 where only Imports bring watermarks."""
    gaps: Mapping[int, float]
    """For each operator, the largest `minimumGap` of an annotation that reaches it (EV8); 0 like `lags`."""
    graphs: tuple[tuple[int, ...], ...]
    """The operators of each graph. Annotations whose operators meet downstream form one graph (EV8)."""


def grow(
    logical: LogicalGraph, starts: Iterable[EventTimeStart], imports: Iterable[EventTimeImport] = ()
) -> list[Reach]:
    """Return the part of the graph that annotations and Imports reach, for each attribute, type and resolution.

    Imports that an annotated operator reads are left out, since that operator sets its own watermark. By default,
    no Imports count.
    """
    by_time: dict[TimeAttribute, tuple[list[EventTimeStart], list[EventTimeImport]]] = {}
    annotated = {operator.index for operator in logical.operators if operator.event_time is not None}
    for start in starts:
        by_time.setdefault(start.time, ([], []))[0].append(start)
    for each in imports:
        if each.operator not in annotated:
            by_time.setdefault(each.time, ([], []))[1].append(each)
    if not by_time:
        return []
    following: dict[Port, list[Ends]] = {}
    for connection in logical.connections:
        if connection.target not in annotated:  # an annotated operator begins a graph of its own (EV10)
            ends = Ends(*connection[:4])
            following.setdefault(ends[:2], []).append(ends)
    return [_Growth(logical, time, *together, following).reach() for time, together in by_time.items()]


class _Growth:
    """The growth of the graphs of one event-time attribute with its type and resolution."""

    def __init__(
        self,
        logical: LogicalGraph,
        time: TimeAttribute,
        starts: Sequence[EventTimeStart],
        imports: Sequence[EventTimeImport],
        following: Mapping[Port, list[Ends]],
    ) -> None:
        self.logical = logical
        self.time = time
        self.starts = sorted(starts, key=lambda start: start.operator)
        self.imports = tuple(imports)
        self.first = sorted({*(start.operator for start in starts), *(each.operator for each in imports)})
        """The operators where event time begins."""
        self.following = following
        self.outputs = {start.operator: start.outputs for start in starts}

    def reach(self) -> Reach:
        """Follow the streams from all starts, cut loops, and find the greatest lag and gap of each operator."""
        entered = self.walk()
        kept, left_out = self.without_loops(entered)
        consumers: dict[int, list[int]] = {}
        sets = DisjointSets(len(self.logical.operators))
        for ends in kept:
            consumers.setdefault(ends.source, []).append(ends.target)
            sets.union(ends.source, ends.target)
        graphs: dict[int, list[int]] = {}
        for operator in sorted(entered):
            graphs.setdefault(sets.find(operator), []).append(operator)
        order = {ends: number for number, ends in enumerate(Ends(*each[:4]) for each in self.logical.connections)}
        return Reach(
            time=self.time,
            starts=tuple(self.starts),
            imports=self.imports,
            operators=frozenset(entered),
            ports=frozenset((operator, port) for operator in entered for port in self.ports_of(operator)),
            connections=tuple(sorted(kept, key=order.__getitem__)),
            left_out=tuple(left_out),
            lags=self._greatest(lambda start: start.lag, consumers),
            gaps=self._greatest(lambda start: start.minimum_gap, consumers),
            graphs=tuple(map(tuple, graphs.values())),
        )

    def ports_of(self, operator: int) -> tuple[int, ...]:
        """Return the output ports of an operator whose tuples have the event-time attribute with its type (EV5)."""
        ports = self.outputs.get(operator)
        if ports is None:
            outputs = self.logical.operators[operator].outputs
            ports = tuple(
                port
                for port, output in enumerate(outputs)
                if attribute_type(output.schema, self.time.attribute) == self.time.type
            )
            self.outputs[operator] = ports
        return ports

    def streams_of(self, operator: int) -> list[Ends]:
        """Return the connections from an operator that carry event time downstream."""
        ports = self.ports_of(operator)
        return list(dict.fromkeys(ends for port in ports for ends in self.following.get((operator, port), ())))

    def walk(self) -> dict[int, list[Ends]]:
        """Map every operator that event time reaches to its connections that carry event time downstream."""
        entered: dict[int, list[Ends]] = {}
        waiting = list(self.first)
        for operator in waiting:
            if operator not in entered:
                entered[operator] = self.streams_of(operator)
                waiting += [ends.target for ends in entered[operator] if ends.target not in entered]
        return entered

    def without_loops(self, entered: Mapping[int, list[Ends]]) -> tuple[list[Ends], list[Ends]]:
        """Return the connections that are kept, and the connections that would close a loop (EV12).

        The graph is followed from its starts once more. Connections within a loop into control ports are followed last,
        so that these are the ones left out. A connection is left out if its target already leads to its source.
        """
        loop_of = self._loops(entered)
        kept: list[Ends] = []
        left_out: list[Ends] = []
        inside: defaultdict[int, list[int]] = defaultdict(list)
        """The kept connections within loops: operator -> consumers."""
        seen = set(self.first)
        waiting, control = deque(self.first), deque[Ends]()

        def follow(ends: Ends) -> None:
            in_loop = ends.source in loop_of and loop_of[ends.source] == loop_of.get(ends.target)
            if in_loop and ends.target in seen and ends.source in reached((ends.target,), inside):
                left_out.append(ends)
                return
            kept.append(ends)
            if in_loop:
                inside[ends.source].append(ends.target)
            if ends.target not in seen:
                seen.add(ends.target)
                waiting.append(ends.target)

        while waiting or control:
            if not waiting:
                follow(control.popleft())
                continue
            for ends in entered[waiting.popleft()]:
                back = ends.source in loop_of and loop_of[ends.source] == loop_of.get(ends.target)
                if back and is_control_port(self.logical.operators[ends.target], ends.target_port):
                    control.append(ends)
                else:
                    follow(ends)
        return kept, left_out

    def _loops(self, entered: Mapping[int, list[Ends]]) -> dict[int, int]:
        """Map operators in a loop to the number of their strongly connected component."""
        number = {operator: position for position, operator in enumerate(sorted(entered))}
        operators = list(number)
        successors = [[number[ends.target] for ends in entered[operator]] for operator in operators]
        loops: dict[int, int] = {}
        for position, component in enumerate(strong_components(successors)):
            if len(component) > 1 or component[0] in successors[component[0]]:
                loops |= {operators[member]: position for member in component}
        return loops

    def _greatest(
        self, value: Callable[[EventTimeStart], float], consumers: Mapping[int, list[int]]
    ) -> dict[int, float]:
        """Return the greatest value of an annotation that reaches an operator, by operator; an Import counts as 0.

        Annotations are followed in order of falling values, so the first one that reaches an operator has the greatest.
        """
        found: dict[int, float] = {}
        origins = [(value(start), start.operator) for start in self.starts]
        origins += ((0.0, each.operator) for each in self.imports)
        for own, first in sorted(origins, reverse=True):
            waiting = [first]
            while waiting:
                operator = waiting.pop()
                if operator not in found:
                    found[operator] = own
                    waiting += consumers.get(operator, ())
        return found
