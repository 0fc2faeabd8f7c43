"""Copies: where the tuples of a stream are handed on, and where a consumer needs one of its own (rules 78-91)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import groupby

from streams_orchestration.compiler.copy_count import enqueue_copies
from streams_orchestration.compiler.graph import (
    Connection,
    CopyPlan,
    FusionPlan,
    InputPort,
    LogicalGraph,
    Options,
    Passing,
    PhysicalGraph,
    ThreadPlan,
)
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
    decide = _Port(logical, physical, fusion, queued, options.faithful)
    passing: list[Passing | None] = [None] * len(physical.connections)
    order: list[int] = []
    copies = direct = 0
    numbers = range(len(physical.connections))
    for _, group in groupby(numbers, key=lambda number: physical.connections[number][:2]):
        served = decide.order(list(group))
        order += served
        for number, decision in zip(served, decide.passings(served), strict=True):
            passing[number] = decision
            copies += decision.passing == "copy"
            direct += decision.passing in ("copy", "reference")
    enqueued = enqueue_copies(physical, fusion, queued)
    if options.faithful:
        order = list(numbers)
    return CopyPlan(tuple(each for each in passing if each), tuple(order), copies, enqueued, direct - copies), []


class _Port:
    """Decisions about one output port at a time."""

    def __init__(
        self,
        logical: LogicalGraph,
        physical: PhysicalGraph,
        fusion: FusionPlan,
        queued: set[tuple[int, int]],
        faithful: bool,
    ) -> None:
        self._logical = logical
        self._physical = physical
        self._pe_of = fusion.pe_of
        self._queued = queued
        self._faithful = faithful

    def order(self, numbers: Sequence[int]) -> list[int]:
        """Connections of one port in the order of service."""
        key = self._documented_place if self._faithful else self._chosen_place
        return sorted(numbers, key=key)

    def passings(self, served: Sequence[int]) -> Iterable[Passing]:
        """The passing of every connection of one port, in the order of service."""
        connections = [self._physical.connections[number] for number in served]
        producer = self._logical.operators[self._physical.operators[connections[0].source].logical]
        gives = producer.outputs[connections[0].source_port].mutable
        split = any(connection.splitter >= 0 for connection in connections)
        for position, connection in enumerate(connections):
            last = position == len(connections) - 1
            yield self._passing(connection, gives, last, split)

    def _passing(self, connection: Connection, gives: bool, last: bool, split: bool) -> Passing:
        consumer = self._consumer(connection)
        changes = _changes(consumer)
        constness = "mutable" if changes else "const"
        if self._remote(connection):
            return Passing("serialize", constness, _SERIALIZED)
        if self._waits(connection):
            return Passing("enqueue", constness, _ENQUEUED)
        if not changes:
            return Passing("reference", constness, _SHARED)
        if gives and last and not split:
            return Passing("reference", constness, _HANDED_OVER)
        reason = _KEPT if not gives else _SPLITTER if split else _READ_LATER
        return Passing("copy", constness, reason, None if self._faithful else consumer.mutates)

    def _consumer(self, connection: Connection) -> InputPort:
        model = self._logical.operators[self._physical.operators[connection.target].logical]
        return model.inputs[connection.target_port]

    def _remote(self, connection: Connection) -> bool:
        return self._pe_of[connection.source] != self._pe_of[connection.target]

    def _waits(self, connection: Connection) -> bool:
        return (connection.target, connection.target_port) in self._queued

    def _documented_place(self, number: int) -> tuple[int, int]:
        """Other PEs, then direct consumers as connected, then splitters (rule 81)."""
        connection = self._physical.connections[number]
        if connection.splitter >= 0:
            return 2, number
        return (0 if self._remote(connection) else 1), number

    def _chosen_place(self, number: int) -> tuple[int, int, int]:
        """The same, with direct consumers that change the tuple behind the others, the cheapest copies first."""
        stage, _ = self._documented_place(number)
        connection = self._physical.connections[number]
        consumer = self._consumer(connection)
        if stage != 1 or self._waits(connection) or not _changes(consumer):
            return stage, 0, number
        return stage, 1 + len(consumer.mutates) if consumer.mutates is not None else sys.maxsize, number


def _changes(port: InputPort) -> bool:
    return port.mutable and port.mutates != ()
