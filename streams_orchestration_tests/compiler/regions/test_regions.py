from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.logical.logical import build_logical_graph
from streams_orchestration.compiler.logical_graph import ImportExport, ParallelRegion
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.parallel.parallel import expand
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.regions.growth import grow
from streams_orchestration.compiler.regions.regions import map_regions
from streams_orchestration.compiler.stage_results import ConsistentRegion
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration_tests.compiler.graphs import expanded, logical_graph, operator, unexpanded
from streams_orchestration_tests.compiler.regions.region_graphs import autonomous, codes, mapped, periodic
from streams_orchestration_tests.compiler.regions.region_specs import spec_of
from streams_orchestration_tests.specs import CASES

REGION_CASES = yaml.safe_load((CASES / "regions.yaml").read_text())


@pytest.mark.parametrize("case", REGION_CASES, ids=lambda case: case["id"])
def test_documented_regions_are_mapped(case: dict[str, Any]) -> None:
    logical, logical_diagnostics = build_logical_graph(application_from_mapping(spec_of(case)), Options())
    physical, more = expand(logical)
    regions, diagnostics = map_regions(logical, physical)
    diagnostics = [*logical_diagnostics, *more, *diagnostics]
    expect = case["expect"]
    assert codes(diagnostics) == sorted(expect.get("errors", []))
    names = [each.name.rpartition(".")[2] for each in logical.operators]
    for region, wanted in zip(regions.logical, expect.get("regions", regions.logical), strict=True):
        if isinstance(wanted, dict):
            assert_region(region, wanted, names)
    if "autonomous" in expect:
        members = {member for region in regions.logical for member in region.operators}
        outside = {name for index, name in enumerate(names) if index not in members}
        assert outside == set(expect["autonomous"])
    if "expanded" in expect:
        full = {each.name: each.name.rpartition(".")[2] for each in logical.operators}
        starts = [[physical.operators[start] for start in region.starts] for region in regions.expanded]
        assert [
            {
                "logicalIndex": region.logical_index,
                "starts": [
                    full[logical.operators[each.logical].name] + (f"[{each.channel}]" if each.channels else "")
                    for each in started
                ],
                "n_ops": len(region.operators),
            }
            for region, started in zip(regions.expanded, starts, strict=True)
        ] == expect["expanded"]


def assert_region(region: ConsistentRegion, wanted: dict[str, Any], names: list[str]) -> None:
    assert region.index == region.logical_index == wanted["index"]
    assert region.trigger == wanted["trigger"]
    for attribute, key, default in (
        ("period", "period", None),
        ("drain_timeout", "drainTimeout", 180.0),
        ("reset_timeout", "resetTimeout", 180.0),
        ("max_consecutive_reset_attempts", "maxConsecutiveResetAttempts", 5),
    ):
        value = wanted.get(key, default)
        assert getattr(region, attribute) == (value["default"] if isinstance(value, dict) else value)
    assert {names[each] for each in region.operators} == set(wanted["ops"])
    assert {names[each] for each in region.starts} == set(wanted["starts"])
    assert {names[each] for each in region.ends} == set(wanted["ends"])
    ports = {names[each]: list(ports) for each, ports in region.autonomous_ports}
    assert ports == wanted.get("auto_ports", {})


def test_an_end_has_no_consumer_inside_and_may_be_a_start() -> None:
    graph = logical_graph(
        [operator("s", 0, 1), operator("m", 1, 1), operator("in", 1), operator("out", 1)],
        [("s", 0, "m", 0), ("m", 0, "in", 0), ("m", 0, "out", 0)],
        annotations=(periodic("s"), autonomous("out")),
    )
    regions, _ = map_regions(graph, unexpanded(graph))
    assert regions.logical[0].ends == (2,)
    assert regions.region_of == (0, 0, 0, -1)


def test_nested_composites_are_numbered_before_primitives_and_merges_leave_no_gap() -> None:
    graph = logical_graph(
        [operator("a", 0, 1), operator("C.b", 0, 1, composites=("C",)), operator("d", 0, 1), operator("j", 1)],
        [("C.b", 0, "j", 0), ("a", 0, "j", 0)],
        annotations=(periodic("C", True), periodic("a", period=3.0), periodic("d", period=5.0)),
    )
    regions, diagnostics = map_regions(graph, unexpanded(graph))
    assert [(each.operators, each.period) for each in regions.logical] == [((0, 1, 3), 3.0), ((2,), 5.0)]
    assert not diagnostics


def test_an_import_fed_operator_of_a_composite_starts_its_region() -> None:
    graph = logical_graph(
        [operator("C.a", 1, 1, composites=("C",)), operator("C.b", 1, composites=("C",))],
        [("C.a", 0, "C.b", 0)],
        annotations=(periodic("C", True),),
        imports=(ImportExport("import", "C.imp", 0, 0, {}, composites=("C",), autonomous=True),),
    )
    regions, diagnostics = map_regions(graph, unexpanded(graph))
    assert regions.logical[0].starts == (0,)
    assert not diagnostics
    refused = replace(graph, imports=(replace(graph.imports[0], autonomous=False),))
    assert codes(mapped(refused)[1]) == ["CDISP0697E"]


