"""Timers fire at the same watermarks, however the application is cut, and over resets and redeploys (EV60)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.alarms import ALARMS, FUNCTIONS, silences
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import SCHEMAS, through, timed, timed_file
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy, run_some

pytestmark = pytest.mark.slow

TUPLES = [(1000 * (i + (7 * i) % 5), "abcdefg"[(i * i) % 7 if i % 3 else i % 7], i) for i in range(80)]
"""Out of order by up to 4 s; some keys pause for more than 6 s."""
WANTED = silences(TUPLES, 1000)
KINDS: dict[str, dict[str, Any]] = {
    "an operator of one's own": {"operator": "Alarms"},
    "Custom": {"operator": "Custom", "parameters": FUNCTIONS},
}


def application(directory: Path, kind: dict[str, Any], width: int = 0, **options: Any) -> PlannedCompilation:
    by_key = {"parallel": {"width": width, "partitionBy": [{"port": "Rows", "attributes": ["k"]}]}}
    graph = [
        timed("Rows", timed_file(directory / "rows.parquet", TUPLES), lag=1.0),
        through("Silent", kind["operator"], "Rows", parameters=kind.get("parameters", {}),
                annotations=by_key if width else {}),
        sink("Out", "Silent"),
    ]  # fmt: skip
    document = {
        "specVersion": 1, "application": "app", "schemas": SCHEMAS, "operators": ALARMS, "graph": graph,
    }  # fmt: skip
    return compile_application(application_from_mapping(document), Options(**options))


def shown(local: LocalApplication) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for path in local.published("Out") for row in pq.read_table(path).to_pylist()]


def test_keys_fall_silent_in_the_middle_of_the_stream_too():
    assert len(WANTED) > 7 + 5


@pytest.mark.covering
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("source_limit", [1, 13, 100])
@pytest.mark.parametrize("pes", [1, 3])
def test_timers_fire_in_batches_of_every_size(tmp_path: Path, kind: dict[str, Any], source_limit: int, pes: int):
    compilation = application(tmp_path, kind, fusion="manual", pes=pes)
    local = LocalApplication(Home(tmp_path / "home"), compilation, source_limit)
    local.run()
    assert shown(local) == WANTED


@pytest.mark.covering
@pytest.mark.usefixtures("no_hosts")
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("turns", [2, 6])
def test_a_reset_brings_timers_back(tmp_path: Path, kind: dict[str, Any], turns: int):
    compilation = application(tmp_path, kind, fusion="manual", pes=2)
    local = LocalApplication(Home(tmp_path / "home"), compilation, source_limit=7)
    for turn in range(turns):
        run_some(local, 1 + turn)
        reset_unit(local.catalog, local.name, local.units[0], force=True)
    local.run()
    assert shown(local) == WANTED


@pytest.mark.covering
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("turns", [2, 6])
def test_a_redeploy_keeps_timers(tmp_path: Path, kind: dict[str, Any], turns: int):
    compilation = application(tmp_path, kind, fusion="manual", pes=1)
    local = LocalApplication(Home(tmp_path / "home"), compilation, source_limit=7)
    run_some(local, turns)
    redeploy(local, application(tmp_path, kind, fusion="manual", pes=3))
    local.run()
    assert shown(local) == WANTED


@pytest.mark.covering
@pytest.mark.parametrize("turns", [2, 6, 9])
@pytest.mark.parametrize("widths", [(1, 3), (3, 2), (2, 4)])
def test_a_redeploy_with_other_channels_divides_timers_by_their_keys(
    tmp_path: Path, turns: int, widths: tuple[int, int]
):
    own = KINDS["an operator of one's own"]
    local = LocalApplication(Home(tmp_path / "home"), application(tmp_path, own, widths[0]), source_limit=7)
    run_some(local, turns)
    redeploy(local, application(tmp_path, own, widths[1]))
    local.run()
    assert sorted(shown(local)) == sorted(WANTED)
