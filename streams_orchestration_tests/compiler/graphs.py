"""Small logical and physical graphs, written by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from streams_orchestration.compiler.logical_graph import (
    InputPort,
    LogicalConnection,
    LogicalGraph,
    LogicalOperator,
    OutputPort,
)
from streams_orchestration.compiler.physical_graph import Connection, PhysicalGraph, PhysicalOperator, Splitter

Wire = tuple[str, int, str, int]
"""Producer, output port, consumer, input port."""


def operator(
    name: str, inputs: int | Sequence[InputPort] = 0, outputs: int | Sequence[OutputPort] = 0, **fields: Any
) -> LogicalOperator:
    """Return one logical operator, ports given or counted; it is numbered when a graph is made of it."""
    if isinstance(inputs, int):
        inputs = [InputPort(f"in{port}") for port in range(inputs)]
    if isinstance(outputs, int):
        outputs = [OutputPort(f"{name}.{port}") for port in range(outputs)]
    given: dict[str, Any] = {
        "index": -1,
        "name": name,
        "kind": "Op",
        "implementation": None,
        "inputs": tuple(inputs),
        "outputs": tuple(outputs),
        "parameters": {},
    }
    return LogicalOperator(**(given | fields))


def logical_graph(operators: Iterable[LogicalOperator], wires: Iterable[Wire], **fields: Any) -> LogicalGraph:
    """Return a logical graph; operators are numbered in the order given."""
    numbered = tuple(replace(each, index=index) for index, each in enumerate(operators))
    number = {each.name: each.index for each in numbered}
    connections = tuple(
        LogicalConnection(number[source], port, number[target], target_port)
        for source, port, target, target_port in wires
    )
    return LogicalGraph("test", numbered, connections, **fields)


def unexpanded(logical: LogicalGraph) -> PhysicalGraph:
    """Return the physical graph of an application without parallel regions."""
    operators = tuple(
        PhysicalOperator(each.index, each.name, each.index, streams=tuple(port.stream for port in each.outputs))
        for each in logical.operators
    )
    return PhysicalGraph(operators, tuple(Connection(*connection[:4]) for connection in logical.connections))


def expanded(logical: LogicalGraph) -> PhysicalGraph:
    """Return the expansion of a graph without nested parallel regions; replicas are numbered after all first ones."""
    operators: list[PhysicalOperator] = []
    replicas: dict[int, list[int]] = {}
    for channel in range(max((region.width for region in logical.regions), default=1)):
        for each in logical.operators:
            width = logical.regions[each.regions[0]].width if each.regions else 0
            if channel > 0 and channel >= width:
                continue
            index = len(operators)
            replicas.setdefault(each.index, []).append(index)
            name = _replica(each, logical, channel) if width else each.name
            place = ((channel,), channel) if width else ((), -1)
            widths = (width,) if width else ()
            operators.append(PhysicalOperator(index, name, each.index, *place, width, width, widths=widths))
    connections: list[tuple[int, Connection]] = []
    splitters: list[Splitter] = []
    for position, connection in enumerate(logical.connections):
        sources, targets = replicas[connection.source], replicas[connection.target]
        entered = logical.operators[connection.target].regions
        same = logical.operators[connection.source].regions == entered
        for each, source in enumerate(sources):
            ends = (source, connection.source_port)
            if same and entered:
                connections.append((position, Connection(*ends, targets[each], connection.target_port)))
            elif entered:
                region = logical.regions[entered[0]]
                number = len(splitters)
                port = f"{region.name}.{connection.target_port}"
                splitters.append(Splitter(number, port, *ends, port, "roundRobin", (), region.width))
                for channel, target in enumerate(targets):
                    end = (target, connection.target_port, number, channel)
                    connections.append((position, Connection(*ends, *end)))
            else:
                connections.append((position, Connection(*ends, targets[0], connection.target_port)))
    connections.sort(key=lambda pair: (pair[1][:2], pair[0], pair[1]))
    return PhysicalGraph(tuple(operators), tuple(connection for _, connection in connections), tuple(splitters))


def _replica(each: LogicalOperator, logical: LogicalGraph, channel: int) -> str:
    region = logical.regions[each.regions[0]].name
    if not f"{each.name}.".startswith(f"{region}."):
        return f"{each.name}[{channel}]"
    return f"{region}[{channel}]{each.name[len(region) :]}"
