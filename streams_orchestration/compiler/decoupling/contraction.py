"""The contracted problem: one class for all outputs and operators that must be on one machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from streams_orchestration.compiler.components import strong_components
from streams_orchestration.compiler.decoupling.dataflow import SINKS, Dataflow
from streams_orchestration.compiler.disjoint_sets import DisjointSets
from streams_orchestration.compiler.walks import shortest_path
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic


@dataclass(frozen=True, slots=True)
class Fan:
    """A send that is paid once for each machine with targets, except the source's machine (rule Q6)."""

    source: int
    targets: tuple[int, ...]
    send: float
    receive: float


@dataclass(frozen=True, slots=True)
class Contraction:
    """A contracted problem: classes, their loads, and the sends between them.

    Machines are renumbered: pinned machines come first, then as many others as classes can use. If streams must lead to
    higher machines only, the machines keep their order.
    """

    flow: Dataflow
    machines: tuple[int, ...]
    """The number of each machine in the problem's document; this object numbers machines by their place here."""
    pinned: int
    """The number of pinned machines, which come first; all machines if streams must lead to higher machines only."""
    executes: tuple[int, ...]
    """The class in which each node executes."""
    outputs: tuple[int, ...]
    """The class of each node's output, or the class in which it executes if it has no output."""
    weights: tuple[float, ...]
    pins: tuple[int, ...]
    """For each class the machine to which it is pinned, as a place in `machines`; -1 without a pin."""
    whole: tuple[bool, ...]
    """True for a class with state, which must be on a single machine of a group."""
    fans: tuple[Fan, ...]
    apart: tuple[tuple[int, ...], ...] = ()
    """Sets of classes that must all be on different machines."""

    @property
    def forward(self) -> bool:
        """True if streams may lead to machines with higher numbers only."""
        return self.flow.params.forward

    def sent(self) -> Iterator[tuple[int, int]]:
        """Yield the class of a node and the class of its output, for each operator or tee where the two differ."""
        for node, executes, output in zip(self.flow.nodes, self.executes, self.outputs, strict=True):
            if executes != output and node.kind not in SINKS:
                yield executes, output

    def along_the_flow(self) -> list[int]:
        """Return the classes in topological order; within a cycle, the order is arbitrary."""
        successors: list[list[int]] = [[] for _ in self.weights]
        for source, target in dict.fromkeys(self.sent()):
            successors[source].append(target)
        return [each for component in strong_components(successors) for each in component]

    @property
    def size(self) -> int:
        """The number of classes."""
        return len(self.weights)

    def outputs_of(self, assignment: Sequence[int]) -> list[int]:
        """Return the machine of each node's output, by the document's numbers, for an assignment of classes."""
        return [self.machines[assignment[each]] for each in self.outputs]


class _Classes:
    """Sets of nodes and outputs that must be on one machine, with the reasons."""

    def __init__(self, flow: Dataflow) -> None:
        self.flow = flow
        self.sets = DisjointSets(2 * len(flow.nodes))
        self.joined: list[dict[int, str]] = [{} for _ in range(2 * len(flow.nodes))]
        for number in range(len(flow.nodes)):
            self._join_node(number)

    def _join(self, first: int, second: int, reason: str) -> None:
        if first != second:
            self.sets.union(first, second)
            self.joined[first].setdefault(second, reason)
            self.joined[second].setdefault(first, reason)

    def _join_node(self, number: int) -> None:
        node = self.flow.nodes[number]
        name = node.operation.id
        executes, output = 2 * number, 2 * number + 1
        for parent in node.parents:
            why = f"{name} executes where {self.flow.nodes[parent].operation.id} sends"
            if len(node.parents) > 1:
                why = f"the inputs of {name} must meet"
            self._join(executes, 2 * parent + 1, why)
        if node.kind in SINKS:
            self._join(executes, output, "")
        elif node.root and node.pin is None:
            self._join(executes, output, f"{name} executes where its output goes")
        elif node.stays:
            self._join(executes, output, f"the output of {name} stays: {node.stays}")
        elif not self.flow.readers[number] and node.kind != "net_self":
            self._join(executes, output, f"nothing reads {name}")

    def join_ticks(self) -> None:
        """Join the operators of each tick (rule Q12)."""
        first: dict[int | str, int] = {}
        for number, node in enumerate(self.flow.nodes):
            tick = node.operation.tick
            if tick is not None and not node.implicit:
                self._join(2 * first.setdefault(tick, number), 2 * number, f"both are in tick {tick}")

    def pins(self) -> dict[int, int]:
        """Return the machine of every pinned class, or report every pair of pins of one class that differ."""
        pin_of: dict[int, tuple[int, int]] = {}
        wrong: list[Diagnostic] = []
        for number, node in enumerate(self.flow.nodes):
            if node.pin is None:
                continue
            machine, other = pin_of.setdefault(self.sets.find(2 * number), (node.pin, number))
            if machine != node.pin:
                operation, against = node.operation, self.flow.nodes[other].operation
                message = (
                    f"{against.id} is pinned to {machine} and {operation.id} to {node.pin}, but they must be on one "
                    f"machine: {'; '.join(self._reasons(2 * other, 2 * number))}"
                )
                place = operation.location("pin")
                wrong.append(Diagnostic.of("SO0607", message, operator=str(operation.id), location=place))
        if wrong:
            raise ApplicationError(wrong)
        return {each: machine for each, (machine, _) in pin_of.items()}

    def apart(self, pins: Mapping[int, int]) -> list[list[int]]:
        """Return sets of classes, by their names, that must be on different machines.

        If operators to keep apart must be together, or are pinned to one machine, report every such pair instead.
        """
        sets: list[list[int]] = []
        wrong: list[Diagnostic] = []
        for members in self.flow.apart:
            holder: dict[int, int] = {}
            pinned: dict[int, int] = {}
            for number in members:
                name = self.sets.find(2 * number)
                other = holder.setdefault(name, number)
                why = "; ".join(self._reasons(2 * other, 2 * number))
                if other == number and name in pins:
                    other = pinned.setdefault(pins[name], number)
                    why = f"both are pinned to {pins[name]}"
                if other != number:
                    names = [self.flow.nodes[each].operation.id for each in (other, number)]
                    message = (
                        f"{names[0]} and {names[1]} must be apart by `apart`, but they must be on one machine: {why}"
                    )
                    place = self.flow.nodes[number].operation.location()
                    wrong.append(Diagnostic.of("SO0607", message, operator=str(names[1]), location=place))
            sets.append(list(holder))
        if wrong:
            raise ApplicationError(wrong)
        return sets

    def _reasons(self, start: int, end: int) -> list[str]:
        """Return the reasons along the shortest chain that joins two items of one class."""
        chain = shortest_path(start, end, self.joined.__getitem__)
        reasons = (self.joined[one][other] for one, other in pairwise(chain))
        return list(dict.fromkeys(reason for reason in reasons if reason))


