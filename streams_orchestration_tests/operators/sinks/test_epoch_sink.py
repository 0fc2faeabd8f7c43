"""EpochSink: what waits for a delivery is put together, whatever the batches were in which it came."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.operators.sinks import epoch_sink
from streams_orchestration.operators.sinks.epoch_sink import EpochSink, read_batches
from streams_orchestration_tests.operators.harness import Bench


@pytest.mark.parametrize(("most", "sizes"), [(100, [7]), (7, [7]), (4, [4, 3])])
def test_small_batches_are_delivered_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, sizes: list[int]
):
    monkeypatch.setattr(epoch_sink, "MOST_TUPLES", most)
    bench = Bench(EpochSink, ["n bigint"], results=tmp_path)
    for first, behind in ((0, 1), (1, 2), (2, 7)):
        bench.send([(n,) for n in range(first, behind)])
    (file,) = bench.commit()
    batches = list(read_batches(file.pending))
    assert [len(batch) for batch in batches] == sizes
    assert [row["n"] for batch in batches for row in batch.to_pylist()] == list(range(7))
