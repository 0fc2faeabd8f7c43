"""What the documentation shows is what the product does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streams_orchestration.cli.entry import streams
from streams_orchestration.compiler.compilation import compile_spec
from streams_orchestration.compiler.drawing import draw_svg
from streams_orchestration.operators.standard import STANDARD

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_picture_of_the_flights_graph_is_current():
    drawn = draw_svg(compile_spec(ROOT / "specs" / "flights.yaml"))
    kept = (ROOT / "docs" / "flights.svg").read_text()
    assert kept == drawn, "draw it anew: streams graph specs/flights.yaml --output docs/flights.svg"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: Path):
    named = re.findall(r"(?:`|^|\$\()streams ([a-z]+)\b", page.read_text(), re.MULTILINE)
    assert set(named) <= set(streams.commands)


def test_the_reference_names_every_operator_that_runs_and_every_command():
    reference = (ROOT / "docs" / "reference.md").read_text()
    for kind in STANDARD:
        assert f"`{kind}`" in reference
    for command in streams.commands:
        assert f"streams {command}" in reference or f"`{command}`" in reference, command
