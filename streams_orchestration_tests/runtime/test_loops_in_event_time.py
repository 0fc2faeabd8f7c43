"""Panes behind a loop come as without it, since the stream that closes the loop has no watermarks (EV12)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import in_event_time, through, timed, timed_file
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import run_some

pytestmark = pytest.mark.slow

PANE = 7
BACK: Any = {"streams": ["Back"], "control": True}
"""The control port that closes the loop."""
TUPLES = [(100 + 3 * i - i % 3, "ab"[i % 2], i) for i in range(30)]
LOOPS: dict[str, list[dict[str, Any]]] = {
    "a Gate": [
        through("Loop", "Gate", "Rows", BACK,
                parameters={"maxUnackedTupleCount": 3}),
        through("Back", "Filter", "Loop", parameters={"filter": "n >= 0"}),
    ],
    "a Gate with an operator between": [
        through("Loop", "Gate", "Rows", BACK,
                parameters={"maxUnackedTupleCount": 1}),
        through("Copied", "Functor", "Loop"),
        through("Back", "Filter", "Copied", parameters={"filter": "n >= 0"}),
    ],
    "a Switch": [
        through("Loop", "Switch", "Rows", BACK,
                parameters={"status": "n >= 0", "initialStatus": True}),
        through("Back", "Filter", "Loop", parameters={"filter": "n >= 0"}),
    ],
}  # fmt: skip


@pytest.mark.covering
@pytest.mark.parametrize("limit", [1, 100])
@pytest.mark.parametrize("pes", [1, 9])
@pytest.mark.parametrize("loop", LOOPS)
def test_panes_behind_a_loop_are_those_of_the_tuples(tmp_path: Path, loop: str, pes: int, limit: int):
    source = timed("Rows", timed_file(tmp_path / "rows.parquet", TUPLES), lag=0.002)
    source["annotations"].pop("consistent")
    output = {"at": "intervalStart()", "n": "Count()", "nth": "paneIndex()"}
    panes = through("Panes", "Aggregate", "Loop", schema="at bigint, n bigint, nth bigint")
    window = {"window": f"timeInterval, intervalDuration(0.00{PANE})", "output": output}
    graph = [source, *LOOPS[loop], panes | {"parameters": window}, sink("Out", "Panes")]
    local = LocalApplication(Home(tmp_path / "home"), in_event_time(graph, fusion="manual", pes=pes), limit)
    run_some(local, 2 * len(TUPLES) * (1 if limit < PANE else 2))
    found = [tuple(row.values()) for path in local.published("Out") for row in pq.read_table(path).to_pylist()]
    wanted = Counter(at // PANE * PANE for at, *_ in TUPLES)
    assert sorted(found) == [(start, count, 0) for start, count in sorted(wanted.items())]