def test_only_starts_of_an_autonomous_composite_bar_a_region() -> None:
    inside = [operator(f"X.{name}", inputs, 1, composites=("X",)) for name, inputs in (("a", 1), ("b", 2))]
    graph = logical_graph(
        [operator("s", 0, 1), operator("t", 0, 1), *inside],
        [("t", 0, "X.a", 0), ("X.a", 0, "X.b", 0), ("s", 0, "X.b", 1)],
        annotations=(autonomous("X", True), periodic("s")),
    )
    members, diagnostics = mapped(graph)
    assert members == {0: ["s", "X.b"]}
    assert not diagnostics


def test_a_region_without_operators_is_reported_and_keeps_its_number() -> None:
    graph = logical_graph(
        [operator("C.a", 0, 1, composites=("C",)), operator("b", 1)],
        [("C.a", 0, "b", 0)],
        annotations=(periodic("C", True), periodic("C.a")),
    )
    regions, diagnostics = map_regions(graph, unexpanded(graph))
    assert [each.operators for each in regions.logical] == [(), (0, 1)]
    assert [(each.index, each.logical_index, each.operators) for each in regions.expanded] == [
        (0, 0, ()),
        (1, 1, (0, 1)),
    ]
    assert regions.region_of == (1, 1)
    assert codes(diagnostics, "warning") == ["SO1001"]


def test_channel_zero_keeps_the_part_that_is_not_parallel() -> None:
    graph = logical_graph(
        [
            operator("C.a", 0, 1, composites=("C",)),
            operator("C.p", 0, 1, composites=("C",), regions=(0,)),
            operator("C.q", 1, composites=("C",), regions=(0,)),
        ],
        [("C.p", 0, "C.q", 0)],
        annotations=(periodic("C", True),),
        regions=(ParallelRegion(0, "inner", 3, (), {}),),
    )
    physical = expanded(graph)
    regions, diagnostics = map_regions(graph, physical)
    assert not diagnostics
    actual = [[physical.operators[member].name for member in region.operators] for region in regions.expanded]
    assert actual == [["C.a", "C.p[0]", "C.q[0]"], ["C.p[1]", "C.q[1]"], ["C.p[2]", "C.q[2]"]]
    assert [region.index for region in regions.expanded] == [0, 1, 2]
    assert [region.logical_index for region in regions.expanded] == [0, 0, 0]


def test_the_walk_stops_at_another_start_after_the_expansion_too() -> None:
    graph = logical_graph(
        [operator("a", 0, 1), operator("b", 1, 1), operator("c", 1)],
        [("a", 0, "b", 0), ("b", 0, "c", 0)],
        annotations=(periodic("a"), periodic("b")),
    )
    regions, _ = map_regions(graph, unexpanded(graph))
    assert [each.operators for each in regions.expanded] == [(0,), (1, 2)]


graphs = st.integers(1, 12).flatmap(
    lambda size: st.tuples(
        st.just(size),
        st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=30),
        st.dictionaries(st.integers(0, size - 1), st.integers(0, 3), max_size=4),
        st.frozensets(st.integers(0, size - 1), max_size=2),
    )
)


class Line:
    def __init__(self, source: int, target: int) -> None:
        self.source, self.target, self.target_port = source, target, 0


@given(graphs, st.randoms())
def test_growth_is_closed_and_independent_of_order(drawn: Any, random: Any) -> None:
    size, pairs, starts, barriers = drawn
    barriers = barriers - set(starts)
    edges = [Line(*pair) for pair in pairs]
    growth = grow(size, edges, starts, barriers, 4)
    for edge in edges:
        if growth.region_of[edge.source] >= 0 and edge.target not in starts and edge.target not in barriers:
            assert growth.region_of[edge.target] == growth.region_of[edge.source]
    assert all(growth.region_of[barrier] == -1 for barrier in barriers)
    shuffled = random.sample(edges, len(edges))
    again = grow(size, shuffled, dict(random.sample(list(starts.items()), len(starts))), barriers, 4)
    assert again == growth
    reached = set(starts)
    while True:
        more = {e.target for e in edges if e.source in reached and e.target not in barriers} - reached
        if not more:
            break
        reached |= more
    assert {index for index, region in enumerate(growth.region_of) if region >= 0} == reached


def test_many_channels_quickly() -> None:
    width = 5000
    graph = logical_graph(
        [operator("s", 0, 1), operator("t", 1, 1, regions=(0,)), operator("u", 1)],
        [("s", 0, "t", 0), ("t", 0, "u", 0)],
        annotations=(periodic("s"),),
        regions=(ParallelRegion(0, "t", width, (), {}),),
    )
    physical: PhysicalGraph = expanded(graph)
    regions, _ = map_regions(graph, physical)
    assert [len(each.operators) for each in regions.expanded] == [width + 2]
