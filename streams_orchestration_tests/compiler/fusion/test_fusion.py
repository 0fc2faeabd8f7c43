from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.fusion.fusion import fuse
from streams_orchestration.compiler.logical_graph import HostPool, ImportExport, LogicalOperator, PlacementGroup, Tag
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import PhysicalGraph, PortLink
from streams_orchestration.compiler.stage_results import FusionPlan, RegionMap
from streams_orchestration.model.profile import OperatorProfile, PassageCost, Profile, StreamProfile, Transport
from streams_orchestration_tests.compiler.graphs import Wire, expanded, logical_graph, operator, unexpanded
from streams_orchestration_tests.compiler.placements import (
    ISOLATED,
    codes,
    colocated,
    exlocated,
    pipeline,
)
from streams_orchestration_tests.compiler.plans import fused, pes_of
from streams_orchestration_tests.examples import examples


def test_an_import_makes_a_pe_input_port_and_an_export_an_output_port() -> None:
    logical = logical_graph([operator("a", 1, 1)], [], imports=(ImportExport("import", "i", 0, 0, {}),))
    links = (PortLink("import", "i", 0, 0, {}),)
    physical = replace(unexpanded(logical), imports=links, exports=(PortLink("export", "e", 0, 0, {}),))
    plan, _ = fused(logical, physical, fusion="legacy")
    assert [tuple(port) for port in plan.pes[0].inputs] == [(0, 0)]
    assert [tuple(port) for port in plan.pes[0].outputs] == [(0, 0, -1, -1)]


def test_pe_ports_are_numbered_by_their_smallest_peer() -> None:
    logical = logical_graph(
        [operator("s", 0, 2), operator("a", 1), operator("b", 1)], [("s", 0, "b", 0), ("s", 1, "a", 0)]
    )
    plan, _ = fused(logical, unexpanded(logical), fusion="legacy")
    assert [(port.operator, port.port) for port in plan.pes[0].outputs] == [(0, 1), (0, 0)]


def test_manual_makes_as_many_pes_as_asked_for() -> None:
    logical = pipeline(width=6)
    physical = expanded(logical)
    for wanted in range(1, 15):
        plan, diagnostics = fused(logical, physical, fusion="manual", pes=wanted)
        assert not diagnostics
        assert len(plan.pes) == wanted
    plan, diagnostics = fused(logical, physical, fusion="manual", pes=40)
    assert (len(plan.pes), diagnostics) == (14, [])


def test_isolated_units_count_and_constraints_make_more() -> None:
    logical = pipeline(ISOLATED, PlacementGroup(), ISOLATED, width=3)
    physical = expanded(logical)
    plan, diagnostics = fused(logical, physical, fusion="manual", pes=4)
    assert (len(plan.pes), diagnostics) == (4, [])
    plan, diagnostics = fused(logical, physical, fusion="manual", pes=1)
    assert (len(plan.pes), codes(diagnostics)) == (3, ["CDISR3035W"])


def test_exlocated_siblings_are_apart() -> None:
    logical = pipeline(inner=exlocated("x"), width=3)
    physical = expanded(logical)
    for wanted in (1, 4, 6):
        plan, _ = fused(logical, physical, fusion="manual", pes=wanted)
        homes = [plan.pe_of[each.index] for each in physical.operators if each.channels]
        assert len(set(homes)) == 6
        assert len(plan.pes) == 6


def test_by_channel_exlocation_separates_the_operators_of_a_channel_only() -> None:
    logical = pipeline(inner=PlacementGroup(exlocation=(Tag("byChannel", "Out", 0),)), width=3)
    physical = expanded(logical)
    plan, diagnostics = fused(logical, physical, fusion="manual", pes=2)
    assert (len(plan.pes), diagnostics) == (2, [])
    channels = [(plan.pe_of[each.index], each.channel) for each in physical.operators if each.channels]
    assert max(Counter(channels).values()) == 1


def test_chains_stay_whole() -> None:
    logical = pipeline(width=4)
    physical = expanded(logical)
    plan, _ = fused(logical, physical, fusion="manual", pes=4)
    crossing = sum(plan.pe_of[each.source] != plan.pe_of[each.target] for each in physical.connections)
    assert crossing <= 7
    assert max(len(pe.operators) for pe in plan.pes) <= 3


def test_streams_with_much_traffic_are_not_cut() -> None:
    outputs = [replace(operator("s", 0, 1).outputs[0], rate=rate) for rate in (1.0, 1000.0)]
    logical = logical_graph(
        [operator("s", 0, outputs), operator("a", 1), operator("b", 1), operator("c")],
        [("s", 0, "a", 0), ("s", 1, "b", 0)],
    )
    physical = unexpanded(logical)
    plan, _ = fused(logical, physical, fusion="manual", pes=2)
    assert plan.pe_of[0] == plan.pe_of[2]


