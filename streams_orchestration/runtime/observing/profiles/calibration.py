"""Measures on this machine what writing and reading segments costs."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pyarrow as pa

from streams_orchestration.model.profile import PassageCost
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.runtime.observing.profiles.passage_costs import Passage, fitted
from streams_orchestration.runtime.programs.batches import Segment
from streams_orchestration.runtime.storage.store import Store
from streams_orchestration.runtime.transport.segments import read_segment, write_segment

WIDTHS = (1, 8, 64)
"""Columns of 8 bytes in the samples."""
MOST_BYTES = 16 << 20
"""Most bytes of one sample."""
ROUNDS = 5
"""Rounds of each sample, of which the median counts."""


def calibrate(store: Store, rows: int, compression: str | None = None) -> tuple[PassageCost, PassageCost]:
    """Processor time of sending and of receiving, from segments of several sizes that are written and read here.

    Args:
        store: that the transport uses; everything written there is removed.
        rows: tuples of a segment, as many as the application's batches have: there is a price on each segment.
        compression: of the transport.
    """
    sent: list[Passage] = []
    received: list[Passage] = []
    for width in WIDTHS:
        sample = _sample(max(1, min(rows, MOST_BYTES // (8 * width))), width)
        times = [_once(store, sample, compression) for _ in range(ROUNDS)]
        tuples, size = float(len(sample)), float(sample.nbytes)
        sent.append(Passage(tuples, size, _median([each for each, _ in times])))
        received.append(Passage(tuples, size, _median([each for _, each in times])))
    costs = [fitted(each) for each in (sent, received)]
    send, receive = (each or PassageCost(0.0, 0.0) for each in costs)
    return send, receive


def _sample(rows: int, width: int) -> TupleBatch:
    numbers = pa.array(range(rows), pa.int64())
    return TupleBatch(pa.RecordBatch.from_arrays([numbers] * width, names=[f"c{column}" for column in range(width)]))


def _once(store: Store, sample: TupleBatch, compression: str | None) -> tuple[float, float]:
    """Seconds of writing a segment, and of reading it."""
    begin = time.process_time()
    segment: Segment = write_segment(store, "calibration", "calibration", sample.schema, [sample], compression)
    try:
        written = time.process_time()
        for _ in read_segment(store, segment):
            pass
        return written - begin, time.process_time() - written
    finally:
        store.remove(segment.path)


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]
