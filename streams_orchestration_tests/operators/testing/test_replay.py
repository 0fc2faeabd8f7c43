"""The source that stands for another one in tests of applications."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.testing.replay import Replay
from streams_orchestration.operators.tuples.watermarks import IDLE, Idle, Watermark

ROLE = EventTimeRole("at", 1000, "manual", lag=0, minimum_gap=0, ports=(), outputs=(0,))


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_tuples_come_with_the_watermarks_at_their_places_whatever_the_batch(tmp_path: Path, limit: int):
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"at": [4, 5, 6]}), file)
    marks = [[0, 1], [1, 3], [1, IDLE], [1, 2], [3, 5], [3, 6]]
    replay = OperatorHarness(
        Replay, outputs=["at bigint"], parameters={"file": str(file), "watermarks": marks}, event_time=ROLE
    )
    offset, exhausted, calls = {}, False, 0
    while not exhausted:
        offset, exhausted = replay.produce(offset, limit)
        replay.restart()
        calls += 1
    assert calls == -(-3 // limit)
    assert replay.items() == [Watermark(1), (4,), Watermark(3), Idle(), (5,), (6,), Watermark(5), Watermark(6)]


def test_an_empty_stream_may_have_watermarks(tmp_path: Path):
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"at": pa.array([], pa.int64())}), file)
    parameters = {"file": str(file), "watermarks": [[0, 7]]}
    replay = OperatorHarness(Replay, outputs=["at bigint"], parameters=parameters, event_time=ROLE)
    assert replay.produce().exhausted
    assert replay.items() == [Watermark(7)]
