from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams_orchestration.operators.arrow_types import arrow_schema
from streams_orchestration.operators.contract import Punctuation
from streams_orchestration.operators.errors import DataError
from streams_orchestration.operators.standard import csv_file
from streams_orchestration.operators.standard.csv_file import CsvFile
from streams_orchestration.operators.standard.file_source import FileSource
from streams_orchestration_tests.operators.harness import Bench

SCHEMA = "n int, s string"
ROWS = [(i, f"row {i}") for i in range(10)]
CSV = "n,s\n" + "".join(f"{n},{s}\n" for n, s in ROWS)


def source(path: Path, schema: str = SCHEMA, **parameters: Any) -> Bench:
    return Bench(FileSource, outputs=[schema], base=path.parent, file=path.name, **parameters)


def gz(content: bytes) -> bytes:
    return gzip.compress(content)


def zipped(content: bytes) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("rows.csv", content)
    return archive.getvalue()


def parquet(content: bytes) -> bytes:
    lines = content.decode().splitlines()[1:]
    table = pa.table({"s": [line.split(",")[1] for line in lines], "n": [int(line.split(",")[0]) for line in lines]})
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=4)
    return sink.getvalue()


def arrow(content: bytes) -> bytes:
    table = pq.read_table(io.BytesIO(parquet(content)))
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=4)
    return sink.getvalue()


def jsonl(content: bytes) -> bytes:
    lines = content.decode().splitlines()[1:]
    objects = [{"more": [1], "s": line.split(",")[1], "n": int(line.split(",")[0])} for line in lines]
    return "\n\n".join(json.dumps(each) for each in objects).encode()


FORMATS: dict[str, tuple[str, Callable[[bytes], bytes], dict[str, Any]]] = {
    "csv": ("rows.csv", bytes, {}),
    "csv.gz": ("rows.csv.gz", gz, {}),
    "csv.zip": ("rows.csv.zip", zipped, {}),
    "parquet": ("rows.parquet", parquet, {"format": "parquet"}),
    "arrow": ("rows.arrow", arrow, {"format": "arrow"}),
    "jsonl": ("rows.jsonl", jsonl, {"format": "jsonl"}),
    "jsonl.gz": ("rows.jsonl.gz", lambda content: gz(jsonl(content)), {"format": "jsonl"}),
}


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
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
        batches = CsvFile(path, ",", has_header_line=True, block_bytes=block).read(arrow_schema(SCHEMA))
        assert [tuple(row.values()) for batch in batches for row in batch.to_pylist()] == rows


def test_a_line_longer_than_a_block_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "rows.csv"
    rows = [(1, "a"), (2, "b" * 5000), (3, "c")]
    path.write_text("n,s\n" + "".join(f"{n},{s}\n" for n, s in rows))
    file = CsvFile(path, ",", has_header_line=True, block_bytes=64)
    batches = list(file.read(arrow_schema(SCHEMA)))
    assert [tuple(row.values()) for batch in batches for row in batch.to_pylist()] == rows
    monkeypatch.setattr(csv_file, "MAXIMUM_BLOCK_BYTES", 1024)
    with pytest.raises(DataError, match=r"rows.csv: the row behind row 1 is longer than .*; is a quote missing"):
        list(file.read(arrow_schema(SCHEMA)))


def test_lines_are_text_without_their_ends(tmp_path: Path):
    path = tmp_path / "poem.txt"
    path.write_bytes('eins\r\n\nzwei , "drei\nümlaut\n'.encode() + b"z" * 300_000)
    bench = source(path, "line string", format="line")
    assert bench.produce() == ({"row": 5}, True)
    assert bench.rows() == [("eins",), ("",), ('zwei , "drei',), ("ümlaut",), ("z" * 300_000,)]


@pytest.mark.parametrize("name", ["empty.csv", "empty.txt"])
def test_an_empty_file_has_no_tuples_but_a_marker(tmp_path: Path, name: str):
    path = tmp_path / name
    path.touch()
    parameters = {"hasHeaderLine": False} if name.endswith("csv") else {"format": "line"}
    bench = source(path, "line string", **parameters)
    assert bench.produce() == ({"row": 0}, True)
    assert bench.items() == [Punctuation.WINDOW]


