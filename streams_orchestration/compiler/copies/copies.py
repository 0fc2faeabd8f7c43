"""Copies: the decision for each connection whether tuples are passed by reference or copied (rules 78-91)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter, le
from typing import Any, NamedTuple

from streams_orchestration.compiler.logical_graph import InputPort, LogicalGraph, Mutates
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import Connection, PhysicalGraph
from streams_orchestration.compiler.stage_results import CopyPlan, FusionPlan, Passing, ThreadPlan


def enqueue_copies(physical: PhysicalGraph, enqueued: Iterable[Connection]) -> int:
    """Return the number of copies that queues take if every output port sends one tuple.

    A splitter sends the tuple into one of its channels, and the channel with the most queues is counted. The queues
    after an inner splitter are added to the channel that leads to it.

    Args:
        physical: the expanded graph.
        enqueued: connections within a PE that end in a queue.
    """
    behind: Counter[tuple[int, int]] = Counter(map(attrgetter("splitter", "channel"), enqueued))
    total = behind.pop(_DIRECT, 0)
    most = [0] * len(physical.splitters)
    for (splitter, _), queues in behind.items():
        most[splitter] = max(most[splitter], queues)
    for splitter in reversed(physical.splitters):
        if splitter.parent < 0:
            total += most[splitter.index]
        else:
            holder = splitter.parent, splitter.parent_channel
            behind[holder] += most[splitter.index]
            most[splitter.parent] = max(most[splitter.parent], behind[holder])
    return total


_DIRECT = -1, -1
"""The splitter and the channel of a connection that leaves no splitter."""


_SERIALIZED = "the consumer is in another PE and gets a tuple of its own from the transport"
_ENQUEUED = "the queue in front of the consumer takes a copy"
_SHARED = "the consumer does not change tuples"
_HANDED_OVER = "the producer gives its tuples away and no other consumer reads them afterwards"
_KEPT = "the consumer changes tuples, and the producer keeps its own"
_READ_LATER = "the consumer changes tuples that another consumer reads after it"
_SPLITTER = "the consumer changes tuples, and the port has a splitter, which is served last"

RULES = {
    _SERIALIZED: "81, 87",
    _ENQUEUED: "86",
    _SHARED: "82",
    _HANDED_OVER: "82",
    _KEPT: "82, 84",
    _READ_LATER: "82, 83",
    _SPLITTER: "82, 85",
}
"""Reason of a passing -> the numbers of its rules."""


def plan_copies(
    logical: LogicalGraph, physical: PhysicalGraph, fusion: FusionPlan, threads: ThreadPlan, options: Options
) -> CopyPlan:
    """Decide whether a tuple passes each connection by reference, as a copy or through a queue, and in which order.

    The passing's `constness` is `mutable` if the consumer's input port changes tuples. A consumer that changes tuples
    gets the original only if the output port does not keep it and serves nobody afterwards (rule 82). Splitters are
    served last, so on a port with a splitter no consumer gets the original. Unless the options say `faithful`, direct
    consumers are ordered to save copies (rule 90): first those that only read, queues among them, then those that
    change the tuple, the most expensive copy last. An input port that names the attributes it changes gets a copy of
    these only.
    """
    decided = cache(_decided)  # equal ports of replicas are decided once
    passings: list[Passing] = []
    order = list(range(len(physical.connections)))
    enqueued: list[Connection] = []
    copies = references = 0
    for ways in _ways_by_port(logical, physical, fusion, threads, options, enqueued):
        port = decided(tuple(ways))
        if port.served and not options.faithful:
            first = len(passings)
            order[first : first + len(port.served)] = [first + position for position in port.served]
        passings += port.passings
        copies += port.copies
        references += port.references
    return CopyPlan(tuple(passings), tuple(order), copies, enqueue_copies(physical, enqueued), references)


_WHOLE = 1 << 30
_REMOTELY, _DIRECTLY, _LAST = 0, 1, 1 << 31
"""Positions of the consumers of an output port in its serving order (rule 81).

