"""A unit that is complete while others run, and another plan of the application."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.queries.views import read_view
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled, node, published, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy

FEW, COUNT = 10, 30
WINDOW = {
    "window": "tumbling, count(7)",
    "groupBy": ["k"],
    "output": {"n": "Count()"},
    "aggregateIncompleteWindows": True,
}


def two_regions(directory: Path, **options: Any) -> PlannedCompilation:
    """Rows, of which the first region has fewer -> counted in windows of seven -> a sink, twice."""
    graph = []
    for name, count in (("A", FEW), ("B", COUNT)):
        file = write_rows(directory / f"{name}.parquet", count)
        graph += [source(name, file), node(f"Counted{name}", "Aggregate", name, parameters=WINDOW)]
        graph += [sink(f"Out{name}", f"Counted{name}")]
    return compiled(graph, **options)


@pytest.mark.slow
def test_results_of_a_complete_unit_are_not_published_again(tmp_path: Path):
    before, after = two_regions(tmp_path, fusion="manual", pes=2), two_regions(tmp_path, fusion="legacy")
    local = LocalApplication(Home(tmp_path / "home"), before, source_limit=2)
    for turn in range(60):
        for program in local.programs:
            if program.unit == "region-0":
                local.step(program)
        if turn % 2:
            local.trigger()
    local.step(local.programs[-1])
    assert all(read_view(local.catalog, each).final for each in local.programs if each.unit == "region-0")
    actions = dict(redeploy(local, after).units)
    assert actions["region-0"] == "restart"
    local.run()
    counts = {name: sum(n for _, n in published(local.published(f"Out{name}"))) for name in "AB"}
    assert counts == {"A": FEW, "B": COUNT}
