"""What compiles as in Streams, but does not act at run time: reported before an application is deployed."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.model.diagnostics import Diagnostic


def running_limits(graph: LogicalGraph) -> Iterator[Diagnostic]:
    """Queues that were to drop tuples."""
    for operator in graph.operators:
        for queue in operator.threaded_ports:
            if queue.congestion_policy != "Sys.Wait":
                message = f"the queue of input port {queue.port} is {queue.congestion_policy}, and will not drop tuples"
                yield Diagnostic.of("SO5007", message, operator=operator.name, location=operator.location)
