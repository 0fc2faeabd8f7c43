from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.logical_graph import (
    LogicalGraph,
    LogicalOperator,
    ParallelRegion,
    ThreadedPort,
    Threading,
)
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import FusionPlan, ThreadPlan
from streams_orchestration.compiler.threads import propagation
from streams_orchestration.compiler.threads.origins import find_origins
from streams_orchestration_tests.compiler.graphs import Wire, expanded, logical_graph, operator, unexpanded
from streams_orchestration_tests.compiler.plans import in_one_pe, in_pes, threaded
from streams_orchestration_tests.specs import CASES

THREAD_CASES = yaml.safe_load((CASES / "threading.yaml").read_text())
MANUAL = Threading("manual", explicit=True)
DYNAMIC = Threading("dynamic", explicit=True)


def chain(*operators: LogicalOperator) -> LogicalGraph:
    wires: list[Wire] = [(first.name, 0, second.name, 0) for first, second in pairwise(operators)]
    return logical_graph(operators, wires)


def region(manual: bool) -> LogicalGraph:
    threading = MANUAL if manual else Threading()
    return logical_graph(
        [
            operator("Src", 0, 1, threading=threading),
            operator("A", 1, 1, regions=(0,), threading=threading),
            operator("B", 1, 1, regions=(0,), threading=threading),
            operator("Snk", 1, 0, threading=threading),
        ],
        [("Src", 0, "A", 0), ("A", 0, "B", 0), ("B", 0, "Snk", 0)],
        regions=(ParallelRegion(0, "Out", 2, (), {}),),
    )


def graph_of(case: str) -> tuple[LogicalGraph, list[list[str]]]:
    def src(**fields: Any) -> LogicalOperator:
        return operator("Src", 0, 1, **fields)

    def f(**fields: Any) -> LogicalOperator:
        return operator("F", 1, 1, **fields)

    def k(**fields: Any) -> LogicalOperator:
        return operator("K", 1, 0, **fields)

    match case:
        case "T1":
            graph = chain(src(), f(), k())
        case "T2":
            graph = chain(src(threading=MANUAL), f(threading=MANUAL), k(threading=MANUAL))
        case "T3":
            operators = [operator("S1", 0, 1), operator("S2", 0, 1), operator("U", 1, 0, threading=MANUAL)]
            graph = logical_graph(operators, [("S1", 0, "U", 0), ("S2", 0, "U", 0)])
        case "T4":
            graph = chain(src(), f(threading=MANUAL, threaded_ports=(ThreadedPort(0),)), k(threading=MANUAL))
        case "T5" | "T6":
            return region(case == "T6"), [["Src", "A[0]", "A[1]", "B[0]", "B[1]"], ["Snk"]]
        case "T7":
            graph = region(True)
        case "T8":
            delay = operator("Delay", 1, 1, threading=MANUAL, single_threaded="Never")
            graph = chain(src(), delay, k(threading=MANUAL))
        case "T9":
            return chain(src(), f(threading=MANUAL), k()), [["Src"], ["F"], ["K"]]
        case "T10":
            operators = [operator("S1", 0, 1), operator("S2", 0, 1), operator("J", 2, 0, threading=MANUAL)]
            graph = logical_graph(operators, [("S1", 0, "J", 0), ("S2", 0, "J", 1)])
            return graph, [["S1"], ["S2"], ["J"]]
        case "T11":
            graph = chain(src(), operator("X", 1, 0, threading=DYNAMIC))
        case _:
            raise AssertionError(case)
    return graph, [[each.name for each in expanded(graph).operators]]


FURTHER: list[dict[str, Any]] = [
    {"id": "T3", "U": [2, "multi", "multi"]},
    {"id": "T6", "A_i": [1, "single", "single"], "B_i": [1, "single", "single"], "pe_out_of_B_i_single": True},
    {"id": "T8", "Delay": [1, "single", "multi"], "K": [2, "multi", "multi"]},
    {"id": "T10", "J": [2, "multi", "multi"]},
    {"id": "T11", "X": [1, "single", "single"]},
]


