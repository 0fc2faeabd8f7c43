from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import Compilation, compile_application
from streams_orchestration.compiler.fusion import fuse
from streams_orchestration.compiler.graph import (
    FusionPlan,
    HostPool,
    ImportExport,
    LogicalGraph,
    LogicalOperator,
    Options,
    ParallelRegion,
    PhysicalGraph,
    PhysicalOperator,
    PlacementGroup,
    PortLink,
    RegionMap,
    Tag,
)
from streams_orchestration.compiler.placement_tags import resolve_tag
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.loading import application_from
from streams_orchestration_tests.compiler.graphs import Wire, expanded, logical_graph, operator, unexpanded
from streams_orchestration_tests.compiler.plans import fused, pes_of, threaded

NOTHING = PlacementGroup()
ISOLATED = PlacementGroup(isolation=True)
BY_CHANNEL = PlacementGroup(colocation=(Tag("byChannel", "Out", 0),))


def colocated(*tags: str) -> PlacementGroup:
    return PlacementGroup(colocation=tuple(Tag("plain", tag) for tag in tags))


def exlocated(*tags: str) -> PlacementGroup:
    return PlacementGroup(exlocation=tuple(Tag("plain", tag) for tag in tags))


def parallel(name: str, width: int = 2, index: int = 0) -> ParallelRegion:
    return ParallelRegion(index, name, width, (), {})


def pipeline(
    src: PlacementGroup = NOTHING,
    inner: PlacementGroup = NOTHING,
    snk: PlacementGroup = NOTHING,
    width: int = 2,
    **fields: Any,
) -> LogicalGraph:
    """Src, then A and B in the region Out, then Snk."""
    return logical_graph(
        [
            operator("Src", 0, 1, partition=src, **fields),
            operator("Out.A", 1, 1, partition=inner, regions=(0,), composites=("Out",), **fields),
            operator("Out.B", 1, 1, partition=inner, regions=(0,), composites=("Out",), **fields),
            operator("Snk", 1, 0, partition=snk, **fields),
        ],
        [("Src", 0, "Out.A", 0), ("Out.A", 0, "Out.B", 0), ("Out.B", 0, "Snk", 0)],
        regions=(parallel("Out", width),),
    )


def codes(diagnostics: list[Diagnostic]) -> list[str]:
    return sorted(each.code for each in diagnostics)


