"""The part of the physical graph that is in one PE: its operators, with the connections that enter and leave them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.deployment.returning import returning_connections
from streams_orchestration.compiler.implementations import load_operator
from streams_orchestration.compiler.stage_results import ProcessingElement
from streams_orchestration.model.programs import has_variables
from streams_orchestration.operators.contract.operator import SourceOperator


def connections_by_pe(compilation: Compilation) -> dict[int, list[int]]:
    """Map each PE to the numbers of the connections that begin or end in it.

    The numbers are in the order in which output ports serve their consumers (`CopyPlan.order`).
    """
    by_pe: dict[int, list[int]] = {pe.id: [] for pe in compilation.fusion.pes}
    pe_of = compilation.fusion.pe_of
    for number in compilation.copies.order:
        connection = compilation.physical.connections[number]
        source, target = pe_of[connection.source], pe_of[connection.target]
        by_pe[source].append(number)
        if target != source:
            by_pe[target].append(number)
    return by_pe


class PeGraph:
    """The graph of one PE. Operators, connections and splitters keep their physical numbers."""

    def __init__(
        self, compilation: Compilation, pe: ProcessingElement, connections: Sequence[int], *, returns: bool = False
    ) -> None:
        """Select the operators and connections of the PE.

        Args:
            compilation: the application.
            pe: one of its PEs.
            connections: the numbers of the PE's connections, from `connections_by_pe`.
            returns: True if the PE may read streams of its own in later batches, so that it can run loops.

        Raises:
            ImplementationError: an operator cannot be imported.
        """
        self.compilation = compilation
        self.pe = pe
        self.members = set(pe.operators)
        physical, logical = compilation.physical, compilation.logical
        self.physical = physical
        self.logical_of = {i: logical.operators[physical.operators[i].logical] for i in pe.operators}
        self.implementations = {i: load_operator(self.logical_of[i]) for i in pe.operators}
        self.event_time = {each.operator: each for each in compilation.event_time.operators}
        self.queues = {(queue.operator, queue.port) for queue in compilation.threads.queues}
        self.outgoing: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.incoming: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number in connections:
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
        self.is_query = any(model.engine == "dataframe" for model in self.logical_of.values())
        """True if the operators are one Spark query."""
        self.returning = frozenset[int]()
        """The connections within the PE that close loops; their tuples come back in a later batch."""
        if returns and not self.is_query:
            self.returning = returning_connections(compilation, self.members, connections)
        self.stateful = {i: self._is_stateful(i) for i in pe.operators}
        self.imported = sorted(
            {(link.operator, link.port) for link in physical.imports if link.operator in self.members}
        )
        self.exported = {(link.operator, link.port) for link in physical.exports if link.operator in self.members}

    def is_source(self, operator: int) -> bool:
        """Return True if the operator produces tuples by itself."""
        return issubclass(self.implementations[operator], SourceOperator)

    def is_fed(self, operator: int) -> bool:
        """Return True if a connection enters the operator, from its PE or from another; an Import does not count."""
        return any(self.incoming[operator, port] for port in range(len(self.logical_of[operator].inputs)))

    def _is_stateful(self, operator: int) -> bool:
        own = (number for key, numbers in self.splitters.items() if key[0] == operator for number in numbers)
        round_robin = any(self.physical.splitters[number].policy == "roundRobin" for number in own)
        own_state = self.logical_of[operator].stateful or self.implementations[operator].stateful
        own_state = own_state or has_variables(self.logical_of[operator].parameters)
        return own_state or round_robin or self._keeps_watermark(operator)

    def _keeps_watermark(self, operator: int) -> bool:
        """Return True if the operator's output watermark depends on state, and not only on the batch that arrives."""
        event_time = self.event_time.get(operator)
        if event_time is not None and event_time.imports:
            return True  # any number of streams may be exported to it
        if event_time is None or not event_time.outputs:
            return False
        return event_time.mode != "inputWatermark" or len(event_time.connections) > 1

    def inside_ports(self, operators: Collection[int]) -> set[tuple[int, int]]:
        """Return the input ports of some operators that are fed from inside the PE within a batch."""
        return {
            (operator, port)
            for (operator, port), numbers in self.incoming.items()
            if operator in operators and any(self.is_inside(number) for number in numbers)
        }

    def is_inside(self, connection: int) -> bool:
        """Return True if the tuples of a connection stay in the PE, and arrive in the batch that submits them."""
        ends = self.physical.connections[connection]
        return ends.source in self.members and ends.target in self.members and connection not in self.returning
