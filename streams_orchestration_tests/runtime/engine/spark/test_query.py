"""The report of a query that ended by itself."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streams_orchestration.runtime.engine.port import QueryStart
from streams_orchestration.runtime.engine.spark import query
from streams_orchestration.runtime.engine.spark.query import MOST_STARTS, SLOW_START, SparkQuery, reason
from streams_orchestration.runtime.storage.directories import directories_of
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.pe_views import program


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Job aborted\norg.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider\n"
            "\tat org.apache.spark.Some.line(Some.scala:1)\nCaused by: java.io.EOFException\n",
            "a Python process that ran its tasks has ended",
        ),
        ("Traceback:\n  File x\nValueError: seven\n\tat java.lang.Thread.run(Thread.java:1)", "ValueError: seven"),
        (
            "[STREAM_FAILED] Query terminated with exception:  SQLSTATE: XXKST (no cause message)\n"
            "=== Streaming Query ===\nThread State: RUNNABLE\n",
            "the Python process that planned its batches has ended",
        ),
        (f"{SLOW_START}.\n=== Streaming Query ===\n\nThread State: RUNNABLE\n", f"{SLOW_START}."),
        (
            "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` instead. SQLSTATE: 22012\n"
            "== SQL (line 1, position 38) ==\n...T v FROM Rows WHERE 1 / (v - 60) < 2\n"
            "                          ^^^^^^^^^^^^\n\n=== Streaming Query ===\nThread State: RUNNABLE\n",
            "[DIVIDE_BY_ZERO] Division by zero.",
        ),
        (
            'Traceback (most recent call last):\n  File "/x/execution.py", line 9, in counted\n'
            "    except DataError as error:\nSystemExit: 3\n",
            "SystemExit: 3",
        ),
        ("it stopped", "it stopped"),
        ("", "unknown"),
    ],
)
def test_the_telling_line_is_found(text: str, message: str) -> None:
    assert reason(text).startswith(message)


class FailingQuery(SparkQuery):
    """Spark ends it at once, always for the same reason."""

    why = ""
    started = 0

    def _begin(self) -> Any:
        type(self).started += 1
        return SimpleNamespace(isActive=False, exception=lambda: self.why)


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FailingQuery:
    """With a clock that moves a minute with every reading."""
    minutes = iter(range(0, 6000, 60))
    monkeypatch.setattr(query, "time", SimpleNamespace(monotonic=lambda: next(minutes), time_ns=lambda: 1))
    monkeypatch.setattr(FailingQuery, "started", 0)
    spark: Any = None
    home = Home(tmp_path)
    return FailingQuery(spark, QueryStart(home, program("A"), directories_of(home, "app", 0), 1))


def test_a_query_that_python_was_too_slow_for_starts_again_and_not_for_ever(failing: FailingQuery):
    failing.why = f"org.apache.spark.SparkException: {SLOW_START}."
    polls = 0
    while failing.find_failure_or_restart() is None:
        polls += 1
    assert (failing.started, polls) == (MOST_STARTS, 2 * (MOST_STARTS - 1))
    assert SLOW_START in str(failing.find_failure_or_restart())


def test_a_query_that_fails_for_another_reason_does_not_start_again(failing: FailingQuery):
    failing.why = "ValueError: seven"
    assert "seven" in str(failing.find_failure_or_restart())
    assert failing.started == 1
