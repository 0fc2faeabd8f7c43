"""Legality of decisions under the constraints of a problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streams_orchestration.compiler.decoupling.dataflow import SINKS, Dataflow
from streams_orchestration.compiler.decoupling.evaluation import evaluate, executions


def violations(flow: Dataflow, outputs: Sequence[int]) -> Iterator[str]:
    """Yield every constraint that a decision violates, in words.

    Inputs of one operator arrive on one machine, and operators of one tick execute together (rule Q12). Pins hold (rule
    Q2). Outputs that must stay on a machine stay there (rules Q4, Q13). Operators that must be apart are on different
    machines. Streams lead to higher machines where they must, no path gets more hops than the latency budget (rule
    Q11), and the machines suffice (rule Q7).
    """
    executes = executions(flow, outputs)
    ticks: dict[int | str, int] = {}
    for number, node in enumerate(flow.nodes):
        name = node.operation.id
        if len({outputs[parent] for parent in node.parents}) > 1:
            yield f"the inputs of {name} go to different machines"
        if node.pin is not None and executes[number] != node.pin:
            yield f"{name} executes on {executes[number]}, not on {node.pin}"
        if node.kind not in SINKS and node.stays and outputs[number] != executes[number]:
            yield f"the output of {name} is sent, but {node.stays}"
        if flow.params.forward and node.kind not in SINKS and outputs[number] < executes[number]:
            yield f"the output of {name} goes back, from {executes[number]} to {outputs[number]}"
        tick = node.operation.tick
        if tick is not None and not node.implicit and ticks.setdefault(tick, executes[number]) != executes[number]:
            yield f"tick {tick} is split at {name}"
    for members in flow.apart:
        places: dict[int, int] = {}
        for number in members:
            other = places.setdefault(executes[number], number)
            if other != number:
                names = " and ".join(str(flow.nodes[each].operation.id) for each in (other, number))
                yield f"{names} are on one machine"
    budget = flow.params.latency_budget
    if budget is not None and _exceeds(flow, executes, outputs, budget):
        yield f"a path has more than {budget} added hops"
    machines = flow.params.machine_budget
    if machines is not None and sum(evaluate(flow, outputs).counts) > machines:
        yield f"more than {machines} machines are used"


def _exceeds(flow: Dataflow, executes: Sequence[int], outputs: Sequence[int], budget: int) -> bool:
    """Return True if a path has more added hops than the budget. A cut loop has infinitely many hops (rule Q11)."""
    hops = [0] * len(flow.nodes)
    waiting = list(range(len(flow.nodes)))
    while waiting:
        number = waiting.pop()
        node = flow.nodes[number]
        cut = node.kind not in (*SINKS, "net_self") and outputs[number] != executes[number]
        reached = hops[number] + cut
        if reached > budget:
            return True
        for reader in flow.readers[number]:
            if hops[reader] < reached:
                hops[reader] = reached
                waiting.append(reader)
    return False
