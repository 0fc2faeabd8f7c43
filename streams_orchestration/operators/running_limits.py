"""What compiles as in Streams, but does not act at run time: said before an application is deployed."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.graph import LogicalGraph
from streams_orchestration.model.diagnostics import Diagnostic


def running_limits(graph: LogicalGraph) -> Iterator[Diagnostic]:
    """Imports, which would wait for good, exports that nobody hears, and queues that were to drop tuples."""
    for link in graph.imports:
        message = "streams of other applications cannot be read yet"
        yield Diagnostic.of("SO5005", message, operator=link.name, location=link.location)
    for link in graph.exports:
        message = "no other application can read the stream yet"
        yield Diagnostic.of("SO5006", message, operator=link.name, location=link.location)
    for operator in graph.operators:
        for queue in operator.threaded_ports:
            if queue.congestion_policy != "Sys.Wait":
                message = f"the queue of input port {queue.port} is {queue.congestion_policy}, and will not drop tuples"
                yield Diagnostic.of("SO5007", message, operator=operator.name, location=operator.location)
