"""The parallel transformation: numbering, names, splitters, host pools."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.compiler.parallel.intrinsics import ChannelContext
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration_tests.compiler.parallel.annotated import SOURCE, region, splitter_texts
from streams_orchestration_tests.specs import graph, physical


def test_numbering_of_clones() -> None:
    """Originals keep their number, clones take the next free one, region by region (rule 5)."""
    actual = physical(
        graph(
            SOURCE,
            {"name": "Snk", "operator": "Sink", "inputs": ["R3"]},
            region("R1", 2, ["Src"]),
            region("R2", 5, ["R1"]),
            region("R3", 4, ["R2"]),
        )
    )
    names = [operator.name for operator in actual.operators]
    assert names[:6] == ["Src", "Snk", "R1[0]", "R2[0]", "R3[0]", "R1[1]"]
    assert names[6:10] == ["R2[1]", "R2[2]", "R2[3]", "R2[4]"]
    assert names[10:] == ["R3[1]", "R3[2]", "R3[3]"]
    assert [operator.index for operator in actual.operators] == list(range(13))
    assert len(actual.connections) == 2 + 2 * 5 + 5 * 4 + 4


@pytest.mark.parametrize("name", ["getChannels", "getMaxChannel", "getLocalChannels", "getAllChannel"])
def test_a_function_with_a_name_like_that_of_a_channel_function_stays_as_it_is(name: str):
    context = ChannelContext.at([1], [3])
    assert context.substitute(f"${{{name}()}}") == f"${{{name}()}}"
    assert context.substitute(f'kind == "{name}()"', bare=True) == f'kind == "{name}()"'


NESTED: dict[str, Any] = {
    "P": {
        "inputs": ["In"],
        "outputs": ["H"],
        "graph": [
            {"name": "A", "operator": "Work", "inputs": ["In"]},
            {"name": "H", "operator": "Q", "inputs": ["A"], "annotations": {"parallel": {"width": 4}}},
        ],
    },
    "Q": {
        "inputs": ["In"],
        "outputs": ["O"],
        "graph": [
            {"name": "F", "operator": "Work", "inputs": ["In"], "annotations": {"parallel": {"width": 3}}},
            {"name": "O", "operator": "Work", "inputs": ["F"]},
        ],
    },
}


def test_names_and_channels_of_nested_regions() -> None:
    """Operators carry global channels, streams local ones (rules 27-31)."""
    actual = physical(graph(SOURCE, region("P1", 2, ["Src"], "P"), composites=NESTED))
    by_name = {operator.name: operator for operator in actual.operators}
    assert len(by_name) == 1 + 2 + 8 + 24
    deep = by_name["P1[1].H[5].F[17]"]
    assert (deep.channel, deep.max_channels, deep.local_channel, deep.local_max_channels) == (17, 24, 2, 3)
    assert deep.channels == (1, 5, 17)
    assert deep.streams == ("P1[1].H[5].F[2]",)
    assert by_name["P1[1].A"].streams == ("P1[1].A",)
    assert by_name["Src"].channel == -1
    assert by_name["Src"].max_channels == 0
    # The stream leaves two composites under the name that the main graph gives it.
    assert by_name["P1[1].H[7].O"].streams == ("P1[1][3]",)


def test_a_stream_that_leaves_one_composite() -> None:
    composites = {**NESTED, "P": {**NESTED["P"], "outputs": ["B"]}}
    composites["P"]["graph"] = [*NESTED["P"]["graph"], {"name": "B", "operator": "Work", "inputs": ["H"]}]
    actual = physical(graph(SOURCE, region("P1", 2, ["Src"], "P"), composites=composites))
    streams = {operator.name: operator.streams for operator in actual.operators}
    assert streams["P1[1].H[7].O"] == ("P1[1].H[3]",)


def test_clones_of_composites_bring_their_composites_first() -> None:
    actual = physical(graph(SOURCE, region("P1", 2, ["Src"], "P"), composites=NESTED))
    names = [operator.name for operator in actual.operators]
    assert names[:4] == ["Src", "P1[0].A", "P1[0].H[0].F[0]", "P1[0].H[0].O"]
    assert names[4:6] == ["P1[0].H[0].F[1]", "P1[0].H[0].F[2]"]
    # Within a composite the originals are copied before the clones.
    assert names[6:10] == ["P1[0].H[1].F[3]", "P1[0].H[1].O", "P1[0].H[1].F[4]", "P1[0].H[1].F[5]"]
    outer = names.index("P1[1].A")
    assert outer == len(names) - 1, "a composite's own operators are copied after the composites in it"


def test_same_region_name_in_two_instances_is_not_common() -> None:
    """The instances decide which regions are common, not widths or names (rule 16)."""
    inner = {"inputs": ["In"], "outputs": ["W"], "graph": [region("W", 2, ["In"])]}
    actual = physical(
        graph(
            SOURCE,
            {"name": "C1", "operator": "C", "inputs": ["Src"]},
            {"name": "C2", "operator": "C", "inputs": ["C1"]},
            composites={"C": inner},
        )
    )
    assert len(actual.connections) == 2 + 4
    assert splitter_texts(actual) == [
        "Src C1.W.in0 roundRobin 2",
        "C1.W[0] C2.W.in0 roundRobin 2 D",
        "C1.W[1] C2.W.in0 roundRobin 2 D",
    ]


def test_round_robin_starts_at_the_producers_channel() -> None:
    actual = physical(graph(SOURCE, region("A", 3, ["Src"]), region("B", 2, ["A"])))
    assert [(each.operator, each.start) for each in actual.splitters] == [(0, 0), (1, 0), (3, 1), (4, 0)]


def test_consumers_of_one_region_port_share_its_splitter() -> None:
    composite = {
        "inputs": ["In"],
        "graph": [
            {"name": "A", "operator": "Sink", "inputs": ["In"]},
            {"name": "B", "operator": "Sink", "inputs": ["In"]},
        ],
    }
    actual = physical(graph(SOURCE, region("Out", 2, ["Src"], "C"), composites={"C": composite}))
    assert len(actual.splitters) == 1
    assert [(each.splitter, each.channel) for each in actual.connections] == [(0, 0), (0, 1), (0, 0), (0, 1)]


def test_fan_in_on_a_region_port_has_a_splitter_on_each_producer() -> None:
    other = {"name": "Other", "operator": "Source"}
    actual = physical(graph(SOURCE, other, region("A", 2, [["Src", "Other"]])))
    assert splitter_texts(actual) == ["Src A.in0 roundRobin 2", "Other A.in0 roundRobin 2"]


def test_one_stream_by_two_ways_has_two_splitters() -> None:
    """Two ports of a plain composite, both feeding one region port, are two ways (rule 10)."""
    composite = {"inputs": ["X", "Y"], "graph": [region("W", 2, [["X", "Y"]], "Sink")]}
    actual = physical(
        graph(SOURCE, {"name": "C1", "operator": "C", "inputs": ["Src", "Src"]}, composites={"C": composite})
    )
    assert [each.id for each in actual.splitters] == ["Src:0>C1.W.in0", "Src:0>C1.W.in0#2"]
    assert len(actual.connections) == 4


def nested_entry(outer: dict[str, Any], inner: dict[str, Any]) -> PhysicalGraph:
    composite = {"inputs": ["In"], "graph": [region("W", 3, ["In"], "Sink", **inner)]}
    return physical(graph(SOURCE, region("C1", 2, ["Src"], "C", **outer), composites={"C": composite}))


def test_nested_splitters_make_a_tree() -> None:
    actual = nested_entry({}, {})
    assert [(each.region_port, each.parent, each.parent_channel, each.start) for each in actual.splitters] == [
        ("C1.In", -1, -1, 0),
        ("C1.W.in0", 0, 0, 0),
        ("C1.W.in0", 0, 1, 1),
    ]
    assert [each.id for each in actual.splitters] == ["Src:0>C1.In", "Src:0>C1[0].W.in0", "Src:0>C1[1].W.in0"]
    targets = [actual.operators[each.target].name for each in actual.connections]
    assert targets == [f"C1[{rank // 3}].W[{rank}]" for rank in range(6)]
    assert [(each.splitter, each.channel) for each in actual.connections] == [
        *((1, 0), (1, 1), (1, 2)),
        *((2, 0), (2, 1), (2, 2)),
    ]
    assert not any(each.drops_window_punctuation for each in actual.splitters)


def test_broadcast_is_looked_through() -> None:
    outside = nested_entry({"broadcast": ["In"]}, {})
    assert [(each.id, each.parent) for each in outside.splitters] == [
        ("Src:0>C1[0].W.in0", -1),
        ("Src:0>C1[1].W.in0", -1),
    ]
    inside = nested_entry({}, {"broadcast": ["In"]})
    assert [each.region_port for each in inside.splitters] == ["C1.In"]
    assert [(each.splitter, each.channel) for each in inside.connections] == [(0, 0)] * 3 + [(0, 1)] * 3
    both = nested_entry({"broadcast": ["In"]}, {"broadcast": ["In"]})
    assert not both.splitters
    assert [(each.splitter, each.channel) for each in both.connections] == [(-1, -1)] * 6


def test_shuffles_drop_window_punctuation() -> None:
    """A plain composite's port that mixes merged and unmerged streams drops for both (rule 23)."""
    composite = {"inputs": ["In"], "graph": [region("W", 2, ["In"], "Sink")]}
    actual = physical(
        graph(
            SOURCE,
            region("A", 2, ["Src"]),
            {"name": "C1", "operator": "C", "inputs": [["A", "Src"]]},
            composites={"C": composite},
        )
    )
    assert [text for text in splitter_texts(actual) if "C1" in text] == [
        "Src C1.W.in0 roundRobin 2 D",
        "A[0] C1.W.in0 roundRobin 2 D",
        "A[1] C1.W.in0 roundRobin 2 D",
    ]


