"""A CSV file that is parsed in blocks has the rows that it has when it is read in one go."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.files.csv_blocks import CsvBlocks, RowBlock, whole_rows
from streams_orchestration.operators.files.csv_file import CsvFile
from streams_orchestration.operators.formats.csv_dialect import CsvDialect

TEXTS = pa.schema([("a", pa.string()), ("b", pa.string())])
VALUE = st.sampled_from(["", "x", "yz", '"q"', '"a\nb"', '"a,b"', '"say ""so"""', '""', '""""', '5" pipe', "NA"])
ROW = st.tuples(VALUE, VALUE).map(",".join)
ROWS = st.lists(ROW | st.text('ab",\n ', max_size=12), max_size=30)
FILE = ROWS.map("\n".join) | st.lists(ROW, max_size=30).map("\r\n".join)
"""Without a return in quotes: Arrow loses the newline behind it where its own blocks meet there."""


def rows(pieces: list[pa.RecordBatch]) -> list[dict]:
    return [row for piece in pieces for row in piece.to_pylist()]


def outcome(batches) -> list[dict] | str:
    try:
        return rows(list(batches))
    except DataError as error:
        return str(error)


@given(FILE, st.booleans(), st.integers(8, 60))
@example("x,\ufeffy\n\ufeffx,y\n", False, 10)
@example("\ufeffa,b\nx,y\n", True, 8)
@example('a,b\n"x\n', True, 8)
@example("a,b\rx,y\r", True, 8)
@example("\na,b\nx,y\n", True, 8)
def test_blocks_of_any_size_have_the_rows_of_the_whole(tmp_path: Path, text: str, has_header_line: bool, size: int):
    path = tmp_path / "file.csv"
    path.write_bytes(
        (("a,b\n" if has_header_line and not text.strip("\ufeff\n").startswith("a,b") else "") + text).encode()
    )
    whole = outcome(CsvFile(path, CsvDialect(), has_header_line).read(TEXTS))
    blocks = CsvBlocks(CsvFile(path, CsvDialect(), has_header_line, block_bytes=size), TEXTS)
    actual = outcome(blocks.parse(piece).batch for piece in blocks.pieces())
    if isinstance(whole, str):
        assert isinstance(actual, str)
    else:
        assert actual == whole


def test_blocks_are_parsed_apart_also_where_values_have_quotes(tmp_path: Path):
    path = tmp_path / "file.csv"
    path.write_text("a,b\n" + '"one\ntwo",3\nfour,"fi""ve"\n' * 50)
    blocks = CsvBlocks(CsvFile(path, CsvDialect(), True, block_bytes=100), TEXTS)
    pieces = list(blocks.pieces())
    assert len(pieces) > 10
    assert all(isinstance(piece, RowBlock) for piece in pieces)
    assert len(rows([blocks.parse(piece).batch for piece in reversed(pieces)])) == 100


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (b"a,b\nc", 4),
        (b"abc", 0),
        (b'a,"b\nc",d\ne', 10),
        (b'a,b\nc,"d\ne', 4),
        (b'a,"b\n""c\n', 0),
        (b'"a"\n', 4),
        (b'a,5" pipe\n', 0),
        (b'a,"b"c\n', 0),
        (b'"",""""\n"x', 8),
    ],
)
def test_rows_end_at_newlines_outside_of_quotes(text: bytes, whole: int):
    assert whole_rows(text, ",") == whole
