from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.logical_graph import (
    InputPort,
    LogicalGraph,
    OutputPort,
    ParallelRegion,
    ThreadedPort,
)
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import CopyPlan
from streams_orchestration_tests.compiler.graphs import Wire, expanded, logical_graph, operator, unexpanded
from streams_orchestration_tests.compiler.plans import copied, in_one_pe, in_pes
from streams_orchestration_tests.specs import CASES

COPY_CASES = yaml.safe_load((CASES / "copying.yaml").read_text())
VECTORS = [case for case in COPY_CASES if "figure" not in case]
FURTHER = [
    {"out": True, "consumers": ["c", "c"], "s": 0, "sender_copies": 0, "enqueue_copies": 0},
    {"out": True, "consumers": ["c", "m"], "s": 0, "sender_copies": 0, "enqueue_copies": 0},
    {"out": False, "consumers": ["m", "m"], "s": 0, "sender_copies": 2, "enqueue_copies": 0},
    {"out": False, "consumers": ["m", "c"], "s": 0, "sender_copies": 1, "enqueue_copies": 0},
    {"out": True, "consumers": ["m", "m", "m"], "s": 0, "sender_copies": 2, "enqueue_copies": 0},
    {"out": True, "consumers": ["c", "m"], "s": 1, "sender_copies": 1, "enqueue_copies": 1},
    {"out": True, "consumers": ["m", "q"], "s": 0, "sender_copies": 1, "enqueue_copies": 1},
    {"out": False, "consumers": ["q", "m"], "s": 0, "sender_copies": 1, "enqueue_copies": 1},
]


def one_port(out: bool, consumers: Sequence[str], splitters: int = 0) -> tuple[LogicalGraph, PhysicalGraph]:
    """Return a producer with these consumers: m mutating, c not, q behind a queue, and one region a splitter."""
    operators = [operator("src", 0, [OutputPort("s", mutable=out)])]
    for position, kind in enumerate(consumers):
        queue = (ThreadedPort(0),) if kind == "q" else ()
        mutable = kind != "c"
        operators.append(operator(f"{position}", [InputPort("in", mutable=mutable)], threaded_ports=queue))
    operators += [operator(f"P{each}", 1, 0, regions=(each,)) for each in range(splitters)]
    regions = tuple(ParallelRegion(each, f"P{each}", 3, (), {}) for each in range(splitters))
    wires: list[Wire] = [("src", 0, each.name, 0) for each in operators[1:]]
    logical = logical_graph(operators, wires, regions=regions)
    return logical, expanded(logical)


@pytest.mark.parametrize("vector", [*VECTORS, *FURTHER], ids=str)
def test_documented_ports_have_their_copies(vector: dict[str, Any]) -> None:
    logical, physical = one_port(vector["out"], vector["consumers"], vector["s"])
    plan = copied(logical, physical, in_one_pe(physical), faithful=True)
    assert plan.sender_copies == vector["sender_copies"]
    assert plan.enqueue_copies == vector["enqueue_copies"]
    direct = sum(kind != "q" for kind in vector["consumers"])
    assert plan.eliminated == direct - plan.sender_copies
    assert plan.order == tuple(range(len(physical.connections)))
    better = copied(logical, physical, in_one_pe(physical))
    mutating = vector["consumers"].count("m")
    assert better.sender_copies == max(mutating - (vector["out"] and not vector["s"]), 0)
    assert better.enqueue_copies == vector["enqueue_copies"]


def figure() -> tuple[LogicalGraph, PhysicalGraph, dict[str, Any]]:
    case = next(case["figure"] for case in COPY_CASES if "figure" in case)
    names = [f"O{number}" for number in range(1, 10)]
    read = {target for _, target in case["connections"]}
    operators = [
        operator(
            name,
            [InputPort("in", mutable=case["inputs"].get(name, False))] if name in read else 0,
            [OutputPort(name, mutable=case["outputs"][name])] if name in case["outputs"] else 0,
        )
        for name in names
    ]
    wires: list[Wire] = sorted((source, 0, target, 0) for source, target in case["connections"])
    logical = logical_graph(operators, wires)
    return logical, unexpanded(logical), case


def copies(logical: LogicalGraph, physical: PhysicalGraph, plan: CopyPlan) -> list[list[str]]:
    return [
        [logical.operators[connection.source].name, logical.operators[connection.target].name]
        for connection, passing in zip(physical.connections, plan.connections, strict=True)
        if passing.passing == "copy"
    ]


