"""Items between levels arrive whole and in order, however many and large, and leave nothing behind."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.engine.spark.exchange import HELD_BYTES, INLINE_BYTES, RowSender, read_payload_once
from streams_orchestration.runtime.engine.spark.payload_store import HELD
from streams_orchestration.runtime.transport.segments import Item, decode

SCHEMA = pa.schema([("n", pa.int64())])


def batch(rows: int) -> TupleBatch:
    return TupleBatch(pa.RecordBatch.from_pydict({"n": list(range(rows))}, schema=SCHEMA))


def told(items: list[Item]) -> list[object]:
    return [item if isinstance(item, Punctuation) else item.to_pylist() for item in items]


def not_held(_: bytes) -> pa.Buffer:
    raise AssertionError


@pytest.mark.parametrize(
    "sizes",
    [
        [],
        [1],
        [INLINE_BYTES // 8 + 1],
        [HELD_BYTES // 8],
        [HELD_BYTES // 8 + 1],
        [10, HELD_BYTES // 4, 10],
        [HELD_BYTES // 20] * 5,
    ],
)
def test_items_that_are_sent_arrive_in_order(tmp_path: Path, sizes: list[int]):
    items: list[Item] = [*map(batch, sizes), Punctuation.WINDOW]
    sender = RowSender(str(tmp_path), SCHEMA)
    for item in items:
        sender.send(item)
    payload, size = sender.payload()
    assert len(payload) <= INLINE_BYTES
    data = read_payload_once(payload, not_held)
    assert data.size == size
    assert told(list(decode(data))) == told(items)
    assert not any(tmp_path.iterdir())


def test_much_is_written_before_all_is_there(tmp_path: Path):
    sender = RowSender(str(tmp_path), SCHEMA)
    sender.send(batch(HELD_BYTES // 8))
    (file,) = tmp_path.iterdir()
    assert file.stat().st_size >= HELD_BYTES


def test_a_large_payload_for_readers_elsewhere_is_held():
    held: list[pa.Buffer] = []
    sender = RowSender(lambda data: held.append(data) or HELD, SCHEMA)
    items: list[Item] = [batch(HELD_BYTES // 8 + 1), Punctuation.WINDOW, batch(INLINE_BYTES)]
    for item in items:
        sender.send(item)
    payload, size = sender.payload()
    assert (payload, held[0].size) == (HELD, size)
    assert told(list(decode(read_payload_once(payload, lambda _: held[0])))) == told(items)
