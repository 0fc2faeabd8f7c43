"""The sinks of an application of any shape publish the results of an undisturbed run, whatever fails."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.combinations import often
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.events import EVENT, Events, happens
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.shaped import FUSIONS, compilation, results
from streams_orchestration_tests.runtime.shapes import SHAPES

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]


@pytest.mark.parametrize("name", often(SHAPES, [*SHAPES][::3]))
def test_an_undisturbed_run_publishes_the_expected_results(name: str, data: Path, tmp_path: Path):
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
def test_a_disturbed_run_publishes_the_expected_results(name: str, data: Path, fusion: int, events: Events):
    with tempfile.TemporaryDirectory() as directory:
        fusion = fusion if SHAPES[name].fused else 0
        local = LocalApplication(Home(Path(directory)), compilation(data, name, fusion))
        for event in events:
            happens(local, *event)
        local.run()
        assert results(local, name) == SHAPES[name].expected


def test_results_committed_and_not_published_are_published_after_a_reset(data: Path, tmp_path: Path):
    local = LocalApplication(Home(tmp_path), compilation(data, "diamond", 1), 30)
    source, consumer = local.programs
    while local.step(source):
        pass
    while (plan := local.plan(consumer)) is not None:
        commit_batch(local.catalog, consumer, plan, local.execute(consumer, plan), 0.0)
    reset_unit(local.catalog, local.name, consumer.unit, force=True)
    local.run()
    assert results(local, "diamond") == SHAPES["diamond"].expected
