"""Threaded ports: queues of the user, and those that the compiler adds (rules 64-66)."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Literal

from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import Connection, PhysicalGraph
from streams_orchestration.compiler.stage_results import FusionPlan, Queue
from streams_orchestration.compiler.threads.origins import threading_model

POLICY = "Sys.Wait"
"""The policy of added queues, which never drop."""
QUEUE_SIZE = 1000
"""The size of an added queue in tuples."""


def place_queues(logical: LogicalGraph, physical: PhysicalGraph, fusion: FusionPlan, options: Options) -> list[Queue]:
    """Return all threaded ports, sorted by operator and port.

    A queue is added where a connection within a PE comes from a splitter channel, or enters an operator under the
    dedicated model. A `threadedPort` of the spec has its queue under every model, and no queue is added to that port.
    Merges, broadcasts and connections between PEs get none.
    """
    queues: dict[tuple[int, int], Queue] = {}
    asking = [bool(each.threaded_ports) or threading_model(each, options) == "dedicated" for each in logical.operators]
    dedicated: set[int] = set()
    for operator in physical.operators if any(asking) else ():
        if not asking[operator.logical]:
            continue
        model = logical.operators[operator.logical]
        for port in model.threaded_ports:
            key = operator.index, port.port
            queues[key] = Queue(
                *key, injected=False, congestion_policy=port.congestion_policy, queue_size=port.queue_size
            )
        if threading_model(model, options) == "dedicated":
            dedicated.add(operator.index)
    for connection in physical.connections:
        _, _, target, port, splitter, _ = connection
        if splitter < 0 and target not in dedicated:
            continue
        key = target, port
        if key not in queues and added_for(connection, fusion.pe_of, dedicated) is not None:
            queues[key] = Queue(*key, injected=True, congestion_policy=POLICY, queue_size=QUEUE_SIZE)
    return [queues[key] for key in sorted(queues)]


def added_for(
    connection: Connection, pe_of: Sequence[int], dedicated: Container[int]
) -> Literal["splitter", "dedicated"] | None:
    """Return why a connection needs a queue at its input port, None if it does not."""
    if pe_of[connection.source] != pe_of[connection.target]:
        return None
    if connection.splitter >= 0:
        return "splitter"
    return "dedicated" if connection.target in dedicated else None
