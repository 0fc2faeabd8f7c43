"""Panes are those of the tuples, for any streams, width, fusion and batch, and a redeploy at any tuple (EV42)."""

from __future__ import annotations

import itertools
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import Timed, in_event_time, through, timed, timed_file
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy, run_some

pytestmark = pytest.mark.slow

SECOND = 1000
GAP = 5 * SECOND
Panes = list[tuple[int, str, int, int]]
"""Start, key, number of tuples and sum of their numbers."""


def intervals(tuples: list[Timed]) -> Panes:
    """Return the panes of 10 s that begin every 4 s."""
    starts = range(-3, 100)
    panes = [(4 * SECOND * n, k) for n in starts for k in "ab"]
    held = {pane: [n for at, k, n in tuples if k == pane[1] and 0 <= at - pane[0] < 10 * SECOND] for pane in panes}
    return [(*pane, len(numbers), sum(numbers)) for pane, numbers in held.items() if numbers]


def sessions(tuples: list[Timed]) -> Panes:
    """Return the sessions with a gap of 5 s."""
    panes: Panes = []
    for key, group in itertools.groupby(sorted(tuples, key=lambda each: (each[1], each[0])), key=lambda each: each[1]):
        last = None
        for at, _, n in group:
            if last is None or at - last >= GAP:
                panes.append((at, key, 0, 0))
            start, _, count, total = panes.pop()
            panes.append((start, key, count + 1, total + n))
            last = at
    return panes


WINDOWS = {
    "timeInterval, intervalDuration(10.0), creationPeriod(4.0), partitioned": intervals,
    "session, gap(5.0), partitioned": sessions,
}


class Shape(NamedTuple):
    """The shape of an application: its width and its PEs."""

    width: int
    pes: int

    def options(self) -> dict[str, Any]:
        return {"fusion": "manual", "pes": self.pes}


SHAPES = st.builds(Shape, st.integers(1, 3), st.sampled_from([1, 2, 4]))


@st.composite
def streams(draw: st.DrawFn) -> list[Timed]:
    """Return tuples none of which is behind an earlier one by more than 4 s."""
    greatest, tuples = 0, list[Timed]()
    for back, on in draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 7)), min_size=1, max_size=25)):
        greatest += on * SECOND
        tuples.append((greatest - back * SECOND, draw(st.sampled_from("ab")), len(tuples)))
    return tuples


def graph(directory: Path, given_streams: tuple[list[Timed], list[Timed]], window: str, width: int) -> list[Any]:
    """Two sources -> Union -> (parallel by key: panes) -> sink."""
    files = [timed_file(directory / f"{number}.parquet", tuples) for number, tuples in enumerate(given_streams)]
    by_key = {"parallel": {"width": width, "partitionBy": [{"port": "Both", "attributes": ["k"]}]}}
    output = {"at": "intervalStart()", "n": "Count()", "total": "Sum(n)", "nth": "paneIndex()"}
    panes = through("Panes", "Aggregate", "Both", schema="at bigint, k string, n bigint, total bigint, nth bigint")
    return [
        timed("Rows", files[0], lag=4.0),
        timed("Others", files[1], lag=4.0),
        through("Both", "Union", "Rows", "Others"),
        panes | {"parameters": {"window": window, "partitionBy": ["k"], "output": output}, "annotations": by_key},
        sink("Out", "Panes"),
    ]


@given(
    st.tuples(streams(), streams()), st.sampled_from(sorted(WINDOWS)), SHAPES, SHAPES, st.integers(1, 20),
    st.integers(0, 25),
)  # fmt: skip
@examples(30)
def test_panes_are_those_of_the_tuples_however_the_application_is_cut_and_whenever_it_is_redeployed(
    given_streams: tuple[list[Timed], list[Timed]], window: str, first: Shape, then: Shape, limit: int, turns: int
):
    with TemporaryDirectory() as place:
        plan = in_event_time(graph(Path(place), given_streams, window, first.width), **first.options())
        local = LocalApplication(Home(Path(place, "home")), plan, limit)
        run_some(local, turns)
        if not local.advance_to_end():
            redeploy(local, in_event_time(graph(Path(place), given_streams, window, then.width), **then.options()))
        local.run()
        parts = local.published("Out")
        actual = sorted(tuple(row.values()) for path in parts for row in pq.read_table(path).to_pylist())
    wanted = WINDOWS[window]([*given_streams[0], *given_streams[1]])
    assert actual == sorted((*pane, 0) for pane in wanted)
