"""All decisions of a small decoupling problem, straight from the rules: what the product is compared with.

Works on the document itself and shares no code with the product.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import inf
from typing import Any, NamedTuple

ROOTS = {"source", "net_recv"}
LEAVES = {"sink", "net_send"}


class Outcome(NamedTuple):
    """One decision: a place for each operator and output, and its cost."""

    objective: float
    total: float
    loads: tuple[float, ...]
    execute: dict[Any, int]
    sends: frozenset[tuple[Any, int, int]]


class Enumeration:
    """Every legal decision of a problem."""

    def __init__(self, problem: dict[str, Any]) -> None:
        defaults = {"k": 2, "penalty": 0.0001, "tee": "exact", "freeze_edb": False, "latency_budget": None}
        defaults |= {"ser_per_byte": 0, "deser_per_byte": 0, "forward": False}
        self.params = {**defaults, "lex_epsilon": 0, "machine_budget": None, **problem["params"]}
        self.ops = {op["id"]: {"parents": [], **op} for op in problem["ops"]}
        readers: dict[Any, list[Any]] = {name: [] for name in self.ops}
        for name, op in self.ops.items():
            for parent in op["parents"]:
                readers[parent].append(name)
        # reader -> the outputs that it reads: its parent's output, or a branch of its own if the parent has several
        # readers
        self.reads: dict[Any, list[Any]] = {}
        self.branches: dict[Any, list[Any]] = {name: [] for name in self.ops}
        self.variables = [name for name, op in self.ops.items() if op["kind"] not in LEAVES]
        for name, op in self.ops.items():
            self.reads[name] = list(op["parents"])
            for position, parent in enumerate(op["parents"]):
                if op["kind"] == "tee":
                    self.branches[parent].append(name)
                elif len(readers[parent]) > 1:
                    branch = ("branch", parent, name)
                    self.reads[name][position] = branch
                    self.branches[parent].append(branch)
                    self.variables.append(branch)
        self.readers = readers
        self.apart = problem.get("apart", [])

    @property
    def size(self) -> int:
        """The number of maps of outputs."""
        return self.params["k"] ** len(self.variables)

    def card(self, output: Any) -> float | None:
        """Items of an output; a branch or tee without a number carries what its stream does."""
        if isinstance(output, tuple):
            return self.card(output[1])
        op = self.ops[output]
        if op.get("card") is None and op["kind"] == "tee":
            return self.card(op["parents"][0])
        return op.get("card")

    def size_of(self, output: Any) -> float:
        """Bytes of an item; a branch or tee without a number has those of its stream."""
        if isinstance(output, tuple):
            return self.size_of(output[1])
        op = self.ops[output]
        return self.size_of(op["parents"][0]) if not op.get("bytes") and op["kind"] == "tee" else op.get("bytes", 0)

    def serialisable(self, output: Any) -> bool:
        if isinstance(output, tuple):
            return self.serialisable(output[1])
        op = self.ops[output]
        return op.get("ser", True) and (op["kind"] != "tee" or self.serialisable(op["parents"][0]))

    def fed_by_network(self, output: Any, seen: frozenset[Any] = frozenset()) -> bool:
        name = output[1] if isinstance(output, tuple) else output
        if self.ops[name]["kind"] in ("net_recv", "net_self"):
            return True
        more = seen | {name}
        return any(self.fed_by_network(parent, more) for parent in self.ops[name]["parents"] if parent not in seen)

    def legal(self) -> Iterator[Outcome]:
        stuck = [
            output
            for output in self.variables
            if not self.serialisable(output)
            or (self.card(output) is None and (isinstance(output, tuple) or self.ops[output]["kind"] != "net_self"))
            or (self.params["freeze_edb"] and not self.fed_by_network(output))
        ]
        for machines in product(range(self.params["k"]), repeat=len(self.variables)):
            goes = dict(zip(self.variables, machines, strict=True))
            outcome = self.outcome(goes, stuck)
            if outcome is not None:
                yield outcome

    def outcome(self, goes: dict[Any, int], stuck: list[Any]) -> Outcome | None:
        execute: dict[Any, int] = {}
        ticks: dict[Any, int] = {}
        for name, op in self.ops.items():
            arrivals = {goes[output] for output in self.reads[name]}
            if op["kind"] in ROOTS:
                arrivals = {goes[name] if op.get("pin") is None else op["pin"]}
            if len(arrivals) != 1:
                return None
            execute[name] = arrivals.pop()
            if op.get("pin", execute[name]) not in (None, execute[name]):
                return None
            if op.get("tick") is not None and ticks.setdefault(op["tick"], execute[name]) != execute[name]:
                return None

        if any(len({execute[name] for name in set(members)}) < len(set(members)) for members in self.apart):
            return None

        def origin(output: Any) -> int:
            return goes[output[1]] if isinstance(output, tuple) else execute[output]

        if any(goes[output] != origin(output) for output in stuck):
            return None
        if not self.fast_enough(goes, execute):
            return None
        if self.params["forward"] and any(goes[output] < origin(output) for output in self.variables):
            return None
        sends = self.sends(goes, execute)
        loads = self.loads(goes, execute, sends)
        shared = self.shared(loads, goes, execute)
        if shared is None:
            return None
        named = frozenset((name, sender, receiver) for name, sender, receiver, _ in sends)
        return Outcome(*shared, tuple(loads), execute, named)

    def sends(self, goes: dict[Any, int], execute: dict[Any, int]) -> set[tuple[Any, int, int, tuple[float, float]]]:
        """(producer, from, to, (send, receive)): one for each producer and destination."""
        sends = set()
        for name, op in self.ops.items():
            if op["kind"] not in (*LEAVES, "tee", "net_self") and goes[name] != execute[name]:
                sends.add((name, execute[name], goes[name], self.price(name, name)))
            for branch in self.branches[name]:
                if goes[branch] != goes[name]:
                    sends.add((("fan", name), goes[name], goes[branch], self.price(branch, name)))
        return sends

    def price(self, output: Any, producer: Any) -> tuple[float, float]:
        """Return the cost of sending an output, 0 if it is sent in any case, and the cost of receiving it."""
        params, card, size = self.params, self.card(output) or 0.0, self.size_of(output)
        send = (
            0.0 if self.ops[producer].get("sent") else card * (params["ser_per_item"] + params["ser_per_byte"] * size)
        )
        return send, card * (params["deser_per_item"] + params["deser_per_byte"] * size)

    def loads(self, goes: dict[Any, int], execute: dict[Any, int], sends: set[Any]) -> list[float]:
        params = self.params
        loads = [0.0] * params["k"]
        each = params["tee"] == "each"
        for name, op in self.ops.items():
            loads[execute[name]] += op.get("cpu", 0)
            loads[goes[name] if op["kind"] == "net_self" else execute[name]] += op.get("recv_cpu", 0)
        charged = set()
        for name, sender, receiver, (send, receive) in sends:
            loads[receiver] += self.receipts(name, receiver, goes, each) * (receive + params["penalty"])
            if params["tee"] == "exact" or name not in charged:
                loads[sender] += send + params["penalty"]
            charged.add(name)
        return loads

    def receipts(self, name: Any, receiver: int, goes: dict[Any, int], each: bool) -> int:
        """Return how often a stream is received on a machine: once, or by each of the branches that it has there."""
        if not each:
            return 1
        if isinstance(name, tuple) and name[0] == "fan":
            return sum(goes[branch] == receiver for branch in self.branches[name[1]])
        return max(1, len(self.branches[name]))

    def fast_enough(self, goes: dict[Any, int], execute: dict[Any, int]) -> bool:
        budget = self.params["latency_budget"]
        if budget is None:
            return True
        before: dict[Any, int] = dict.fromkeys(self.ops, 0)
        after: dict[Any, int] = dict.fromkeys(self.variables, 0)
        for _ in range(len(self.variables) + 2):  # enough for every path without a loop; a loop that is cut grows on
            old = dict(after)
            for name, op in self.ops.items():
                before[name] = max((after[output] for output in self.reads[name]), default=0)
                if name in goes:
                    after[name] = before[name] + (goes[name] != execute[name] and op["kind"] != "net_self")
            for output in self.variables:
                if isinstance(output, tuple):
                    after[output] = after[output[1]] + (goes[output] != goes[output[1]])
            if after == old:
                return max(after.values(), default=0) <= budget
        return False

    def shared(self, loads: list[float], goes: dict[Any, int], execute: dict[Any, int]) -> tuple[float, float] | None:
        """Return the objective and the sum, with machines shared out in the best way."""
        epsilon, budget = self.params["lex_epsilon"], self.params["machine_budget"]
        if budget is None:
            return max(loads) + epsilon * sum(loads), sum(loads)
        used = set(execute.values()) | {goes[name] for name, op in self.ops.items() if op["kind"] == "net_self"}
        whole = {execute[name] for name, op in self.ops.items() if op.get("state")}
        most = [0 if group not in used else 1 if group in whole else budget for group in range(len(loads))]
        best = (inf, inf)
        for counts in product(*(range(min(1, each), each + 1) for each in most)):
            if sum(counts) <= budget:
                single = [load / max(1, count) for load, count in zip(loads, counts, strict=True)]
                best = min(best, (max(single) + epsilon * sum(single), sum(single)))
        return None if best[0] == inf else best

    def best(self) -> list[Outcome]:
        """Return the legal decisions with the least objective and among those the least sum."""
        outcomes = list(self.legal())
        if not outcomes:
            return []
        least = min(each.objective for each in outcomes)
        close = [each for each in outcomes if each.objective <= least + 1e-9 * max(1, least)]
        total = min(each.total for each in close)
        return [each for each in close if each.total <= total + 1e-9 * max(1, total)]


def relabelled(places: dict[Any, int], pinned: bool) -> dict[Any, int]:
    """Places with machines numbered as they come, unless pins give them names."""
    if pinned:
        return places
    names: dict[int, int] = {}
    return {name: names.setdefault(machine, len(names)) for name, machine in places.items()}