@pytest.mark.parametrize("case", [*THREAD_CASES, *FURTHER], ids=lambda case: case["id"])
def test_documented_graphs_have_their_threads(case: dict[str, Any]) -> None:
    logical, pes = graph_of(case["id"])
    physical = expanded(logical)
    number = {each.name: each.index for each in physical.operators}
    fusion = in_pes(physical, [[number[name] for name in pe] for pe in pes])
    plan, _ = threaded(logical, physical, fusion)
    for name, wanted in case.items():
        if name in ("id", "pe"):
            continue
        if name == "queue_single_producer":
            assert [queue.single_producer for queue in plan.queues] == [wanted]
        elif name == "pe_out_of_B_i_single":
            assert [plan.operators[port.operator].threads <= 1 for port in fusion.pes[0].outputs] == [wanted] * 2
        else:
            replicas = [f"{name[:-2]}[0]", f"{name[:-2]}[1]"] if name.endswith("_i") else [name]
            for replica in replicas:
                actual = plan.operators[number[replica]]
                single = {True: "single", False: "multi"}
                flags = [single[actual.single_threaded_on_inputs], single[actual.single_threaded_on_outputs]]
                assert [actual.threads, *flags] == wanted
                assert actual.locked is not actual.single_threaded_on_inputs


def ports(plan: ThreadPlan) -> list[tuple[int, int, bool, str, int]]:
    return [(each.operator, each.port, each.injected, each.congestion_policy, each.queue_size) for each in plan.queues]


def test_queues_are_injected_behind_splitters_only() -> None:
    logical = region(False)
    physical = expanded(logical)
    plan, _ = threaded(logical, physical, in_one_pe(physical))
    assert ports(plan) == [(1, 0, True, "Sys.Wait", 1000), (4, 0, True, "Sys.Wait", 1000)]
    apart, _ = threaded(logical, physical, in_pes(physical, [[0], [1, 2], [4, 5], [3]]))
    assert apart.queues == ()


def test_a_queue_of_the_user_wins() -> None:
    logical = region(False)
    users = (ThreadedPort(0, "Sys.DropFirst", 7),)
    logical = replace(
        logical,
        operators=(*logical.operators[:1], replace(logical.operators[1], threaded_ports=users), *logical.operators[2:]),
    )
    physical = expanded(logical)
    plan, _ = threaded(logical, physical, in_one_pe(physical))
    assert ports(plan) == [(1, 0, False, "Sys.DropFirst", 7), (4, 0, False, "Sys.DropFirst", 7)]


def test_the_dedicated_model_puts_a_queue_on_every_port_that_is_fed_within_the_pe() -> None:
    dedicated = Threading("dedicated", explicit=True)
    logical = logical_graph(
        [operator("a", 0, 1), operator("b", 0, 1), operator("j", 2, 0, threading=dedicated)],
        [("a", 0, "j", 0), ("b", 0, "j", 1)],
    )
    physical = unexpanded(logical)
    assert ports(threaded(logical, physical, in_pes(physical, [[0, 2], [1]]))[0]) == [(2, 0, True, "Sys.Wait", 1000)]
    by_submission = replace(
        logical, operators=tuple(replace(each, threading=Threading()) for each in logical.operators)
    )
    plan, _ = threaded(by_submission, physical, in_one_pe(physical), threading="dedicated")
    assert [queue[:2] for queue in ports(plan)] == [(2, 0), (2, 1)]


def waiting(queued: bool = False, **fields: Any) -> LogicalGraph:
    gate = operator("gate", 2, 1, waits=((0, 1),), threaded_ports=(ThreadedPort(1),) if queued else (), **fields)
    return logical_graph(
        [operator("src", 0, 1), operator("left", 1, 1), operator("right", 1, 1), gate],
        [("src", 0, "left", 0), ("src", 0, "right", 0), ("left", 0, "gate", 0), ("right", 0, "gate", 1)],
    )


def test_waiting_for_the_own_thread_is_an_error() -> None:
    for logical, groups, wanted in (
        (waiting(), [[0, 1, 2, 3]], ["SO1201"]),
        (waiting(queued=True), [[0, 1, 2, 3]], []),
        (waiting(), [[0, 1], [2, 3]], []),
        (waiting(), [[0, 1, 2], [3]], []),
        (waiting(threading=DYNAMIC), [[0, 1, 2, 3]], []),
    ):
        physical = unexpanded(logical)
        assert [each.code for each in threaded(logical, physical, in_pes(physical, groups))[1]] == wanted


