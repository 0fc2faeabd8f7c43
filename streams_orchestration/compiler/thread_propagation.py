"""How many threads enter every operator, queue and PE output port (rules 73, 74)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streams_orchestration.compiler.components import strong_components
from streams_orchestration.compiler.graph import FusionPlan, LogicalGraph, PeOutputPort, PhysicalGraph
from streams_orchestration.compiler.thread_origins import ThreadOrigins, threads_at

EXACT_BITS = 1 << 28
"""Operators times threads of a PE up to which threads are counted exactly: 32 MB of bit sets at the very most."""
MANY = 2
"""What a count says in larger PEs when there are this many threads or more."""


@dataclass(frozen=True, slots=True)
class Entering:
    """Numbers of threads."""

    operators: list[int]
    queues: dict[tuple[int, int], int]
    """Threads that put tuples into a queue."""
    pe_outputs: dict[PeOutputPort, int]


def count_threads(
    logical: LogicalGraph, physical: PhysicalGraph, fusion: FusionPlan, origins: ThreadOrigins
) -> Entering:
    """Send every thread of every PE through the connections that it passes, and count.

    The threads that leave an operator are those that enter it and its own, so sets of threads flow once along every
    connection when loops are treated as one operator: the strongly connected components, producers first. A set of
    all threads would be as large as the PE, and the whole quadratic. Only whether it is one thread or several decides
    anything, so beyond `EXACT_BITS` a set keeps two threads and forgets the others: linear, and still right about
    that question, since a union of truncated sets has one member only if the full union has. In smaller PEs sets are
    exact, as bit sets in integers.
    """
    own, behind, threads = _own_threads(logical, physical, fusion, origins)
    exact = [len(pe.operators) * threads[pe.id] <= EXACT_BITS for pe in fusion.pes]
    successors: list[list[int]] = [[] for _ in physical.operators]
    for connection in origins.followed:
        successors[connection.source].append(connection.target)
    into_queues: dict[int, list[tuple[int, int]]] = {}
    for connection in physical.connections:
        port = connection.target, connection.target_port
        if port in origins.queued and fusion.pe_of[connection.source] == fusion.pe_of[connection.target]:
            into_queues.setdefault(connection.source, []).append(port)
    outputs: dict[int, list[PeOutputPort]] = {}
    for pe in fusion.pes:
        for port in pe.outputs:
            outputs.setdefault(port.operator, []).append(port)

    entering: list[Any] = [None] * len(physical.operators)
    counts = [0] * len(physical.operators)
    queues: dict[tuple[int, int], Any] = {}
    pe_outputs: dict[PeOutputPort, int] = {}
    for component in strong_components(successors):
        sets = _EXACT if exact[fusion.pe_of[component[0]]] else _TRUNCATED
        for index in component:
            entered = sets.span(*own[index])
            entering[index] = entered if entering[index] is None else sets.join(entering[index], entered)
        inside = frozenset(component)
        if len(component) > 1 or component[0] in successors[component[0]]:
            together = sets.span(0, 0)
            for index in component:
                together = sets.join(together, sets.join(entering[index], sets.span(*behind[index])))
            for index in component:
                entering[index] = together
        for index in component:
            leaving = sets.join(entering[index], sets.span(*behind[index]))
            counts[index] = sets.count(entering[index])
            entering[index] = None
            for successor in successors[index]:
                if successor not in inside:
                    before = entering[successor]
                    entering[successor] = leaving if before is None else sets.join(before, leaving)
            for port in into_queues.get(index, ()):
                queues[port] = sets.join(queues[port], leaving) if port in queues else leaving
            for port in outputs.get(index, ()):
                pe_outputs[port] = sets.count(leaving)
    producers = {}
    for port in origins.queued:
        sets = _EXACT if exact[fusion.pe_of[port[0]]] else _TRUNCATED
        producers[port] = sets.count(queues.get(port, sets.span(0, 0))) + (port in origins.remote)
    return Entering(counts, producers, pe_outputs)


def _own_threads(
    logical: LogicalGraph, physical: PhysicalGraph, fusion: FusionPlan, origins: ThreadOrigins
) -> tuple[list[tuple[int, int]], list[tuple[int, int]], list[int]]:
    """Threads that begin at an operator's inputs, and behind it, as ranges of numbers; and how many every PE has."""
    threads = [0] * len(fusion.pes)
    own: list[tuple[int, int]] = []
    behind: list[tuple[int, int]] = []
    for operator in physical.operators:
        index = operator.index
        begun = len(threads_at(index, len(logical.operators[operator.logical].inputs), origins))
        pe = fusion.pe_of[index]
        own.append((threads[pe], threads[pe] + begun))
        threads[pe] += begun
        begun = 1 if index in origins.never_single else 0
        behind.append((threads[pe], threads[pe] + begun))
        threads[pe] += begun
    return own, behind, threads


@dataclass(frozen=True, slots=True)
class _Sets:
    """A representation of sets of threads."""

    span: Callable[[int, int], Any]
    """The set of a range of numbers."""
    join: Callable[[Any, Any], Any]
    count: Callable[[Any], int]


def _few(start: int, stop: int) -> frozenset[int]:
    return frozenset(range(start, min(stop, start + MANY)))


def _join_few(first: frozenset[int], second: frozenset[int]) -> frozenset[int]:
    if len(first) >= MANY:
        return first
    joined = first | second
    return joined if len(joined) <= MANY else frozenset(sorted(joined)[:MANY])


_EXACT = _Sets(lambda start, stop: ((1 << (stop - start)) - 1) << start, int.__or__, int.bit_count)
_TRUNCATED = _Sets(_few, _join_few, len)
