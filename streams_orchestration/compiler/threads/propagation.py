"""The number of threads that enter every operator and queue (rules 73, 74)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from operator import or_  # pyright: ignore[reportUnknownVariableType]
from typing import cast

from streams_orchestration.compiler.components import producers_first
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import FusionPlan
from streams_orchestration.compiler.threads.origins import ThreadOrigins, threads_at

EXACT_BITS = 1 << 28
"""The largest product of the numbers of operators and threads of a PE up to which threads are counted exactly.

The bit sets of such a PE take at most 32 MB."""
MANY = 2
"""The count that represents two or more threads in a PE too large for exact counts."""
_NONE = 0, 0
_SEVERAL = -1


@dataclass(frozen=True, slots=True)
class Entering:
    """The numbers of threads that enter operators and queues."""

    operators: list[int]
    queues: dict[tuple[int, int], int]
    """(operator, input port) -> the number of threads that put tuples into the port's queue."""


def count_threads(
    logical: LogicalGraph, physical: PhysicalGraph, fusion: FusionPlan, origins: ThreadOrigins
) -> Entering:
    """Return the numbers of threads that enter every operator and every queue.

    Sets of threads flow along the connections: the threads that leave an operator are the threads that enter it and its
    own. Strongly connected components count as one operator each, producers first, so sets pass every connection once.
    Full sets would make the work quadratic in the size of the PE. Only the difference between one thread and several
    matters, so beyond `EXACT_BITS` a set holds its only member or says that there are several, which keeps the work
    linear. In smaller PEs sets are exact, as bit sets in integers.
    """
    own, behind, threads = _own_threads(logical, physical, fusion, origins)
    exact = [len(pe.operators) * threads[pe.id] <= EXACT_BITS for pe in fusion.pes]
    successors: list[list[int]] = [[] for _ in physical.operators]
    for source, _, target, _, _, _ in origins.followed:
        successors[source].append(target)
    components = producers_first(logical, physical, successors)
    # A queue is one more consumer, which sends nothing on.
    queues = {port: number for number, port in enumerate(origins.queued, len(successors))}
    for source, _, target, port, _, _ in origins.stopped:
        successors[source].append(queues[target, port])

    kinds = [_EXACT if each else _TRUNCATED for each in exact]
    pe_of = fusion.pe_of
    entering: list[int] = [kinds[pe].span(*span) for pe, span in zip(pe_of, own, strict=True)]
    entering += [0] * len(queues)
    counts = [0] * len(pe_of)
    for component in components:
        sets = kinds[pe_of[component[0]]]
        join = sets.join
        inside: Collection[int] = ()
        if len(component) > 1 or component[0] in successors[component[0]]:
            together = 0
            for index in component:
                together = join(together, join(entering[index], sets.span(*behind.get(index, _NONE))))
            for index in component:
                entering[index] = together
            inside = frozenset(component)
        for index in component:
            leaving = entering[index]
            counts[index] = sets.count(leaving)
            entering[index] = 0
            if index in behind:
                leaving = join(leaving, sets.span(*behind[index]))
            for successor in successors[index]:
                before = entering[successor]
                if before != _SEVERAL and successor not in inside:
                    entering[successor] = join(before, leaving)
    producers = {
        port: kinds[pe_of[port[0]]].count(entering[queue]) + (port in origins.remote) for port, queue in queues.items()
    }
    return Entering(counts, producers)


def _own_threads(
    logical: LogicalGraph, physical: PhysicalGraph, fusion: FusionPlan, origins: ThreadOrigins
) -> tuple[list[tuple[int, int]], dict[int, tuple[int, int]], list[int]]:
    """Number the threads of each PE.

    Return the range of threads at the inputs of every operator, the range of threads that some operators start
    themselves, and the number of threads of every PE.
    """
    threads = [0] * len(fusion.pes)
    own: list[tuple[int, int]] = []
    behind: dict[int, tuple[int, int]] = {}
    apart = {operator for operator, _ in (*origins.queued, *origins.remote)}
    """Replicas whose number of threads may differ from the other replicas of the same operator."""
    usual: dict[int, int] = {}
    for operator, pe in zip(physical.operators, fusion.pe_of, strict=True):
        index, model = operator.index, operator.logical
        if index in apart or model not in usual:
            begun = len(threads_at(index, len(logical.operators[model].inputs), origins))
            if index not in apart:
                usual[model] = begun
        else:
            begun = usual[model]
        first = threads[pe]
        threads[pe] = last = first + begun
        own.append((first, last))
        if index in origins.never_single:
            behind[index] = last, last + 1
            threads[pe] += 1
    return own, behind, threads


@dataclass(frozen=True, slots=True)
class _Sets:
    """A way to represent a set of threads by an integer; 0 is the empty set."""

    span: Callable[[int, int], int]
    """The function that makes the set of a range of threads, from its first number and the number after its last."""
    join: Callable[[int, int], int]
    count: Callable[[int], int]


def _few(start: int, stop: int) -> int:
    """Encode the threads from `start` up to but without `stop` as an integer.

    It is 0 for no thread, the thread's number plus 1 for a single one, and `_SEVERAL` for more.
    """
    return start + 1 if stop == start + 1 else _SEVERAL if stop > start else 0


def _join_few(first: int, second: int) -> int:
    if first in (0, second):
        return second
    return first if second == 0 else _SEVERAL


def _count_few(threads: int) -> int:
    return MANY if threads < 0 else int(threads > 0)


_join_exact = cast("Callable[[int, int], int]", or_)
"""The union of two sets: `operator.or_`, since it is faster to call than `int.__or__`."""

_EXACT = _Sets(lambda start, stop: ((1 << (stop - start)) - 1) << start, _join_exact, int.bit_count)
_TRUNCATED = _Sets(_few, _join_few, _count_few)
