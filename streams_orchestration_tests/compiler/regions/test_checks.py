from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from streams_orchestration.compiler.logical.control_ports import is_control_port
from streams_orchestration.compiler.logical_graph import ImportExport, InputPort, ParallelRegion
from streams_orchestration.compiler.regions.regions import map_regions
from streams_orchestration_tests.compiler.graphs import expanded, logical_graph, operator
from streams_orchestration_tests.compiler.regions.region_graphs import codes, driven, mapped, periodic


def test_two_submission_values_contradict_each_other() -> None:
    first = replace(periodic("a"), submission={"period": "p"})
    second = replace(periodic("b"), submission={"period": "q"})
    graph = logical_graph(
        [operator("a", 0, 1), operator("b", 0, 1), operator("j", 2)],
        [("a", 0, "j", 0), ("b", 0, "j", 1)],
        annotations=(first, second),
    )
    assert codes(mapped(graph)[1]) == ["CDISP0684E"]


def test_loops_in_regions_are_checked() -> None:
    def loop(control: bool, into_start: bool) -> list[str]:
        operators = [
            operator("s", [InputPort("c", control=control)], 1),
            operator("a", [InputPort("d"), InputPort("c", control=control)], 1),
            operator("b", 1, 1),
        ]
        back = ("b", 0, "s", 0) if into_start else ("b", 0, "a", 1)
        graph = logical_graph(operators, [("s", 0, "a", 0), ("a", 0, "b", 0), back], annotations=(periodic("s"),))
        return codes(mapped(graph)[1])

    assert loop(False, False) == ["CDISP0833E"]
    assert loop(True, False) == []
    assert loop(False, True) == loop(True, True) == ["CDISP0832E"]


def test_members_with_control_ports_only() -> None:
    control = (InputPort("c", control=True),)
    for fields, wanted in (
        ({"inputs": control}, ["CDISP0834E"]),
        ({"inputs": control, "outputs": ()}, []),
        ({"kind": "Custom", "submits": (False,)}, ["CDISP0834E"]),
        ({"kind": "Custom", "submits": (True,)}, []),
    ):
        graph = logical_graph(
            [operator("s", 0, 1), replace(operator("c", 1, 1), **fields)],
            [("s", 0, "c", 0)],
            annotations=(periodic("s"),),
        )
        assert codes(mapped(graph)[1]) == wanted


def test_a_region_refuses_members_of_wrong_kinds_and_members_that_cannot_restart() -> None:
    graph = logical_graph(
        [
            operator("s", 0, 1, may_start=False),
            operator("t", 1, kind="TCPSink", may_be_member=False),
            operator("u", 1, restartable=False),
        ],
        [("s", 0, "t", 0), ("s", 0, "u", 0)],
        annotations=(periodic("s"),),
    )
    diagnostics = mapped(graph)[1]
    assert codes(diagnostics) == ["CDISP9245E", "CDISP9250E"]
    assert codes(diagnostics, "warning") == ["SO1003"]


def test_a_port_with_a_region_stream_and_an_import_is_refused() -> None:
    graph = logical_graph(
        [operator("s", 0, 1), operator("t", 1), operator("u", 1, 1)],
        [("s", 0, "t", 0), ("s", 0, "u", 0)],
        annotations=(periodic("s"), periodic("u")),
        imports=(ImportExport("import", "i", 1, 0, {}), ImportExport("import", "j", 2, 0, {})),
    )
    diagnostics = mapped(graph)[1]
    assert [(each.code, each.operator) for each in diagnostics] == [("SO1002", "t")]


@pytest.mark.parametrize(
    ("width", "submission", "wanted"),
    [
        (1, "", []),
        (3, "", ["CDISP0838E"]),
        (1, "width", ["CDISP0839W"]),
        (3, "width", ["CDISP0839W", "CDISR1359E"]),
    ],
)
def test_operator_driven_starts_in_a_parallel_region_that_the_flow_leaves(
    width: int, submission: str, wanted: list[str]
) -> None:
    graph = logical_graph(
        [operator("s", 0, 1, regions=(0,)), operator("t", 1)],
        [("s", 0, "t", 0)],
        annotations=(driven("s"),),
        regions=(ParallelRegion(0, "s", width, (), {}, width_submission=submission),),
    )
    regions, diagnostics = map_regions(graph, expanded(graph))
    assert sorted(each.code for each in diagnostics) == wanted
    assert [len(each.operators) for each in regions.expanded] == [width + 1]


