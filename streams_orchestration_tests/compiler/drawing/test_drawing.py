from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import PlannedCompilation, Progress
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.drawing.drawing import draw_svg, draw_text
from streams_orchestration.compiler.drawing.picture import Box, picture
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stages import STAGES
from streams_orchestration.model.application import Application
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration_tests.compiler.assignments import assignment
from streams_orchestration_tests.compiler.nested_applications import applications
from streams_orchestration_tests.examples import examples

SVG = "{http://www.w3.org/2000/svg}"

DEMO: dict[str, Any] = {
    "specVersion": 1,
    "application": "demo",
    "operators": {"Change": {"inputs": [{"mutable": True}]}},
    "graph": [
        {
            "name": "Src",
            "operator": "Beacon",
            "annotations": {"consistent": {"trigger": "periodic", "period": 1.0}},
        },
        {"name": "A", "operator": "Change", "inputs": ["Src"], "annotations": {"parallel": {"width": 2}}},
        {"name": "B", "operator": "Change", "inputs": ["Src"]},
        {
            "name": "Snk",
            "operator": "FileSink",
            "inputs": [["A", "B"]],
            "parameters": {"file": "x<y>.csv"},
            "config": {"placement": {"partitionIsolation": True}},
        },
    ],
}


@pytest.fixture(scope="module")
def demo() -> PlannedCompilation:
    return compile_application(application_from_mapping(DEMO), Options(fusion="manual", pes=1))


def so_far(compilation: PlannedCompilation, count: int) -> Progress:
    """Return the results after the first `count` stages behind the logical graph."""
    whole = compilation.progress
    return replace(whole, results={stage.result: whole[stage.result] for stage in STAGES[: count + 1]})


def texts(svg: str) -> set[str]:
    return {element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")}


def test_every_stage_adds_what_it_knows(demo: PlannedCompilation):
    shown = [texts(draw_svg(so_far(demo, count))) for count in range(7)]
    assert {"Src", "A", "B", "Snk", "parallel × 2"} <= shown[0]
    assert {"A[0]", "A[1]", "splits by round robin"} <= shown[1]
    assert {"Beacon · start", "FileSink · end", "consistent region 0"} <= shown[2]
    assert {"PE 0 · region 0", "PE 1 · region 0", "PE port"} <= shown[4]
    assert "queue" in shown[5]
    assert {"copied", "over the transport"} <= shown[6]


@pytest.mark.parametrize("place", [10.0, 5000.0])
def test_a_drawing_that_is_fitted_is_only_ever_made_smaller(demo: PlannedCompilation, place: float):
    own, fitted = (ElementTree.fromstring(draw_svg(demo.progress, each)) for each in (None, place))
    assert not {"width", "height"} & set(fitted.keys())
    width, height = fitted.attrib["viewBox"].split()[2:]
    assert (float(width), height) == (max(float(own.attrib["width"]), place), own.attrib["height"])


def test_operators_stand_in_their_pe(demo: PlannedCompilation):
    shown = picture(demo.progress)

    def holds(frame: Box, box: Box) -> bool:
        return (
            frame.x <= box.x
            and frame.y <= box.y
            and box.x + box.width <= frame.x + frame.width
            and box.y + box.height <= frame.y + frame.height
        )

    for box in shown.operators:
        around = [frame.lines[0] for frame in shown.frames if holds(frame, box)]
        operator = next(op for op in demo.physical.operators if op.name == box.lines[0])
        assert around == [f"PE {demo.fusion.pe_of[operator.index]} · region 0"]


def test_text_names_pes_operators_and_passing(demo: PlannedCompilation):
    text = draw_text(demo.progress)
    assert text.startswith("demo: 5 operators in 2 PEs\n")
    assert "PE 1, host 0, consistent region 0" in text
    assert "→ Snk  (serialize)" in text
    assert "(enqueue, channel 1)" in text
    assert draw_text(so_far(demo, 0)).startswith("demo: 4 operators\n")


def test_parts_of_a_pe_and_their_networks_are_shown(demo: PlannedCompilation):
    decision = assignment(demo, {"A[0]": 1, "A[1]": 1})
    drawn = compile_application(application_from_mapping(DEMO), replace(demo.options, decoupling=decision))
    svg = draw_svg(drawn.progress)
    assert {"PE 2 · region 0 · machine 1 of PE 0", "Network operator"} <= texts(svg)
    shown = picture(drawn.progress)
    assert (len(shown.networks), len(shown.ports)) == (4, 4)
    text = draw_text(drawn.progress)
    assert "PE 2, machine 1 of PE 0, host 0, consistent region 0" in text
    assert text.count("Network") == 2


def test_names_are_escaped(demo: PlannedCompilation):
    first, *others = demo.logical.operators
    logical = replace(demo.logical, operators=(replace(first, kind="a.b:C<&>"), *others))
    assert "C<&> · start" in texts(draw_svg(replace(demo, logical=logical).progress))


@pytest.mark.slow
@given(applications(), st.sampled_from(["legacy", "manual", "automatic"]), st.integers(0, 6))
@examples(40)
def test_any_application_can_be_drawn_at_any_stage(application: Application, fusion: Any, count: int):
    compilation = compile_application(application, Options(fusion=fusion, pes=3))
    drawn = so_far(compilation, count)
    ElementTree.fromstring(draw_svg(drawn))
    shown = picture(drawn)
    assert len(shown.operators) == len((drawn.get(PhysicalGraph) or drawn[LogicalGraph]).operators)
    assert draw_svg(drawn) == draw_svg(drawn)
