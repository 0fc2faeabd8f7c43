"""Features that compile as in Streams but have no effect at run time."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.model.diagnostics import Diagnostic


def running_limits(graph: LogicalGraph) -> Iterator[Diagnostic]:
    """Yield a warning for each queue with a policy to drop tuples."""
    for operator in graph.operators:
        for queue in operator.threaded_ports:
            if queue.congestion_policy != "Sys.Wait":
                message = f"the queue of input port {queue.port} is {queue.congestion_policy}, and will not drop tuples"
                yield Diagnostic.of("SO5007", message, operator=operator.name, location=operator.location)
