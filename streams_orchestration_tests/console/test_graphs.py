from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.console.graphs import Graph, View, graph_of
from streams_orchestration_tests.console.deployed import large

ROOT = Path(__file__).parents[2]


def flights(**options: object) -> PlannedCompilation:
    return compile_spec(ROOT / "specs" / "flights.yaml", Options(**options))  # pyright: ignore[reportArgumentType]


def around(graph: Graph, operator: str) -> list[str]:
    """Return the labels of the boxes around an operator, the outermost first."""
    boxes = {box.id: box for box in graph.boxes}
    place = next(each.box for each in graph.operators if each.name == operator)
    labels: list[str] = []
    while place is not None:
        labels.append(boxes[place].label)
        place = boxes[place].parent
    return labels[::-1]


def test_a_pe_holds_the_channels_of_a_region():
    graph = graph_of(flights(), "physical")
    assert around(graph, "Flights") == ["PE 0"]
    assert around(graph, "PerCarrier[1].Named") == ["PE 0", "PerCarrier[*]", "PerCarrier[1]"]
    assert around(graph, "Results") == ["PE 1"]


def test_replicas_hold_the_pes_of_their_channels():
    graph = graph_of(flights(channel_fusion="channelIsolation"), "physical")
    pes = {each.name: each.pe for each in graph.operators}
    for channel in (0, 1):
        name = f"PerCarrier[{channel}].Named"
        assert around(graph, name) == ["PerCarrier[*]", f"PE {pes[name]}"]


def test_the_logical_graph_has_composites_with_their_widths():
    graph = graph_of(flights(widths=(("PerCarrier", 5),)), "logical")
    assert around(graph, "PerCarrier.Named") == ["PerCarrier × 5"]
    assert [each.name for each in graph.operators if each.box is None] == ["Flights", "Departed", "Results"]


def test_edges_say_how_tuples_pass():
    graph = graph_of(flights(), "physical")
    names = [each.name for each in graph.operators]
    edges = {(names[each.source], names[each.target]): each for each in graph.edges}
    split = edges["Departed", "PerCarrier[0].Named"]
    assert (split.split, split.queue, split.passing) == (True, True, "enqueue")
    last = edges["PerCarrier[0].Statistics", "Results"]
    assert (last.split, last.queue, last.passing) == (False, False, "serialize")
    assert "splits by hash(carrier)" in graph.operators[names.index("Departed")].marks


@pytest.mark.parametrize("view", ["physical", "logical"])
@pytest.mark.parametrize("compilation", [flights(), large(4, 30)], ids=["flights", "large"])
def test_every_operator_is_once_and_boxes_hold_more_than_one_thing(compilation: PlannedCompilation, view: View):
    graph = graph_of(compilation, view)
    whole = compilation.physical.operators if view == "physical" else compilation.logical.operators
    assert [each.name for each in graph.operators] == [each.name for each in whole]
    boxes = {box.id: box for box in graph.boxes}
    assert len(boxes) == len(graph.boxes)
    held = [each.box for each in graph.operators] + [box.parent for box in graph.boxes]
    assert {place for place in held if place is not None} == boxes.keys()
    assert all(held.count(box.id) > 1 for box in graph.boxes if box.kind != "pe")
