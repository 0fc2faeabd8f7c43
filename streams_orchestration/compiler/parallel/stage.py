"""The second stage expands parallel regions into replicas, and puts splitters in front of their channels.

Every operator of a region gets one replica a channel, whose name carries the channel in brackets. From here on
operators have the numbers of the *physical graph*. A stream that enters a region passes a *splitter*, which sends each
tuple to one channel: by a hash of attributes, or by turns. The streams that leave the channels simply meet again at the
input port that reads them, so `Write` has two producers.

Regions may be nested, and streams may lead from one region straight into another. A splitter then follows another one,
and the number of connections is the product of the widths that are left and entered.

    >>> from streams_orchestration.compiler.tour import results_before
    >>> graph, findings = PARALLEL_STAGE.compute(results_before(PARALLEL))
    >>> for operator in graph.operators:
    ...     print(operator.index, operator.name, operator.channel, operator.streams)
    0 Read -1 ('Readings',)
    1 Scale[0] 0 ('Scaled[0]',)
    2 Write -1 ()
    3 Scale[1] 1 ('Scaled[1]',)
    >>> for splitter in graph.splitters:
    ...     print(splitter.id, splitter.policy, splitter.attributes, splitter.width)
    Read:0>Scale.in0 hash ('sensor',) 2
    >>> [(each.source, each.target, each.channel) for each in graph.connections]
    [(0, 1, 0), (0, 3, 1), (1, 2, -1), (3, 2, -1)]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from operator import itemgetter

from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.logical_graph import LogicalConnection, LogicalGraph
from streams_orchestration.compiler.parallel.parallel import expand
from streams_orchestration.compiler.physical_graph import PhysicalGraph, PortLink
from streams_orchestration.compiler.sections.tables import (
    BOOLEAN,
    INTEGER,
    TEXT,
    VALUE,
    Table,
    columns_of,
    listed,
    numbered,
)
from streams_orchestration.compiler.sections.terms import Section, Terms
from streams_orchestration.compiler.stage import LOGICAL, PARALLEL, Stage, Summary, SummaryRows


def expansion_is_complete(done: Progress) -> Iterator[str]:
    """Check that replicas and connections are as many as the widths ask for, and both ends of every connection exist.

    Rules 3 and 15.
    """
    logical, physical = done[LogicalGraph], done[PhysicalGraph]
    width = {region.index: region.width for region in logical.regions}
    replicas = Counter(operator.logical for operator in physical.operators)
    for model in logical.operators:
        expected = prod(width[region] for region in model.regions)
        if replicas[model.index] != expected:
            yield f"{model.name} has {replicas[model.index]} replicas, not {expected}"
    actual: Counter[tuple[int, int, int, int]] = Counter()
    for c in physical.connections:
        if not (0 <= c.source < len(physical.operators) and 0 <= c.target < len(physical.operators)):
            yield f"a connection joins operators {c.source} and {c.target}, of which one does not exist"
            continue
        ends = physical.operators[c.source].logical, physical.operators[c.target].logical
        actual[ends[0], c.source_port, ends[1], c.target_port] += 1
    wanted: Counter[tuple[int, int, int, int]] = Counter()
    for c in logical.connections:
        wanted[c.source, c.source_port, c.target, c.target_port] += _expanded(logical, c, width)
    for ends in sorted(wanted | actual):
        if wanted[ends] != actual[ends]:
            source, target = logical.operators[ends[0]].name, logical.operators[ends[2]].name
            times = f"{actual[ends]} connections, not {wanted[ends]}"
            yield f"{source}[{ends[1]}] and {target}[{ends[3]}] are joined by {times}"


def _expanded(logical: LogicalGraph, connection: LogicalConnection, width: Mapping[int, int]) -> int:
    """Return the number of copies of a connection: the product of the widths of its regions (rule 15)."""
    source, target = logical.operators[connection.source], logical.operators[connection.target]
    count = 1
    for region in logical.regions:
        around = (region.index in source.regions) + (region.index in target.regions)
        if around == 2 and not _leaves(connection, region.name, source.name):
            around = 1
        count *= width[region.index] ** around
    return count


def _leaves(connection: LogicalConnection, region: str, source: str) -> bool:
    """Return True if a connection between members of a region leaves the region and enters it again (feedback)."""
    return region == source or any(port.rpartition(".")[0] == f"left:{region}" for port in connection.path)


def _physical_graph(done: Progress, terms: Terms) -> Section:
    graph = done[PhysicalGraph]
    logical = numbered(TEXT, (operator.name for operator in done[LogicalGraph].operators))
    return {
        "operators": columns_of(
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
                "from": (terms.source, range(len(graph.connections))),
                "to": (terms.target, range(len(graph.connections))),
                "splitter": (terms.channel, map(itemgetter(4, 5), graph.connections)),
            }
        ),
        "splitters": Table(
            {
                "id": (TEXT, (each.id for each in graph.splitters)),
                "operator": (terms.name, (each.operator for each in graph.splitters)),
                "port": (INTEGER, (each.port for each in graph.splitters)),
                "regionPort": (TEXT, (each.region_port for each in graph.splitters)),
                "policy": (TEXT, (each.policy for each in graph.splitters)),
                "attributes": (listed(TEXT), (each.attributes for each in graph.splitters)),
                "width": (INTEGER, (each.width for each in graph.splitters)),
                "parent": (terms.channel, ((each.parent, each.parent_channel) for each in graph.splitters)),
                "dropsWindowPunctuation": (BOOLEAN, (each.drops_window_punctuation for each in graph.splitters)),
            }
        ),
        "imports": _links(graph, terms, graph.imports),
        "exports": _links(graph, terms, graph.exports),
    }


def _links(graph: PhysicalGraph, terms: Terms, links: Iterable[PortLink]) -> Table:
    ordered = sorted(links, key=lambda each: (each.name, graph.operators[each.operator].name, each.port))
    return columns_of(
        ordered,
        {
            "name": (TEXT, "name"),
            "operator": (terms.name, "operator"),
            "port": (INTEGER, "port"),
            "parameters": (VALUE, "parameters"),
        },
    )


def _summary(done: Progress) -> Summary:
    graph = done[PhysicalGraph]
    summary: Summary = {
        "operators": len(graph.operators),
        "connections": len(graph.connections),
        "splitters": len(graph.splitters),
    }
    if regions := done[LogicalGraph].regions:
        rows = [(region.name, region.width) for region in regions]
        summary["widths"] = SummaryRows(("region", "width"), rows)
    if graph.splitters:
        rows = [
            (
                splitter.id,
                f"{graph.operators[splitter.operator].name}[{splitter.port}]",
                splitter.region_port,
                splitter.policy,
                ", ".join(splitter.attributes),
                splitter.width,
            )
            for splitter in graph.splitters
        ]
        columns = ("splitter", "output port", "region port", "policy", "attributes", "width")
        summary["splitter_table"] = SummaryRows(columns, rows)
    return summary


PARALLEL_STAGE = Stage(
    name=PARALLEL,
    result=PhysicalGraph,
    inputs=(LOGICAL,),
    description="Every parallel region replicated to its width, with the splitters in front of its channels.",
    compute=lambda done: expand(done[LogicalGraph]),
    subject="parallel",
    invariant=expansion_is_complete,
    summary=_summary,
    key="physicalGraph",
    place=1,
    section=_physical_graph,
    empty={"operators": [], "connections": [], "splitters": [], "imports": [], "exports": []},
)
