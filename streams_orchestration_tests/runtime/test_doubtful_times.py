"""Tuples without a time, and with a time far ahead: guarded against, counted, and named (EV53, EV54)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streams_orchestration.runtime.stepping import StepError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import NONE, in_event_time, through, timed
from streams_orchestration_tests.runtime.local import LocalApplication

pytestmark = pytest.mark.slow

DAY = 86_400_000


def rows_file(directory: Path, *times: int | None) -> Path:
    path = directory / "rows.parquet"
    rows = pd.DataFrame({"at": pd.array([*times], "Int64"), "k": "a", "n": range(len(times))})
    pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), path)
    return path


def run(directory: Path, *times: int | None, **event_time: Any) -> LocalApplication:
    file = rows_file(directory, *times)
    panes = {
        "name": "Panes",
        "operator": "Aggregate",
        "inputs": ["Rows"],
        "outputs": [{"stream": "Panes", "schema": "at bigint, n bigint"}, {"stream": "Late", "schema": "T"}],
        "parameters": {
            "window": "timeInterval, intervalDuration(10.0)",
            "output": {"at": "intervalStart()", "n": "Count()"},
        },
    }
    met = through("Met", "Meeting", "Rows", schema="Met")
    graph = [timed("Rows", file, **event_time), met, sink("Out", "Met"), panes, sink("Counted", "Panes")]
    graph.append(sink("TooLate", "Late"))
    local = LocalApplication(Home(directory / "home"), in_event_time(graph), 100)
    local.run()
    return local


def shown(local: LocalApplication, name: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for path in local.published(name) for row in pq.read_table(path).to_pylist()]


def met(local: LocalApplication) -> list[int]:
    return [row[3] for row in shown(local, "Out") if row[1] != "end"]


def counted(local: LocalApplication, operator: str, counter: str) -> int:
    counts = [result.metrics.get("operators", {}).get(operator, {}) for result in local.results]
    return sum(each.get("counters", {}).get(counter, 0) for each in counts)


def test_a_tuple_without_a_time_stops_with_its_place(tmp_path: Path):
    with pytest.raises(StepError) as stopped:
        run(tmp_path, 5, None, 7)
    message = str(stopped.value)
    assert "the event time at of tuple 2 of 3 is null: {at: None, k: 'a', n: 1}" in message
    assert "onNull: ignore" in message
    assert "rows.parquet" in message


def test_a_tuple_without_a_time_is_ignored_and_too_late(tmp_path: Path):
    local = run(tmp_path, 5, None, 7, 20_000, onNull="ignore")
    assert met(local) == [NONE, 5, 5, 7]
    assert shown(local, "Counted") == [(0, 2), (20_000, 1)]
    assert shown(local, "TooLate") == [(None, "a", 1)]
    assert counted(local, "Rows", "null_times") == 1


def test_a_time_far_ahead_makes_no_other_late(tmp_path: Path):
    local = run(tmp_path, 1_000, 2_000, 900_000_000, 3_000, 12_000, maxAhead=60, confirmations=2)
    assert met(local) == [NONE, NONE, 1_000, 1_000, 3_000]
    assert shown(local, "TooLate") == []
    assert counted(local, "Rows", "ahead") == 1


def test_a_time_is_compared_with_when_it_was_received(tmp_path: Path):
    """The attribute n stands for that time."""
    local = run(tmp_path, 2, 70_000, 3, aheadOf="n", maxAhead=60, confirmations=1)
    assert met(local) == [NONE, 2, 2]
    assert counted(local, "Rows", "ahead") == 1


def test_without_a_guard_the_log_says_once_that_the_watermark_jumps(tmp_path: Path):
    local = run(tmp_path, 1_000, 2_000, 3 * DAY + 2_000, 9 * DAY, 10_000)
    text = "".join(path.read_text() for path in local.home.logs(local.name).glob("pe-*.log"))
    assert text.count("jumps") == text.count("the watermark jumps by 3.0 days at tuple 3 of 5: {at: 259202000, ") == 1
    assert "maxAhead" in text
