"""Spark's analysis of queries has as long as the load of the machine makes it need, and says how far it is."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streams_orchestration.runtime.clocks.load_adjusted_clock import MAX_LOAD_FACTOR, LoadAdjustedClock
from streams_orchestration.runtime.engine.spark.frames import analysis
from streams_orchestration.runtime.engine.spark.frames.analysis import (
    ANALYSIS_SECONDS,
    PROGRESS_LOG_SECONDS,
    AnalysisError,
)


class Child:
    """A process that never ends: each wait passes some seconds."""

    def __init__(self, waits: float, ends: float) -> None:
        self.now, self._waits, self._ends = 0.0, waits, ends

    def wait(self, _seconds: float) -> int:
        self.now += self._waits
        if self.now < self._ends:
            raise subprocess.TimeoutExpired(["analysis"], self._waits)
        return 0


@pytest.mark.parametrize(("load", "factor"), [(0.1, 1.0), (1.0, 1.0), (4.0, 4.0), (1000.0, MAX_LOAD_FACTOR)])
def test_seconds_count_by_the_share_of_the_machine(load: float, factor: float):
    now = [0.0]
    patience = LoadAdjustedClock(lambda: now[0], lambda: load)
    now[0] = 10 * factor
    assert patience.advance() == 10 * factor
    assert patience.used == pytest.approx(10.0)


def awaited(monkeypatch: pytest.MonkeyPatch, directory: Path, child: Child, load: float) -> None:
    monkeypatch.setattr(analysis, "time", SimpleNamespace(monotonic=lambda: child.now))
    monkeypatch.setattr(analysis, "machine_load", lambda: load)
    stands_in: Any = child
    analysis.await_analysis(stands_in, directory)


def test_an_analysis_that_does_not_end_is_given_up_and_its_place_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "log").touch()
    (tmp_path / "progress").write_text("query 2 of 5, Windows")
    child = Child(waits=1.0, ends=1e9)
    with pytest.raises(AnalysisError, match=r"within 121 s \(query 2 of 5, Windows\); try again"):
        awaited(monkeypatch, tmp_path, child, load=0.5)


def test_a_busy_machine_may_take_as_much_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    awaited(monkeypatch, tmp_path, Child(waits=1.0, ends=4 * ANALYSIS_SECONDS), load=4.5)


def test_the_analysis_says_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.WARNING, "streams.analysis"):
        awaited(monkeypatch, tmp_path, Child(waits=1.0, ends=2.5 * PROGRESS_LOG_SECONDS), load=1.0)
    assert [record.getMessage() for record in caplog.records] == [
        "Spark has been analysing the queries for 10 s: it starts",
        "Spark has been analysing the queries for 20 s: it starts",
    ]
