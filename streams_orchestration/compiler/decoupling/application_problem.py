"""The decoupling problem of a physical graph with measured costs.

A *part* becomes a PE, which is a query with tasks of its own; the problem calls it a machine. An *outlet* is an output
port or a splitter channel. It becomes a stream of the transport as soon as a reader is in another PE; the outlet is
then *cut*. Such a stream is written once, however many PEs read it, and every input port that it feeds there reads it
for itself (`tee: each`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from streams_orchestration.compiler.disjoint_sets import DisjointSets
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import Connection, PhysicalGraph
from streams_orchestration.compiler.placement.fusable_units import resolve_placements
from streams_orchestration.compiler.profiles.costs import MeasuredCosts
from streams_orchestration.compiler.stage_results import PeOutputPort
from streams_orchestration.model.decoupling import Kind, Operation, Problem, ProblemParameters
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic

PERCENT = 100.0
"""The load of one processor, since loads are in percent of a processor."""


@dataclass(frozen=True, slots=True)
class Outlet:
    """An output port, or one channel of a splitter, with readers in the problem."""

    output: PeOutputPort
    readers: tuple[int, ...]
    """The numbers of the operators in the problem that read the outlet."""
    outside: bool
    """True if an operator outside of the problem reads the outlet, so that its stream is written in any case."""
    tuples: float | None
    """The tuples that leave the outlet in a second; None if unmeasured. An unmeasured outlet is never cut (rule Q4)."""
    size: float
    """The size of a tuple in bytes."""
    send: float
    """The load of writing the stream, in percent of a processor; 0 if it is written in any case."""
    receive: float
    """The load of reading the stream, in percent of a processor, for each reader in another PE."""


@dataclass(frozen=True, slots=True)
class JoinedOperators:
    """Operators that must stay in one PE."""

    operators: tuple[int, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ApplicationProblem:
    """A decoupling problem made from a physical graph."""

    problem: Problem
    operators: tuple[int, ...]
    """The physical operators of the problem, ascending."""
    ids: tuple[str, ...]
    """The id of each operator in the problem."""
    loads: tuple[float, ...]
    """The fixed load of each operator, in percent of a processor: its own, and of streams that cross the border of the
    problem."""
    outlets: tuple[Outlet, ...]
    groups: tuple[JoinedOperators, ...]
    """The sets of several operators that must stay together (rule Q12)."""


def application_problem(
    logical: LogicalGraph,
    physical: PhysicalGraph,
    costs: MeasuredCosts,
    operators: Collection[int],
    *,
    parts: int,
    saturation: float = 1.0,
) -> ApplicationProblem:
    """Return the problem of sharing some operators out among PEs.

    Streams across the border of the problem cost the same in every solution, so they only add to an operator's load.
    Streams may only go from a PE to a later one, since PEs that feed each other could not end an epoch. Operators that
    must share a PE, or whose streams were not measured, are put into one group (the problem's field `tick`).

    Args:
        logical: the application.
        physical: its expanded graph.
        costs: the measured costs.
        operators: the operators to share out, of one PE or of several that could be one.
        parts: the most PEs; the problem's machines.
        saturation: the factor by which measured loads are scaled (rule Q14).

    Raises:
        ApplicationError: the PE has no operators that could be moved, or nothing was measured of them (SO0611).
    """
    scope = tuple(sorted(operators))
    if not any(costs.cpu.get(each) for each in scope):
        message = "these operators were not measured, or processed nothing meanwhile"
        raise ApplicationError(
            [Diagnostic.of("SO0611", message if scope else "the PE has no operators that could be moved")]
        )
    builder = _Builder(logical, physical, costs, frozenset(scope), PERCENT * saturation)
    outlets = tuple(builder.outlets())
    groups = tuple(builder.groups(scope))
    loads = tuple(builder.load(each) for each in scope)
    ids = tuple(physical.operators[each].name for each in scope)
    send, receive = costs.transport.send, costs.transport.receive
    params = ProblemParameters(
        k=parts,
        ser_per_item=send.per_tuple * builder.scale,
        deser_per_item=receive.per_tuple * builder.scale,
        ser_per_byte=send.per_byte * builder.scale,
        deser_per_byte=receive.per_byte * builder.scale,
        tee="each",
        forward=True,
    )
    ops = tuple(builder.operations(scope, loads, outlets, groups))
    problem = Problem(name=logical.application, params=params, ops=ops)
    return ApplicationProblem(problem, scope, ids, loads, outlets, groups)


class _Builder:
    def __init__(
        self,
        logical: LogicalGraph,
        physical: PhysicalGraph,
        costs: MeasuredCosts,
        scope: frozenset[int],
        scale: float,
    ) -> None:
        self.logical = logical
        self.physical = physical
        self.costs = costs
        self.scope = scope
        self.scale = scale
        self.readers: dict[PeOutputPort, list[Connection]] = defaultdict(list)
        """Outlet -> the connections of its readers, in the order of the graph."""
        self.entering: dict[int, list[Connection]] = defaultdict(list)
        self.feeds: dict[tuple[int, int], set[PeOutputPort]] = defaultdict(set)
        """Input port -> the outlets that it reads."""
        for each in physical.connections:
            self.feeds[each.target, each.target_port].add(PeOutputPort.of(each))
            if each.source in scope:
                self.readers[PeOutputPort.of(each)].append(each)
            if each.target in scope:
                self.entering[each.target].append(each)
        for link in physical.exports:
            if link.operator in scope:
                self.readers[PeOutputPort(link.operator, link.port)] += []
        self.leaving: dict[int, list[PeOutputPort]] = defaultdict(list)
        for output in self.readers:
            self.leaving[output.operator].append(output)
        self.exported = {PeOutputPort(link.operator, link.port) for link in physical.exports}
        self.imported = {(link.operator, link.port) for link in physical.imports}
        self.imports: dict[int, set[int]] = defaultdict(set)
        for operator, port in self.imported:
            self.imports[operator].add(port)
        self.read_by: dict[PeOutputPort, list[Connection]] = defaultdict(list)
        for each in physical.connections:
            self.read_by[PeOutputPort.of(each)].append(each)

    def outlets(self) -> Iterator[Outlet]:
        """Yield the outlets that are read by operators of the problem.

        An outlet that also leaves the problem is sent in any case, so its sending has no price.
        """
        for output, connections in sorted(self.readers.items()):
            inside = tuple(dict.fromkeys(each.target for each in connections if each.target in self.scope))
            if inside:
                tuples, size = self.carried(output)
                send, receive = self.price(output)
                outside = self.leaves(output)
                yield Outlet(output, inside, outside, tuples, size, 0.0 if outside else send, receive)

    def leaves(self, output: PeOutputPort) -> bool:
        """Return True if an operator outside of the problem reads the stream of an outlet, or if it is exported."""
        return output in self.exported or any(each.target not in self.scope for each in self.readers[output])

    def carried(self, output: PeOutputPort) -> tuple[float | None, float]:
        """Return the rate of an outlet in tuples a second, and the bytes of a tuple.

        The rate is None if it was not measured, or if the size of its tuples was not. For a splitter channel, it is the
        highest rate that a reader of this channel alone measured, or else an even share of the port's rate.
        """
        port = output.operator, output.port
        rate, size = self.costs.tuples.get(port), self.costs.sizes.get(port)
        if rate is None or (rate > 0 and size is None):
            return None, 0.0
        if output.splitter >= 0:
            alone = [
                self.costs.arriving[entry]
                for entry in ((each.target, each.target_port) for each in self.read_by[output])
                if self.feeds[entry] == {output} and entry in self.costs.arriving and entry not in self.imported
            ]
            splitter, share = output.splitter, 1.0
            while splitter >= 0:
                share /= self.physical.splitters[splitter].width
                splitter = self.physical.splitters[splitter].parent
            rate = max(alone) if alone else rate * share
        return rate, size or 0.0

    def price(self, output: PeOutputPort) -> tuple[float, float]:
        """Return the loads of writing and of reading an outlet, in percent of a processor; 0 if it was not measured."""
        tuples, size = self.carried(output)
        amount = tuples or 0.0
        send, receive = self.costs.transport.send, self.costs.transport.receive
        return self.scale * send.of(amount, amount * size), self.scale * receive.of(amount, amount * size)

    def load(self, operator: int) -> float:
        """Return the load of an operator with its streams across the border of the problem, in percent of a processor.

        Missing measurements count as 0, and imported tuples have no cost for their bytes.
        """
        load = self.scale * self.costs.cpu.get(operator, 0.0)
        load += sum(self.price(output)[0] for output in self.leaving[operator] if self.leaves(output))
        entering = (each for each in self.entering[operator] if each.source not in self.scope)
        outside = {(PeOutputPort.of(each), each.target_port) for each in entering}
        load += sum(self.price(output)[1] for output, _ in outside)
        for port in self.imports.get(operator, ()):
            inside = sum(self.carried(output)[0] or 0.0 for output in self.feeds[operator, port])
            came = max(0.0, self.costs.arriving.get((operator, port), 0.0) - inside)
            load += self.scale * self.costs.transport.receive.of(came, 0.0)
        return load

    def groups(self, scope: Sequence[int]) -> Iterator[JoinedOperators]:
        """Yield the sets of several operators that no decision may divide, with the reasons.

        Such are operators that are fused by configs, operators with one atomic tag, and an operator that waits for an
        input together with its producers.
        """
        sets = DisjointSets(len(self.physical.operators))
        reasons: dict[int, list[str]] = defaultdict(list)

        def join(members: Sequence[int], reason: str) -> None:
            inside = [each for each in members if each in self.scope]
            if len(inside) > 1:
                sets.union_all(inside)
                reasons[inside[0]].append(reason)

        for members in resolve_placements(self.logical, self.physical).fused.larger_groups():
            join(members, "colocated (rules 45, 52)")
        tagged: dict[str, list[int]] = defaultdict(list)
        for each in scope:
            model = self.logical.operators[self.physical.operators[each].logical]
            if model.atomic is not None:
                tagged[model.atomic].append(each)
            if model.waits:
                producers = sorted({connection.source for connection in self.entering[each]})
                join([each, *producers], f"calls of {model.name} wait for each other")
        for tag, members in tagged.items():
            join(members, f"atomic {tag} (rule Q12)")
        for members in sets.larger_groups():
            yield JoinedOperators(
                tuple(members), tuple(dict.fromkeys(text for each in members for text in reasons[each]))
            )

    def operations(
        self, scope: Sequence[int], loads: Sequence[float], outlets: Sequence[Outlet], groups: Sequence[JoinedOperators]
    ) -> Iterator[Operation]:
        """Yield a node for each operator, and one for each outlet of an operator that has several or is not fed.

        An operator that no outlet of the problem feeds executes where its output goes (rule Q1), so its only outlet is
        a node, too.

        Args:
            scope: the operators of the problem.
            loads: the loads of all operators, in percent of a processor.
            outlets: all outlets of the problem.
            groups: the operators that must stay together.
        """
        tick = {
            member: self.physical.operators[group.operators[0]].name for group in groups for member in group.operators
        }
        leaving: dict[int, list[Outlet]] = defaultdict(list)
        reads: dict[int, list[str]] = defaultdict(list)
        for outlet in outlets:
            leaving[outlet.output.operator].append(outlet)
        merged: set[int] = set()
        fed = {reader for outlet in outlets for reader in outlet.readers}
        for outlet in outlets:
            operator = outlet.output.operator
            name = self.physical.operators[operator].name
            if operator in fed and len(leaving[operator]) == 1:
                merged.add(operator)
            else:
                name = self.outlet_id(outlet.output)
            for reader in outlet.readers:
                reads[reader].append(name)
        for operator, load in zip(scope, loads, strict=True):
            physical = self.physical.operators[operator]
            model = self.logical.operators[physical.logical]
            own = leaving[operator]
            kind: Kind = "op" if reads[operator] else "net_recv" if model.inputs else "source"
            if kind == "op" and not own:
                kind = "sink"
            alone = operator in merged
            yield Operation(
                id=physical.name,
                kind=kind,
                parents=tuple(reads[operator]),
                cpu=load,
                card=own[0].tuples if alone else 0.0,
                bytes=own[0].size if alone else 0.0,
                sent=alone and own[0].outside,
                ser=alone,
                tick=tick.get(operator),
                state=model.stateful,
            )
            for outlet in () if alone else own:
                yield Operation(
                    id=self.outlet_id(outlet.output),
                    kind="op",
                    parents=(physical.name,),
                    card=outlet.tuples,
                    bytes=outlet.size,
                    sent=outlet.outside,
                )

    def outlet_id(self, output: PeOutputPort) -> str:
        """Return the id of an outlet: `Source:0`, or `Source:0>Region.In[1]` for a splitter channel."""
        name = f"{self.physical.operators[output.operator].name}:{output.port}"
        if output.splitter < 0:
            return name
        return f"{name}>{self.physical.splitters[output.splitter].entrance}[{output.channel}]"
