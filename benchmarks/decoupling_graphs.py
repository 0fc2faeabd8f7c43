"""Decoupling problems made up by chance, in the shape of streaming applications.

About 70 % of the operators read one stream, 14 % two; 12 % of the steps fan out into tees; 2 % of the operators begin a
tick of up to 12; 5 % of the outputs cannot be sent. Loads are log-normal and add up to 100.
"""

from __future__ import annotations

from random import Random
from typing import Any


def graph(operators: int, seed: int, machines: int, dearness: float) -> dict[str, Any]:
    """Return a random problem document.

    Args:
        operators: the approximate number of operators.
        seed: the seed of the random numbers.
        machines: the number of machines.
        dearness: the cost of one side of a mean cut, in mean loads of an operator.
    """
    chance = Random(seed)
    ops: list[dict[str, Any]] = []
    loose: list[int] = []

    def add(kind: str, parents: list[int], card: float | None, **more: Any) -> int:
        cost = "recv_cpu" if kind == "net_recv" else "cpu"
        load = {} if kind == "tee" else {cost: chance.lognormvariate(0, 1)}
        items = {} if card is None else {"card": card}
        ops.append({"id": len(ops) + 1, "kind": kind, "parents": parents, **load, **items, **more})
        return len(ops)

    def take() -> int:
        return loose.pop(chance.randrange(max(0, len(loose) - 8), len(loose)))

    for _ in range(max(1, operators // 40)):
        loose.append(add("net_recv", [], chance.uniform(1, 10)))
    while len(ops) < operators - len(loose):
        step = chance.random()
        if step < 0.12:
            parent = take()
            loose += [add("tee", [parent], ops[parent - 1]["card"]) for _ in range(chance.choice((2, 2, 3)))]
        elif step < 0.26 and len(loose) > 1:
            pair = [take(), take()]
            card = sum(ops[each - 1]["card"] for each in pair) * chance.uniform(0.1, 1)
            loose.append(add("op", pair, card))
        else:
            parent = take()
            card = ops[parent - 1]["card"] * chance.choice((0.1, 0.5, 1, 1, 1, 1, 2))
            loose.append(add("op", [parent], card, **({"ser": False} if chance.random() < 0.05 else {})))
    for parent in loose:
        add("net_send", [parent], None)
    _ticks(ops, chance)
    return {"params": {"k": machines, **_costs(ops, dearness)}, "ops": ops}


def _ticks(ops: list[dict[str, Any]], chance: Random) -> None:
    readers: dict[int, list[int]] = {}
    for each in ops:
        for parent in each["parents"]:
            readers.setdefault(parent, []).append(each["id"])
    for number, each in enumerate(ops):
        if each["kind"] != "op" or chance.random() >= 0.02:
            continue
        here = each["id"]
        for _ in range(chance.randint(4, 12)):
            member = ops[here - 1]
            if "tick" in member or member["kind"] not in ("op", "tee"):
                break
            member["tick"] = f"t{number}"
            here = chance.choice(readers[here])


def _costs(ops: list[dict[str, Any]], dearness: float) -> dict[str, float]:
    total = sum(each.get("cpu", 0.0) + each.get("recv_cpu", 0.0) for each in ops)
    for each in ops:
        for key in ("cpu", "recv_cpu"):
            if key in each:
                each[key] *= 100 / total
    cards = [each["card"] for each in ops if "card" in each]
    item = dearness * 100 / len(ops) / (sum(cards) / len(cards))
    return {"ser_per_item": item, "deser_per_item": item}
