"""Replicas of the operators in parallel regions, numbered as the transformation makes them (rules 3-5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from streams_orchestration.compiler.logical_graph import LogicalGraph, LogicalOperator
from streams_orchestration.compiler.physical_graph import PhysicalGraph

Replica = tuple[int, int]
"""A logical operator with the rank of one of its replicas, by the channels of the regions that are expanded so far."""


@dataclass(slots=True, eq=False)
class _Composite:
    name: str
    composites: dict[str, _Composite] = field(default_factory=dict[str, "_Composite"])
    primitives: list[LogicalOperator] = field(default_factory=list[LogicalOperator])


class Replicas:
    """The physical operator of every replica.

    An original keeps its index and is channel 0 everywhere; a clone takes the next free index. Inner regions are
    expanded before outer ones. When a composite is cloned, the composites in it get their indexes before its primitive
    operators.
    """

    def __init__(self, graph: LogicalGraph) -> None:
        self.widths = [tuple(graph.regions[region].width for region in each.regions) for each in graph.operators]
        """For each logical operator, the widths of the regions around it, outermost first."""
        self.indexes = [[each.index] + [-1] * (prod(self.widths[each.index]) - 1) for each in graph.operators]
        """For each logical operator, and each rank of its replicas, the number of the physical operator."""
        self.owners: list[Replica] = [(each.index, 0) for each in graph.operators]
        """For each physical operator, its logical operator and the rank of the replica."""
        self._regions = {region.name: region.index for region in graph.regions}
        self._graph = graph
        self._expand(_tree(graph.operators))

    def _expand(self, composite: _Composite) -> list[Replica]:
        """Expand the inside of a composite; return its replicas in the order in which a clone copies them."""
        primitives = [(operator.index, 0) for operator in composite.primitives]
        for operator in composite.primitives:
            if operator.name in self._regions:
                primitives += self._clones([(operator.index, 0)], len(operator.regions) - 1)
        copied: list[Replica] = []
        clones: list[Replica] = []
        for child in composite.composites.values():
            inside = self._expand(child)
            copied += inside
            region = self._regions.get(child.name)
            if region is not None:
                clones += self._clones(inside, len(self._graph.regions[region].parents))
        return copied + clones + primitives

    def _clones(self, originals: Sequence[Replica], level: int) -> Iterator[Replica]:
        """Clone some replicas for channels 1 and up of the region at a nesting level."""
        if not originals:
            return
        width = self.widths[originals[0][0]][level]
        inner = {logical: prod(self.widths[logical][level + 1 :]) for logical, _ in originals}
        for channel in range(1, width):
            for logical, original in originals:
                rank = original + channel * inner[logical]
                self.indexes[logical][rank] = len(self.owners)
                self.owners.append((logical, rank))
                yield logical, rank


def _tree(operators: Sequence[LogicalOperator]) -> _Composite:
    """Return the tree of composites around the operators, in the order of the spec."""
    root = _Composite("")
    for operator in operators:
        composite = root
        for name in operator.composites:
            if name not in composite.composites:
                composite.composites[name] = _Composite(name)
            composite = composite.composites[name]
        composite.primitives.append(operator)
    return root


def replicas_of(
    logical: LogicalGraph, physical: PhysicalGraph, chosen: Callable[[LogicalOperator], bool]
) -> frozenset[int]:
    """Return the numbers of all replicas of the chosen logical operators."""
    models = {model.index for model in logical.operators if chosen(model)}
    return frozenset(each.index for each in physical.operators if each.logical in models) if models else frozenset()
