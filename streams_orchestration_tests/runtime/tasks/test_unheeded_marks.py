"""Window marks that nobody handles cut no batches; they are counted, and tuples and watermarks are the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import PERIODIC, sink
from streams_orchestration_tests.runtime.event_times import in_event_time, through, timed, timed_file
from streams_orchestration_tests.runtime.local import LocalApplication

TUPLES = [(1000 * i, f"key {i % 7}", i) for i in range(100)]
WINDOWS: dict[str, dict[str, Any]] = {
    "event time": {"window": "timeInterval, intervalDuration(10.0), partitioned", "output": {"at": "paneTime()"}},
    "sessions": {"window": "session, gap(6.0), partitioned", "output": {"at": "intervalStart()"}},
    "tumbling": {"window": "tumbling, count(3), partitioned", "output": {"at": "Max(at)"}},
    "overlapping": {"window": "sliding, count(3), count(2), partitioned", "output": {"at": "Max(at)"}},
}


CALLS = 2
"""The most calls of an operator in a batch without marks: with tuples, and with the watermarks behind them."""
HEEDING = sink("Other", "Kept", parameters={"file": "Other", "closeMode": "punct"})
"""A sink that closes a file at each window mark."""


def parameters_of(window: str) -> dict[str, Any]:
    windows = WINDOWS[window]
    return {"window": windows["window"], "partitionBy": ["k"], "output": windows["output"] | {"n": "Sum(n)"}}


def rows_of(file: Path, *, event_time: bool) -> dict[str, Any]:
    source = timed("Rows", file)
    return source if event_time else source | {"annotations": PERIODIC}


def ran(directory: Path, window: str, *behind: dict[str, Any]) -> LocalApplication:
    """Run Rows -> Windows by key -> Kept, behind which are a sink and others, in one PE."""
    directory.mkdir()
    graph = [
        rows_of(timed_file(directory / "rows.parquet", TUPLES), event_time="time" in window or window == "sessions"),
        through("Windows", "Aggregate", "Rows", parameters=parameters_of(window)),
        through("Kept", "Filter", "Windows", parameters={"filter": "n % 5 <> 0"}),
        sink("Out", "Kept"),
        *behind,
    ]
    local = LocalApplication(Home(directory / "home"), in_event_time(graph, fusion="manual", pes=1), 40)
    local.run()
    return local


def rows(local: LocalApplication) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for path in local.published("Out") for row in pq.read_table(path).to_pylist()]


def flows(local: LocalApplication, what: str) -> dict[str, int]:
    """Return a count of both ports of the filter over all batches."""
    total = Counter[str]()
    for result in local.results:
        kept = result.metrics["operators"].get("Kept", {})
        for side in ("inputs", "outputs"):
            total[side] += kept.get(side, {}).get("0", {}).get(what, 0)
    return dict(total)


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
def test_marks_that_nobody_handles_are_counted_but_cut_no_batches(window: str, tmp_path: Path):
    plain = ran(tmp_path / "plain", window)
    heeding = ran(tmp_path / "heeding", window, HEEDING)
    assert rows(plain) == rows(heeding) != []
    assert len(heeding.published("Other")) > 7
    assert flows(plain, "marks") == flows(heeding, "marks")
    assert flows(plain, "tuples") == flows(heeding, "tuples")
    assert flows(plain, "batches")["inputs"] <= CALLS * len(plain.results) < flows(heeding, "batches")["inputs"]


def test_watermarks_are_behind_the_firings_that_they_caused(tmp_path: Path):
    graph = [
        timed("Rows", timed_file(tmp_path / "rows.parquet", TUPLES)),
        through("Windows", "Aggregate", "Rows", parameters=parameters_of("event time")),
        through("Met", "Meeting", "Windows", schema="Met"),
        sink("Out", "Met"),
    ]
    local = LocalApplication(Home(tmp_path / "home"), in_event_time(graph, fusion="manual", pes=1), 1000)
    local.run()
    met = [(at, watermark) for at, k, _, watermark in rows(local) if k != "end"]
    assert met == [(10_000 * n + 9_999, 10_000 * n + 9_000) for n in range(10) for _ in range(7)]
