"""A region that begins with an autonomous stream: a reset reads the stream again, once for each tuple."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import (
    PERIODIC,
    compiled,
    expected_totals,
    node,
    published,
    rows,
    sink,
    source,
    write_rows,
)
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.ordeals import ACTIONS, COUNT, Ordeal

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]


def started(directory: Path, consistent: dict[str, Any]) -> PlannedCompilation:
    """Rows -> marks outside of regions -> a start -> totals and a sink in its region."""
    graph = [
        source("Rows", write_rows(directory / "rows.parquet", COUNT), annotations={}),
        node("Marked", "Punctor", "Rows", parameters={"punctuate": "n = 4", "position": "after"}),
        node("Replayed", "ReplayableStart", "Marked", annotations=consistent),
        node("Totals", "KeyedTotals", "Replayed", schema="Total"),
        sink("Out", "Totals"),
    ]
    return compiled(graph)


EVENTS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 99)), max_size=40)


@given(events=EVENTS)
@examples(6)
def test_nothing_that_enters_the_region_is_lost_and_nothing_is_doubled(data: Path, events: list[tuple[str, int]]):
    with tempfile.TemporaryDirectory() as directory:
        ordeal = Ordeal(Home(Path(directory)), started(data, PERIODIC))
        for action, number in events:
            getattr(ordeal, action)(number)
            ordeal.check()
        ordeal.finish()
        assert published(ordeal.local.published("Out")) == expected_totals(rows(COUNT), factor=1)


def test_an_epoch_ends_after_a_window_marker(tmp_path: Path):
    local = LocalApplication(
        Home(tmp_path / "home"), started(tmp_path, {"consistent": {"trigger": "operatorDriven"}}), 1
    )
    local.run()
    files = [published([path]) for path in local.published("Out")]
    assert published(local.published("Out")) == expected_totals(rows(COUNT), factor=1)
    assert len(files) >= sum(n == 4 for _, n in rows(COUNT))
