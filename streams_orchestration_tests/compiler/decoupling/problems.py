"""Decoupling problems for tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from streams_orchestration.compiler.decoupling import Decision, solve
from streams_orchestration.model.decoupling_document import problem_from_mapping


def op(id: Any, *parents: Any, kind: str = "op", **more: Any) -> dict[str, Any]:
    """Return an operator as the document has it."""
    return {"id": id, "kind": kind, "card": 1, **({"parents": list(parents)} if parents else {}), **more}


def problem(*ops: dict[str, Any], **params: Any) -> dict[str, Any]:
    return {"params": {"ser_per_item": 1, "deser_per_item": 1, **params}, "ops": list(ops)}


def decided(document: dict[str, Any], **options: Any) -> Decision:
    """Return the decision about a document; what a worked case has besides is not given to the product."""
    return solve(
        problem_from_mapping({key: document[key] for key in ("params", "ops", "apart") if key in document}), **options
    )


COSTS = st.sampled_from([0, 1, 2, 5, 7.5, 10, 30, 31])
CARDS = st.sampled_from([None, 0, 0.5, 1, 1, 2, 2, 10])


@st.composite
def problems(draw: st.DrawFn, machines: int, most: int = 9) -> dict[str, Any]:
    """Problems of up to `most` operators with everything that the document can say."""
    number = draw(st.integers(2, most))
    ops: list[dict[str, Any]] = []
    cards: dict[int, Any] = {}
    for id in range(1, number + 1):
        producers = [each["id"] for each in ops if each["kind"] not in ("net_send", "sink")]
        later = ["op", "op", "op", "tee", "tee", "net_send", "sink", "net_self"]
        kind = draw(st.sampled_from(["source", "net_recv"] if not producers else [*later, "source"]))
        each: dict[str, Any] = {"id": id, "kind": kind, "cpu": draw(COSTS)}
        if kind not in ("source", "net_recv"):
            count = 1 if kind == "tee" else draw(st.sampled_from([1, 1, 1, 2]))
            each["parents"] = draw(st.permutations(producers))[:count]
        if kind in ("net_recv", "net_self"):
            each["recv_cpu"] = draw(COSTS)
        if kind not in ("net_send", "sink"):
            card = cards[each["parents"][0]] if kind == "tee" else draw(CARDS)
            cards[id] = card
            if card is not None:
                each["card"] = card
        for key, value, odds in (("ser", False, 12), ("state", True, 4), ("tick", draw(st.integers(1, 2)), 6)):
            if draw(st.integers(1, odds)) == odds:
                each[key] = value
        if draw(st.integers(1, 8)) == 8:
            each["pin"] = draw(st.integers(0, machines - 1))
        if kind != "tee" and draw(st.integers(1, 4)) == 4:
            each["bytes"] = draw(st.sampled_from([1, 4]))
        if kind not in ("tee", "net_self") and draw(st.integers(1, 8)) == 8:
            each["sent"] = True
        ops.append(each)
    joins = [each for each in ops if each["kind"] == "op"]
    if joins and draw(st.integers(1, 4)) == 4:  # a loop
        first = draw(st.sampled_from(joins))
        behind = [each["id"] for each in joins if each["id"] >= first["id"] and each["id"] not in first["parents"]]
        first["parents"] = [*first["parents"], *draw(st.permutations(behind))[:1]]
    params: dict[str, Any] = {
        "k": machines,
        "ser_per_item": draw(st.sampled_from([0.5, 1, 3])),
        "deser_per_item": draw(st.sampled_from([0.5, 1, 3])),
        "tee": draw(st.sampled_from(["exact", "exact", "head", "each"])),
    }
    for key, values, odds in (
        ("ser_per_byte", [0.25, 1], 3),
        ("deser_per_byte", [0.5], 4),
        ("forward", [True], 4),
        ("freeze_edb", [True], 6),
        ("latency_budget", [0, 1, 2], 5),
        ("lex_epsilon", [0.0001, 0.1], 4),
        ("machine_budget", [2, 3, 5], 5),
    ):
        if draw(st.integers(1, odds)) == odds:
            params[key] = draw(st.sampled_from(values))
    document: dict[str, Any] = {"params": params, "ops": ops}
    if draw(st.integers(1, 5)) == 5:
        names = st.sampled_from([each["id"] for each in ops])
        document["apart"] = draw(st.lists(st.lists(names, min_size=2, max_size=machines), min_size=1, max_size=2))
    return document
