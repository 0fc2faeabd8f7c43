"""Measures the processor time of writing and reading segments on this machine."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pyarrow as pa

from streams_orchestration.model.profile import PassageCost
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.observing.profiles.passage_costs import Passage, fit_passage_cost
from streams_orchestration.runtime.programs.batches import Segment
from streams_orchestration.runtime.storage.store import Store
from streams_orchestration.runtime.transport.segments import read_segment, write_segment

WIDTHS = (1, 8, 64)
"""Numbers of columns in the samples, at 8 bytes a column."""
MAX_SAMPLE_BYTES = 16 << 20
"""The most bytes of one sample."""
ROUNDS = 5
"""Rounds of each sample. The median counts."""


def calibrate(store: Store, rows: int, compression: str | None = None) -> tuple[PassageCost, PassageCost]:
    """Measure the costs of sending and receiving by writing and reading segments with tuples of several sizes.

    Args:
        store: store of the transport. Everything written there is removed.
        rows: tuples per segment, as in the application's batches, since each segment has a fixed cost. Segments have
            fewer tuples where they would exceed `MAX_SAMPLE_BYTES`, and at least one.
        compression: compression of the transport.

    Returns:
        The cost of sending and the cost of receiving; 0 where the measured times give no line.

    Raises:
        OSError, SegmentError: the store cannot be used.
    """
    sent: list[Passage] = []
    received: list[Passage] = []
    for width in WIDTHS:
        sample = _sample(max(1, min(rows, MAX_SAMPLE_BYTES // (8 * width))), width)
        times = [_measure_once(store, sample, compression) for _ in range(ROUNDS)]
        tuples, size = float(len(sample)), float(sample.nbytes)
        sent.append(Passage(tuples, size, _median([each for each, _ in times])))
        received.append(Passage(tuples, size, _median([each for _, each in times])))
    costs = [fit_passage_cost(each) for each in (sent, received)]
    send, receive = (each or PassageCost(0.0, 0.0) for each in costs)
    return send, receive


def _sample(rows: int, width: int) -> TupleBatch:
    numbers = pa.array(range(rows), pa.int64())
    return TupleBatch(pa.RecordBatch.from_arrays([numbers] * width, names=[f"c{column}" for column in range(width)]))


def _measure_once(store: Store, sample: TupleBatch, compression: str | None) -> tuple[float, float]:
    """Write, read and remove a segment; return the processor seconds of writing, and of reading."""
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
