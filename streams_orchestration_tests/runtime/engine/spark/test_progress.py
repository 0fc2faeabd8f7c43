"""A task in an executor that stands still ends its process; one that runs now and then does not."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from streams_orchestration.runtime.engine.spark.progress_watchdog import ProgressWatchdog

STANDS_STILL = """
import threading
from streams_orchestration.runtime.engine.spark.progress_watchdog import ProgressWatchdog
with ProgressWatchdog().task(1):
    threading.Event().wait()
"""


@pytest.mark.parametrize(
    ("checks", "ended"),
    [
        pytest.param([5, 5, 5], [], id="a moment"),
        pytest.param([5, 5, 5, 5], [3], id="the limit"),
        pytest.param([5, 5, 5, 6, 6, 6], [], id="it has run in between"),
        pytest.param([None] * 9, [], id="nobody knows"),
        pytest.param([5] * 7, [3, 3], id="it cannot be ended"),
    ],
)
def test_only_what_stands_still_for_the_limit_is_ended(checks: list[int | None], ended: list[int]):
    actual: list[int] = []
    progress = ProgressWatchdog(actual.append)
    with progress.task(3):
        for runs in checks:
            progress.check_progress(runs)
    assert actual == ended


@pytest.mark.parametrize("limit", [0, 3])
def test_a_process_without_a_task_is_not_ended(limit: int):
    actual: list[int] = []
    progress = ProgressWatchdog(actual.append)
    with progress.task(limit):
        progress.check_progress(5)
    for _ in range(9):
        progress.check_progress(5)
    assert actual == []


def test_without_a_limit_nothing_is_ended():
    actual: list[int] = []
    progress = ProgressWatchdog(actual.append)
    with progress.task(0):
        for _ in range(9):
            progress.check_progress(5)
    assert actual == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only there is it known")
def test_a_process_whose_task_waits_for_what_never_comes_is_killed_and_says_so():
    done = subprocess.run([sys.executable, "-c", STANDS_STILL], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert "has made no progress in its task for 1 s and is killed" in done.stderr
