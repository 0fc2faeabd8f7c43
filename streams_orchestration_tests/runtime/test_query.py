"""What is told of a query that ended by itself."""

from __future__ import annotations

import pytest

from streams_orchestration.runtime.query import reason


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Job aborted\norg.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider\n"
            "\tat org.apache.spark.Some.line(Some.scala:1)\nCaused by: java.io.EOFException\n",
            "a Python process that ran its tasks has ended",
        ),
        ("Traceback:\n  File x\nValueError: seven\n\tat java.lang.Thread.run(Thread.java:1)", "ValueError: seven"),
        ("it stopped", "it stopped"),
        ("", "unknown"),
    ],
)
def test_the_telling_line_is_found(text: str, said: str) -> None:
    assert reason(text).startswith(said)
