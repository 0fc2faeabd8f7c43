"""Streams of other graphs as a graph reaches them: through ports of the composites between."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.builder.nodes import BuildError, DraftGraph, DraftOutput, DraftPort, DraftSource
from streams_orchestration.builder.places import CallSite


def reached(stream: DraftSource, graph: DraftGraph, place: CallSite) -> DraftSource:
    """Return the stream that carries the same tuples in another graph, adding ports to the blocks in between.

    Raises:
        BuildError: a composite that is not a block lies in between; streams enter it only by its declared ports.
    """
    if isinstance(stream, str) or stream.graph is graph:
        return stream
    around = list(_around(graph))
    while stream.graph not in around:
        stream = _out_of(stream, place)
    for inner in reversed(around[: around.index(stream.graph)]):
        stream = _port_for(stream, inner)
    return stream


def _around(graph: DraftGraph) -> Iterator[DraftGraph]:
    """Yield a graph, then the graph around it as long as the graph is a block."""
    yield graph
    while graph.definition is not None and graph.definition.block is not None:
        graph = graph.definition.block.graph
        yield graph


def _out_of(stream: DraftOutput, place: CallSite) -> DraftOutput:
    definition = stream.graph.definition
    if definition is None or definition.block is None:
        where = "the application" if definition is None else f"the composite {definition.name}"
        message = f"a stream of {where} is read in another graph, which it reaches by an input port only"
        raise BuildError(message, place)
    block = definition.block
    block.outputs = block.outputs or []
    if stream in definition.outputs:
        return block.outputs[definition.outputs.index(stream)]
    definition.outputs.append(stream)
    block.outputs.append(DraftOutput(block.graph, block, schema=None, outer=stream))
    return block.outputs[-1]


def _port_for(stream: DraftOutput, graph: DraftGraph) -> DraftOutput:
    definition = graph.definition
    assert definition is not None
    assert definition.block is not None
    for port in definition.inputs:
        if port.outer is stream:
            return port
    definition.inputs.append(DraftOutput(graph, outer=stream))
    definition.block.inputs.append(DraftPort([stream]))
    return definition.inputs[-1]
