"""Every format gives the same tuples, from every offset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.files import csv_file
from streams_orchestration.operators.files.csv_file import CsvFile
from streams_orchestration.operators.formats.csv_dialect import CsvDialect
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.operators.row_files import CSV, FORMATS, ROWS, SCHEMA, source


@pytest.fixture(params=FORMATS)
def rows_file(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    name, encode, parameters = FORMATS[request.param]
    path = tmp_path / name
    path.write_bytes(encode(CSV.encode()))
    return path, parameters


def test_every_format_gives_the_same_tuples(rows_file: tuple[Path, dict[str, Any]]):
    path, parameters = rows_file
    bench = source(path, **parameters)
    offset, exhausted = bench.produce()
    assert (offset["row"], exhausted) == (10, True)
    assert bench.items() == [*ROWS, Punctuation.WINDOW]


@given(limits=st.lists(st.integers(1, 6), min_size=10, max_size=10), restarts=st.sets(st.integers(0, 9)))
@examples(25)
def test_replay_from_any_offset_gives_the_same_tuples(
    rows_file: tuple[Path, dict[str, Any]], limits: list[int], restarts: set[int]
):
    path, parameters = rows_file
    bench = source(path, **parameters)
    offset, exhausted, items = {"row": 0}, False, []
    for number, limit in enumerate(limits):
        if exhausted:
            break
        if number in restarts:
            items += bench.items()
            bench = source(path, **parameters)
        offset, exhausted = bench.produce(offset, limit)
    items += bench.items()
    assert items == [*ROWS, Punctuation.WINDOW][: len(items)]
    assert len(items) == min(sum(limits), 10) + exhausted


def test_the_same_object_goes_back_to_an_earlier_offset(rows_file: tuple[Path, dict[str, Any]]):
    path, parameters = rows_file
    bench = source(path, **parameters)
    bench.produce(limit=7)
    bench.sent.clear()
    assert bench.produce({"row": 3}, 2).offset["row"] == 5
    assert bench.rows() == ROWS[3:5]


def test_a_batch_that_ends_with_the_file_is_the_last(rows_file: tuple[Path, dict[str, Any]]):
    path, parameters = rows_file
    assert source(path, **parameters).produce(limit=10).exhausted


def test_only_the_wanted_columns_are_read_by_name(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text("junk,s,n\nx,one,1\n")
    bench = source(path)
    bench.produce()
    assert bench.rows() == [(1, "one")]


def test_without_a_header_columns_go_by_position(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text("1;one\n2;two\n")
    bench = source(path, hasHeaderLine=False, separator=";")
    bench.produce()
    assert bench.rows() == [(1, "one"), (2, "two")]


def test_windows_line_ends_quotes_and_byte_order_mark(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b'\xef\xbb\xbfn,s\r\n1,"a, ""b"""\r\n\r\n2,"two\r\nlines"\r\n')
    bench = source(path)
    bench.produce()
    assert bench.rows() == [(1, 'a, "b"'), (2, "two\r\nlines")]


def test_a_newline_in_quotes_may_fall_on_the_border_of_blocks(tmp_path: Path):
    path = tmp_path / "rows.csv"
    rows = [(i, "x" * (i % 7) + "\n" + "y" * (i % 5)) for i in range(50)]
    path.write_text("n,s\n" + "".join(f'{n},"{s}"\n' for n, s in rows))
    for block in (32, 40, 64, 1000):
        batches = CsvFile(path, CsvDialect(), has_header_line=True, block_bytes=block).read(arrow_schema(SCHEMA))
        assert [tuple(row.values()) for batch in batches for row in batch.to_pylist()] == rows


def test_a_line_longer_than_a_block_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "rows.csv"
    rows = [(1, "a"), (2, "b" * 5000), (3, "c")]
    path.write_text("n,s\n" + "".join(f"{n},{s}\n" for n, s in rows))
    file = CsvFile(path, CsvDialect(), has_header_line=True, block_bytes=64)
    batches = list(file.read(arrow_schema(SCHEMA)))
    assert [tuple(row.values()) for batch in batches for row in batch.to_pylist()] == rows
    monkeypatch.setattr(csv_file, "MAXIMUM_BLOCK_BYTES", 1024)
    with pytest.raises(DataError, match=r"rows.csv: the row after row 1 is longer than .*; is a quote missing"):
        list(file.read(arrow_schema(SCHEMA)))


def test_lines_are_text_without_their_ends(tmp_path: Path):
    path = tmp_path / "poem.txt"
    path.write_bytes('eins\r\n\nzwei , "drei\nümlaut\n'.encode() + b"z" * 300_000)
    bench = source(path, "line string", format="line")
    offset, exhausted = bench.produce()
    assert (offset["row"], exhausted) == (5, True)
    assert bench.rows() == [("eins",), ("",), ('zwei , "drei',), ("ümlaut",), ("z" * 300_000,)]


@pytest.mark.parametrize("name", ["empty.csv", "empty.txt"])
def test_an_empty_file_has_no_tuples_but_a_marker(tmp_path: Path, name: str):
    path = tmp_path / name
    path.touch()
    parameters = {"hasHeaderLine": False} if name.endswith("csv") else {"format": "line"}
    bench = source(path, "line string", **parameters)
    offset, exhausted = bench.produce()
    assert (offset["row"], exhausted) == (0, True)
    assert bench.items() == [Punctuation.WINDOW]


def test_a_file_with_nothing_but_a_header_is_empty(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text("n,s\n")
    bench = source(path)
    offset, exhausted = bench.produce()
    assert (offset["row"], exhausted) == (0, True)
    assert bench.items() == [Punctuation.WINDOW]


def jsonl_source(path: Path, content: str) -> Bench:
    path.write_text(content)
    return source(path, SCHEMA, format="jsonl")


def test_members_that_are_not_there_are_null(tmp_path: Path):
    bench = jsonl_source(tmp_path / "rows.jsonl", '{"n": 1}\n{"s": "a"}\n{}\n')
    bench.produce()
    assert bench.rows() == [(1, None), (None, "a"), (None, None)]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ('{"n": 1}\n\n{"n": "x"}\n', "line 3, column n: "),
        ('{"n": 1}\n{"n": \n', "line 2: "),
        ('{"n": 1}\n{"n": 3000000000}\n', "line 2, column n: 3000000000 is not a valid int"),
        ('{"n": 1}\n[2]\n', "line 2: an object is expected"),
        ('{"n": 1} {"n": 2}\n', "line 1: "),
        ('{"n": 1}\n{"n": 2, "s": 7}', "line 2, column s: 7 is not a valid string"),
    ],
)
def test_a_line_that_does_not_fit_is_an_error_of_the_data_with_its_place(tmp_path: Path, content: str, place: str):
    with pytest.raises(DataError, match=rf"rows.jsonl, {place}"):
        jsonl_source(tmp_path / "rows.jsonl", content).produce()
