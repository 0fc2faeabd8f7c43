"""The operators of a decoupling problem by number, with a tee wherever a stream fans out (rule Q6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from streams_orchestration.compiler.walks import reached
from streams_orchestration.model.decoupling import Kind, Operation, Problem, ProblemParameters

RECEIVED = ("net_recv", "net_self")
"""Kinds of operators that receive tuples from the network."""
SINKS = ("net_send", "sink")
"""Kinds without an output; they get no variable (rule Q18)."""
LEAST_LOAD = 1e-6
"""The smallest divisor for scaling loads, as a fraction of the load of all sends, since loads may be close to zero."""


@dataclass(frozen=True, slots=True)
class FlowNode:
    """An operator of the problem's document, or a tee that is added where a stream has several readers."""

    operation: Operation
    """The operator; for an implicit tee, the operator whose stream fans out."""
    kind: Kind
    parents: tuple[int, ...]
    cpu: float
    recv_cpu: float
    send: float
    """The load of sending the node's output to another machine, without the penalty (rule Q15)."""
    receive: float
    stays: str
    """The reason why the node's output must stay on its machine; empty if it may be sent (rules Q4, Q13)."""
    implicit: bool = False

    @property
    def pin(self) -> int | None:
        """The machine on which the node must execute; None if it may execute on any machine."""
        return None if self.implicit else self.operation.pin

    @property
    def root(self) -> bool:
        """True if the node has no inputs."""
        return not self.parents


@dataclass(frozen=True, slots=True)
class Dataflow:
    """The graph of a problem; nodes of the document come first, in its order."""

    params: ProblemParameters
    nodes: tuple[FlowNode, ...]
    readers: tuple[tuple[int, ...], ...]
    """The readers of each node."""
    written: int
    """The number of nodes in the document."""
    apart: tuple[tuple[int, ...], ...] = ()
    """Sets of nodes that must all execute on different machines."""

    def tees(self, node: int) -> list[int]:
        """Return the tees of a node's stream."""
        return [reader for reader in self.readers[node] if self.nodes[reader].kind == "tee"]

    def receives_at_output(self, node: int) -> bool:
        """Return True if a node's receiving load falls on the machine of its output: it is a network in one machine."""
        return self.nodes[node].kind == "net_self"

    def price(self, node: int) -> tuple[float, float]:
        """Return the loads of sending and of receiving the whole output of a node.

        If `tee` is `each`, every tee receives the stream; a stream without tees is received once.
        """
        penalty = self.params.penalty
        receipts = max(1, len(self.tees(node))) if self.params.tee == "each" else 1
        return self.nodes[node].send + penalty, receipts * (self.nodes[node].receive + penalty)

    def fan_price(self, node: int) -> tuple[float, float]:
        """Return the load of sending a node's stream once, and the load of receiving it once.

        Of several tees the costliest counts; without tees only the penalty is left.
        """
        tees = [self.nodes[tee] for tee in self.tees(node)]
        penalty = self.params.penalty
        send = 0.0 if self.nodes[node].operation.sent else max((tee.send for tee in tees), default=0.0)
        return send + penalty, max((tee.receive for tee in tees), default=0.0) + penalty


def dataflow(problem: Problem) -> Dataflow:
    """Return the graph of a checked problem.

    If an operator has several readers, each reader that is not a tee gets an implicit tee. So readers may execute on
    different machines, and readers on one machine share a send (rules Q5, Q6).
    """
    operations = problem.ops
    numbers = {each.id: number for number, each in enumerate(operations)}
    parents = [[numbers[parent] for parent in dict.fromkeys(each.parents)] for each in operations]
    direct: list[list[int]] = [[] for _ in operations]
    fan_out = [0] * len(operations)
    for number, each in enumerate(operations):
        for parent in parents[number]:
            fan_out[parent] += 1
            if each.kind != "tee":
                direct[parent].append(number)
    branches: list[int] = []
    for producer, readers in enumerate(direct):
        if fan_out[producer] > 1:
            for reader in readers:
                position = parents[reader].index(producer)
                parents[reader][position] = len(operations) + len(branches)
                branches.append(producer)
    parents += [[producer] for producer in branches]
    owners = [*operations, *(operations[producer] for producer in branches)]
    kinds: list[Kind] = [*(each.kind for each in operations), *("tee" for _ in branches)]
    readers = _readers(parents)
    frozen = _frozen(kinds, readers) if problem.params.freeze_edb else set[int]()
    streams = _streams(owners, kinds, parents)
    nodes: list[FlowNode] = []
    for number, owner in enumerate(owners):
        implicit = number >= len(operations)
        stays = ""
        if not streams[number].sendable:
            stays = "its output cannot be serialised"
        elif number in frozen:
            stays = "no network input reaches it, and such operators are frozen"
        elif streams[number].card is None and kinds[number] != "net_self":
            stays = "its output was not measured"
        costs = (0.0, 0.0) if implicit else (owner.cpu, owner.recv_cpu)
        send, receive = streams[number].prices(problem.params)
        send = 0.0 if owner.sent and not implicit and kinds[number] != "tee" else send
        nodes.append(FlowNode(owner, kinds[number], tuple(parents[number]), *costs, send, receive, stays, implicit))
    apart = tuple(tuple(dict.fromkeys(numbers[each] for each in members)) for members in problem.apart)
    return Dataflow(problem.params, tuple(nodes), readers, len(operations), apart)


def _readers(parents: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    readers: list[list[int]] = [[] for _ in parents]
    for number, each in enumerate(parents):
        for parent in each:
            readers[parent].append(number)
    return tuple(map(tuple, readers))


def _frozen(kinds: Sequence[Kind], readers: Sequence[Sequence[int]]) -> set[int]:
    """Return the nodes to which no path leads from a node of a kind in `RECEIVED` (rule Q13)."""
    received = (number for number, kind in enumerate(kinds) if kind in RECEIVED)
    return set(range(len(kinds))) - reached(received, dict(enumerate(readers)))


class _Stream(NamedTuple):
    """The items of an output, and whether they can be sent to another machine."""

    card: float | None
    """The number of items; None if it is unknown."""
    bytes: float
    """The bytes of one item."""
    sendable: bool

    def prices(self, params: ProblemParameters) -> tuple[float, float]:
        """Return two loads: of sending and of receiving all items of the stream (rule Q15).

        Each item costs a fixed price and a price for each of its bytes. An unknown number of items counts as 0.
        """
        card = self.card or 0.0
        send = params.ser_per_item + params.ser_per_byte * self.bytes
        return card * send, card * (params.deser_per_item + params.deser_per_byte * self.bytes)


def _streams(owners: Sequence[Operation], kinds: Sequence[Kind], parents: Sequence[Sequence[int]]) -> list[_Stream]:
    """Return the stream of every output; a tee inherits the values that the document leaves out."""
    streams: list[_Stream] = []
    for number, owner in enumerate(owners):
        card, size, sendable = owner.card, owner.bytes, owner.ser
        node, seen = number, {number}
        while kinds[node] == "tee":
            node = parents[node][0]
            if node in seen:
                break
            seen.add(node)
            card = owners[node].card if card is None else card
            size = size or owners[node].bytes
            sendable = sendable and owners[node].ser
        streams.append(_Stream(card, size, sendable))
    return streams
