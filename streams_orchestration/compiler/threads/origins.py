"""Origins of the threads of a PE, and the connections that threads follow (rules 67, 68, 72-74)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from streams_orchestration.compiler.logical_graph import LogicalGraph, LogicalOperator
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.parallel.replicas import replicas_of
from streams_orchestration.compiler.physical_graph import Connection, PhysicalGraph
from streams_orchestration.compiler.stage_results import FusionPlan

Model = Literal["manual", "automatic", "dynamic", "dedicated"]


def threading_model(operator: LogicalOperator, options: Options) -> Model:
    """Return the threading model of the nearest annotation, or else of the options, or else automatic (67, 68)."""
    return operator.threading.model or options.threading or "automatic"


@dataclass(frozen=True, slots=True)
class ThreadOrigins:
    """The operators, ports and connections where threads of a PE originate or end; numbers are physical ones."""

    manual: frozenset[int]
    """Operators under the manual model, which are called only by threads of their producers."""
    dynamic: frozenset[int]
    """Operators under the dynamic model. The threads of a pool call their ports, so producers' threads do not enter."""
    sources: frozenset[int]
    """Operators without input ports; each is the origin of a thread."""
    never_single: frozenset[int]
    """Operators whose model says that a thread of their own submits tuples, whatever threads enter (rule 72)."""
    queued: frozenset[tuple[int, int]]
    """Input ports with a queue; each is the origin of a thread."""
    remote: frozenset[tuple[int, int]]
    """Input ports that are fed from another PE or by an Import; each is the origin of a thread."""
    followed: tuple[Connection, ...]
    """Connections along which the producer's thread calls the consumer."""
    stopped: tuple[Connection, ...]
    """Connections within a PE that end in a queue, where the producer's thread stops."""


def find_origins(
    logical: LogicalGraph,
    physical: PhysicalGraph,
    fusion: FusionPlan,
    queued: Collection[tuple[int, int]],
    options: Options,
) -> ThreadOrigins:
    """Return the operators, ports and connections where threads originate, continue and end.

    Connections between PEs, and those into dynamic operators without a queue, are in neither list of connections.
    """
    dynamic = replicas_of(logical, physical, lambda model: threading_model(model, options) == "dynamic")
    remote = {(link.operator, link.port) for link in physical.imports}
    followed: list[Connection] = []
    stopped: list[Connection] = []
    pe_of = fusion.pe_of
    stopping = {operator for operator, _ in queued}
    for connection in physical.connections:
        source, _, target, port, _, _ = connection
        if pe_of[source] != pe_of[target]:
            remote.add((target, port))
        elif target in stopping and (target, port) in queued:
            stopped.append(connection)
        elif target not in dynamic:
            followed.append(connection)
    return ThreadOrigins(
        replicas_of(logical, physical, lambda model: threading_model(model, options) == "manual"),
        dynamic,
        replicas_of(logical, physical, lambda model: not model.inputs),
        replicas_of(logical, physical, lambda model: model.single_threaded == "Never"),
        frozenset(queued),
        frozenset(remote),
        tuple(followed),
        tuple(stopped),
    )


Begin = Literal["source", "queue", "PE input", "port"]
"""The kind of a thread's origin: an operator without inputs, a queue, a stream from another PE, a port (rule 73)."""


def threads_at(operator: int, inputs: int, origins: ThreadOrigins) -> list[tuple[Begin, int]]:
    """Return the threads that originate in front of an operator, each with its input port, -1 for none (rule 73).

    A port with a queue has only the queue's thread. Any other port of an operator that is not manual has a thread for
    calls of the platform. A port that is fed from another PE or by an Import has a further thread, unless the operator
    is dynamic and a pool calls it.
    """
    begun: list[tuple[Begin, int]] = [("source", -1)] if operator in origins.sources else []
    for port in range(inputs):
        if (operator, port) in origins.queued:
            begun.append(("queue", port))
            continue
        if operator not in origins.manual:
            begun.append(("port", port))
        if (operator, port) in origins.remote and operator not in origins.dynamic:
            begun.append(("PE input", port))
    return begun
