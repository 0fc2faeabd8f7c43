"""The start-up time is split into phases that add up."""

from __future__ import annotations

import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.hosts.start_up import WORKERS, StartUp, StartUpReport
from streams_orchestration.runtime.processes.processes import ProcessIdentity

TICK = 0.02
"""Seconds: the kernel counts a hundredth."""
JVM = ProcessIdentity(1, 102.0, "/usr/bin/java -cp jars")


def started(asked_at: float | None = None) -> StartUp:
    start_up = StartUp(100.0, asked_at)
    for phase, at in (("imports", 101.5), ("session", 105.0), ("queries", 106.0)):
        start_up.reached(phase, at)
    return start_up


@pytest.mark.parametrize(("asked_at", "whole"), [(None, 10.0), (95.0, 15.0)])
def test_the_phases_add_up_to_the_time_from_the_command_to_the_first_batch(asked_at: float | None, whole: float):
    start_up = started(asked_at)
    start_up.committed(110.0, [JVM, ProcessIdentity(2, 108.0, f"python -m {WORKERS} pyspark.worker")])
    assert sum(start_up.seconds.values()) == whole
    assert start_up.seconds["workers"] == 2.0
    assert start_up.seconds["first batch"] == 2.0
    assert ("command" in start_up.seconds) == (asked_at is not None)


@pytest.mark.parametrize("up", [[], [JVM], [ProcessIdentity(2, 105.5, f"python -m {WORKERS} pyspark.worker")]])
def test_workers_that_were_up_before_the_queries_cost_nothing(up: list[ProcessIdentity]):
    start_up = started()
    start_up.committed(110.0, up)
    assert "workers" not in start_up.seconds
    assert start_up.seconds["first batch"] == 4.0


def test_a_phase_that_ended_before_the_previous_one_took_no_time():
    start_up = started()
    start_up.reached("late", 100.0)
    assert start_up.seconds["late"] == 0.0
    start_up.committed(110.0, [])
    assert sum(start_up.seconds.values()) == 10.0


def test_the_start_up_time_in_words_has_its_phases():
    start_up = started()
    assert str(start_up) == "6.0 s: imports 1.5, session 3.5, queries 1.0"


def test_a_start_is_reported_once_with_the_first_commit_after_it(monkeypatch: pytest.MonkeyPatch):
    written: list[dict[str, float]] = []
    presence: Any = SimpleNamespace(record_family=lambda: (JVM,), report_start_up=lambda said: written.append({**said}))
    times = iter((101.0, 102.0, 104.0))
    monkeypatch.setattr(clock, "now", lambda: next(times))
    report = StartUpReport(presence, StartUp(100.0))
    report.reached("session")
    report.note_turn([None, 90.0])
    assert written == [], "another host has made that commit"
    report.note_turn([110.0, 107.0, None])
    report.note_turn([120.0])
    assert written == [{"session": 2.0, "queries": 2.0, "first batch": 3.0}]


def test_a_process_knows_when_it_began_better_than_by_whole_seconds():
    code = (
        "from streams_orchestration.runtime.processes.processes import read_process_start; print(read_process_start())"
    )
    before = time.time()
    began = float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert before - TICK <= began <= time.time()