def test_automatic_is_one_pe_for_a_host() -> None:
    logical = pipeline(width=5)
    plan, diagnostics = fused(logical, expanded(logical))
    assert (plan.scheme, len(plan.pes), diagnostics) == ("automatic", 1, [])


def test_automatic_uses_every_named_host_and_every_host_of_a_pool() -> None:
    operators = [operator(str(index), host_pool="pool" if index < 8 else None) for index in range(12)]
    operators[11] = replace(operators[11], host="h")
    logical = logical_graph(operators, [], host_pools=(HostPool("pool", (), 4),))
    physical = replace(unexpanded(logical), host_pools=logical.host_pools)
    plan, _ = fused(logical, physical)
    assert len(plan.pes) == 6
    assert len({pe.host for pe in plan.pes}) == 6
    assert plan.pes[plan.pe_of[8]].host == 0


def member_map(members: set[int], size: int) -> RegionMap:
    return RegionMap((), (), tuple(0 if index in members else -1 for index in range(size)))


def test_regions_are_kept_apart_but_colocation_beats_that() -> None:
    logical = logical_graph([operator("s", 0, 1), operator("m", 1, 1), operator("out", 1)], [("s", 0, "m", 0)])
    physical = unexpanded(logical)
    regions = member_map({0, 1}, 3)
    plan, _ = fuse(logical, physical, regions, Options())
    assert pes_of(physical, plan) == [["s", "m"], ["out"]]
    joined = replace(logical, operators=tuple(replace(each, partition=colocated("t")) for each in logical.operators))
    plan, diagnostics = fuse(joined, physical, regions, Options())
    assert (pes_of(physical, plan), diagnostics) == ([["s", "m", "out"]], [])


def test_colocated_members_of_a_region_may_share_their_pe() -> None:
    logical = logical_graph(
        [
            operator("s", 0, 1, partition=colocated("t")),
            operator("m", 1, 1, partition=colocated("t")),
            operator("n", 1),
        ],
        [("s", 0, "m", 0), ("m", 0, "n", 0)],
    )
    plan, _ = fuse(logical, unexpanded(logical), member_map({0, 1, 2}, 3), Options())
    assert len(plan.pes) == 1


@pytest.mark.parametrize(
    ("options", "pes"),
    [
        (Options(fusion="manual", pes=1, faithful=True), [(0, 1), (2,), (3,)]),
        (Options(fusion="manual", pes=1), [(0, 1, 2), (3,)]),
        (Options(faithful=True), [(0, 1, 2), (3,)]),
    ],
    ids=["faithful manual", "manual", "faithful automatic"],
)
def test_a_colocated_group_of_members_is_alone_where_streams_would_have_it_so(
    options: Options, pes: list[tuple[int, ...]]
) -> None:
    """Rule 60: a quirk of the manual scheme, for `--faithful` only."""
    operators = [operator(name, 1, 1, partition=colocated("t")) for name in "ab"]
    logical = logical_graph([*operators, operator("c", 1, 1), operator("d", 1, 1)], [])
    plan, _ = fuse(logical, unexpanded(logical), member_map({0, 1, 2}, 4), options)
    assert [pe.operators for pe in plan.pes] == pes


def channels_of(physical: PhysicalGraph, plan: FusionPlan) -> list[set[int]]:
    return [{physical.operators[index].channel for index in pe.operators} for pe in plan.pes]


def test_isolated_channels_share_no_pe() -> None:
    logical = pipeline(width=3)
    physical = expanded(logical)
    plan, _ = fused(logical, physical, fusion="manual", pes=2, channel_fusion="channelIsolation")
    assert all(len(channels) == 1 for channels in channels_of(physical, plan))
    assert len(plan.pes) == 4
    legacy, _ = fused(logical, physical, fusion="legacy", channel_fusion="channelIsolation")
    assert len(legacy.pes) == 8


def test_exlocated_channels_share_a_pe_with_no_other_channel() -> None:
    logical = pipeline(width=3)
    physical = expanded(logical)
    plan, _ = fused(logical, physical, fusion="manual", pes=2, channel_fusion="channelExlocation")
    assert all(len(channels - {-1}) <= 1 for channels in channels_of(physical, plan))
    assert len(plan.pes) == 3


@pytest.mark.parametrize("kind", ["channelIsolation", "channelExlocation"])
def test_a_colocation_that_crosses_channels_has_a_pe_of_its_own(kind: str) -> None:
    logical = pipeline(width=2)
    operators = [
        replace(each, partition=colocated("t")) if each.name == "Out.A" else each for each in logical.operators
    ]
    logical = replace(logical, operators=tuple(operators))
    physical = expanded(logical)
    plan, _ = fused(logical, physical, fusion="manual", pes=2, channel_fusion=kind)
    assert ["Out[0].A", "Out[1].A"] in pes_of(physical, plan)


