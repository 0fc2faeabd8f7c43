"""Data between levels arrives whole, whatever its size, and leaves nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from streams_orchestration.runtime.exchange import INLINE_BYTES, hand_over, take_over


@pytest.mark.parametrize("size", [0, 1, INLINE_BYTES, INLINE_BYTES + 1, 3 << 20])
def test_what_is_handed_over_arrives(tmp_path: Path, size: int):
    data = os.urandom(size)
    payload = hand_over(str(tmp_path), pa.py_buffer(data))
    assert len(payload) <= INLINE_BYTES
    assert take_over(payload).to_pybytes() == data
    assert not any(tmp_path.iterdir())