def test_the_documented_figure() -> None:
    logical, physical, case = figure()
    assert copies(logical, physical, copied(logical, physical, in_one_pe(physical), faithful=True)) == case["copies"]
    better = copied(logical, physical, in_one_pe(physical))
    assert copies(logical, physical, better) == [["O5", "O6"]]
    numbers = {(c.source, c.target): number for number, c in enumerate(physical.connections)}
    assert better.order.index(numbers[1, 4]) > max(better.order.index(numbers[1, each]) for each in (2, 6, 8))
    assert better.eliminated == 7


def test_other_pes_are_served_first_and_get_no_copy() -> None:
    logical, physical = one_port(True, ["m", "m"])
    plan = copied(logical, physical, in_pes(physical, [[0, 1], [2]]))
    assert [(each.passing, each.constness) for each in plan.connections] == [
        ("reference", "mutable"),
        ("serialize", "mutable"),
    ]
    assert plan.order == (1, 0)
    assert plan.sender_copies == plan.enqueue_copies == 0


def test_only_the_attributes_that_are_changed_are_copied() -> None:
    logical = logical_graph(
        [
            operator("src", 0, [OutputPort("s", mutable=True)]),
            operator("all", [InputPort("in", mutable=True)]),
            operator("some", [InputPort("in", mutable=True, mutates=("a",))]),
            operator("none", [InputPort("in", mutable=True, mutates=())]),
        ],
        [("src", 0, name, 0) for name in ("all", "some", "none")],
    )
    physical = unexpanded(logical)
    plan = copied(logical, physical, in_one_pe(physical))
    assert [each.passing for each in plan.connections] == ["reference", "copy", "reference"]
    assert plan.connections[1].attributes == ("a",)
    assert plan.order == (2, 1, 0)
    faithful = copied(logical, physical, in_one_pe(physical), faithful=True)
    assert all(each.attributes is None for each in faithful.connections)
    assert [(each.passing, each.constness) for each in faithful.connections] == [
        ("copy", "mutable"),
        ("copy", "mutable"),
        ("reference", "mutable"),
    ]


def test_a_splitter_counts_with_its_fullest_channel() -> None:
    logical = logical_graph(
        [operator("src", 0, 1), operator("a", 1, regions=(0,)), operator("b", 1, regions=(0,))],
        [("src", 0, "a", 0), ("src", 0, "b", 0)],
        regions=(ParallelRegion(0, "P", 2, (), {}),),
    )
    physical = expanded(logical)
    assert copied(logical, physical, in_one_pe(physical)).enqueue_copies == 2
    apart = in_pes(physical, [[0, 1], *([each] for each in range(2, len(physical.operators)))])
    assert copied(logical, physical, apart).enqueue_copies == 1


def serve(out: bool, consumers: Sequence[str], order: Sequence[int], copy: Sequence[bool]) -> bool:
    """Return True if all readers get the tuple as submitted, and a producer that keeps it finds it untouched."""
    touched = False
    for position in order:
        if not copy[position]:
            if touched:
                return False
            touched = consumers[position] == "m"
    return out or not touched


@given(st.booleans(), st.lists(st.sampled_from("mcq"), min_size=1, max_size=6), st.booleans())
def test_never_fewer_copies_than_safe_and_never_more_than_needed(
    out: bool, consumers: list[str], faithful: bool
) -> None:
    logical, physical = one_port(out, consumers)
    plan = copied(logical, physical, in_one_pe(physical), faithful=faithful)
    copy = [each.passing in ("copy", "enqueue") for each in plan.connections]
    reading = [kind if kind == "m" else "c" for kind in consumers]
    assert serve(out, reading, plan.order, copy)
    if not faithful:
        mutating = [position for position, kind in enumerate(consumers) if kind == "m"]
        for position in mutating:
            fewer = [each and number != position for number, each in enumerate(copy)]
            assert not copy[position] or not any(
                serve(out, reading, order, fewer)
                for order in ([*rest, last] for last in range(len(consumers)) for rest in [_without(consumers, last)])
            )


def _without(consumers: Sequence[str], last: int) -> list[int]:
    return [number for number in range(len(consumers)) if number != last]
