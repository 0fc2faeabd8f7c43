"""Marks on their way through splitters, merges and PEs (rules 22-24), and round robin (rule 21)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled, node, published, rows, sink, source, write_rows
from streams_orchestration_tests.runtime.databases import POSTGRESQL_IS_DEEP
from streams_orchestration_tests.runtime.local import LocalApplication

pytestmark = [pytest.mark.usefixtures("database"), POSTGRESQL_IS_DEEP]

COUNT = 12
FUSIONS: list[dict[str, Any]] = [{"fusion": "manual", "pes": 1}, {"fusion": "legacy"}, {"fusion": "automatic"}]
SOURCE_MARKS = 1
"""A file source marks its end."""


def region(width: int) -> dict[str, Any]:
    return {"annotations": {"parallel": {"width": width}}}


def run(tmp_path: Path, graph: list[dict[str, Any]], **options: Any) -> LocalApplication:
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    local = LocalApplication(Home(tmp_path / "home"), compiled([source("Rows", file), *graph], **options), 5)
    local.run()
    return local


def marks(local: LocalApplication, name: str = "Seen") -> Counter[str]:
    """Return the count of arrivals of every text: `port:n` for a tuple, `port:window` and `port:final` for a mark."""
    return Counter(text for (text,) in published(local.published(name)))


@pytest.mark.parametrize("options", FUSIONS, ids=str)
def test_a_window_marker_passes_a_merge_once_for_every_channel(tmp_path: Path, options: dict[str, Any]):
    graph = [
        node("Kept", "Filter", "Rows", **region(3)),
        node("Seen", "Marks", "Kept", schema="Key"),
        sink("Out", "Seen", parameters={"file": "Seen"}),
    ]
    seen = marks(run(tmp_path, graph, **options))
    assert seen["0:window"] == 3 * SOURCE_MARKS
    assert seen["0:final"] == 1


@pytest.mark.parametrize("options", FUSIONS, ids=str)
def test_a_splitter_sends_a_window_marker_to_every_channel(tmp_path: Path, options: dict[str, Any]):
    graph = [node("Seen", "Marks", "Rows", schema="Key", **region(3)), sink("Out", "Seen", parameters={"file": "Seen"})]
    seen = marks(run(tmp_path, graph, **options))
    assert (seen["0:window"], seen["0:final"]) == (3 * SOURCE_MARKS, 3)
    assert sum(seen.values()) == COUNT + 6


@pytest.mark.parametrize("options", FUSIONS, ids=str)
def test_window_markers_end_at_a_shuffle_and_final_ones_do_not(tmp_path: Path, options: dict[str, Any]):
    graph = [
        node("Kept", "Filter", "Rows", **region(2)),
        node("Seen", "Marks", "Kept", schema="Key", **region(3)),
        sink("Out", "Seen", parameters={"file": "Seen"}),
    ]
    seen = marks(run(tmp_path, graph, **options))
    assert (seen["0:window"], seen["0:final"]) == (0, 3)
    assert sum(seen.values()) == COUNT + 3


@pytest.mark.parametrize("options", FUSIONS, ids=str)
def test_final_punctuation_comes_once_for_every_port(tmp_path: Path, options: dict[str, Any]):
    graph = [node("Seen", "Marks", "Rows", "Rows", schema="Key"), sink("Out", "Seen", parameters={"file": "Seen"})]
    seen = marks(run(tmp_path, graph, **options))
    assert (seen["0:final"], seen["1:final"]) == (1, 1)
    assert (seen["0:window"], seen["1:window"]) == (SOURCE_MARKS, SOURCE_MARKS)


@pytest.mark.covering
@pytest.mark.parametrize("options", FUSIONS, ids=str)
@pytest.mark.parametrize("limit", [1, 5, 100])
def test_round_robin_deals_one_by_one_across_batches(tmp_path: Path, options: dict[str, Any], limit: int):
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    sinks = sink("Out", "Rows", **region(3))
    local = LocalApplication(Home(tmp_path / "home"), compiled([source("Rows", file), sinks], **options), limit)
    local.run()
    dealt: dict[str, list[Any]] = {}
    for path in local.published("Out"):
        dealt.setdefault(path.stem[-3:], []).append(path)
    expected = [sorted(rows(COUNT)[channel::3]) for channel in range(3)]
    assert [published(dealt[f"{channel:03d}"]) for channel in range(3)] == expected


@pytest.mark.parametrize("options", FUSIONS, ids=str)
def test_tuples_held_until_the_boundary_are_submitted_within_the_epoch(tmp_path: Path, options: dict[str, Any]):
    graph = [node("Held", "Holding", "Rows"), sink("Out", "Held")]
    assert published(run(tmp_path, graph, **options).published("Out")) == sorted(rows(COUNT))