def contract(flow: Dataflow) -> Contraction:
    """Join nodes and outputs that must be on one machine, and add up loads and sends.

    The variable of the model belongs to an output: an operator executes where its inputs go (rule Q1), and only a
    pinned source has a place of its own besides (rule Q2).

    Raises:
        ApplicationError: pins or operators to keep apart contradict joined classes (SO0607).
    """
    classes = _Classes(flow)
    classes.join_ticks()
    pins = classes.pins()
    apart = classes.apart(pins)
    find = classes.sets.find
    numbers: dict[int, int] = {}
    for item in range(2 * len(flow.nodes)):
        numbers.setdefault(find(item), len(numbers))
    executes = tuple(numbers[find(2 * node)] for node in range(len(flow.nodes)))
    outputs = tuple(numbers[find(2 * node + 1)] for node in range(len(flow.nodes)))
    weights = [0.0] * len(numbers)
    whole = [False] * len(numbers)
    for number, node in enumerate(flow.nodes):
        weights[executes[number]] += node.cpu
        weights[outputs[number] if flow.receives_at_output(number) else executes[number]] += node.recv_cpu
        whole[executes[number]] |= node.operation.state and not node.implicit
    named = sorted(set(pins.values()))
    free = [machine for machine in range(flow.params.k) if machine not in named]
    enough = len(free) if flow.params.forward and named else max(0 if named else 1, len(numbers) - len(pins))
    machines = (*named, *free[:enough])
    if flow.params.forward:
        machines = tuple(sorted(machines))
    ours = {numbers[each]: machines.index(machine) for each, machine in pins.items()}
    return Contraction(
        flow,
        machines,
        len(machines) if flow.params.forward else len(named),
        executes,
        outputs,
        tuple(weights),
        tuple(ours.get(each, -1) for each in range(len(numbers))),
        tuple(whole),
        _fans(flow, executes, outputs),
        tuple(tuple(sorted(numbers[each] for each in members)) for members in apart if len(members) > 1),
    )


def _fans(flow: Dataflow, executes: Sequence[int], outputs: Sequence[int]) -> tuple[Fan, ...]:
    """Return the sends of the contracted graph; sends with the same ends are added up."""
    costs: dict[tuple[int, tuple[int, ...]], tuple[float, float]] = {}

    def add(source: int, targets: set[int], price: tuple[float, float]) -> None:
        away = tuple(sorted(targets - {source}))
        if away:
            send, receive = costs.get((source, away), (0.0, 0.0))
            costs[source, away] = send + price[0], receive + price[1]

    for number, node in enumerate(flow.nodes):
        if node.kind not in (*SINKS, "tee", "net_self"):
            add(executes[number], {outputs[number]}, flow.price(number))
        tees = flow.tees(number)
        if tees:
            send, receive = flow.fan_price(number)
            each = flow.params.tee == "each"
            add(outputs[number], {outputs[tee] for tee in tees}, (send, 0.0 if each else receive))
            for tee in tees if each else ():
                add(outputs[number], {outputs[tee]}, (0.0, receive))
    return tuple(Fan(source, targets, *price) for (source, targets), price in costs.items())
