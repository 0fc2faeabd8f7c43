from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.programs.batches import Segment
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import Store
from streams_orchestration.runtime.transport.segments import (
    Item,
    SegmentError,
    decode,
    encode,
    read_segment,
    write_segment,
)

SCHEMA = arrow_schema("k string, n bigint")
ROWS = st.lists(st.tuples(st.one_of(st.none(), st.text(max_size=3)), st.one_of(st.none(), st.integers(-9, 9))))
ITEMS = st.lists(st.one_of(st.sampled_from(Punctuation), ROWS), max_size=6)


def items(given: list[Punctuation | list]) -> list[Item]:
    return [
        item
        if isinstance(item, Punctuation)
        else TupleBatch.from_columns({"k": [k for k, _ in item], "n": [n for _, n in item]}, SCHEMA)
        for item in given
    ]


def plain(contents: list[Item]) -> list[Punctuation | list]:
    return [
        item if isinstance(item, Punctuation) else [tuple(row.values()) for row in item.to_pylist()]
        for item in contents
    ]


@given(ITEMS, st.sampled_from([None, "lz4", "zstd"]))
def test_items_come_back_in_order_with_their_marks(given: list[Punctuation | list], compression: str | None):
    assert plain(list(decode(encode(items(given), SCHEMA, compression)))) == given


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_a_compressed_segment_is_smaller(compression: str, store: Store):
    same = items([[("a" * 3, 7)] * 5000])
    plainly, packed = (write_segment(store, "new", "S", SCHEMA, same, how) for how in (None, compression))
    assert packed.size < plainly.size / 2
    assert plain(list(read_segment(store, packed))) == plain(list(read_segment(store, plainly)))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Home(tmp_path).store


@pytest.fixture
def segment(store: Store) -> Segment:
    return write_segment(store, "new", "S", SCHEMA, items([[("a", 1), (None, None)], Punctuation.WINDOW, [("b", 2)]]))


def test_a_segment_says_what_it_holds(store: Store, segment: Segment):
    assert (segment.stream, segment.rows, segment.size) == ("S", 3, store.size(segment.path))
    assert plain(list(read_segment(store, segment))) == [[("a", 1), (None, None)], Punctuation.WINDOW, [("b", 2)]]


def test_two_segments_never_share_a_file(store: Store):
    assert write_segment(store, "new", "S", SCHEMA, []).path != write_segment(store, "new", "S", SCHEMA, []).path


def test_a_truncated_segment_is_named(store: Store, segment: Segment):
    path = Path(store.title(segment.path))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(
        SegmentError, match=rf"stream S: the segment {path} is truncated or was altered\. A reset .*--fresh"
    ):
        list(read_segment(store, segment))


@pytest.mark.parametrize("position", [0, 100, -20])
def test_an_altered_segment_is_named(store: Store, segment: Segment, position: int):
    path = Path(store.title(segment.path))
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(SegmentError, match="truncated or was altered"):
        list(read_segment(store, segment))


def test_a_missing_segment_is_named(store: Store, segment: Segment):
    with pytest.raises(
        SegmentError, match=r"stream S: the segment .*gone.arrow cannot be read: No such file.*A reset .*--fresh"
    ):
        list(read_segment(store, replace(segment, path="new/gone.arrow")))