def test_waiting_for_an_answer_that_the_own_call_brings_is_an_error() -> None:
    logical = logical_graph(
        [operator("src", 0, 1), operator("gate", 2, 1, waits=((0, 1),)), operator("ack", 1, 1)],
        [("src", 0, "gate", 0), ("gate", 0, "ack", 0), ("ack", 0, "gate", 1)],
    )
    physical = unexpanded(logical)
    assert [each.code for each in threaded(logical, physical, in_one_pe(physical))[1]] == ["SO1201"]


shapes = st.integers(1, 7).flatmap(
    lambda size: st.tuples(
        st.lists(
            st.tuples(
                st.integers(0, 2),
                st.sampled_from(["manual", "automatic", "dynamic", None]),
                st.sampled_from(["Always", "Never"]),
                st.booleans(),
            ),
            min_size=size,
            max_size=size,
        ),
        st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1), st.integers(0, 1)), max_size=14),
        st.lists(st.integers(0, 1), min_size=size, max_size=size),
    )
)


def drawn_graph(shape: Any) -> tuple[LogicalGraph, PhysicalGraph, FusionPlan]:
    kinds, pairs, homes = shape
    operators = [
        operator(
            str(index),
            inputs,
            1,
            threading=Threading(model),
            single_threaded=single,
            threaded_ports=(ThreadedPort(0),) if queue and inputs else (),
        )
        for index, (inputs, model, single, queue) in enumerate(kinds)
    ]
    wires: list[Wire] = sorted(
        {(str(source), 0, str(target), port) for source, target, port in pairs if port < kinds[target][0]}
    )
    logical = logical_graph(operators, wires)
    physical = unexpanded(logical)
    used = sorted(set(homes))
    groups = [[index for index, home in enumerate(homes) if home == each] for each in used]
    return logical, physical, in_pes(physical, groups)


def brute_force(logical: LogicalGraph, physical: PhysicalGraph, fusion: FusionPlan) -> list[int]:
    """Rules 73 and 74 to the letter: every thread walks on its own."""
    queued = {(each.index, port.port) for each in logical.operators for port in each.threaded_ports}
    origins = find_origins(logical, physical, fusion, queued, Options())
    counts = [0] * len(logical.operators)

    def walk(entered: list[int], left: list[int]) -> None:
        marked: set[int] = set(entered)
        stack = entered + left
        seen = set(stack)
        while stack:
            index = stack.pop()
            for connection in origins.followed:
                if connection.source == index:
                    marked.add(connection.target)
                    if connection.target not in seen:
                        seen.add(connection.target)
                        stack.append(connection.target)
        for index in marked:
            counts[index] += 1

    for each in logical.operators:
        if not each.inputs:
            walk([each.index], [])
        if each.single_threaded == "Never":
            walk([], [each.index])
        for port in range(len(each.inputs)):
            if (each.index, port) in queued:
                walk([each.index], [])
                continue
            if each.threading.model != "manual":
                walk([each.index], [])
            if each.threading.model != "dynamic" and any(
                (connection.target, connection.target_port) == (each.index, port)
                and fusion.pe_of[connection.source] != fusion.pe_of[each.index]
                for connection in physical.connections
            ):
                walk([each.index], [])
    return counts


@given(shapes)
def test_counts_agree_with_walking_every_thread(shape: Any) -> None:
    logical, physical, fusion = drawn_graph(shape)
    exact = [each.threads for each in threaded(logical, physical, fusion)[0].operators]
    assert exact == brute_force(logical, physical, fusion)


@given(shapes)
def test_truncated_counts_say_the_same_about_one_thread_or_several(shape: Any) -> None:
    logical, physical, fusion = drawn_graph(shape)
    plan, _ = threaded(logical, physical, fusion)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(propagation, "EXACT_BITS", -1)
        truncated, _ = threaded(logical, physical, fusion)
    assert [min(each.threads, 2) for each in plan.operators] == [each.threads for each in truncated.operators]
    assert plan.queues == truncated.queues


@pytest.mark.slow
def test_a_long_pipeline_in_one_pe() -> None:
    length = 30_000
    operators = [operator("0", 0, 1), *(operator(str(index), 1, 1) for index in range(1, length))]
    logical = chain(*operators)
    physical = unexpanded(logical)
    plan, _ = threaded(logical, physical, in_one_pe(physical))
    assert [each.threads for each in plan.operators[:4]] == [1, 2, 2, 2]
    assert all(each.locked for each in plan.operators[1:])