def test_a_file_with_nothing_but_a_header_is_empty(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text("n,s\n")
    bench = source(path)
    assert bench.produce() == ({"row": 0}, True)
    assert bench.items() == [Punctuation.WINDOW]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("n,s\n1,a\nx,b\n", "line 3, column n: 'x' is no int32"),
        ("n,s\n1,a\n2\n", "line 3: 1 columns, 2 are wanted"),
        ("n,s\n1,a\n\n2,b,c\n", "line 4: 3 columns, 2 are wanted"),
        ("n,s\n1,a\n3000000000,b\n", "line 3, column n: '3000000000' is no int32"),
        ('n,s\n1,"a\nb"\n1.5,c\n', "line 4, column n: '1.5' is no int32"),
    ],
)
def test_a_malformed_row_is_an_error_of_the_data_with_its_place(tmp_path: Path, content: str, place: str):
    path = tmp_path / "rows.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=f"rows.csv: {place}"):
        source(path).produce()


def test_text_that_is_not_utf8_is_named(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"n,s\n1,a\n2,\xff\n")
    with pytest.raises(DataError, match=r"line 3, column s: .*not UTF-8"):
        source(path).produce()
    with pytest.raises(DataError, match=r"rows.csv, line 3: not UTF-8"):
        source(path, "line string", format="line").produce()


def test_rows_before_a_malformed_one_come_first(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text("n,s\n" + "".join(f"{i},ok\n" for i in range(10)) + "x,bad\n")
    file = CsvFile(path, ",", has_header_line=True, block_bytes=32)
    batches = file.read(arrow_schema(SCHEMA))
    assert next(batches).num_rows > 0
    with pytest.raises(DataError, match="line 12, column n"):
        list(batches)


@pytest.mark.parametrize("kept", [0, 4, 9])
def test_a_file_that_was_cut_is_noticed_on_replay(tmp_path: Path, kept: int):
    path = tmp_path / "rows.csv"
    path.write_text(CSV)
    source(path).produce()
    path.write_text("n,s\n" + "".join(f"{n},{s}\n" for n, s in ROWS[:kept]))
    with pytest.raises(DataError, match=f"{kept} rows, but 10 were read before; was the file cut"):
        source(path).produce({"row": 10})


def test_a_file_that_changes_under_way_is_an_error_of_the_data(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text(CSV)
    missing, emptied = source(path), source(path)
    path.write_text("n,t\n1,a\n")
    with pytest.raises(DataError, match="has no column s"):
        missing.produce()
    path.write_text("")
    with pytest.raises(DataError, match="empty"):
        emptied.produce()


@pytest.mark.parametrize("name", ["rows.csv.gz", "rows.csv.zip", "rows.parquet"])
@pytest.mark.parametrize("kept", [0.2, 0.7, 0.97])
def test_a_damaged_file_is_an_error_and_no_end(tmp_path: Path, name: str, kept: float):
    path = tmp_path / name
    _, encode, parameters = next(entry for entry in FORMATS.values() if entry[0] == name)
    content = encode(("n,s\n" + "".join(f"{i},{i * i * 7919 % 10**9}\n" for i in range(2000))).encode())
    path.write_bytes(content)
    bench = source(path, **parameters)
    path.write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(DataError, match=name):
        bench.produce(limit=10**6)


def test_altered_bytes_in_a_compressed_file_are_noticed(tmp_path: Path):
    path = tmp_path / "rows.csv.zip"
    content = bytearray(zipped(("n,s\n" + "1,a\n" * 5000).encode()))
    content[60] ^= 0xFF
    path.write_bytes(bytes(content))
    with pytest.raises(DataError, match=r"rows.csv.zip"):
        source(path).produce(limit=10**6)


@pytest.mark.parametrize(
    ("content", "schema", "parameters", "message"),
    [
        (CSV, "n int, text string", {}, r"the file has no column text"),
        (CSV, "n int, ss string", {}, r"the file has no column ss; .*s"),
        ("n,s,n\n1,a,2\n", SCHEMA, {}, "the file has 2 columns n"),
        ("", SCHEMA, {}, "the file is empty, a first line with the column names is wanted"),
        ("1,2,3\n", SCHEMA, {"hasHeaderLine": False}, "3 columns in line 1, the output stream has 2 attributes"),
        (CSV, SCHEMA, {"format": "line"}, "exactly one string attribute"),
        (CSV, "n int", {"format": "line"}, "exactly one string attribute"),
        (CSV, SCHEMA, {"format": "parquet"}, "not a Parquet file"),
        (CSV, SCHEMA, {"format": "arrow"}, "not an Arrow IPC file"),
        ("", "n map<string, int>", {"format": "jsonl"}, "format jsonl: the attribute n is map.*jsonl cannot hold"),
        ("", "n array<date>", {"format": "jsonl"}, "format jsonl: the attribute n is list.*jsonl cannot hold"),
        (CSV, "n array<int>, s string", {}, "the attribute n is list.*csv cannot hold"),
    ],
)
def test_what_does_not_fit_is_found_before_it_runs(
    tmp_path: Path, content: str, schema: str, parameters: dict[str, Any], message: str
):
    path = tmp_path / "rows.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        source(path, schema, **parameters)


def test_parquet_types_are_checked_before_it_runs(tmp_path: Path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"n": ["text"]}), path)
    with pytest.raises(ValueError, match="column n is string, the attribute is int32"):
        source(path, "n int", format="parquet")


