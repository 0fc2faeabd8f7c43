"""What a redeploy that died has left behind."""

from __future__ import annotations

from pathlib import Path

from streams_orchestration.runtime.redeployment.draining import hold, release
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.garbage import sweep, unknown_pes
from streams_orchestration_tests.runtime.applications import compiled, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication


def test_states_for_a_plan_that_never_came_are_removed_unless_a_redeploy_is_under_way(tmp_path: Path):
    file = write_rows(tmp_path / "rows.parquet", 4)
    local = LocalApplication(Home(tmp_path / "home"), compiled([source("Rows", file), sink("Out", "Rows")]))
    written = local.home.data(local.name) / "states" / "pe-7" / "g2-b1-o0-12345678.state"
    written.parent.mkdir(parents=True)
    written.touch()
    hold(local.catalog, local.name, local.units)
    assert unknown_pes(local.catalog, local.home, local.name) == ()
    release(local.catalog, local.name)
    left = unknown_pes(local.catalog, local.home, local.name)
    assert left == (7,)
    sweep(local.catalog, local.home, local.name, left)
    assert not written.exists()