def test_flags_hold_when_they_hold_for_all() -> None:
    logical = logical_graph([operator("a", restartable=False, relocatable=False), operator("b"), operator("c")], [])
    plan, _ = fused(logical, unexpanded(logical), fusion="manual", pes=1)
    assert [(pe.operators, pe.restartable, pe.relocatable) for pe in plan.pes] == [
        ((0,), False, False),
        ((1, 2), True, True),
    ]


drawn_operators = st.lists(
    st.tuples(
        st.sampled_from(["", "", "", "x", "y"]),
        st.sampled_from(["", "", "e"]),
        st.sampled_from(["", "", "he", "hc"]),
        st.integers(0, 9),
        st.sampled_from([None, None, "h1"]),
        st.integers(-1, 1),
    ),
    min_size=1,
    max_size=14,
)


pairs_of_operators = st.lists(st.tuples(st.integers(0, 13), st.integers(0, 13)), max_size=25)


@given(drawn_operators, pairs_of_operators, st.integers(1, 6), st.sampled_from(["legacy", "manual", "automatic"]))
def test_every_plan_is_a_partition_that_keeps_the_constraints(
    drawn: list[Any], pairs: list[tuple[int, int]], wanted: int, scheme: Any
) -> None:
    check_plan(drawn, pairs, Options(fusion=scheme, pes=wanted))


@examples(15)
@given(
    drawn_operators,
    pairs_of_operators,
    st.one_of(st.none(), st.integers(1, 6)),
    st.lists(st.integers(0, 50), min_size=14, max_size=14),
)
def test_every_plan_by_load_is_a_partition_that_keeps_the_constraints(
    drawn: list[Any], pairs: list[tuple[int, int]], wanted: int | None, loads: list[int]
) -> None:
    streams = tuple(StreamProfile(str(number), load % 7, bytes=0.0) for number, load in enumerate(loads[: len(drawn)]))
    operators = tuple(OperatorProfile(str(number), load / 100) for number, load in enumerate(loads[: len(drawn)]))
    transport = Transport("measured", PassageCost(0.01, 0.0), PassageCost(0.01, 0.0))
    check_plan(drawn, pairs, Options(pes=wanted, profile=Profile("test", 1.0, streams, operators, transport)))


def check_plan(drawn: list[Any], pairs: list[tuple[int, int]], options: Options) -> None:
    operators: list[LogicalOperator] = []
    for index, (colocation, exlocation, host_tag, chance, host, _) in enumerate(drawn):
        host_group = PlacementGroup()
        if host_tag:
            host_group = exlocated("he") if host_tag == "he" else colocated("hc")
        group = PlacementGroup(
            chance == 0,
            colocated(colocation).colocation if colocation else (),
            exlocated(exlocation).exlocation if exlocation else (),
        )
        operators.append(operator(str(index), 1, 1, partition=group, host=host, host_placement=host_group))
    wires: list[Wire] = sorted(
        {(str(a % len(drawn)), 0, str(b % len(drawn)), 0) for a, b in pairs if a % len(drawn) != b % len(drawn)}
    )
    logical = logical_graph(operators, wires)
    physical = unexpanded(logical)
    regions = RegionMap((), (), tuple(entry[5] for entry in drawn))
    plan, diagnostics = fuse(logical, physical, regions, options)
    again, _ = fuse(logical, physical, regions, options)
    assert again == plan
    members = [index for pe in plan.pes for index in pe.operators]
    assert sorted(members) == list(range(len(drawn)))
    assert [pe.operators[0] for pe in plan.pes] == sorted(pe.operators[0] for pe in plan.pes)
    for tag in ("x", "y"):
        assert len({plan.pe_of[index] for index, entry in enumerate(drawn) if entry[0] == tag}) <= 1
    if any(each.severity == "error" for each in diagnostics):
        return
    for pe in plan.pes:
        assert sum(drawn[index][1] == "e" for index in pe.operators) <= 1
        assert len(pe.operators) == 1 or all(drawn[index][3] != 0 for index in pe.operators)
        assert sum(drawn[index][2] == "he" for index in pe.operators) <= 1
    hosts = [plan.pes[plan.pe_of[index]].host for index in range(len(drawn))]
    exlocated_hosts = [hosts[index] for index, entry in enumerate(drawn) if entry[2] == "he"]
    assert len(set(exlocated_hosts)) == len(exlocated_hosts)
    assert len({hosts[index] for index, entry in enumerate(drawn) if entry[2] == "hc"}) <= 1
    if options.fusion != "legacy":
        for pe in plan.pes:
            if not any(drawn[index][0] for index in pe.operators):
                assert len({regions.region_of[index] for index in pe.operators}) == 1
