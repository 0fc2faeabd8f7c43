"""PEs do not feed one another in a loop where their operators do not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.fusion.fusion import fuse
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import FusionPlan, RegionMap
from streams_orchestration_tests.compiler.graphs import Wire, logical_graph, operator, unexpanded
from streams_orchestration_tests.compiler.placements import ISOLATED, colocated
from streams_orchestration_tests.compiler.plans import pes_of


def quotient(physical: PhysicalGraph, plan: FusionPlan) -> nx.DiGraph:
    """Return the graph of PEs that feed each other."""
    graph = nx.DiGraph()
    graph.add_nodes_from(pe.id for pe in plan.pes)
    edges = ((plan.pe_of[each.source], plan.pe_of[each.target]) for each in physical.connections)
    graph.add_edges_from((source, target) for source, target in edges if source != target)
    return graph


def chain(names: str, **configs: dict[str, Any]) -> tuple[LogicalGraph, PhysicalGraph]:
    operators = [operator(name, 1, 1, **configs.get(name, {})) for name in names]
    logical = logical_graph(operators, [(a, 0, b, 0) for a, b in pairwise(names)])
    return logical, unexpanded(logical)


ALONE = {"partition": ISOLATED}
TOGETHER = {"partition": colocated("t")}


@pytest.mark.parametrize(
    ("configs", "region", "options", "pes"),
    [
        ({"c": ALONE}, 0, Options(), ["ab", "c", "de"]),
        ({"c": ALONE}, -1, Options(), ["ab", "c", "de"]),
        ({"c": {"restartable": False}}, 0, Options(), ["ab", "c", "de"]),
        ({"b": ALONE, "d": ALONE}, 0, Options(), ["a", "b", "c", "d", "e"]),
        ({"a": ALONE}, 0, Options(), ["a", "bcde"]),
        ({"c": ALONE}, 0, Options(fusion="manual", pes=2), ["ab", "c", "de"]),
        ({"c": ALONE}, -1, Options(fusion="manual", pes=2), ["abde", "c"]),
        ({"c": ALONE}, 0, Options(faithful=True), ["abde", "c"]),
        ({"a": TOGETHER, "c": ALONE, "e": TOGETHER}, 0, Options(), ["abde", "c"]),
    ],
    ids=[
        "in the middle", "outside of regions", "not restartable", "twice", "at the end", "manual",
        "manual outside of regions", "faithful", "forced",
    ],
)  # fmt: skip
def test_an_operator_that_is_apart_divides_a_chain_without_a_loop_of_pes(
    configs: dict[str, Any], region: int, options: Options, pes: list[str]
) -> None:
    logical, physical = chain("abcde", **configs)
    plan, _ = fuse(logical, physical, RegionMap((), (), (region,) * 5), options)
    assert ["".join(each) for each in pes_of(physical, plan)] == pes


drawn = st.lists(
    st.tuples(st.sampled_from([""] * 4 + ["alone", "fragile", "t"]), st.integers(-1, 1)), min_size=2, max_size=12
)
pairs = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=24)


@given(drawn, pairs, st.integers(1, 6), st.permutations(range(12)))
def test_pes_are_in_no_loop_that_their_operators_do_not_force(
    entries: list[tuple[str, int]], ends: list[tuple[int, int]], wanted: int, shuffled: list[int]
) -> None:
    """Operators are numbered in any order; colocated ones may force a loop."""
    size = len(entries)
    place = [index for index in shuffled if index < size]
    wires: list[Wire] = sorted(
        {(str(place[min(a, b)]), 0, str(place[max(a, b)]), 0) for a, b in ends if a != b and max(a, b) < size}
    )
    configs: dict[str, Any] = {"alone": ALONE, "fragile": {"restartable": False}, "t": TOGETHER, "": {}}
    logical = logical_graph([operator(str(n), 1, 1, **configs[entry[0]]) for n, entry in enumerate(entries)], wires)
    physical = unexpanded(logical)
    regions = RegionMap((), (), tuple(region for _, region in entries))
    units = nx.DiGraph()
    names = [-1 if kind == "t" else number for number, (kind, _) in enumerate(entries)]
    units.add_edges_from((names[each.source], names[each.target]) for each in physical.connections)
    units.remove_edges_from(list(nx.selfloop_edges(units)))
    plan, _ = fuse(logical, physical, regions, Options())
    streams, _ = fuse(logical, physical, regions, Options(faithful=True))
    if nx.is_directed_acyclic_graph(units):
        assert nx.is_directed_acyclic_graph(quotient(physical, plan))
        manual, _ = fuse(logical, physical, regions, Options(fusion="manual", pes=wanted))
        assert not list(loops_within_regions(physical, manual, regions))
    if nx.is_directed_acyclic_graph(quotient(physical, streams)):
        assert plan == streams
    for pe in plan.pes:
        assert len({streams.pe_of[each] for each in pe.operators}) == 1


def loops_within_regions(physical: PhysicalGraph, plan: FusionPlan, regions: RegionMap) -> Iterator[set[int]]:
    graph = quotient(physical, plan)
    for region in (0, 1):
        members = [pe.id for pe in plan.pes if region in {regions.region_of[each] for each in pe.operators}]
        yield from (each for each in nx.strongly_connected_components(graph.subgraph(members)) if len(each) > 1)
