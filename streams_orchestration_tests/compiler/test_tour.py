"""The tour of the compiler shows what the stages do."""

from __future__ import annotations

import doctest
import sys

import pytest

from streams_orchestration.compiler.stage import Stage
from streams_orchestration.compiler.stages import STAGES


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_the_example_of_a_stage_shows_what_the_stage_decides(stage: Stage):
    attempted = doctest.testmod(sys.modules[stage.invariant.__module__])
    assert attempted.failed == 0
    assert 4 <= attempted.attempted <= 20
