"""The tour of the compiler shows what the stages do."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path

import pytest

from streams_orchestration.compiler.stage import Stage
from streams_orchestration.compiler.stages import STAGES
from streams_orchestration.compiler.tour import PAGE, main, tour_page

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_the_example_of_a_stage_shows_what_the_stage_decides(stage: Stage):
    attempted = doctest.testmod(sys.modules[stage.invariant.__module__])
    assert attempted.failed == 0
    assert 4 <= attempted.attempted <= 20


def test_the_page_is_current(tmp_path: Path):
    assert (ROOT / PAGE).read_text(encoding="utf-8") == tour_page(), "run `make docs`"
    main([str(tmp_path / "page.md")])
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == tour_page()
