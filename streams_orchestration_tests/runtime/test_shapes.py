"""Whatever the shape of an application and whatever fails in it, its sinks publish what they publish undisturbed."""

from __future__ import annotations

import functools
import itertools
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.runtime.deployment.reset import reset
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.compiler.assignments import forward
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import compiled, published
from streams_orchestration_tests.runtime.events import EVENT, Events, happens
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.shapes import SHAPES, write_files

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

FUSIONS: list[dict[str, Any]] = [{"fusion": "legacy"}, {"fusion": "manual", "pes": 2}, {"fusion": "automatic"}]
"""The last one is decoupled: every second operator of a PE goes to a machine of its own."""


@pytest.mark.parametrize("name", SHAPES)
def test_undisturbed(name: str, data: Path, tmp_path: Path):
    local = LocalApplication(Home(tmp_path), compilation(data, name, 0), 5)
    assert len(local.units) == SHAPES[name].units
    local.run()
    assert results(local, name) == SHAPES[name].expected


@pytest.mark.parametrize("name", SHAPES)
@given(
    fusion=st.integers(0, len(FUSIONS) - 1),
    events=st.lists(EVENT, min_size=5, max_size=40),
)
@examples(4)
def test_disturbed(name: str, data: Path, fusion: int, events: Events):
    with tempfile.TemporaryDirectory() as directory:
        fusion = fusion if SHAPES[name].fused else 0
        local = LocalApplication(Home(Path(directory)), compilation(data, name, fusion))
        for event in events:
            happens(local, *event)
        local.run()
        assert results(local, name) == SHAPES[name].expected


def test_what_was_committed_last_and_not_published_is_so_after_a_reset(data: Path, tmp_path: Path):
    local = LocalApplication(Home(tmp_path), compilation(data, "diamond", 1), 30)
    source, consumer = local.programs
    while local.step(source):
        pass
    while (plan := local.plan(consumer)) is not None:
        commit_batch(local.catalog, consumer, plan, local.execute(consumer, plan), 0.0)
    reset(local.home, local.name, consumer.unit, force=True)
    local.run()
    assert results(local, "diamond") == SHAPES["diamond"].expected


def results(local: LocalApplication, name: str) -> dict[str, Any]:
    return {sink: published(local.published(sink)) for sink in SHAPES[name].expected}


@functools.cache
def compilation(directory: Path, name: str, fusion: int) -> Compilation:
    graph, options = SHAPES[name].graph(*write_files(directory)), FUSIONS[fusion]
    done = compiled(graph, **options)
    if options["fusion"] != "automatic":
        return done
    steps = itertools.cycle([0, 1])
    return compiled(graph, **options, decoupling=forward(done, lambda: next(steps)))
