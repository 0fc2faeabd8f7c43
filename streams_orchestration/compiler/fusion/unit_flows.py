"""The traffic between fusable units (rule 55)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter

from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.placement.fusable_units import FusableUnit
from streams_orchestration.compiler.profiles.rates import Rates
from streams_orchestration.compiler.profiles.traffic import connection_traffic

Flow = tuple[int, float]
"""The unit at the other end of a connection, and the traffic on it."""
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
    """Return the connections between units."""
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
