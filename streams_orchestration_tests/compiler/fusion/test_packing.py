"""The membership of PEs under the manual scheme is good, and the same every time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.fusion_quality import compared, random_graph
from streams_orchestration.compiler.fusion.packing import most_operators
from streams_orchestration.compiler.logical_graph import LogicalGraph, PlacementGroup, Tag
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration_tests.compiler.graphs import logical_graph, operator, unexpanded
from streams_orchestration_tests.compiler.plans import fused


@pytest.mark.parametrize("rates", [False, True])
def test_traffic_between_pes_is_close_to_the_least(rates: bool) -> None:
    for seed in range(1000, 1040):
        actual, least = compared(seed, rates=rates)
        assert least <= actual <= 1.05 * least, seed


def chain(length: int) -> tuple[LogicalGraph, PhysicalGraph]:
    names = [f"N{number}" for number in range(length)]
    operators = [operator(name, min(number, 1), 1) for number, name in enumerate(names)]
    logical = logical_graph(operators, [(names[i], 0, names[i + 1], 0) for i in range(length - 1)])
    return logical, unexpanded(logical)


def test_membership_is_the_same_every_time() -> None:
    for seed in range(20):
        logical, physical = random_graph(seed, rates=True)
        plans = [fused(logical, physical, fusion="manual", pes=3)[0] for _ in range(2)]
        assert plans[0] == plans[1]


@pytest.mark.parametrize("pes", [2, 3, 7])
def test_chains_are_cut_once_for_every_further_pe(pes: int) -> None:
    logical, physical = chain(200)
    plan, _ = fused(logical, physical, fusion="manual", pes=pes)
    cut = sum(plan.pe_of[each.source] != plan.pe_of[each.target] for each in physical.connections)
    assert cut == pes - 1
    assert max(len(pe.operators) for pe in plan.pes) <= most_operators(200, pes)


def test_exlocated_operators_stay_apart_however_much_flows_between_them() -> None:
    logical, physical = chain(40)
    apart = PlacementGroup(exlocation=(Tag("plain", "x"),))
    operators = tuple(replace(each, partition=apart) if each.index in (3, 4) else each for each in logical.operators)
    plan, _ = fused(replace(logical, operators=operators), physical, fusion="manual", pes=2)
    assert plan.pe_of[3] != plan.pe_of[4]
    assert len(plan.pes) == 2