DOCUMENTED: dict[str, tuple[LogicalGraph, list[list[str]], list[str], tuple[int, int]]] = {
    "Ex1": (
        pipeline(ISOLATED, BY_CHANNEL, ISOLATED),
        [["Src"], ["Out[0].A", "Out[0].B"], ["Out[1].A", "Out[1].B"], ["Snk"]],
        [],
        (4, 3),
    ),
    "Ex2": (
        pipeline(colocated("SrcAB"), colocated("SrcAB"), ISOLATED),
        [["Src", "Out[0].A", "Out[1].A", "Out[0].B", "Out[1].B"], ["Snk"]],
        ["Out[0].A", "Out[1].A"],
        (2, 1),
    ),
    "Ex7": (
        logical_graph(
            [
                operator("Out.Src", 0, 1, partition=BY_CHANNEL, regions=(0,)),
                operator("Out.A", 1, 1, partition=BY_CHANNEL, regions=(0,)),
                operator("Snk", 1, 0, partition=ISOLATED),
            ],
            [("Out.Src", 0, "Out.A", 0), ("Out.A", 0, "Snk", 0)],
            regions=(parallel("Out"),),
        ),
        [["Out[0].Src", "Out[0].A"], ["Out[1].Src", "Out[1].A"], ["Snk"]],
        [],
        (2, 1),
    ),
    "D1": (
        pipeline(colocated("x"), colocated("x"), colocated("x")),
        [["Src", "Out[0].A", "Out[1].A", "Out[0].B", "Out[1].B", "Snk"]],
        ["Out[0].A", "Out[1].A"],
        (0, 0),
    ),
    "D3": (
        logical_graph(
            [
                operator("Src", 0, 1),
                operator("A", 1, 1, regions=(0,)),
                operator("B", 1, 1, regions=(1,)),
                operator("Snk", 1),
            ],
            [("Src", 0, "A", 0), ("A", 0, "B", 0), ("B", 0, "Snk", 0)],
            regions=(parallel("A"), parallel("B", 3, 1)),
        ),
        [["Src"], ["A[0]"], ["A[1]"], ["B[0]"], ["B[1]"], ["B[2]"], ["Snk"]],
        [],
        (11, 6),
    ),
    "D5": (
        logical_graph(
            [operator("Src", 0, 1), operator("Out.A", 1, 1, regions=(0,)), operator("Out.B", 1, 1, regions=(0,))],
            [("Src", 0, "Out.A", 0), ("Src", 0, "Out.B", 0)],
            regions=(parallel("Out"),),
        ),
        [["Src"], ["Out[0].A"], ["Out[1].A"], ["Out[0].B"], ["Out[1].B"]],
        [],
        (4, 4),
    ),
    "D13": (
        logical_graph(
            [
                operator("Src", 0, 1, partition=colocated("t")),
                operator("Out.A", 1, 1, partition=colocated("t"), regions=(0,)),
                operator("Out.B", 1, 1, regions=(0,)),
                operator("Snk", 1),
            ],
            [("Src", 0, "Out.A", 0), ("Out.A", 0, "Out.B", 0), ("Out.B", 0, "Snk", 0)],
            regions=(parallel("Out", 1),),
        ),
        [["Src", "Out[0].A"], ["Out[0].B"], ["Snk"]],
        ["Out[0].A"],
        (2, 2),
    ),
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_documented_examples(name: str) -> None:
    logical, pes, queues, (outputs, inputs) = DOCUMENTED[name]
    physical = expanded(logical)
    plan, diagnostics = fused(logical, physical, fusion="legacy")
    assert not diagnostics
    assert sorted(map(sorted, pes_of(physical, plan))) == sorted(map(sorted, pes))
    threads, _ = threaded(logical, physical, plan)
    assert sorted(physical.operators[queue.operator].name for queue in threads.queues) == queues
    assert sum(len(pe.outputs) for pe in plan.pes) == outputs
    assert sum(len(pe.inputs) for pe in plan.pes) == inputs


def compiled(*graph: dict[str, Any], composites: dict[str, Any] | None = None, **options: Any) -> Compilation:
    operators = {
        "Source": {"inputs": [], "outputs": [{}]},
        "Op": {"inputs": [{}], "outputs": [{}]},
        "Sink": {"inputs": [{}], "outputs": []},
    }
    spec = {"specVersion": 1, "application": "test", "operators": operators, "graph": list(graph)}
    return compile_application(application_from({**spec, "composites": composites or {}}), Options(**options))


def test_nested_regions_colocated_by_outer_channel() -> None:
    """Example 12."""
    alone = {"placement": {"partitionIsolation": True}}
    nested = {"name": "O", "operator": "Inner", "inputs": ["A"], "annotations": {"parallel": {"width": 2}}}
    chain = [{"name": "B", "operator": "Op", "inputs": ["In"]}, {"name": "C", "operator": "Op", "inputs": ["B"]}]
    compilation = compiled(
        {"name": "Src", "operator": "Source", "config": alone},
        {
            "name": "Out",
            "operator": "Outer",
            "inputs": ["Src"],
            "annotations": {"parallel": {"width": 2}},
            "config": {"placement": {"partitionColocation": "byChannel()"}},
        },
        {"name": "Snk", "operator": "Sink", "inputs": ["Out"], "config": alone},
        composites={
            "Outer": {
                "inputs": ["In"],
                "outputs": ["O"],
                "graph": [{"name": "A", "operator": "Op", "inputs": ["In"]}, nested],
            },
            "Inner": {"inputs": ["In"], "outputs": ["C"], "graph": chain},
        },
        fusion="legacy",
    )
    assert sorted(sorted(pe) for pe in pes_of(compilation.physical, compilation.fusion)) == [
        ["Out[0].A", "Out[0].O[0].B", "Out[0].O[0].C", "Out[0].O[1].B", "Out[0].O[1].C"],
        ["Out[1].A", "Out[1].O[2].B", "Out[1].O[2].C", "Out[1].O[3].B", "Out[1].O[3].C"],
        ["Snk"],
        ["Src"],
    ]
    names = [each.name for each in compilation.physical.operators]
    assert sorted(names[queue.operator] for queue in compilation.threads.queues) == [
        f"Out[{channel // 2}].O[{channel}].B" for channel in range(4)
    ]
    assert sum(len(pe.outputs) for pe in compilation.fusion.pes) == 6
    assert sum(len(pe.inputs) for pe in compilation.fusion.pes) == 3


def test_an_import_inside_of_a_region() -> None:
    """Example 9."""
    parameters = {"subscription": 'kind == "x"', "filter": "attr == ${getChannel()}"}
    compilation = compiled(
        {
            "name": "Out",
            "operator": "Comp",
            "inputs": [],
            "annotations": {"parallel": {"width": 2}},
            "config": {"placement": {"partitionColocation": "byChannel()"}},
        },
        {"name": "Snk", "operator": "Sink", "inputs": ["Out"]},
        composites={
            "Comp": {
                "outputs": ["A"],
                "graph": [
                    {"name": "I", "operator": "Import", "parameters": parameters},
                    {"name": "A", "operator": "Op", "inputs": ["I"]},
                ],
            }
        },
        fusion="legacy",
    )
    assert sorted(pes_of(compilation.physical, compilation.fusion)) == [["Out[0].A"], ["Out[1].A"], ["Snk"]]
    assert sum(len(pe.inputs) for pe in compilation.fusion.pes) == 3
    assert sum(len(pe.outputs) for pe in compilation.fusion.pes) == 2


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


def test_tags() -> None:
    inner = PhysicalOperator(7, "P[1].H[3].F", 0, (1, 3), 1, 2, 4, widths=(2, 2))
    outside = PhysicalOperator(0, "F", 0)
    assert resolve_tag(Tag("byChannel", "P", 0), inner) == "P_1"
    assert resolve_tag(Tag("byChannel", "P.H", 1), inner) == "P.H_3"
    assert resolve_tag(Tag("byChannel", "main", -1), inner) == "main_1"
    assert resolve_tag(Tag("byChannel", "F", 0), outside) == "F"
    assert resolve_tag(Tag("byReplica", "P"), inner) == "P"
    text = "${getChannel()}.${getMaxChannels()}.${getLocalChannel()}.${getLocalMaxChannels()}"
    assert resolve_tag(Tag("plain", text), inner) == "3.4.1.2"
    assert resolve_tag(Tag("plain", text), outside) == "-1.0.-1.0"


def test_colocation_is_transitive() -> None:
    logical = logical_graph(
        [
            operator("a", partition=colocated("x")),
            operator("b"),
            operator("c", partition=colocated("x", "y")),
            operator("d", partition=colocated("y")),
        ],
        [],
    )
    physical = unexpanded(logical)
    assert pes_of(physical, fused(logical, physical, fusion="legacy")[0]) == [["a", "c", "d"], ["b"]]


def pair(first: dict[str, Any], second: dict[str, Any]) -> LogicalGraph:
    return logical_graph([operator("a", 0, 1, **first), operator("b", 1, 0, **second)], [("a", 0, "b", 0)])


def together(group: PlacementGroup = NOTHING, **fields: Any) -> dict[str, Any]:
    return {"partition": replace(group, colocation=(Tag("plain", "t"),)), **fields}


def on_host(group: PlacementGroup = NOTHING, **fields: Any) -> dict[str, Any]:
    return {"host_placement": replace(group, colocation=(Tag("plain", "h"),)), **fields}


CONFLICTS = [
    (together(exlocated("x")), together(exlocated("x")), ["CDISP0284E"]),
    (together(), together(restartable=False, relocatable=False), ["CDISP0285E"]),
    (together(), together(relocatable=False), ["CDISP0286E"]),
    ({"restartable": False, "relocatable": True}, {}, ["CDISP0287E"]),
    (together(host_placement=exlocated("x")), together(host_placement=exlocated("x")), ["CDISP0288E"]),
    (together(ISOLATED), together(), ["CDISP0289E"]),
    (on_host(exlocated("x")), on_host(exlocated("x")), ["CDISP0290E"]),
    (on_host(ISOLATED), on_host(), ["CDISP0525W"]),
    (on_host(ISOLATED, partition=exlocated("x")), on_host(partition=exlocated("x")), ["CDISP0291E", "CDISP0525W"]),
    (on_host(ISOLATED), on_host(restartable=False, relocatable=False), ["CDISP0292E", "CDISP0525W"]),
    (on_host(ISOLATED), on_host(relocatable=False), ["CDISP0293E", "CDISP0525W"]),
    (on_host(ISOLATED), on_host(partition=ISOLATED), ["CDISP0294E", "CDISP0525W"]),
    (on_host(host="h1"), on_host(host="h2"), ["CDISP0295E"]),
    (together(host="h1"), together(host="h2"), ["CDISP0295E"]),
    (
        {"host": "h", "host_placement": exlocated("x")},
        {"host": "h", "host_placement": exlocated("x")},
        ["CDISP0290E"],
    ),
    ({"host": "h", "host_placement": ISOLATED}, {"host": "h"}, ["CDISP0525W"]),
    (together(restartable=False, relocatable=False), together(restartable=False, relocatable=False), []),
    (together(exlocated("x")), together(exlocated("y")), []),
]


@pytest.mark.parametrize(("first", "second", "wanted"), CONFLICTS)
@pytest.mark.parametrize("scheme", ["legacy", "manual", "automatic"])
def test_conflicts(scheme: str, first: dict[str, Any], second: dict[str, Any], wanted: list[str]) -> None:
    logical = pair(first, second)
    _, diagnostics = fused(logical, unexpanded(logical), fusion=scheme)
    assert [code for code in codes(diagnostics) if code != "CDISR3035W"] == wanted


def test_siblings_that_share_a_colocation_and_an_exlocation_are_reported_once() -> None:
    both = PlacementGroup(colocation=(Tag("plain", "t"),), exlocation=(Tag("plain", "x"),))
    logical = pipeline(inner=both, width=4)
    _, diagnostics = fused(logical, expanded(logical), fusion="legacy")
    assert set(codes(diagnostics)) == {"CDISP0284E"}
    assert len(diagnostics) <= 4


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


def channels_of(physical: PhysicalGraph, plan: FusionPlan) -> list[set[int]]:
    return [{physical.operators[index].channel for index in pe.operators} for pe in plan.pes]


def test_channel_isolation() -> None:
    logical = pipeline(width=3)
    physical = expanded(logical)
    plan, _ = fused(logical, physical, fusion="manual", pes=2, channel_fusion="channelIsolation")
    assert all(len(channels) == 1 for channels in channels_of(physical, plan))
    assert len(plan.pes) == 4
    legacy, _ = fused(logical, physical, fusion="legacy", channel_fusion="channelIsolation")
    assert len(legacy.pes) == 8


def test_channel_exlocation() -> None:
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


def placed(
    *operators: LogicalOperator, pools: tuple[HostPool, ...] = (), **options: Any
) -> tuple[list[int], list[str]]:
    """Hosts of the operators, and codes."""
    logical = logical_graph(operators, [], host_pools=pools)
    physical = replace(unexpanded(logical), host_pools=pools)
    plan, diagnostics = fused(logical, physical, **options)
    return [plan.pes[plan.pe_of[index]].host for index in range(len(operators))], codes(diagnostics)


def test_named_hosts_split_pes_and_are_numbered() -> None:
    operators = [operator("a", host="h1"), operator("b"), operator("c", host="h2"), operator("d", host="h1")]
    assert placed(*operators, fusion="manual", pes=1) == ([1, 0, 2, 1], ["CDISR3035W"])


def test_host_exlocation_opens_hosts() -> None:
    apart = [operator(str(index), host_placement=exlocated("x")) for index in range(3)]
    hosts, found = placed(*apart, operator("d"), fusion="manual", pes=3)
    assert (len(set(hosts[:3])), found) == (3, [])


def test_a_pool_can_be_too_small() -> None:
    apart = [operator(str(index), host_placement=exlocated("x"), host_pool="p") for index in range(3)]
    assert placed(*apart, pools=(HostPool("p", (), 2),), fusion="legacy")[1] == ["CDISP0562E"]
    hosts, found = placed(*apart, pools=(HostPool("p", (), 3),), fusion="legacy")
    assert (len(set(hosts)), found) == (3, [])
    hosts, found = placed(*apart, pools=(HostPool("p"),), fusion="legacy")
    assert (len(set(hosts)), found) == (3, [])


def test_host_isolation_keeps_a_host_for_one_pe() -> None:
    hosts, found = placed(operator("a", host_placement=ISOLATED), operator("b"), operator("c"), fusion="legacy")
    assert (hosts[1], hosts[2], found) == (0, 0, [])
    assert hosts[0] != 0


def test_host_colocation_elsewhere_rules_a_pe_out() -> None:
    together_on = PlacementGroup(colocation=(Tag("plain", "h"),))
    operators = [
        operator("a", host_placement=replace(together_on, exlocation=(Tag("plain", "x"),))),
        operator("b", host_placement=together_on, partition=exlocated("p")),
        operator("c", host_placement=exlocated("x"), partition=exlocated("p")),
    ]
    hosts, _ = placed(*operators, fusion="manual", pes=2)
    assert hosts[0] == hosts[1] != hosts[2]


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


@given(
    drawn_operators,
    st.lists(st.tuples(st.integers(0, 13), st.integers(0, 13)), max_size=25),
    st.integers(1, 6),
    st.data(),
)
def test_every_plan_is_a_partition_that_keeps_the_constraints(
    drawn: list[Any], pairs: list[tuple[int, int]], wanted: int, data: st.DataObject
) -> None:
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
    scheme: Literal["legacy", "manual", "automatic"] = data.draw(st.sampled_from(["legacy", "manual", "automatic"]))
    plan, diagnostics = fuse(logical, physical, regions, Options(fusion=scheme, pes=wanted))
    again, _ = fuse(logical, physical, regions, Options(fusion=scheme, pes=wanted))
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
    if scheme != "legacy":
        for pe in plan.pes:
            if not any(drawn[index][0] for index in pe.operators):
                assert len({regions.region_of[index] for index in pe.operators}) == 1
