"""Micro-batches of queries of Spark's in a PE against the same queries bare, in one session by turns."""

from __future__ import annotations

from statistics import median

from benchmarks.harness import Row, answer_of

ROUNDS = 2


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios of the median durations of triggers, as Spark reports them."""
    measured = answer_of("benchmarks.frame_durations", str(1 if quick else ROUNDS))
    seconds = {name: median(each) for name, each in measured.items()}
    return [
        Row("micro-batch of a windowed Sql PE / bare Spark", seconds["windows"], "s", seconds["windows bare"], 1.3),
        Row("of a DataFrame PE / bare transformWithState", seconds["state"], "s", seconds["state bare"], 1.2),
    ]
