"""Checks of input ports that expect window punctuation (rules 25, 26)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from streams_orchestration.compiler.logical_graph import LogicalConnection, LogicalGraph, LogicalOperator
from streams_orchestration.model.containers import is_mapping
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.programs import LOGIC


def check_punctuation(graph: LogicalGraph) -> Iterator[Diagnostic]:
    """Yield the faults of ports that expect window punctuation: none arrives, or it comes by a way that is not allowed.

    Such ways are several streams, an Import, the border of a parallel region, and a loop that only preserves it. A port
    without a stream has no fault.
    """
    expecting = [
        (operator, port)
        for operator in graph.operators
        for port, model in enumerate(operator.inputs)
        if model.expects_window_punctuation
    ]
    if not expecting:
        return
    upstream: dict[tuple[int, int], list[LogicalConnection]] = defaultdict(list)
    for connection in graph.connections:
        upstream[connection.target, connection.target_port].append(connection)
    imported = {(link.operator, link.port) for link in graph.imports}
    for operator, port in expecting:
        for code, message in _findings(graph, upstream, imported, operator, port):
            yield Diagnostic.of(code, message, operator=operator.name, location=operator.location)


def _findings(
    graph: LogicalGraph,
    upstream: dict[tuple[int, int], list[LogicalConnection]],
    imported: set[tuple[int, int]],
    consumer: LogicalOperator,
    port: int,
) -> Iterator[tuple[str, str]]:
    """Yield the code and the message of each fault of a port that expects window punctuation, by a walk upstream.

    The walk passes ports that preserve punctuation, and ends at one that generates it. A Custom of functions without
    `onPunctuation` is passed, too: it forwards markers, and its functions may submit some. A Custom in SPL forwards
    none, so the walk ends there.
    """
    expects = f"input port {port} expects window punctuation"
    current, current_port = consumer, port
    seen: set[int] = set()
    bordered = False
    custom: LogicalOperator | None = None
    while True:
        feeds = upstream[current.index, current_port]
        if len(feeds) > 1:
            names = ", ".join(graph.operators[feed.source].name for feed in feeds)
            yield "CDISP0110E", f"{expects} and is fed by several streams: {names}"
            return
        if (current.index, current_port) in imported:
            yield "CDISP0442E", f"{expects} and is fed by an Import"
            return
        if not feeds:
            return
        producer = graph.operators[feeds[0].source]
        output = producer.outputs[feeds[0].source_port]
        if not bordered and producer.regions and producer.regions[-1:] != current.regions[-1:]:
            # The region check ends its walk here; the ordinary checks continue theirs.
            bordered = True
            region = graph.regions[producer.regions[-1]].name
            if current.regions:
                yield "CDISP0820E", f"{expects} and is fed across the border of the parallel region {region}"
            else:
                yield "CDISP0819E", f"{expects} and is fed from the parallel region {region}"
        if _hands_on(producer):
            custom = custom or producer
        elif _submits_none(producer, feeds[0].source_port):
            if not bordered:
                unless = "" if custom is None else f"unless the functions of {custom.name} make them, "
                yield (
                    "SO0308",
                    f"{expects}; the logic of {producer.name} submits no window markers, so {unless}its windows do not "
                    "close before the end",
                )
            return
        elif output.generates_window_punctuation:
            return
        elif not output.preserves_window_punctuation:
            if custom is not None:
                yield (
                    "SO0308",
                    f"{expects}; the stream of {producer.name} has none, so unless the functions of {custom.name} make "
                    "them, its windows do not close before the end",
                )
            elif not bordered:  # one finding a port: the border stays wrong whatever the producer does
                yield "CDISP0111E", f"{expects}, and the stream of {producer.name} has none"
            return
        if producer.index in seen:
            yield "CDISP0112E", f"{expects} and is fed by a loop that only preserves it"
            return
        seen.add(producer.index)
        current = producer
        current_port = output.preserved_port if len(producer.inputs) > 1 else 0


def _hands_on(operator: LogicalOperator) -> bool:
    """Return True for a Custom with one input port and functions, none of them `onPunctuation`: it forwards markers."""
    own = operator.parameters.keys() & {"onPunctuation", LOGIC}
    return _is_custom(operator) and len(operator.inputs) == 1 and not own


def _submits_none(operator: LogicalOperator, port: int) -> bool:
    """Return True for a Custom in SPL whose logic submits no window markers to an output port."""
    logic = operator.parameters.get(LOGIC)
    if not (_is_custom(operator) and is_mapping(logic)):
        return False
    from streams_orchestration.spl.programs.markers import ports_with_markers

    ports = ports_with_markers(logic, len(operator.inputs), len(operator.outputs))
    return ports is not None and port not in ports


def _is_custom(operator: LogicalOperator) -> bool:
    return operator.standard and operator.kind == "Custom"
