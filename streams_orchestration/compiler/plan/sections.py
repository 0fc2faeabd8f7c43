"""The sections of the plan document, one a stage: names instead of numbers, long lists as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter, itemgetter
from typing import Any

from streams_orchestration.compiler.physical_graph import PhysicalGraph, PortLink
from streams_orchestration.compiler.plan.tables import (
    BOOLEAN,
    INTEGER,
    TEXT,
    VALUE,
    Cell,
    Column,
    Extended,
    Fields,
    Listed,
    Numbered,
    Table,
)
from streams_orchestration.compiler.plan.terms import Document, Section, Stages, Terms
from streams_orchestration.compiler.stage_results import (
    ConsistentRegion,
    FusionPlan,
    Passing,
)


def _physical(stages: Stages) -> PhysicalGraph:
    assert stages.physical is not None
    return stages.physical


def _columns(rows: Sequence[Any], cells: dict[str, tuple[Cell, str]]) -> Table:
    """A table of attributes of objects: by key the cell and the attribute."""
    return Table({key: Column(cell, map(attrgetter(name), rows)) for key, (cell, name) in cells.items()})


def _logical_graph(stages: Stages, terms: Terms) -> Section:
    del terms
    graph = stages.logical
    names = [operator.name for operator in graph.operators]
    own = Terms(graph)
    targets: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for source, port, target, target_port, _ in graph.connections:
        targets.setdefault((source, port), []).append((target, target_port))
    for ends in targets.values():
        ends.sort(key=lambda end: (names[end[0]], end[1]))
    streams = sorted(
        (output.stream, operator.name, port, operator.index)
        for operator in graph.operators
        for port, output in enumerate(operator.outputs)
    )
    ports = [(index, port) for _, _, port, index in streams]
    operators = sorted(graph.operators, key=attrgetter("name"))
    return {
        "operators": Table(
            {
                "name": Column(TEXT, (each.name for each in operators)),
                "kind": Column(TEXT, (each.kind for each in operators)),
                "inputs": Column(INTEGER, (len(each.inputs) for each in operators)),
                "outputs": Column(INTEGER, (len(each.outputs) for each in operators)),
            }
        ),
        "streams": Table(
            {
                "name": Column(TEXT, (stream for stream, *_ in streams)),
                "from": Column(own.port, ports),
                "to": Column(Listed(own.end), (targets.get(port, ()) for port in ports)),
            }
        ),
    }


def _physical_graph(stages: Stages, terms: Terms) -> Section:
    graph = _physical(stages)
    logical = Numbered(TEXT, [operator.name for operator in stages.logical.operators])
    return {
        "operators": _columns(
            graph.operators,
            {
                "index": (INTEGER, "index"),
                "name": (terms.name, "index"),
                "logicalName": (logical, "logical"),
                "channel": (INTEGER, "channel"),
                "maxChannels": (INTEGER, "max_channels"),
                "localChannel": (INTEGER, "local_channel"),
                "localMaxChannels": (INTEGER, "local_max_channels"),
            },
        ),
        "connections": Table(
            {
                "from": Column(terms.source, range(len(graph.connections))),
                "to": Column(terms.target, range(len(graph.connections))),
                "splitter": Column(terms.channel, map(itemgetter(4, 5), graph.connections)),
            }
        ),
        "splitters": Table(
            {
                "id": Column(TEXT, (each.id for each in graph.splitters)),
                "operator": Column(terms.name, (each.operator for each in graph.splitters)),
                "port": Column(INTEGER, (each.port for each in graph.splitters)),
                "regionPort": Column(TEXT, (each.region_port for each in graph.splitters)),
                "policy": Column(TEXT, (each.policy for each in graph.splitters)),
                "attributes": Column(Listed(TEXT), (each.attributes for each in graph.splitters)),
                "width": Column(INTEGER, (each.width for each in graph.splitters)),
                "parent": Column(terms.channel, ((each.parent, each.parent_channel) for each in graph.splitters)),
                "dropsWindowPunctuation": Column(BOOLEAN, (each.drops_window_punctuation for each in graph.splitters)),
            }
        ),
        "imports": _links(graph, terms, graph.imports),
        "exports": _links(graph, terms, graph.exports),
    }


def _links(graph: PhysicalGraph, terms: Terms, links: Iterable[PortLink]) -> Table:
    ordered = sorted(links, key=lambda each: (each.name, graph.operators[each.operator].name, each.port))
    return _columns(
        ordered,
        {
            "name": (TEXT, "name"),
            "operator": (terms.name, "operator"),
            "port": (INTEGER, "port"),
            "parameters": (VALUE, "parameters"),
        },
    )


def _fusion_plan(stages: Stages, terms: Terms) -> Section:
    plan = stages.fusion
    assert plan is not None
    parted = any(pe.origin >= 0 for pe in plan.pes)
    return {
        "scheme": plan.scheme,
        "pes": Table(
            {
                "id": Column(INTEGER, (pe.id for pe in plan.pes)),
                "operators": Column(Listed(terms.name), (pe.operators for pe in plan.pes)),
                "host": Column(INTEGER, (pe.host for pe in plan.pes)),
                "restartable": Column(BOOLEAN, (pe.restartable for pe in plan.pes)),
                "relocatable": Column(BOOLEAN, (pe.relocatable for pe in plan.pes)),
                "inputPorts": Column(Listed(terms.end), (pe.inputs for pe in plan.pes)),
                "outputPorts": Column(
                    Listed(Extended(terms.end, "splitter", terms.channel)), (pe.outputs for pe in plan.pes)
                ),
                **(_parts(plan) if parted else {}),
            }
        ),
        **({"networks": _networks(plan, terms)} if parted else {}),
    }


def _parts(plan: FusionPlan) -> dict[str, Column]:
    """Of which PE each is a part, and on which of its machines."""
    parts = [(pe.origin, pe.machine) if pe.origin >= 0 else (None, None) for pe in plan.pes]
    return {name: Column(VALUE, map(itemgetter(place), parts)) for place, name in enumerate(("origin", "machine"))}


def _networks(plan: FusionPlan, terms: Terms) -> Table:
    rows = plan.networks
    channels = [[each[2:] for each in row.outputs if each.splitter >= 0] for row in rows]
    return Table(
        {
            "id": Column(INTEGER, range(len(rows))),
            "from": Column(terms.end, (row.outputs[0][:2] for row in rows)),
            "channels": Column(Listed(terms.channel), channels),
            "sendPe": Column(INTEGER, (row.sender for row in rows)),
            "receivePe": Column(INTEGER, (row.receiver for row in rows)),
            "to": Column(Listed(terms.end), (row.inputs for row in rows)),
        }
    )


def _thread_plan(stages: Stages, terms: Terms) -> Section:
    plan = stages.threads
    assert plan is not None
    return {
        "threadedPorts": _columns(
            sorted(plan.queues, key=attrgetter("operator", "port")),
            {
                "operator": (terms.name, "operator"),
                "port": (INTEGER, "port"),
                "injected": (BOOLEAN, "injected"),
                "congestionPolicy": (TEXT, "congestion_policy"),
                "queueSize": (INTEGER, "queue_size"),
            },
        ),
        "operators": Table(
            {
                "operator": Column(terms.name, range(len(plan.operators))),
                "threads": Column(INTEGER, map(attrgetter("threads"), plan.operators)),
                "singleThreadedOnInputs": Column(BOOLEAN, map(attrgetter("single_threaded_on_inputs"), plan.operators)),
                "singleThreadedOnOutputs": Column(
                    BOOLEAN, map(attrgetter("single_threaded_on_outputs"), plan.operators)
                ),
                "locked": Column(BOOLEAN, map(attrgetter("locked"), plan.operators)),
            }
        ),
    }


def _copy_plan(stages: Stages, terms: Terms) -> Section:
    plan = stages.copies
    assert plan is not None
    return {
        "connections": Table(
            {
                "from": Column(terms.source, plan.order),
                "to": Column(terms.target, plan.order),
                "passing": Column(Fields(_passing), map(plan.connections.__getitem__, plan.order)),
            }
        ),
        "senderCopies": plan.sender_copies,
        "enqueueCopies": plan.enqueue_copies,
        "eliminated": plan.eliminated,
    }


def _passing(passing: Passing) -> Document:
    document: Document = {
        "passing": passing.passing,
        "constness": passing.constness,
        "reason": passing.reason,
    }
    if passing.attributes is not None:
        document["attributes"] = list(passing.attributes)
    return document


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


def _region_map(stages: Stages, terms: Terms) -> Section:
    del terms
    graph, regions = _physical(stages), stages.regions
    assert regions is not None
    logical = [each.name for each in stages.logical.operators]
    physical = [each.name for each in graph.operators]
    return {
        "logicalRegions": [_region(each, logical, logical=True) for each in regions.logical],
        "regions": [_region(each, physical, logical=False) for each in regions.expanded],
        "autonomous": [name for name, region in zip(physical, regions.region_of, strict=True) if region < 0],
    }


SECTIONS: dict[str, Callable[[Stages, Terms], Section]] = {
    "logicalGraph": _logical_graph,
    "physicalGraph": _physical_graph,
    "fusionPlan": _fusion_plan,
    "threadPlan": _thread_plan,
    "copyPlan": _copy_plan,
    "consistentRegionMap": _region_map,
}
"""By the key of the section, in the order of the document."""
