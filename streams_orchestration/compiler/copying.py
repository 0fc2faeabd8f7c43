"""Copies: where the tuples of a stream are handed on, and where a consumer needs one of its own (rules 78-91)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, groupby, islice
from operator import itemgetter, le
from typing import Any, NamedTuple

from streams_orchestration.compiler.copy_count import enqueue_copies
from streams_orchestration.compiler.graph import Connection, InputPort, LogicalGraph, Mutates, PhysicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.stage_results import CopyPlan, FusionPlan, Passing, ThreadPlan
from streams_orchestration.model.diagnostics import Diagnostic

_SERIALIZED = "the consumer is in another PE and gets a tuple of its own from the transport"
_ENQUEUED = "the queue in front of the consumer takes a copy"
_SHARED = "the consumer does not change tuples"
_HANDED_OVER = "the producer gives its tuples away and nothing else reads them any more"
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
"""The rules behind a reason."""


def plan_copies(
    logical: LogicalGraph, physical: PhysicalGraph, fusion: FusionPlan, threads: ThreadPlan, options: Options
) -> tuple[CopyPlan, list[Diagnostic]]:
    """Decide how tuples pass every connection.

    `constness` is that of the tuple which the consuming operator gets: mutable where its input port changes tuples.
    A consumer that changes them is handed the original only if the output port lets go of it and nothing is served
    afterwards (rule 82); splitters are served last, so on a port with one it never is. Unless the options say
    `faithful`, the order of direct consumers is chosen for that (rule 90): those that only read, queues among them,
    then those that change the tuple, with the most expensive copy last; and an input port that names the attributes
    it changes gets a copy of these only.

    Copies are counted for one tuple on every output port. `eliminated` says how many fewer they are than with a copy
    on every direct connection within a PE.
    """
    queued = {(queue.operator, queue.port) for queue in threads.queues}
    decide = _Decisions(logical, physical, fusion, queued, options.faithful)
    passings: list[Passing] = []
    order: list[int] = []
    for _, group in groupby(physical.connections, key=itemgetter(0, 1)):
        connections = list(group)
        first = len(passings)
        served, decisions = decide.port(connections)
        order += [first + position for position in served] if served else range(first, first + len(connections))
        passings += decisions
    if options.faithful:
        order = list(range(len(order)))
    ways = [each.passing for each in passings]
    copies = ways.count("copy")
    enqueued = enqueue_copies(physical, compress(physical.connections, map("enqueue".__eq__, ways)))
    return CopyPlan(tuple(passings), tuple(order), copies, enqueued, ways.count("reference")), []


_WHOLE = 1 << 30
_REMOTELY, _DIRECT, _SPLIT = 0, 1, 1 << 31
"""Places in the order of service (rule 81)."""


class _Consumer(NamedTuple):
    """What an input port does to tuples."""

    changes: bool
    place: int
    """Where it is served among direct consumers: those that change nothing, then by the attributes to be copied."""
    copied: Mutates


def _consumer(port: InputPort, faithful: bool) -> _Consumer:
    if not port.mutable or port.mutates == ():
        return _Consumer(False, _DIRECT, None)
    if faithful:
        return _Consumer(True, _DIRECT, None)
    return _Consumer(True, _DIRECT + (_WHOLE if port.mutates is None else 1 + len(port.mutates)), port.mutates)


# Every passing is made once, however many connections have it; those of a pair by whether the consumer changes tuples.
_REMOTE = Passing("serialize", "const", _SERIALIZED), Passing("serialize", "mutable", _SERIALIZED)
_QUEUED = Passing("enqueue", "const", _ENQUEUED), Passing("enqueue", "mutable", _ENQUEUED)
_READ = Passing("reference", "const", _SHARED)
_GIVEN = Passing("reference", "mutable", _HANDED_OVER)


class _Decisions:
    """Decisions about one output port at a time."""

    def __init__(
        self,
        logical: LogicalGraph,
        physical: PhysicalGraph,
        fusion: FusionPlan,
        queued: set[tuple[int, int]],
        faithful: bool,
    ) -> None:
        consumers = [tuple(_consumer(port, faithful) for port in operator.inputs) for operator in logical.operators]
        self._consumers = [consumers[operator.logical] for operator in physical.operators]
        self._logical = logical
        self._physical = physical
        self._pe_of = fusion.pe_of
        self._queued = queued
        self._copies = {reason: _Copies(reason) for reason in (_KEPT, _SPLITTER, _READ_LATER)}

    def port(self, connections: Sequence[Connection]) -> tuple[Sequence[int], Sequence[Passing]]:
        """The order of service of all connections of a port, empty when it is their own, and the passing of each."""
        pe_of, consumers, queued = self._pe_of, self._consumers, self._queued
        here = pe_of[connections[0].source]
        split = False
        places: list[int] = []
        passings: list[Any] = []
        changing: list[int] = []
        for _, _, target, port, splitter, _ in connections:
            consumer = consumers[target][port]
            place = _DIRECT
            if pe_of[target] != here:
                passings.append(_REMOTE[consumer.changes])
                place = _REMOTELY
            elif (target, port) in queued:
                passings.append(_QUEUED[consumer.changes])
            elif not consumer.changes:
                passings.append(_READ)
            else:
                changing.append(len(passings))
                passings.append(consumer)
                place = consumer.place
            if splitter >= 0:
                split = True
                place = _SPLIT
            places.append(place)
        ordered = all(map(le, places, islice(places, 1, None)))
        served = [] if ordered else sorted(range(len(places)), key=places.__getitem__)
        last = len(places) - 1 if ordered else served[-1]
        if changing:
            source, source_port = connections[0][:2]
            gives = self._logical.operators[self._physical.operators[source].logical].outputs[source_port].mutable
            copies = self._copies[_KEPT if not gives else _SPLITTER if split else _READ_LATER]
            given = gives and not split
            for position in changing:
                consumer = passings[position]
                passings[position] = _GIVEN if given and position == last else copies[consumer.copied]
        return served, passings


class _Copies(dict[Mutates, Passing]):
    """Passings by copy for one reason, by the attributes that are copied."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __missing__(self, attributes: Mutates) -> Passing:
        passing = self[attributes] = Passing("copy", "mutable", self._reason, attributes)
        return passing
