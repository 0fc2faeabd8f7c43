"""Spark's figures of the state of a query: each batch counts once, whenever the host asks."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streams_orchestration.runtime.engine.spark.frames.progress import ProgressNote, StateProgress


def batch(number: int, *operators: tuple[int, int]) -> Any:
    """Rows in the state, and dropped in the batch, of each operator of Spark's."""
    parts = [SimpleNamespace(numRowsTotal=rows, numRowsDroppedByWatermark=late) for rows, late in operators]
    return SimpleNamespace(batchId=number, stateOperators=parts)


BATCHES = [batch(0, (5, 0), (2, 0)), batch(1, (7, 1), (2, 2)), batch(2, (6, 4), (0, 0)), batch(3, (6, 0), (1, 1))]


@pytest.mark.parametrize("asked", [(1, 2, 3, 4), (2, 2, 4), (4,), (1, 4)])
def test_each_batch_counts_once_however_often_the_host_asks(tmp_path: Path, asked: tuple[int, ...]):
    note = ProgressNote(str(tmp_path))
    assert note.read() == StateProgress()
    for count in asked:
        note.take(SimpleNamespace(lastProgress=BATCHES[count - 1], recentProgress=BATCHES[:count]))
    assert ProgressNote(str(tmp_path)).read() == StateProgress(batch=3, state_rows=7, late_rows=8)


def test_a_query_that_has_made_no_batch_has_noted_nothing(tmp_path: Path):
    ProgressNote(str(tmp_path)).take(SimpleNamespace(lastProgress=None, recentProgress=[]))
    assert not any(tmp_path.iterdir())