def test_a_parquet_value_out_of_range_is_an_error_of_the_data(tmp_path: Path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"n": [2**40]}), path)
    with pytest.raises(DataError, match=r"rows.parquet, row group 1 of 1: attribute n"):
        source(path, "n int", format="parquet").produce()


def test_missing_files_and_packages_are_named(tmp_path: Path):
    with pytest.raises(ValueError, match=r"absent.csv: no such file; relative paths start from the directory"):
        source(tmp_path / "absent.csv")
    with pytest.raises(ValueError, match="no files there"):
        Bench(FileSource, outputs=[SCHEMA], file=str(tmp_path))
    with pytest.raises(ValueError, match=r"package absent_package is not installed; .*pip install absent_package"):
        Bench(FileSource, outputs=[SCHEMA], file="package://absent_package/x.csv")
    with pytest.raises(ValueError, match="is not installed"):
        Bench(FileSource, outputs=[SCHEMA], file="package://../x.csv")


@pytest.mark.parametrize("members", [{}, {"a.csv": "n", "b.csv": "n"}])
def test_an_archive_has_one_member(tmp_path: Path, members: dict[str, str]):
    path = tmp_path / "rows.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(DataError, match=f"{len(members)} files in the archive, one is wanted"):
        source(path)


def test_the_output_stream_needs_a_schema(tmp_path: Path):
    (tmp_path / "x.csv").touch()
    with pytest.raises(ValueError, match="the output stream needs a schema"):
        Bench(FileSource, outputs=[None], base=tmp_path, file="x.csv")


def jsonl_source(path: Path, content: str, schema: str = SCHEMA) -> Bench:
    path.write_text(content)
    return source(path, schema, format="jsonl")


def test_members_that_are_not_there_are_null(tmp_path: Path):
    bench = jsonl_source(tmp_path / "rows.jsonl", '{"n": 1}\n{"s": "a"}\n{}\n')
    bench.produce()
    assert bench.rows() == [(1, None), (None, "a"), (None, None)]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ('{"n": 1}\n\n{"n": "x"}\n', "line 3: "),
        ('{"n": 1}\n{"n": \n', "line 2: "),
        ('{"n": 1}\n{"n": 3000000000}\n', "line 2: "),
        ('{"n": 1}\n[2]\n', "line 2: an object is wanted"),
        ('{"n": 1} {"n": 2}\n', "line 1: "),
        ('{"n": 1}\n{"n": 2, "s": 7}', "line 2: "),
    ],
)
def test_a_line_that_does_not_fit_is_an_error_of_the_data_with_its_place(tmp_path: Path, content: str, place: str):
    with pytest.raises(DataError, match=rf"rows.jsonl, {place}"):
        jsonl_source(tmp_path / "rows.jsonl", content).produce()
