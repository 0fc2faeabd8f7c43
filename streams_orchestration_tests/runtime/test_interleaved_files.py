"""Files that are read side by side: the same tuples at the same watermarks through batches, resets and redeploys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import NONE, in_event_time, through, timed, timed_file
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy, run_some

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

FILES = {"a": range(0, 300, 3), "b": range(100, 200, 2), "c": range(50, 400, 7)}


def compiled(directory: Path, *, redeployed: bool = False) -> PlannedCompilation:
    folder = directory / "in"
    folder.mkdir(exist_ok=True)
    for name, times in FILES.items():
        timed_file(folder / f"{name}.parquet", [(at, name, at) for at in times])
    source = timed("Rows", folder)
    source["parameters"]["interleave"] = True
    more = [through("Some", "Filter", "Rows", parameters={"filter": "n >= 0"})] if redeployed else []
    met = through("Met", "Meeting", "Some" if redeployed else "Rows", schema="Met")
    return in_event_time([source, *more, met, sink("Out", "Met")], fusion="manual", pes=2)


def shown(local: LocalApplication) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for path in local.published("Out") for row in pq.read_table(path).to_pylist()]


@pytest.mark.covering
@pytest.mark.parametrize("source_limit", [7, 1000])
@pytest.mark.parametrize("turns", [0, 4, 9])
def test_no_tuple_of_files_in_order_is_late(tmp_path: Path, source_limit: int, turns: int):
    local = LocalApplication(Home(tmp_path / "home"), compiled(tmp_path), source_limit)
    run_some(local, turns)
    reset_unit(local.catalog, local.name, local.units[0], force=True)
    local.source_limit = 11
    run_some(local, turns)
    redeploy(local, compiled(tmp_path, redeployed=True))
    local.run()
    met = shown(local)[:-1]
    assert sorted((k, n) for _, k, n, _ in met) == sorted((k, at) for k, times in FILES.items() for at in times)
    assert [row for row in met if row[3] != NONE and row[0] < row[3]] == []
    alone = LocalApplication(Home(tmp_path / "alone"), compiled(tmp_path), 50)
    alone.run()
    assert shown(alone)[:-1] == met
