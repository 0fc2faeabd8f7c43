"""How many threads enter every operator, queue and PE output port (rules 73, 74)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from streams_orchestration.compiler.components import strong_components
from streams_orchestration.compiler.graph import LogicalGraph, PhysicalGraph
from streams_orchestration.compiler.stage_results import FusionPlan, PeOutputPort
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
    anything, so beyond `EXACT_BITS` a set is no more than its only member, or that there are several: linear, and
    still right about that question. In smaller PEs sets are exact, as bit sets in integers.
    """
    own, behind, threads = _own_threads(logical, physical, fusion, origins)
    exact = [len(pe.operators) * threads[pe.id] <= EXACT_BITS for pe in fusion.pes]
    successors: list[list[int]] = [[] for _ in physical.operators]
    for source, _, target, _, _, _ in origins.followed:
        successors[source].append(target)
    into_queues: dict[int, list[tuple[int, int]]] = {}
    for source, _, target, port, _, _ in origins.stopped:
        into_queues.setdefault(source, []).append((target, port))
    outputs: dict[int, list[PeOutputPort]] = {}
    for pe in fusion.pes:
        for port in pe.outputs:
            outputs.setdefault(port.operator, []).append(port)

    kinds = [_EXACT if each else _TRUNCATED for each in exact]
    pe_of = fusion.pe_of
    entering: list[int] = [kinds[pe].span(*span) for pe, span in zip(pe_of, own, strict=True)]
    counts = [0] * len(physical.operators)
    queues: dict[tuple[int, int], int] = {}
    pe_outputs: dict[PeOutputPort, int] = {}
    for component in strong_components(successors):
        sets = kinds[pe_of[component[0]]]
        join = sets.join
        inside: Collection[int] = ()
        if len(component) > 1 or component[0] in successors[component[0]]:
            together = 0
            for index in component:
                together = join(together, join(entering[index], sets.span(*behind[index])))
            for index in component:
                entering[index] = together
            inside = frozenset(component)
        for index in component:
            entered = entering[index]
            leaving = join(entered, sets.span(*behind[index])) if index in origins.never_single else entered
            counts[index] = sets.count(entered)
            entering[index] = 0
            for successor in successors[index]:
                before = entering[successor]
                if before != _SEVERAL and successor not in inside:
                    entering[successor] = join(before, leaving)
            for port in into_queues.get(index, ()):
                queues[port] = join(queues[port], leaving) if port in queues else leaving
            for port in outputs.get(index, ()):
                pe_outputs[port] = sets.count(leaving)
    producers = {}
    for port in origins.queued:
        producers[port] = kinds[pe_of[port[0]]].count(queues.get(port, 0)) + (port in origins.remote)
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
    """A representation of sets of threads as integers; 0 is the empty set."""

    span: Callable[[int, int], int]
    """The set of a range of numbers."""
    join: Callable[[int, int], int]
    count: Callable[[int], int]


_SEVERAL = -1


def _few(start: int, stop: int) -> int:
    """The only thread's number, from 1; or that there are several."""
    return start + 1 if stop == start + 1 else _SEVERAL if stop > start else 0


def _join_few(first: int, second: int) -> int:
    if first in (0, second):
        return second
    return first if second == 0 else _SEVERAL


def _count_few(threads: int) -> int:
    return MANY if threads < 0 else int(threads > 0)


_EXACT = _Sets(lambda start, stop: ((1 << (stop - start)) - 1) << start, int.__or__, int.bit_count)
_TRUNCATED = _Sets(_few, _join_few, _count_few)