def test_a_region_fed_by_itself_is_a_shuffle() -> None:
    actual = physical(graph(SOURCE, region("A", 2, ["Src", {"streams": ["A"], "control": True}])))
    assert len(actual.connections) == 2 + 4
    assert splitter_texts(actual)[1:] == ["A[0] A.in1 roundRobin 2 D", "A[1] A.in1 roundRobin 2 D"]


def test_host_pools_are_replicated_by_tag() -> None:
    pools = [{"name": "ingest", "tags": ["kafka", "ssd"], "size": 2}, {"name": "rest", "tags": ["hdd"]}]
    placed = {"config": {"placement": {"hostPool": "ingest"}}}
    composite = {"inputs": ["In"], "graph": [{**region("W", 2, ["In"], "Sink", replicateHostTags=["kafka"]), **placed}]}
    actual = physical(graph(SOURCE, region("C1", 2, ["Src"], "C"), composites={"C": composite}, hostPools=pools))
    assert [(pool.name, pool.tags) for pool in actual.host_pools[2:]] == [
        ("ingest_0_0_0", ("kafka_0_0", "ssd")),
        ("ingest_0_1_0", ("kafka_1_0", "ssd")),
        ("ingest_0_2_1", ("kafka_2_1", "ssd")),
        ("ingest_0_3_1", ("kafka_3_1", "ssd")),
    ]
    assert actual.operators[-1].host_pool == "ingest_0_3_1"
