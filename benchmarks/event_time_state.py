"""The state of panes of event time: its size after an hour, and a million open ones through reset and redeploy.

The hour is event time: an Aggregate as in Nexmark's q5 counts the bids of an hour, out of order, by overlapping
intervals. Its state is compared with the state of an Aggregate which has seen only the tuples of the open panes. A
reset and a redeploy from 2 to 4 channels are compared with a reset and a redeploy of a tumbling Aggregate of as many
partitions, in processor time from the stored bytes to the first tuple.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from benchmarks.disorder import LAG, SECOND
from benchmarks.event_time import batches
from benchmarks.harness import Row, memory, seconds
from benchmarks.nexmark.events import numbered, out_of_order
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.states.state import State, dump_state, load_state
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import Watermarks
from streams_orchestration.runtime.tasks.routing import hash_channels

HOUR_SECONDS, QUICK_SECONDS = 3_600, 600
EVERY = 2_000
"""Microseconds between two events, so that an hour has 1.8 million."""
BIDS = "auction bigint, moment timestamp"
Q5: dict[str, Any] = {
    "window": "timeInterval, intervalDuration(10.0), creationPeriod(2.0)",
    "groupBy": ["auction"],
    "output": {"start": "intervalStart()", "n": "Count()"},
}
KEYED = "k bigint, v bigint, at timestamp"
OUTPUT = {"n": "Count()", "total": "Sum(v)"}
PANES: dict[str, Any] = {
    "window": "timeInterval, intervalDuration(10.0), partitioned", "partitionBy": ["k"], "output": OUTPUT,
}  # fmt: skip
COUNTED: dict[str, Any] = {"window": "tumbling, count(1000), partitioned", "partitionBy": ["k"], "output": OUTPUT}
OPEN, OPEN_PANES = 1_000_000, 4
BATCH = 50_000
STORED = "BENCH_STORED_STATE"
"""The environment variable with the path of a stored state, for processes whose memory is measured."""


def hourly(seconds_: int) -> tuple[float, float]:
    """Return the bytes of the state after so long, and of an Aggregate that saw only the tuples of open panes."""
    count = seconds_ * SECOND // EVERY
    order = out_of_order(count, EVERY)
    steps = range(0, count, BATCH)
    bids = [numbered(order[at : at + BATCH], EVERY).bids.select(["auction", "moment"]) for at in steps]
    given = _marked(bids)
    lived = _counting()
    for batch in given:
        lived.send(batch)
        lived.sent.clear()
        lived.checkpoint()
    now = max(int(batch.watermarks.values[-1]) for batch in given if batch.watermarks is not None)
    first = (now - 10 * SECOND) // (2 * SECOND) * (2 * SECOND) + 2 * SECOND
    fresh = _counting()
    for batch in given:
        times = batch.arrow.column("moment").cast(pa.int64()).to_numpy()
        fresh.send(batch.without_watermarks().filter(times >= first))
    fresh.send(given[-1].slice(0, 0).with_watermarks(Watermarks.of((0, now))))
    return tuple(float(len(_stored(each.operator.checkpoint()))) for each in (lived, fresh))  # type: ignore[return-value]


def _marked(bids: Sequence[pa.RecordBatch]) -> list[TupleBatch]:
    whole = pa.Table.from_batches(bids).combine_chunks().to_batches()[0].cast(arrow_schema(BIDS))
    return batches(whole, SECOND // 10, LAG, BATCH, time="moment")


def _counting() -> OperatorHarness:
    result = "start timestamp, auction bigint, n bigint"
    return OperatorHarness(Aggregate, [BIDS], [result], parameters=Q5, event_time="moment")


def _stored(state: State) -> bytes:
    return dump_state(state, 1, []).data


@dataclass
class Channels:
    """A splitter by key."""

    width: int

    def attributes(self, port: int = 0) -> tuple[str, ...]:
        """Return the key."""
        del port
        return ("k",)

    def channels(self, tuples: pa.RecordBatch, port: int = 0) -> np.ndarray:
        """Return the channel of every tuple."""
        del port
        return hash_channels(tuples, ("k",), self.width)


def opened(parameters: dict[str, Any], count: int, channel: int, width: int) -> bytes:
    """Return the stored state of one channel with a number of partitions, each with tuples in one open pane."""
    harness = _partitions(parameters)
    keys = np.arange(count)
    moments = pa.array(keys % OPEN_PANES * 10 * SECOND).cast(pa.timestamp("us", "UTC"))
    tuples = pa.record_batch({"k": pa.array(keys), "v": pa.array(keys % 100), "at": moments}).cast(arrow_schema(KEYED))
    mine = tuples.filter(pa.array(hash_channels(tuples, ("k",), width) == channel))
    for at in range(0, mine.num_rows, BATCH):
        harness.send(TupleBatch(mine.slice(at, BATCH)))
    return _stored(harness.operator.checkpoint())


def _partitions(parameters: dict[str, Any]) -> OperatorHarness:
    timed = "at" if parameters is PANES else None
    return OperatorHarness(
        Aggregate, [KEYED], ["k bigint, n bigint, total bigint"], parameters=parameters, event_time=timed
    )


def _begin(parameters: dict[str, Any], state: State) -> None:
    """Restore a state, and take a tuple."""
    harness = _partitions(parameters)
    harness.operator.restore(state)
    first = pa.record_batch({"k": [0], "v": [1], "at": pa.array([30 * SECOND]).cast(pa.timestamp("us", "UTC"))})
    harness.send(TupleBatch(first.cast(arrow_schema(KEYED))))


def reset(parameters: dict[str, Any], stored: bytes) -> Callable[[], None]:
    """Return what restores a stored state."""
    return lambda: _begin(parameters, load_state([stored]))


def redeploy(parameters: dict[str, Any], stored: Sequence[bytes]) -> Callable[[], None]:
    """Return what divides the stored states of channels among four channels, which store and restore them."""

    def divide() -> None:
        states = [load_state([each]) for each in stored]
        for state in _partitions(parameters).operator.rescale(states, Channels(4)):
            _begin(parameters, load_state([_stored(state)]))

    return divide


def restoring_panes() -> Callable[[], None]:
    """Return what restores the stored open panes, for a fresh process."""
    return reset(PANES, Path(os.environ[STORED]).read_bytes())


def restoring_windows() -> Callable[[], None]:
    """Return what restores the stored tumbling windows, for a fresh process."""
    return reset(COUNTED, Path(os.environ[STORED]).read_bytes())


def memories(stored: Sequence[bytes]) -> list[float]:
    """Measure in fresh processes the megabytes that resets with open panes, and with tumbling windows, take."""
    measured: list[float] = []
    with TemporaryDirectory(prefix="bench-") as directory:
        for prepare, content in zip((restoring_panes, restoring_windows), stored, strict=True):
            path = Path(directory, prepare.__name__)
            path.write_bytes(content)
            with patch.dict(os.environ, {STORED: str(path)}):
                measured.append(memory(prepare))
    return measured


def rows(*, quick: bool) -> list[Row]:
    """Measure the sizes and the ratios."""
    count = OPEN // 10 if quick else OPEN
    lived, fresh = hourly(QUICK_SECONDS if quick else HOUR_SECONDS)
    kinds = (PANES, COUNTED)
    whole = [opened(each, count, 0, 1) for each in kinds]
    halves = [[opened(each, count, channel, 2) for channel in range(2)] for each in kinds]
    restored, before, divided, divided_before = seconds(
        *(reset(each, stored) for each, stored in zip(kinds, whole, strict=True)),
        *(redeploy(each, stored) for each, stored in zip(kinds, halves, strict=True)),
        repeat=3,
    )
    taken, taken_before = memories(whole)
    return [
        Row(
            "event_time_state: memory of a reset with open panes / with tumbling windows",
            taken,
            "MB",
            taken_before,
            1.5,
        ),
        Row("event_time_state: state of q5 after an hour / of its open panes", lived, "bytes", fresh, 1.1),
        Row("event_time_state: bytes of open panes / of tumbling windows", len(whole[0]), "bytes", len(whole[1])),
        Row("event_time_state: a reset with open panes / with tumbling windows", restored, "s", before, 1.5),
        Row("event_time_state: a redeploy from 2 to 4 / with tumbling windows", divided, "s", divided_before, 1.5),
    ]
