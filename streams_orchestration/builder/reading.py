"""The graphs of a spec, read into an application in Python."""

from __future__ import annotations

from collections.abc import Sequence

from streams_orchestration.builder.nodes import (
    Definition,
    DraftGraph,
    DraftNode,
    DraftOutput,
    DraftPort,
    DraftSource,
    Json,
    Root,
)
from streams_orchestration.builder.places import CallSite
from streams_orchestration.model import application as model


def read_into(root: Root, dump: Json, read: model.Application, place: CallSite) -> None:
    """Add the composites and the main graph of a spec.

    Args:
        root: the graphs of the application, which are changed.
        dump: the spec as a mapping.
        read: the spec as a model.
        place: the place of parts that have no line of their own.
    """
    composites: Json = dump.get("composites", {})
    for name, composite in composites.items():
        definition = Definition(name, place, DraftGraph(root))
        definition.graph.definition = definition
        definition.inputs = [DraftOutput(definition.graph, name=port) for port in composite.get("inputs", ())]
        definition.outputs = list(composite.get("outputs", ()))
        definition.annotations = composite.get("annotations", {})
        definition.config = composite.get("config", {})
        root.definitions.append(definition)
        _read_graph(definition.graph, composite.get("graph", ()), read.composites[name].graph, place)
    _read_graph(root.main, dump.get("graph", ()), read.graph, place)


def _read_graph(
    graph: DraftGraph, invocations: Sequence[Json], elements: Sequence[model.Invocation], otherwise: CallSite
) -> None:
    for each, element in zip(invocations, elements, strict=True):
        location = element.location()
        place = otherwise if location is None else CallSite(location.file, location.line, location.line)
        node = DraftNode(graph, each["operator"], place, each["name"], uid=each.get("uid"))
        for port in each.get("inputs", ()):
            streams: list[DraftSource] = [*port.get("streams", ())]
            node.inputs.append(DraftPort(streams, port.get("name"), port.get("control", False), port.get("mutates")))
        if each.get("outputs") is not None:
            node.outputs = [
                DraftOutput(graph, node, output["stream"], output.get("schema"), output.get("rate"))
                for output in each["outputs"]
            ]
        node.parameters, node.annotations = each.get("parameters", {}), each.get("annotations", {})
        node.config = each.get("config", {})
        graph.nodes.append(node)
