"""The sections of the plan document, one a stage: names instead of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from streams_orchestration.compiler.graph import (
    ConsistentRegion,
    CopyPlan,
    FusionPlan,
    LogicalGraph,
    PhysicalGraph,
    PortLink,
    RegionMap,
    ThreadPlan,
)

Document = dict[str, Any]


class Stages(Protocol):
    """The results of the stages so far, None for those to come."""

    @property
    def logical(self) -> LogicalGraph: ...  # noqa: D102
    @property
    def physical(self) -> PhysicalGraph | None: ...  # noqa: D102
    @property
    def regions(self) -> RegionMap | None: ...  # noqa: D102
    @property
    def fusion(self) -> FusionPlan | None: ...  # noqa: D102
    @property
    def threads(self) -> ThreadPlan | None: ...  # noqa: D102
    @property
    def copies(self) -> CopyPlan | None: ...  # noqa: D102


def _physical(stages: Stages) -> PhysicalGraph:
    assert stages.physical is not None
    return stages.physical


def _end(graph: PhysicalGraph | LogicalGraph, operator: int, port: int) -> Document:
    return {"operator": graph.operators[operator].name, "port": port}


def _channel(graph: PhysicalGraph, splitter: int, channel: int) -> Document | None:
    return {"id": graph.splitters[splitter].id, "channel": channel} if splitter >= 0 else None


def _logical_graph(stages: Stages) -> Document:
    graph = stages.logical
    operators = sorted(
        (
            {"name": each.name, "kind": each.kind, "inputs": len(each.inputs), "outputs": len(each.outputs)}
            for each in graph.operators
        ),
        key=lambda each: str(each["name"]),
    )
    targets: dict[tuple[int, int], list[Document]] = {}
    for connection in graph.connections:
        ends = targets.setdefault((connection.source, connection.source_port), [])
        ends.append(_end(graph, connection.target, connection.target_port))
    streams = [
        {
            "name": output.stream,
            "from": {"operator": operator.name, "port": port},
            "to": sorted(targets.get((operator.index, port), ()), key=_end_order),
        }
        for operator in graph.operators
        for port, output in enumerate(operator.outputs)
    ]
    return {
        "operators": operators,
        "streams": sorted(streams, key=lambda each: (str(each["name"]), *_end_order(each["from"]))),
    }


def _end_order(end: Any) -> tuple[str, int]:
    return end["operator"], end["port"]


def _physical_graph(stages: Stages) -> Document:
    graph = _physical(stages)
    logical = stages.logical
    return {
        "operators": [
            {
                "index": each.index,
                "name": each.name,
                "logicalName": logical.operators[each.logical].name,
                "channel": each.channel,
                "maxChannels": each.max_channels,
                "localChannel": each.local_channel,
                "localMaxChannels": each.local_max_channels,
            }
            for each in graph.operators
        ],
        "connections": [
            {
                "from": _end(graph, each.source, each.source_port),
                "to": _end(graph, each.target, each.target_port),
                "splitter": _channel(graph, each.splitter, each.channel),
            }
            for each in graph.connections
        ],
        "splitters": [
            {
                "id": each.id,
                "operator": graph.operators[each.operator].name,
                "port": each.port,
                "regionPort": each.region_port,
                "policy": each.policy,
                "attributes": list(each.attributes),
                "width": each.width,
                "parent": _channel(graph, each.parent, each.parent_channel),
                "dropsWindowPunctuation": each.drops_window_punctuation,
            }
            for each in graph.splitters
        ],
        "imports": _links(graph, graph.imports),
        "exports": _links(graph, graph.exports),
    }


def _links(graph: PhysicalGraph, links: Iterable[PortLink]) -> list[Document]:
    documents = [
        {"name": each.name, **_end(graph, each.operator, each.port), "parameters": each.parameters} for each in links
    ]
    return sorted(documents, key=lambda each: (str(each["name"]), *_end_order(each)))


def _fusion_plan(stages: Stages) -> Document:
    graph, plan = _physical(stages), stages.fusion
    assert plan is not None
    return {
        "scheme": plan.scheme,
        "pes": [
            {
                "id": pe.id,
                "operators": [graph.operators[operator].name for operator in pe.operators],
                "host": pe.host,
                "restartable": pe.restartable,
                "relocatable": pe.relocatable,
                "inputPorts": [_end(graph, each.operator, each.port) for each in pe.inputs],
                "outputPorts": [
                    {**_end(graph, each.operator, each.port), "splitter": _channel(graph, each.splitter, each.channel)}
                    for each in pe.outputs
                ],
            }
            for pe in plan.pes
        ],
    }


def _thread_plan(stages: Stages) -> Document:
    graph, plan = _physical(stages), stages.threads
    assert plan is not None
    return {
        "threadedPorts": [
            {
                **_end(graph, queue.operator, queue.port),
                "injected": queue.injected,
                "congestionPolicy": queue.congestion_policy,
                "queueSize": queue.queue_size,
            }
            for queue in sorted(plan.queues, key=lambda queue: (queue.operator, queue.port))
        ],
        "operators": [
            {
                "operator": operator.name,
                "threads": each.threads,
                "singleThreadedOnInputs": each.single_threaded_on_inputs,
                "singleThreadedOnOutputs": each.single_threaded_on_outputs,
                "locked": each.locked,
            }
            for operator, each in zip(graph.operators, plan.operators, strict=True)
        ],
    }


def _copy_plan(stages: Stages) -> Document:
    graph, plan = _physical(stages), stages.copies
    assert plan is not None
    connections: list[Document] = []
    for number in plan.order:
        connection, passing = graph.connections[number], plan.connections[number]
        document: Document = {
            "from": _end(graph, connection.source, connection.source_port),
            "to": _end(graph, connection.target, connection.target_port),
            "passing": passing.passing,
            "constness": passing.constness,
            "reason": passing.reason,
        }
        if passing.attributes is not None:
            document["attributes"] = list(passing.attributes)
        connections.append(document)
    return {
        "connections": connections,
        "senderCopies": plan.sender_copies,
        "enqueueCopies": plan.enqueue_copies,
        "eliminated": plan.eliminated,
    }


def _region(region: ConsistentRegion, names: list[str], *, logical: bool) -> Document:
    document: Document = {
        "index": region.index,
        "trigger": region.trigger,
        "period": region.period,
        "drainTimeout": region.drain_timeout,
        "resetTimeout": region.reset_timeout,
        "maxConsecutiveResetAttempts": region.max_consecutive_reset_attempts,
        "operators": [names[operator] for operator in region.operators],
        "starts": [names[operator] for operator in region.starts],
        "ends": [names[operator] for operator in region.ends],
        "autonomousPorts": {names[operator]: list(ports) for operator, ports in region.autonomous_ports},
    }
    return document if logical else {"index": region.index, "logicalIndex": region.logical_index, **document}


def _region_map(stages: Stages) -> Document:
    graph, regions = _physical(stages), stages.regions
    assert regions is not None
    logical = [each.name for each in stages.logical.operators]
    physical = [each.name for each in graph.operators]
    return {
        "logicalRegions": [_region(each, logical, logical=True) for each in regions.logical],
        "regions": [_region(each, physical, logical=False) for each in regions.expanded],
        "autonomous": [name for name, region in zip(physical, regions.region_of, strict=True) if region < 0],
    }


SECTIONS: dict[str, Callable[[Stages], Document]] = {
    "logicalGraph": _logical_graph,
    "physicalGraph": _physical_graph,
    "fusionPlan": _fusion_plan,
    "threadPlan": _thread_plan,
    "copyPlan": _copy_plan,
    "consistentRegionMap": _region_map,
}
"""By the key of the section, in the order of the document."""