@pytest.mark.parametrize(
    ("kind", "parameters", "trigger", "wanted"),
    [
        ("FileSink", {"append": True}, "periodic", ["CDISP9243E"]),
        ("FileSink", {"append": False, "compression": "gzip"}, "periodic", ["CDISP9243E"]),
        ("FileSink", {"writeStateHandlerCallbacks": True, "format": "bin"}, "periodic", ["CDISP9246E"]),
        ("FileSink", {"writeStateHandlerCallbacks": True}, "periodic", []),
        ("FileSink", {"truncateOnReset": True, "closeMode": "time"}, "periodic", ["CDISP9248E"]),
        ("Barrier", {"bufferSize": 10}, "periodic", ["CDISP9243E"]),
        ("Parse", {"format": "block"}, "periodic", ["CDISP9257E"]),
        ("DirectoryScan", {"moveToDirectory": "done"}, "periodic", ["CDISP9255E"]),
        ("DirectoryScan", {"moveToDirectory": "done"}, "operatorDriven", []),
        ("Functor", {"append": True}, "periodic", []),
    ],
)
def test_parameters_that_do_not_go_with_a_region(
    kind: str, parameters: dict[str, Any], trigger: str, wanted: list[str]
) -> None:
    annotation = periodic("s") if trigger == "periodic" else driven("s")
    graph = logical_graph(
        [operator("s", 0, 1), operator("t", 1, kind=kind, parameters=parameters)],
        [("s", 0, "t", 0)],
        annotations=(annotation,),
    )
    assert codes(mapped(graph)[1]) == wanted


def test_operators_that_make_sense_in_a_region_only() -> None:
    graph = logical_graph(
        [
            operator("s", 0, 1, kind="Beacon", parameters={"triggerCount": 5}),
            operator("b", 1, 1, kind="Buffer"),
            operator("t", 1, kind="FileSink", parameters={"truncateOnReset": False}),
        ],
        [("s", 0, "b", 0), ("b", 0, "t", 0)],
    )
    diagnostics = mapped(graph)[1]
    assert (codes(diagnostics), codes(diagnostics, "warning")) == (["CDISP9247E", "CDISP9254W"], ["CDISP9251W"])


def test_starts_of_standard_kinds() -> None:
    for kind, inputs, wanted in (("Custom", 1, "CDISP0831E"), ("FileSource", 1, "CDISP9244E")):
        graph = logical_graph([operator("s", inputs, 1, kind=kind)], [], annotations=(periodic("s"),))
        assert codes(mapped(graph)[1]) == [wanted]
    for count, warnings in ((0, ["CDISP9253W"]), (3, [])):
        beacon = operator("s", 0, 1, kind="Beacon", parameters={"triggerCount": count} if count else {})
        graph = logical_graph([beacon], [], annotations=(driven("s"),))
        assert codes(mapped(graph)[1], "warning") == warnings


def test_a_declared_operator_of_a_standard_name_is_not_the_standard_one() -> None:
    source = operator("s", 1, 1, kind="FileSource", parameters={"deleteFile": True}, standard=False)
    beacon = operator("b", 0, 1, kind="Beacon", parameters={"triggerCount": 5}, standard=False)
    custom = operator("c", 1, 1, kind="Custom", submits=(False,), standard=False)
    assert not mapped(logical_graph([source, beacon], [], annotations=(periodic("s"),)))[1]
    assert not mapped(logical_graph([custom], [], annotations=(periodic("c"),)))[1]
    assert not is_control_port(custom, 0)


def test_an_empty_region_behind_merged_ones_is_named() -> None:
    graph = logical_graph(
        [operator("a", 0, 1), operator("b", 0, 1), operator("j", 2), operator("C.x", 0, composites=("C",))],
        [("a", 0, "j", 0), ("b", 0, "j", 1)],
        annotations=(periodic("a"), periodic("b"), periodic("C"), periodic("C.x")),
    )
    assert [(each.code, each.operator) for each in mapped(graph)[1]] == [("SO1001", "C")]


def test_a_long_loop_is_reported_once_and_in_short() -> None:
    size = 2000
    operators = [operator("s", 0, 1), *(operator(f"o{index}", 1, 1) for index in range(size))]
    wires = [("s", 0, "o0", 0), *((f"o{index}", 0, f"o{(index + 1) % size}", 0) for index in range(size))]
    diagnostics = mapped(logical_graph(operators, wires, annotations=(periodic("s"),)))[1]
    assert codes(diagnostics) == ["CDISP0833E"]
    assert len(diagnostics[0].message) < 200
