"""Counters and gauges of an operator's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators import Metrics, Operator, TupleBatch
from streams_orchestration.operators.contract.metrics import METRICS_LIMIT
from streams_orchestration.operators.standard.transformation.custom import Custom
from streams_orchestration.operators.testing import OperatorHarness

ROW = "k string, n bigint"


class Picky(Operator):
    """Counts the odd ones out."""

    def setup(self) -> None:
        self.seen = self.context.metrics.counter("seen", "tuples that came")

    def process(self, port: int, batch: TupleBatch) -> None:
        values = batch.column("n")
        self.seen.add(len(batch))
        self.context.metrics.dropped.add((values % 2).sum())
        self.context.metrics.gauge("largest").set(values.max())


def counted(batch: TupleBatch, metrics: Metrics) -> None:
    metrics.counter("rows").add(len(batch))


def test_a_harness_shows_them_also_over_a_restart():
    harness = OperatorHarness(Picky, [ROW])
    assert harness.metrics == {"seen": 0}
    harness.send([("a", 3), ("b", 4)]).restart().send([("c", 1)])
    assert harness.metrics == {"seen": 3, "dropped": 2, "largest": 1}


def test_functions_of_custom_take_them_by_name():
    harness = OperatorHarness(Custom, [ROW], [ROW], parameters={"function": f"{__name__}:counted"})
    assert harness.send([("a", 1), ("b", 2)]).metrics == {"rows": 2}


@given(st.lists(st.lists(st.integers(0, 10**12))))
def test_counts_taken_batch_by_batch_add_up(batches: list[list[int]]):
    metrics = Metrics()
    total = 0
    for batch in batches:
        for count in batch:
            metrics.counter("n").add(count)
        total += metrics.take().get("counters", {}).get("n", 0)
    assert total == sum(map(sum, batches)) == metrics.values.get("n", 0)


def test_only_what_is_new_is_taken():
    metrics = Metrics()
    metrics.counter("never", "has not happened")
    metrics.gauge("level").set(np.float64(0.5))
    assert metrics.take() == {
        "counters": {"never": 0},
        "gauges": {"level": 0.5},
        "about": {"never": "has not happened"},
    }
    assert metrics.take() == {}
    metrics.gauge("level").set(0.5)
    metrics.counter("never").add(np.int64(2))
    assert metrics.take() == {"counters": {"never": 2}, "gauges": {"level": 0.5}}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda metrics: metrics.counter("n").add(-2), "a counter cannot decrease by 2; use a gauge"),
        (lambda metrics: metrics.counter("level"), "metric level is a gauge, not a counter"),
        (lambda metrics: metrics.gauge("dropped"), "metric dropped is a counter, not a gauge"),
        (lambda metrics: metrics.gauge("level").set(float("nan")), "a finite number, not nan"),
        (lambda metrics: metrics.gauge("level").set("high"), "a finite number, not 'high'"),
        (lambda metrics: metrics.counter("user 17"), "metric 'user 17': a name has letters"),
        (lambda metrics: [metrics.counter(f"user{n}") for n in range(METRICS_LIMIT)], "at most 64 metrics"),
    ],
)
def test_mistakes_are_named(wrong: Any, message: str):
    metrics = Metrics()
    metrics.gauge("level")
    metrics.dropped.add()
    with pytest.raises(ValueError, match=message):
        wrong(metrics)
