"""The parallel transformation: documented examples, derived cases, numbering, names, and the checks around regions."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.compiler.compilation import Compilation, compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.parallel.parallel import expand
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.placement.tags import resolve_tag
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration_tests.specs import cases, codes, graph, logical, physical

CASES = cases("parallel.yaml")
SPECS = cases("parallel_specs.yaml")


def compiled(identity: str) -> Compilation:
    spec = {"specVersion": 1, "application": identity, **SPECS[identity]["spec"]}
    return compile_application(application_from_mapping(spec), Options(fusion="legacy"))


@pytest.fixture(scope="module", params=sorted(CASES))
def case(request: pytest.FixtureRequest) -> tuple[str, Compilation]:
    return request.param, compiled(request.param)


def test_every_case_has_a_spec() -> None:
    assert set(CASES) == set(SPECS)


def test_case_sizes(case: tuple[str, Compilation]) -> None:
    identity, found = case
    expected = CASES[identity]["expected"]
    assert len(found.physical.operators) == expected["physical_ops"]
    assert len(found.physical.connections) == expected["connections"]
    assert len(found.physical.splitters) == expected["splitters"]


def splitter_texts(found: PhysicalGraph) -> list[str]:
    return [
        f"{found.operators[each.operator].name} {each.region_port} {each.policy} {each.width}"
        + " D" * each.drops_window_punctuation
        for each in found.splitters
    ]


def test_case_splitters(case: tuple[str, Compilation]) -> None:
    identity, found = case
    assert splitter_texts(found.physical) == SPECS[identity]["splitters"]


def test_case_plans(case: tuple[str, Compilation]) -> None:
    identity, found = case
    expected = CASES[identity]["expected"]
    names = [operator.name for operator in found.physical.operators]
    queues = {names[queue.operator] for queue in found.threads.queues}
    assert queues == set(expected["threaded_ports"])
    groups = {frozenset(names[each] for each in pe.operators) for pe in found.fusion.pes}
    assert groups == {frozenset(group) for group in expected["pes"]}
    assert sum(len(pe.outputs) for pe in found.fusion.pes) == expected["pe_output_ports"]
    imported = {(link.operator, link.port) for link in found.physical.imports}
    inputs = {(each.operator, each.port) for pe in found.fusion.pes for each in pe.inputs}
    assert len(inputs - imported) == expected["pe_input_ports"]


def test_case_tags(case: tuple[str, Compilation]) -> None:
    identity, found = case
    tags = {
        operator.name: [
            resolve_tag(tag, operator) for tag in found.logical.operators[operator.logical].partition.colocation
        ]
        for operator in found.physical.operators
    }
    for name, tag in SPECS[identity]["tags"].items():
        assert tags[name] == [tag]


def test_imports_take_the_channel_of_their_replica() -> None:
    links = compiled("Ex9").physical.imports
    assert [(each.name, each.parameters["filter"]) for each in links] == [
        ("Out[0].I", "attr == 0"),
        ("Out[1].I", "attr == 1"),
    ]


def region(name: str, width: int, inputs: Any, operator: str = "Work", **parallel: Any) -> dict[str, Any]:
    annotation = {"width": width, **parallel}
    return {"name": name, "operator": operator, "inputs": inputs, "annotations": {"parallel": annotation}}


SOURCE = {"name": "Src", "operator": "Source"}


def test_numbering_of_clones() -> None:
    """Originals keep their number, clones take the next free one, region by region (rule 5)."""
    found = physical(
        graph(
            SOURCE,
            {"name": "Snk", "operator": "Sink", "inputs": ["R3"]},
            region("R1", 2, ["Src"]),
            region("R2", 5, ["R1"]),
            region("R3", 4, ["R2"]),
        )
    )
    names = [operator.name for operator in found.operators]
    assert names[:6] == ["Src", "Snk", "R1[0]", "R2[0]", "R3[0]", "R1[1]"]
    assert names[6:10] == ["R2[1]", "R2[2]", "R2[3]", "R2[4]"]
    assert names[10:] == ["R3[1]", "R3[2]", "R3[3]"]
    assert [operator.index for operator in found.operators] == list(range(13))
    assert len(found.connections) == 2 + 2 * 5 + 5 * 4 + 4


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
    found = physical(graph(SOURCE, region("P1", 2, ["Src"], "P"), composites=NESTED))
    by_name = {operator.name: operator for operator in found.operators}
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
    found = physical(graph(SOURCE, region("P1", 2, ["Src"], "P"), composites=composites))
    streams = {operator.name: operator.streams for operator in found.operators}
    assert streams["P1[1].H[7].O"] == ("P1[1].H[3]",)


def test_clones_of_composites_bring_their_composites_first() -> None:
    found = physical(graph(SOURCE, region("P1", 2, ["Src"], "P"), composites=NESTED))
    names = [operator.name for operator in found.operators]
    assert names[:4] == ["Src", "P1[0].A", "P1[0].H[0].F[0]", "P1[0].H[0].O"]
    assert names[4:6] == ["P1[0].H[0].F[1]", "P1[0].H[0].F[2]"]
    # Within a composite the originals are copied before the clones.
    assert names[6:10] == ["P1[0].H[1].F[3]", "P1[0].H[1].O", "P1[0].H[1].F[4]", "P1[0].H[1].F[5]"]
    outer = names.index("P1[1].A")
    assert outer == len(names) - 1, "a composite's own operators are copied after the composites in it"


def test_same_region_name_in_two_instances_is_not_common() -> None:
    """Which regions are common follows from the instances, not from widths or names (rule 16)."""
    inner = {"inputs": ["In"], "outputs": ["W"], "graph": [region("W", 2, ["In"])]}
    found = physical(
        graph(
            SOURCE,
            {"name": "C1", "operator": "C", "inputs": ["Src"]},
            {"name": "C2", "operator": "C", "inputs": ["C1"]},
            composites={"C": inner},
        )
    )
    assert len(found.connections) == 2 + 4
    assert splitter_texts(found) == [
        "Src C1.W.in0 roundRobin 2",
        "C1.W[0] C2.W.in0 roundRobin 2 D",
        "C1.W[1] C2.W.in0 roundRobin 2 D",
    ]


def test_round_robin_starts_at_the_producers_channel() -> None:
    found = physical(graph(SOURCE, region("A", 3, ["Src"]), region("B", 2, ["A"])))
    assert [(each.operator, each.start) for each in found.splitters] == [(0, 0), (1, 0), (3, 1), (4, 0)]


def test_consumers_of_one_region_port_share_its_splitter() -> None:
    composite = {
        "inputs": ["In"],
        "graph": [
            {"name": "A", "operator": "Sink", "inputs": ["In"]},
            {"name": "B", "operator": "Sink", "inputs": ["In"]},
        ],
    }
    found = physical(graph(SOURCE, region("Out", 2, ["Src"], "C"), composites={"C": composite}))
    assert len(found.splitters) == 1
    assert [(each.splitter, each.channel) for each in found.connections] == [(0, 0), (0, 1), (0, 0), (0, 1)]


def test_fan_in_on_a_region_port_has_a_splitter_on_each_producer() -> None:
    other = {"name": "Other", "operator": "Source"}
    found = physical(graph(SOURCE, other, region("A", 2, [["Src", "Other"]])))
    assert splitter_texts(found) == ["Src A.in0 roundRobin 2", "Other A.in0 roundRobin 2"]


def test_one_stream_by_two_ways_has_two_splitters() -> None:
    """Two ports of a plain composite, both feeding one region port, are two ways (rule 10)."""
    composite = {"inputs": ["X", "Y"], "graph": [region("W", 2, [["X", "Y"]], "Sink")]}
    found = physical(
        graph(SOURCE, {"name": "C1", "operator": "C", "inputs": ["Src", "Src"]}, composites={"C": composite})
    )
    assert [each.id for each in found.splitters] == ["Src:0>C1.W.in0", "Src:0>C1.W.in0#2"]
    assert len(found.connections) == 4


def nested_entry(outer: dict[str, Any], inner: dict[str, Any]) -> PhysicalGraph:
    composite = {"inputs": ["In"], "graph": [region("W", 3, ["In"], "Sink", **inner)]}
    return physical(graph(SOURCE, region("C1", 2, ["Src"], "C", **outer), composites={"C": composite}))


def test_nested_splitters_make_a_tree() -> None:
    found = nested_entry({}, {})
    assert [(each.region_port, each.parent, each.parent_channel, each.start) for each in found.splitters] == [
        ("C1.In", -1, -1, 0),
        ("C1.W.in0", 0, 0, 0),
        ("C1.W.in0", 0, 1, 1),
    ]
    assert [each.id for each in found.splitters] == ["Src:0>C1.In", "Src:0>C1[0].W.in0", "Src:0>C1[1].W.in0"]
    targets = [found.operators[each.target].name for each in found.connections]
    assert targets == [f"C1[{rank // 3}].W[{rank}]" for rank in range(6)]
    assert [(each.splitter, each.channel) for each in found.connections] == [
        *((1, 0), (1, 1), (1, 2)),
        *((2, 0), (2, 1), (2, 2)),
    ]
    assert not any(each.drops_window_punctuation for each in found.splitters)


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
    found = physical(
        graph(
            SOURCE,
            region("A", 2, ["Src"]),
            {"name": "C1", "operator": "C", "inputs": [["A", "Src"]]},
            composites={"C": composite},
        )
    )
    assert [text for text in splitter_texts(found) if "C1" in text] == [
        "Src C1.W.in0 roundRobin 2 D",
        "A[0] C1.W.in0 roundRobin 2 D",
        "A[1] C1.W.in0 roundRobin 2 D",
    ]


def test_a_region_fed_by_itself_is_a_shuffle() -> None:
    found = physical(graph(SOURCE, region("A", 2, ["Src", {"streams": ["A"], "control": True}])))
    assert len(found.connections) == 2 + 4
    assert splitter_texts(found)[1:] == ["A[0] A.in1 roundRobin 2 D", "A[1] A.in1 roundRobin 2 D"]


def test_host_pools_are_replicated_by_tag() -> None:
    pools = [{"name": "ingest", "tags": ["kafka", "ssd"], "size": 2}, {"name": "rest", "tags": ["hdd"]}]
    placed = {"config": {"placement": {"hostPool": "ingest"}}}
    composite = {"inputs": ["In"], "graph": [{**region("W", 2, ["In"], "Sink", replicateHostTags=["kafka"]), **placed}]}
    found = physical(graph(SOURCE, region("C1", 2, ["Src"], "C"), composites={"C": composite}, hostPools=pools))
    assert [(pool.name, pool.tags) for pool in found.host_pools[2:]] == [
        ("ingest_0_0_0", ("kafka_0_0", "ssd")),
        ("ingest_0_1_0", ("kafka_1_0", "ssd")),
        ("ingest_0_2_1", ("kafka_2_1", "ssd")),
        ("ingest_0_3_1", ("kafka_3_1", "ssd")),
    ]
    assert found.operators[-1].host_pool == "ingest_0_3_1"


def found_codes(*invocations: dict[str, Any], **parts: Any) -> list[str]:
    built, diagnostics = logical(graph(*invocations, **parts))
    return codes([*diagnostics, *expand(built, Options())[1]])


EXPECTING = {
    "Expecting": {"inputs": [{"expectsWindowPunctuation": True}], "outputs": []},
    "Marking": {"inputs": [], "outputs": [{"generatesWindowPunctuation": True}]},
    "Keeping": {"outputs": [{"preservesWindowPunctuation": True}]},
}
MARKED = {"name": "Src", "operator": "Marking"}


def expecting(inputs: Any) -> dict[str, Any]:
    return {"name": "E", "operator": "Expecting", "inputs": inputs}


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ([expecting(["Src"])], []),
        ([region("R", 2, ["Src"], "Keeping"), expecting(["R"])], ["CDISP0819E"]),
        (
            [region("R", 2, ["Src"], "Keeping"), {**expecting(["R"]), "annotations": {"parallel": {"width": 2}}}],
            ["CDISP0820E"],
        ),
        (
            [
                region("R", 2, ["Src"], "Keeping"),
                {"name": "P", "operator": "Punctor", "inputs": ["R"]},
                expecting(["P"]),
            ],
            [],
        ),
        ([{**expecting(["Src"]), "annotations": {"parallel": {"width": 2}}}], []),
        ([{"name": "W", "operator": "Work", "inputs": ["Src"]}, expecting(["W"])], ["CDISP0111E"]),
        ([{"name": "Src2", "operator": "Marking"}, expecting([["Src", "Src2"]])], ["CDISP0110E"]),
        ([{"name": "K", "operator": "Keeping", "inputs": ["K"]}, expecting(["K"])], ["CDISP0729W", "CDISP0112E"]),
        (
            [{"name": "I", "operator": "Import", "parameters": {"subscription": "x == 1"}}, expecting(["I"])],
            ["CDISP0442E"],
        ),
        (
            [{"name": "G", "operator": "Aggregate", "inputs": ["Src"], "parameters": {"window": {"evict": "punct"}}}],
            [],
        ),
        (
            [
                region("R", 2, ["Src"], "Keeping"),
                {"name": "G", "operator": "Sort", "inputs": ["R"], "parameters": {"window": "tumbling, punct()"}},
            ],
            ["CDISP0819E"],
        ),
        (
            [
                region("R", 2, ["Src"], "Keeping"),
                {"name": "G", "operator": "Sort", "inputs": ["R"], "parameters": {"window": "tumbling, count(5)"}},
            ],
            [],
        ),
    ],
)
def test_window_punctuation(rest: list[dict[str, Any]], expected: list[str]) -> None:
    assert sorted(found_codes(MARKED, *rest, operators=EXPECTING)) == sorted(expected)


SUBSCRIBED = {"parameters": {"subscription": 'kind == "x"'}}


def test_imports_and_exports_share_the_region_of_what_they_touch() -> None:
    imported = {"name": "I", "operator": "Import", **SUBSCRIBED}
    exported = {"name": "E", "operator": "Export", "parameters": {"properties": {"kind": "x"}}}
    assert found_codes(imported, region("A", 2, ["I"], "Sink")) == ["CDISP0816E"]
    assert found_codes(SOURCE, region("A", 2, ["Src"]), {**exported, "inputs": ["A"]}) == ["CDISP0816E"]
    inside = {"outputs": ["A"], "graph": [imported, {"name": "A", "operator": "Work", "inputs": ["I"]}]}
    assert found_codes(region("C1", 2, [], "C"), composites={"C": inside}) == []


def test_feedback_is_a_warning_and_free_into_control_ports() -> None:
    loop = {"name": "A", "operator": "Work", "inputs": [["Src", "B"]]}
    back = {"name": "B", "operator": "Work", "inputs": ["A"], "annotations": {"parallel": {"width": 2}}}
    assert found_codes(SOURCE, loop, back) == ["CDISP0729W"]
    steered = {"name": "A", "operator": "Work", "inputs": ["Src", {"streams": ["B"], "control": True}]}
    assert found_codes(SOURCE, steered, back) == []
    custom = {**steered, "operator": "Custom"}
    assert found_codes(SOURCE, custom, back) == []


def test_an_application_that_would_be_too_large_is_refused() -> None:
    built, _ = logical(graph(SOURCE, region("A", 2**30, ["Src"]), region("B", 2**30, ["A"])))
    found, diagnostics = expand(built, Options())
    assert codes(diagnostics) == ["SO0501"]
    assert not found.operators
