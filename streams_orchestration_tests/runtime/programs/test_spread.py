"""Channels are spread evenly over the tasks of a PE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.deployment.cutting import cut_pes
from streams_orchestration.compiler.deployment.recovery_units import recovery_units
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.programs.spread import LevelSpread, Share, spread
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import ALONE, compiled, node, sink, source, totals, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication

FUSIONS: list[dict[str, Any]] = [{"fusion": "legacy"}, {"fusion": "automatic"}]
FUSIONS += [{"fusion": "manual", "pes": pes} for pes in (1, 2, 5)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "rows.parquet", 20)


@pytest.mark.covering
@pytest.mark.parametrize("width", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("threading", [None, "manual", "automatic", "dynamic", "dedicated"])
@pytest.mark.parametrize("fusion", FUSIONS, ids=lambda options: "-".join(map(str, options.values())))
def test_no_task_has_two_channels_more_than_another(
    file: Path, width: int, threading: str | None, fusion: dict[str, Any]
):
    compilation = totals(file, width, threading=threading, **fusion)
    channels = 0
    for program in cut_pes(compilation, recovery_units(compilation)):
        for level in spread(program):
            for share in level.channels.values():
                assert share.most - share.least <= 1
            channels = max(channels, *(share.total for share in level.channels.values()), 0)
    assert 1 <= channels <= width


@pytest.mark.parametrize("width", [2, 3, 8])
def test_every_channel_of_a_pe_has_a_task_of_its_own(file: Path, width: int):
    compilation = totals(file, width, fusion="manual", pes=1)
    (program,) = cut_pes(compilation, recovery_units(compilation))
    before, channels, behind = spread(program)
    assert before == LevelSpread(1, Share(3, 3, 3))
    assert channels == LevelSpread(width, Share(2 * width, 2, 2), {"PerKey": Share(width, 1, 1)})
    assert behind == LevelSpread(1, Share(1, 1, 1))


def test_channels_of_nested_regions_are_counted_by_region(file: Path):
    graph = [
        source("Rows", file, config=ALONE),
        {"name": "Outer", "operator": "O", "inputs": ["Rows"], "outputs": ["Outer"]}
        | {"annotations": {"parallel": {"width": 3}}},
        sink("Out", "Outer", config=ALONE),
    ]
    inner = {"name": "Inner", "operator": "I", "inputs": ["In"], "outputs": ["Inner"]}
    inner["annotations"] = {"parallel": {"width": 2}}
    composites = {
        "O": {"inputs": ["In"], "outputs": ["Inner"], "graph": [inner]},
        "I": {"inputs": ["Deep"], "outputs": ["Kept"], "graph": [node("Kept", "Filter", "Deep")]},
    }
    compilation = compiled(graph, composites, fusion="legacy")
    actual = [spread(program) for program in cut_pes(compilation, recovery_units(compilation))]
    total = sum(share.total for levels in actual for level in levels for share in level.channels.values())
    assert total == 6
    assert {region for levels in actual for level in levels for region in level.channels} == {"Outer.Inner"}


def test_the_status_of_a_deployed_application_tells_it(file: Path, tmp_path: Path):
    local = LocalApplication(Home(tmp_path / "home"), totals(file, 3, fusion="manual", pes=1))
    (pe,) = read_status(local.catalog, local.name).pes
    assert pe.levels == spread(local.programs[0])
