from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from streams_orchestration.compiler.logical_graph import HostPool, LogicalGraph, LogicalOperator, PlacementGroup, Tag
from streams_orchestration.compiler.physical_graph import PhysicalOperator
from streams_orchestration.compiler.placement.tags import resolve_tag
from streams_orchestration_tests.compiler.graphs import expanded, logical_graph, operator, unexpanded
from streams_orchestration_tests.compiler.placements import (
    ISOLATED,
    NOTHING,
    codes,
    colocated,
    exlocated,
    pipeline,
)
from streams_orchestration_tests.compiler.plans import fused, pes_of


def test_tags_are_resolved_by_channel_and_replica() -> None:
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
def test_conflicting_placements_are_diagnosed(
    scheme: str, first: dict[str, Any], second: dict[str, Any], wanted: list[str]
) -> None:
    logical = pair(first, second)
    _, diagnostics = fused(logical, unexpanded(logical), fusion=scheme)
    assert [code for code in codes(diagnostics) if code != "CDISR3035W"] == wanted


def test_siblings_that_share_a_colocation_and_an_exlocation_are_reported_once() -> None:
    both = PlacementGroup(colocation=(Tag("plain", "t"),), exlocation=(Tag("plain", "x"),))
    logical = pipeline(inner=both, width=4)
    _, diagnostics = fused(logical, expanded(logical), fusion="legacy")
    assert set(codes(diagnostics)) == {"CDISP0284E"}
    assert len(diagnostics) <= 4


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
    hosts, actual = placed(*apart, operator("d"), fusion="manual", pes=3)
    assert (len(set(hosts[:3])), actual) == (3, [])


def test_a_pool_can_be_too_small() -> None:
    apart = [operator(str(index), host_placement=exlocated("x"), host_pool="p") for index in range(3)]
    assert placed(*apart, pools=(HostPool("p", (), 2),), fusion="legacy")[1] == ["CDISP0562E"]
    hosts, actual = placed(*apart, pools=(HostPool("p", (), 3),), fusion="legacy")
    assert (len(set(hosts)), actual) == (3, [])
    hosts, actual = placed(*apart, pools=(HostPool("p"),), fusion="legacy")
    assert (len(set(hosts)), actual) == (3, [])


def test_host_isolation_keeps_a_host_for_one_pe() -> None:
    hosts, actual = placed(operator("a", host_placement=ISOLATED), operator("b"), operator("c"), fusion="legacy")
    assert (hosts[1], hosts[2], actual) == (0, 0, [])
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
