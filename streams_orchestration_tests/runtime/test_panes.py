"""Panes of event time do not depend on fusion, batches, channels, resets and redeploys (EV41, EV42, EV46)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import in_event_time, through, timed, timed_file
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy, run_some

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("merged", [False, True])]

TUPLES = [(1000 * (i + (7 * i) % 5), "abcd"[i % 4], i) for i in range(90)]
"""Out of order by up to 4 s."""
OTHERS = [(at, k, n + 2000) for at, k, n in TUPLES[::3]]
LATE = (5_000, "a", 1000)
SECONDS = 10_000
FUSION: list[dict[str, Any]] = [{"fusion": "automatic"}, *({"fusion": "manual", "pes": n} for n in (1, 6))]


def panes_of(directory: Path, width: int, *, merged: bool) -> list[dict[str, Any]]:
    """Return one source, or the Union of two -> (parallel by key: panes of 10 s) -> sink, and a sink of late tuples.

    A tuple that is late at its source is in the graph with one source only, since a merge may take it or not (EV42).
    """
    rows = TUPLES if merged else [*TUPLES[:60], LATE, *TUPLES[60:]]
    file = timed_file(directory / "rows.parquet", rows)
    other = timed_file(directory / "others.parquet", OTHERS)
    before = [through("Both", "Union", "Rows", "Others"), timed("Others", other, lag=4.0)]
    before = before if merged else [through("Both", "Union", "Rows")]
    by_key = {"parallel": {"width": width, "partitionBy": [{"port": "Both", "attributes": ["k"]}]}}
    parameters = {
        "window": "timeInterval, intervalDuration(10.0), discardAge(2.0), partitioned",
        "partitionBy": ["k"],
        "output": {"at": "intervalStart()", "n": "Count()", "index": "paneIndex()", "total": "Sum(n)"},
    }
    panes = {
        "name": "Panes",
        "operator": "Aggregate",
        "inputs": ["Both"],
        "outputs": [
            {"stream": "Panes", "schema": "at bigint, k string, n bigint, index bigint, total bigint"},
            {"stream": "Late", "schema": "T"},
        ],
        "parameters": parameters,
        "annotations": by_key,
    }
    return [
        timed("Rows", file, lag=4.0),
        *before,
        panes,
        sink("Out", "Panes"),
        sink("TooLate", "Late"),
    ]


def shown(application: LocalApplication, name: str = "Out") -> list[tuple[Any, ...]]:
    parts = application.published(name)
    return sorted(tuple(row.values()) for path in parts for row in pq.read_table(path).to_pylist())


def check(local: LocalApplication, *, merged: bool) -> None:
    groups, sums = Counter[tuple[int, str]](), Counter[tuple[int, str]]()
    for at, k, n in [*TUPLES, *(OTHERS if merged else ())]:
        groups[at // SECONDS * SECONDS, k] += 1
        sums[at // SECONDS * SECONDS, k] += n
    assert shown(local) == sorted((at, k, count, 0, sums[at, k]) for (at, k), count in groups.items())
    assert shown(local, "TooLate") == ([] if merged else [LATE])


@pytest.mark.covering
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("fusion", FUSION, ids=lambda options: "-".join(map(str, options.values())))
def test_panes_are_equal_for_every_width_and_fusion(tmp_path: Path, merged: bool, width: int, fusion: dict[str, Any]):
    local = LocalApplication(
        Home(tmp_path / "home"), in_event_time(panes_of(tmp_path, width, merged=merged), **fusion), 25
    )
    local.run()
    check(local, merged=merged)


@pytest.mark.covering
@pytest.mark.parametrize("source_limit", [1, 60])
def test_panes_are_equal_in_batches_of_every_size(tmp_path: Path, merged: bool, source_limit: int):
    plan = in_event_time(panes_of(tmp_path, 2, merged=merged), fusion="manual", pes=2)
    local = LocalApplication(Home(tmp_path / "home"), plan, source_limit)
    local.run()
    check(local, merged=merged)


@pytest.mark.covering
@pytest.mark.usefixtures("no_hosts")
@pytest.mark.parametrize("turns", [2, 5])
def test_panes_are_equal_after_resets(tmp_path: Path, merged: bool, turns: int):
    plan = in_event_time(panes_of(tmp_path, 2, merged=merged), fusion="manual", pes=3)
    local = LocalApplication(Home(tmp_path / "home"), plan, 7)
    for turn in range(turns):
        run_some(local, 1 + turn)
        reset_unit(local.catalog, local.name, local.units[0], force=True)
    local.run()
    check(local, merged=merged)


@pytest.mark.covering
@pytest.mark.parametrize("turns", [1, 7])
@pytest.mark.parametrize("widths", [(1, 3), (3, 2), (2, 2)])
def test_panes_are_equal_after_redeploys(tmp_path: Path, merged: bool, turns: int, widths: tuple[int, int]):
    plan = in_event_time(panes_of(tmp_path, widths[0], merged=merged), fusion="manual", pes=2)
    local = LocalApplication(Home(tmp_path / "home"), plan, 7)
    run_some(local, turns)
    redeploy(local, in_event_time(panes_of(tmp_path, widths[1], merged=merged), fusion="manual", pes=3))
    local.run()
    check(local, merged=merged)
