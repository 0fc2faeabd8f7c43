"""The traffic on connections and between fusable units, which fusion tries to keep within PEs (rule 55)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter

from streams_orchestration.compiler.components import strong_components
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.placement.fusable_units import FusableUnit
from streams_orchestration.compiler.profiles.rates import Rates

Flow = tuple[int, float]
"""A connection of a unit: the unit at the other end, and the traffic in tuples a second."""
_UNIT = itemgetter(0)


@dataclass(frozen=True, slots=True)
class UnitFlows:
    """The connections between units; those with the largest unit number come first."""

    downstream: Sequence[Sequence[Flow]]
    upstream: Sequence[Sequence[Flow]]

    def of(self, unit: int) -> Iterator[Flow]:
        """Return the connections of a unit, downstream ones before upstream ones."""
        return chain(self.downstream[unit], self.upstream[unit])


def unit_flows(units: Sequence[FusableUnit], logical: LogicalGraph, physical: PhysicalGraph, rates: Rates) -> UnitFlows:
    """Return the traffic between units: for each unit, its downstream and upstream units, with the weights.

    The largest unit numbers come first. A unit comes once for each connection; connections within a unit do not count.
    """
    unit_of = [0] * len(physical.operators)
    for number, unit in enumerate(units):
        for operator in unit.operators:
            unit_of[operator] = number
    downstream: list[list[Flow]] = [[] for _ in units]
    upstream: list[list[Flow]] = [[] for _ in units]
    traffic = connection_traffic(logical, physical, rates)
    for connection, weight in zip(physical.connections, traffic, strict=True):
        source, target = unit_of[connection.source], unit_of[connection.target]
        if source != target:
            downstream[source].append((target, weight))
            upstream[target].append((source, weight))
    for flows in chain(downstream, upstream):
        if len(flows) > 1:
            flows.sort(key=_UNIT, reverse=True)
    return UnitFlows(downstream, upstream)


def connection_traffic(logical: LogicalGraph, physical: PhysicalGraph, measured: Rates) -> list[float]:
    """Return the tuples a second on every connection; 1 everywhere if no stream has a measured or declared rate.

    A measured rate, (operator, output port) -> tuples a second, takes precedence over a declared one. Replicas share
    the declared rate of their logical stream evenly, as channels share the rate of a splitter. A stream without a rate
    has the rate that enters its operator, or 1 at a source; tuples that return through a loop do not count.
    """
    if not measured and all(port.rate is None for operator in logical.operators for port in operator.outputs):
        return [1.0] * len(physical.connections)
    share = [1.0] * len(physical.splitters)
    for splitter in physical.splitters:
        share[splitter.index] = (share[splitter.parent] if splitter.parent >= 0 else 1.0) / splitter.width
    leaving: list[list[int]] = [[] for _ in physical.operators]
    for number, connection in enumerate(physical.connections):
        leaving[connection.source].append(number)
    successors = [[physical.connections[number].target for number in numbers] for numbers in leaving]
    entering = [0.0] * len(physical.operators)
    traffic = [1.0] * len(physical.connections)
    for component in strong_components(successors):
        for index in component:
            operator = physical.operators[index]
            model = logical.operators[operator.logical]
            for number in leaving[index]:
                connection = physical.connections[number]
                declared = model.outputs[connection.source_port].rate
                if (index, connection.source_port) in measured:
                    rate = measured[index, connection.source_port]
                elif declared is not None:
                    rate = declared / max(operator.max_channels, 1)
                else:
                    rate = entering[index] if model.inputs else 1.0
                traffic[number] = rate * (share[connection.splitter] if connection.splitter >= 0 else 1.0)
                entering[connection.target] += traffic[number]
    return traffic
