"""The evaluation of decisions: the only authority on loads and objectives, whatever a solver reports (rule Q16)."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streams_orchestration.compiler.decoupling.dataflow import SINKS, Dataflow

TOLERANCE = 1e-9
"""Relative difference below which two objectives are equal."""


def machine_counts(
    loads: Sequence[float], used: Sequence[bool], divisible: Sequence[bool], budget: int, epsilon: float
) -> tuple[int, ...]:
    """Return the numbers of machines of groups that share a budget of machines (rule Q7).

    The numbers minimise the peak load of a machine plus `epsilon` times the sum over groups of a machine's load. Among
    equal results, they minimise that sum.

    Args:
        loads: the loads of the groups.
        used: True if anything executes in the group, which then gets at least one machine, else none.
        divisible: True if the group may have several machines, each with its part of the load.
        budget: the total number of machines, at least one for every used group.
        epsilon: the weight of the sum.
    """
    least = [int(each) for each in used]
    shared = [number for number, each in enumerate(used) if each and divisible[number] and loads[number] > 0]
    spare = budget - sum(least)
    if spare <= 0 or not shared:
        return tuple(least)
    floor = max((loads[number] for number in range(len(loads)) if number not in shared), default=0.0)
    peaks = {max(floor, loads[number] / count) for number in shared for count in range(1, spare + 2)}
    best: tuple[float, float, tuple[int, ...]] | None = None
    for peak in sorted(peaks):
        counts = list(least)
        for number in shared:
            counts[number] = max(1, math.ceil(loads[number] / peak - 1e-12)) if peak > 0 else 1
        if sum(counts) > budget:
            continue
        _spend(counts, loads, shared, budget - sum(counts))
        each = [load / count if count else 0.0 for load, count in zip(loads, counts, strict=True)]
        key = max(each) + epsilon * math.fsum(each), math.fsum(each), tuple(counts)
        if best is None or key < best:
            best = key
        if not epsilon:
            break
    return best[2] if best is not None else tuple(least)


def _spend(counts: list[int], loads: Sequence[float], shared: Sequence[int], spare: int) -> None:
    """Give each spare machine to the group where it lowers the load of a single machine most.

    Change `counts` in place.
    """

    def gain(number: int) -> float:
        return loads[number] / counts[number] - loads[number] / (counts[number] + 1)

    queue = [(-gain(number), number) for number in shared]
    heapq.heapify(queue)
    for _ in range(spare):
        _, number = heapq.heappop(queue)
        counts[number] += 1
        heapq.heappush(queue, (-gain(number), number))


@dataclass(frozen=True, slots=True)
class AddedNetwork:
    """A pair of send and receive that a decision adds, for one producer and one destination (rule Q6)."""

    operator: int | str
    sender: int
    receiver: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The cost of one decision."""

    loads: tuple[float, ...]
    """The load of each machine, or of each group of machines in total."""
    counts: tuple[int, ...]
    """The number of machines in each group; without a budget, 1 for each used machine."""
    worst: float
    """The largest load of a single machine; the machines of a group share its load equally."""
    total: float
    """The sum over all groups of the load of one machine; the machines of a group share its load equally."""
    objective: float
    """The largest load plus the weighted sum of loads (rule Q9)."""
    networks: tuple[AddedNetwork, ...]

    def better_than(self, other: Evaluation) -> bool:
        """Return True if the objective is lower, or equal with a lower sum (rule Q9)."""
        margin = TOLERANCE * max(1e-12, abs(other.objective))
        if abs(self.objective - other.objective) > margin:
            return self.objective < other.objective
        return self.total < other.total - TOLERANCE * abs(other.total)


def executions(flow: Dataflow, outputs: Sequence[int]) -> list[int]:
    """Return the machine on which each node executes.

    A node executes on the machine to which its first parent's output goes (rule Q1). A node without parents executes
    where its own output goes, unless it is pinned: then it executes on its pin, and its output can go to any machine
    (rule Q2).

    Args:
        flow: the graph.
        outputs: the machine that gets the output of each node; ignored for nodes without an output.
    """
    result: list[int] = []
    for number, node in enumerate(flow.nodes):
        if node.parents:
            result.append(outputs[node.parents[0]])
        else:
            result.append(outputs[number] if node.pin is None else node.pin)
    return result


def evaluate(flow: Dataflow, outputs: Sequence[int]) -> Evaluation:
    """Compute the loads and the objective of a decision from the rules alone.

    Sources and sinks are charged like all others (rule Q3). The receiving half of a network within one machine is
    charged where its output goes. A crossing costs both of its machines; an existing network is redirected at no cost.
    """
    params = flow.params
    executes = executions(flow, outputs)
    loads = [0.0] * params.k
    used = [False] * params.k
    whole = [False] * params.k
    for number, node in enumerate(flow.nodes):
        receives = outputs[number] if flow.receives_at_output(number) else executes[number]
        loads[executes[number]] += node.cpu
        loads[receives] += node.recv_cpu
        used[executes[number]] = True
        whole[executes[number]] |= node.operation.state and not node.implicit
        used[receives] = True
    networks: list[tuple[int, int, int]] = []
    for (send, receive), sender, receivers in _sends(flow, executes, outputs):
        loads[sender] += (len(receivers) if params.tee == "exact" else 1) * send
        for receiver, operators in receivers.items():
            loads[receiver] += (len(operators) if params.tee == "each" else 1) * receive
            networks.append((operators[0], sender, receiver))
    counts = tuple(map(int, used))
    if params.machine_budget is not None:
        divisible = [not each for each in whole]
        counts = machine_counts(loads, used, divisible, params.machine_budget, params.lex_epsilon)
    single = [load / max(1, count) for load, count in zip(loads, counts, strict=True)]
    worst, total = max(single), math.fsum(single)
    added = tuple(AddedNetwork(flow.nodes[node].operation.id, *ends) for node, *ends in sorted(networks))
    return Evaluation(tuple(loads), counts, worst, total, worst + params.lex_epsilon * total, added)


def _sends(
    flow: Dataflow, executes: Sequence[int], outputs: Sequence[int]
) -> Iterator[tuple[tuple[float, float], int, dict[int, list[int]]]]:
    """Yield each send to other machines: the loads of sending and of receiving it once, the sender, and the receivers.

    The receivers are a mapping from a machine to one node for each time that the machine receives the stream. This node
    is the tee, if the application declares it, or else the producer. The first node of a machine names the send.
    """
    for number, node in enumerate(flow.nodes):
        if node.kind not in (*SINKS, "tee", "net_self") and outputs[number] != executes[number]:
            yield flow.price(number), executes[number], {outputs[number]: [number]}
        receivers: dict[int, list[int]] = {}
        for tee in flow.tees(number):
            if outputs[tee] != outputs[number]:
                receivers.setdefault(outputs[tee], []).append(number if flow.nodes[tee].implicit else tee)
        if receivers:
            yield flow.fan_price(number), outputs[number], receivers


def total_load(flow: Dataflow) -> float:
    """Return the load of one machine that executes everything, in the unit of the problem."""
    return math.fsum(node.cpu + node.recv_cpu for node in flow.nodes)
