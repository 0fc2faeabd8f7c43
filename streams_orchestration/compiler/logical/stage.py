"""The first stage flattens the application to primitive operators and the streams between them.

Composites are opened, however deeply they are nested: an operator inside one gets a dotted name such as `Outer.Scale`.
Submission-time values, defaults and annotations that an operator inherits from the composites around it are
substituted, so that no later stage reads the spec again. The tour has no composite; it has three operators and two
connections, each of them from an output port to an input port.

A parallel region is only noted here: its width, and by which attributes tuples are to be routed to its channels.

    >>> from streams_orchestration.compiler.tour import results_before
    >>> graph, findings = LOGICAL_STAGE.compute(results_before(LOGICAL))
    >>> for operator in graph.operators:
    ...     print(operator.index, operator.name, operator.kind, [port.stream for port in operator.outputs])
    0 Read Beacon ['Readings']
    1 Scale Functor ['Scaled']
    2 Write FileSink []
    >>> [(each.source, each.target) for each in graph.connections]
    [(0, 1), (1, 2)]
    >>> [(region.name, region.width, region.routing) for region in graph.regions]
    [('Scale', 2, {'in0': Routing(policy='hash', attributes=('sensor',))})]
    >>> [(each.kind, each.scope, each.trigger, each.values) for each in graph.annotations]
    [('consistent', 'Read', 'periodic', {'period': 1.0})]
    >>> findings
    []
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from operator import attrgetter

from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.logical.logical import build_logical_graph
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.sections.tables import INTEGER, TEXT, Table, listed
from streams_orchestration.compiler.sections.terms import Section, Terms
from streams_orchestration.compiler.stage import LOGICAL, Stage, Summary
from streams_orchestration.model.application import Application
from streams_orchestration.model.secrets import without_secrets


def connections_have_ends(done: Progress) -> Iterator[str]:
    """Check that every logical connection joins an existing output port and an existing input port."""
    operators = done[LogicalGraph].operators
    for c in done[LogicalGraph].connections:
        if not (0 <= c.source < len(operators) and c.source_port < len(operators[c.source].outputs)):
            yield f"a connection starts at output {c.source_port} of operator {c.source}, which does not exist"
        if not (0 <= c.target < len(operators) and c.target_port < len(operators[c.target].inputs)):
            yield f"a connection ends at input {c.target_port} of operator {c.target}, which does not exist"


def _logical_graph(done: Progress, terms: Terms) -> Section:
    del terms
    graph = done[LogicalGraph]
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
                "name": (TEXT, (each.name for each in operators)),
                "kind": (TEXT, (each.kind for each in operators)),
                "inputs": (INTEGER, (len(each.inputs) for each in operators)),
                "outputs": (INTEGER, (len(each.outputs) for each in operators)),
            }
        ),
        "streams": Table(
            {
                "name": (TEXT, (stream for stream, *_ in streams)),
                "from": (own.port, ports),
                "to": (listed(own.end), (targets.get(port, ()) for port in ports)),
            }
        ),
    }


def _summary(done: Progress) -> Summary:
    graph = done[LogicalGraph]
    summary: Summary = {
        "operators": len(graph.operators),
        "connections": len(graph.connections),
        "parallel_regions": len(graph.regions),
        "kinds": (dict(sorted(Counter(op.kind for op in graph.operators).items()))),
    }
    if graph.submission:
        summary["submission"] = without_secrets(graph.submission)
    return summary


LOGICAL_STAGE = Stage(
    name=LOGICAL,
    result=LogicalGraph,
    inputs=(),
    description="The application flattened to primitive operators and the streams between them.",
    compute=lambda done: build_logical_graph(done[Application], done.options),
    subject="values",
    invariant=connections_have_ends,
    summary=_summary,
    key="logicalGraph",
    place=0,
    section=_logical_graph,
    empty={"operators": [], "streams": []},
)