Other PEs come first, then direct consumers and queues, then splitters."""


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """The manner in which tuples get from an output port to a consumer; equal connections share one object."""

    passing: Passing | None
    """The passing of this connection; None if the consumer changes tuples, so that the other consumers decide it."""
    place: int
    """The place in the serving order; a consumer that needs a larger copy has a later place."""
    split: bool = False
    copied: Mutates = None


# Each passing is created once for all connections. The second one of a pair is for consumers that change tuples.
_REMOTE = Passing("serialize", "const", _SERIALIZED), Passing("serialize", "mutable", _SERIALIZED)
_QUEUED = Passing("enqueue", "const", _ENQUEUED), Passing("enqueue", "mutable", _ENQUEUED)
_READ = Passing("reference", "const", _SHARED)
_GIVEN = Passing("reference", "mutable", _HANDED_OVER)


def _ways(port: InputPort, *, faithful: bool) -> tuple[_Way, ...]:
    """Return the six ways to an input port, by the indexes below.

    The first three are direct, through a queue and from another PE. The other three are the same after a splitter.
    """
    changes = port.mutable and (faithful or port.mutates != ())
    copied = None if faithful or not changes else port.mutates
    cost = 0 if faithful or not changes else _WHOLE if copied is None else 1 + len(copied)
    plain = (
        _Way(None if changes else _READ, _DIRECTLY + cost, copied=copied),
        _Way(_QUEUED[changes], _DIRECTLY),
        _Way(_REMOTE[changes], _REMOTELY),
    )
    return *plain, *(_Way(each.passing, _LAST, split=True, copied=each.copied) for each in plain)


_THROUGH_QUEUE, _FROM_OTHER_PE, _AFTER_SPLITTER = 1, 2, 3
"""Indexes in the result of `_ways`; after a splitter, the last number is added to the index."""


def _ways_by_port(
    logical: LogicalGraph,
    physical: PhysicalGraph,
    fusion: FusionPlan,
    threads: ThreadPlan,
    options: Options,
    enqueued: list[Connection],
) -> Iterator[list[_Way | bool]]:
    """Yield a list for every output port with consumers.

    Its first item is True if the port is mutable: a consumer may change its tuples without a copy. The others are the
    ways to the consumers. Connections that end in a queue are appended to `enqueued`.
    """
    gives = [tuple(port.mutable for port in model.outputs) for model in logical.operators]
    ways = [tuple(_ways(port, faithful=options.faithful) for port in model.inputs) for model in logical.operators]
    ways_to = [ways[operator.logical] for operator in physical.operators]
    pe_of = fusion.pe_of
    queued = {(queue.operator, queue.port) for queue in threads.queues}
    queueing = {operator for operator, _ in queued}
    last = last_port = pe = -1
    reaching: list[_Way | bool] = []
    for connection in physical.connections:
        source, source_port, target, port, splitter, _ = connection
        if source != last or source_port != last_port:
            if reaching:
                yield reaching
            last = source
            last_port = source_port
            pe = pe_of[source]
            reaching = [gives[physical.operators[source].logical][source_port]]
        way = _AFTER_SPLITTER if splitter >= 0 else 0
        if pe_of[target] != pe:
            way += _FROM_OTHER_PE
        elif target in queueing and (target, port) in queued:
            way += _THROUGH_QUEUE
            enqueued.append(connection)
        reaching.append(ways_to[target][port][way])
    if reaching:
        yield reaching


class _Port(NamedTuple):
    """The decisions about the connections of one output port."""

    served: Sequence[int]
    """The serving order of all connections, empty if it is their order in the graph."""
    passings: Sequence[Passing]
    copies: int
    references: int


def _decided(key: tuple[Any, ...]) -> _Port:
    """Return the decisions about an output port: True if it is mutable, then the ways to its consumers in order."""
    gives: bool = key[0]
    ways: Sequence[_Way] = key[1:]
    split = any(way.split for way in ways)
    places = [way.place for way in ways]
    served = sorted(range(len(ways)), key=places.__getitem__)
    reason = _KEPT if not gives else _SPLITTER if split else _READ_LATER
    passings = [way.passing or Passing("copy", "mutable", reason, way.copied) for way in ways]
    if gives and not split and ways[served[-1]].passing is None:
        passings[served[-1]] = _GIVEN
    names = [passing.passing for passing in passings]
    ordered = all(map(le, places, places[1:]))
    return _Port([] if ordered else served, passings, names.count("copy"), names.count("reference"))
