"""Finds operators that wait on one port for a call on another while one thread drives both ports."""

from __future__ import annotations

from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.threads.origins import ThreadOrigins
from streams_orchestration.model.diagnostics import Diagnostic

_Origin = tuple[str, int, int]
"""The origin of a thread: its kind, the operator, and the port (-1 without one)."""


def check_waits(logical: LogicalGraph, physical: PhysicalGraph, origins: ThreadOrigins) -> list[Diagnostic]:
    """Return SO1201 for every logical operator that would wait for its own thread.

    A thread drives a port when its calls can come in there: through a queue on the port, from another PE, or by
    direct calls from upstream. Only threads that exist under every threading model count.
    """
    by_model: dict[int, Diagnostic] = {}
    search: _Drivers | None = None
    for operator in physical.operators:
        model = logical.operators[operator.logical]
        for port, other in model.waits if model.index not in by_model else ():
            search = search or _Drivers(logical, physical, origins)
            common = search.of(operator.index, port) & search.of(operator.index, other)
            if common:
                kind, where, at = min(common)
                begin = f"{kind} {physical.operators[where].name}" + (f", port {at}" if at >= 0 else "")
                message = f"{operator.name} waits on port {port} for port {other}, and one thread drives both ({begin})"
                by_model[model.index] = Diagnostic.of("SO1201", message, operator=model.name, location=model.location)
                break
    return list(by_model.values())


class _Drivers:
    """A search upstream from the ports of waiting operators, with results remembered by producer."""

    def __init__(self, logical: LogicalGraph, physical: PhysicalGraph, origins: ThreadOrigins) -> None:
        self._logical = logical
        self._physical = physical
        self._origins = origins
        self._behind: dict[int, frozenset[_Origin]] = {}
        self._producers: dict[tuple[int, int], list[int]] = {}
        self._upstream: dict[int, list[int]] = {}
        for connection in origins.followed:
            self._producers.setdefault((connection.target, connection.target_port), []).append(connection.source)
            self._upstream.setdefault(connection.target, []).append(connection.source)

    def of(self, index: int, port: int) -> frozenset[_Origin]:
        """Return the origins of the threads that drive an input port."""
        result = self._at(index, port)
        for producer in self._producers.get((index, port), ()):
            if producer not in self._behind:
                self._behind[producer] = self._leaving(producer)
            result |= self._behind[producer]
        return result

    def _at(self, index: int, port: int) -> frozenset[_Origin]:
        """Return the threads that originate at an input port itself: at its queue, its pool, or its PE input."""
        if (index, port) in self._origins.queued:
            return frozenset({("the queue of", index, port)})
        if index in self._origins.dynamic:
            return frozenset({("the pool at", index, port)})
        if (index, port) in self._origins.remote:
            return frozenset({("the PE input at", index, port)})
        return frozenset()

    def _leaving(self, producer: int) -> frozenset[_Origin]:
        """Return the origins of the threads that submit the output tuples of an operator."""
        result: set[_Origin] = set()
        stack = [producer]
        seen = {producer}
        while stack:
            index = stack.pop()
            if index in self._origins.sources:
                result.add(("the source", index, -1))
            if index in self._origins.never_single:
                result.add(("the thread of", index, -1))
            for port in range(len(self._logical.operators[self._physical.operators[index].logical].inputs)):
                result |= self._at(index, port)
            for other in self._upstream.get(index, ()):
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
        return frozenset(result)
