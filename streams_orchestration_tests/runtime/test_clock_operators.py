"""An operator that goes by the clock is called by a batch without input, at the time that a commit holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration import world
from streams_orchestration.runtime.queries.views import read_view
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled, node, published, sink
from streams_orchestration_tests.runtime.local import LocalApplication


def test_a_delayed_tuple_comes_at_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    now = [1_000_000.0]
    monkeypatch.setattr(world, "now", lambda: now[0])
    ticks = {"name": "Ticks", "operator": "Beacon", "outputs": [{"stream": "Ticks", "schema": "Row"}]}
    graph = [
        ticks | {"parameters": {"period": 1e9, "output": {"k": "'tick'", "n": "7"}}},  # one tuple, and then no other
        node("Later", "Delay", "Ticks", parameters={"delay": 60, "by": "clock"}),
        sink("Out", "Later"),
    ]
    with LocalApplication(Home(tmp_path / "home"), compiled(graph)) as local:
        (program,) = local.programs
        for seconds in (0, 59):
            now[0] = 1_000_000.0 + seconds
            assert local.step(program)
            assert read_view(local.catalog, program).position.wake == 1_000_060.0
            assert published(local.published("Out")) == []
        now[0] += 1
        assert local.step(program)
        assert published(local.published("Out")) == [("tick", 7)]
        assert read_view(local.catalog, program).position.wake is None
