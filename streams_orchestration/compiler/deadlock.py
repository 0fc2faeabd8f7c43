"""Operators that wait on one port for a call on another, with one thread driving both."""

from __future__ import annotations

from streams_orchestration.compiler.graph import LogicalGraph, PhysicalGraph
from streams_orchestration.compiler.thread_origins import ThreadOrigins
from streams_orchestration.model.diagnostics import Diagnostic

_Origin = tuple[str, int, int]
"""Where a thread begins: what kind of place, the operator, and its port or -1."""


def check_waits(logical: LogicalGraph, physical: PhysicalGraph, origins: ThreadOrigins) -> list[Diagnostic]:
    """SO1201 for every logical operator that would wait for its own thread.

    A thread drives a port when its calls can come in there: through a queue on the port, from another PE, or by
    direct calls from upstream. Only threads that exist under every threading model count. The search goes upstream
    from the ports of waiting operators, which are few.
    """
    waiting = [each for each in physical.operators if logical.operators[each.logical].waits]
    if not waiting:
        return []
    producers: dict[tuple[int, int], list[int]] = {}
    upstream: dict[int, list[int]] = {}
    for connection in origins.followed:
        producers.setdefault((connection.target, connection.target_port), []).append(connection.source)
        upstream.setdefault(connection.target, []).append(connection.source)
    found: dict[int, Diagnostic] = {}
    for operator in waiting:
        model = logical.operators[operator.logical]
        for port, other in model.waits:
            if model.index in found:
                break
            ends = [_entered(operator.index, each, origins) for each in (port, other)]
            first, second = (
                entered or _drivers(logical, physical, origins, upstream, producers, (operator.index, each))
                for entered, each in zip(ends, (port, other), strict=True)
            )
            common = first & second
            if common:
                kind, where, at = min(common)
                begin = f"{kind} {physical.operators[where].name}" + (f", port {at}" if at >= 0 else "")
                message = f"{operator.name} waits on port {port} for port {other}, and one thread drives both ({begin})"
                found[model.index] = Diagnostic.of("SO1201", message, operator=model.name, location=model.location)
    return list(found.values())


def _entered(index: int, port: int, origins: ThreadOrigins) -> set[_Origin]:
    """The one origin of a port that has a thread of its own, empty for others."""
    if (index, port) in origins.queued:
        return {("the queue of", index, port)}
    if index in origins.dynamic:
        return {("the pool at", index, port)}
    return set()


def _drivers(
    logical: LogicalGraph,
    physical: PhysicalGraph,
    origins: ThreadOrigins,
    upstream: dict[int, list[int]],
    producers: dict[tuple[int, int], list[int]],
    port: tuple[int, int],
) -> set[_Origin]:
    """Threads that direct calls bring to a port."""
    result: set[_Origin] = set()
    if port in origins.remote:
        result.add(("the PE input at", *port))
    stack = list(producers.get(port, ()))
    seen = set(stack)
    while stack:
        index = stack.pop()
        if index in origins.sources:
            result.add(("the source", index, -1))
        if index in origins.never_single:
            result.add(("the thread of", index, -1))
        for number in range(len(logical.operators[physical.operators[index].logical].inputs)):
            own = _entered(index, number, origins)
            result |= own
            if not own and (index, number) in origins.remote:
                result.add(("the PE input at", index, number))
        for producer in upstream.get(index, ()):
            if producer not in seen:
                seen.add(producer)
                stack.append(producer)
    return result
