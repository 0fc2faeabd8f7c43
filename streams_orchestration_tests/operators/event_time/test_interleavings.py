"""Panes of several streams do not depend on how they are interleaved, if each is in order within its lag (EV42)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.event_time.clock import Clock
from streams_orchestration.operators.event_time.combined_watermark import CombinedWatermark
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration_tests.examples import examples

SCHEMA = "at bigint, k string, v bigint"
RESULT = "start bigint, end bigint, nth bigint, k string, n bigint, total bigint"
OUTPUT = {
    "start": "intervalStart()", "end": "intervalEnd()", "nth": "paneIndex()", "n": "Count()", "total": "Sum(v)",
}  # fmt: skip
WINDOWS = st.sampled_from(
    [
        "timeInterval, intervalDuration(0.01)",
        "timeInterval, intervalDuration(0.012), creationPeriod(0.005)",
        "timeInterval, intervalDuration(0.004), creationPeriod(0.009), intervalOffset(0.002)",
        "timeInterval, intervalDuration(0.01), discardAge(0.005)",
        "session, gap(0.003)",
    ]
)
Tuple = tuple[int, str, int]


@st.composite
def streams(draw: st.DrawFn) -> list[tuple[int, int, list[Tuple]]]:
    """Return streams as lag, gap and tuples, none of which is behind an earlier one by more than the lag."""
    made: list[tuple[int, int, list[Tuple]]] = []
    for _ in range(draw(st.integers(1, 3))):
        lag, greatest, tuples = draw(st.integers(0, 6)), 0, list[Tuple]()
        for back, on in draw(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), max_size=12)):
            greatest += on
            at = greatest - min(back, lag)
            tuples.append((at, draw(st.sampled_from("xy")), len(tuples)))
            greatest = max(greatest, at)
        made.append((lag, draw(st.integers(1, 5)), tuples))
    return made


def panes(streams: list[tuple[int, int, list[Tuple]]], window: str, random: Any, most: int) -> list[Any]:
    """Return what an Aggregate gives, behind which the streams meet in batches of random size and order."""
    harness = OperatorHarness(
        Aggregate, [SCHEMA], [RESULT, SCHEMA], event_time="at",
        parameters={"window": f"{window}, partitioned", "partitionBy": ["k"], "output": OUTPUT},
    )  # fmt: skip
    schema = harness.context.inputs[0]
    names = [str(number) for number in range(len(streams))]
    entries, clocks = CombinedWatermark(names), [Clock(lag, gap) for lag, gap, _ in streams]
    waiting = {name: list(tuples) for name, (*_, tuples) in zip(names, streams, strict=True)}
    while waiting:
        name = random.choice(sorted(waiting))
        left, clock = waiting[name], clocks[int(name)]
        part = [left.pop(0) for _ in range(min(len(left), random.randint(1, most)))]
        marks = clock.advance(np.array([at for at, *_ in part], np.int64)) if part else clock.end()
        if not part:
            del waiting[name]
        batch = TupleBatch(
            pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in part], schema)
        )
        harness.send(batch.with_watermarks(entries.enter(name, marks, len(part))))
    assert harness.metrics["late_dropped"] == harness.metrics["late_taken"] == 0
    return sorted(harness.rows())


@given(streams(), WINDOWS, st.randoms(use_true_random=False), st.integers(1, 5))
@examples(150)
def test_panes_are_equal_for_every_interleaving_of_streams_that_are_in_order_within_their_lags(
    given_streams: list[tuple[int, int, list[Tuple]]], window: str, random: Any, most: int
):
    one_after_another = panes(given_streams, window, _First(), 100)
    assert panes(given_streams, window, random, most) == one_after_another


class _First:
    """Takes the first of all choices, and as many as possible."""

    @staticmethod
    def choice(names: list[str]) -> str:
        return names[0]

    @staticmethod
    def randint(_: int, most: int) -> int:
        return most
