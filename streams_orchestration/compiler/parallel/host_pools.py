"""Host pools that parallel regions replicate (rule 36)."""

from __future__ import annotations

from collections.abc import Sequence

from streams_orchestration.compiler.logical_graph import HostPool, LogicalGraph, LogicalOperator


class HostPoolReplicas:
    """The pools of an expanded application: those declared, then the clones in the order of their use."""

    def __init__(self, graph: LogicalGraph) -> None:
        self._graph = graph
        self._declared = {pool.name: pool for pool in graph.host_pools}
        self._pools = dict(self._declared)

    def pool_of(self, operator: LogicalOperator, channels: Sequence[int]) -> str | None:
        """The pool of one replica: a clone when the innermost region around it replicates a tag of the pool.

        Args:
            operator: the logical operator.
            channels: global channels of the replica, outermost first.
        """
        if operator.host_pool is None or not operator.regions:
            return operator.host_pool
        region = self._graph.regions[operator.regions[-1]]
        pool = self._declared.get(operator.host_pool)
        if pool is None or not set(pool.tags) & set(region.replicate_host_tags):
            return operator.host_pool
        suffix = "".join(f"_{channel}" for channel in reversed(channels))
        name = f"{pool.name}_{region.index}{suffix}"
        if name not in self._pools:
            tags = tuple(f"{tag}{suffix}" if tag in region.replicate_host_tags else tag for tag in pool.tags)
            self._pools[name] = HostPool(name, tags, pool.size)
        return name

    @property
    def pools(self) -> tuple[HostPool, ...]:
        """All pools."""
        return tuple(self._pools.values())
