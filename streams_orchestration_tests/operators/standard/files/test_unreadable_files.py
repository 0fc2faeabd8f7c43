"""Files that cannot be read as the source was told to: found before it runs where that can be, named in any case."""

from __future__ import annotations

import errno
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.files.csv_file import CsvFile
from streams_orchestration.operators.formats.csv_dialect import CsvDialect
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.operators.row_files import CSV, FORMATS, ROWS, SCHEMA, source, zipped


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("n,s\n1,a\nx,b\n", "line 3, column n: 'x' is not a valid int; a row is read as n int, s string$"),
        ("n,s\n1,a\n2\n", "line 3: 1 columns, but 2 are expected"),
        ("n,s\n1,a\n\n2,b,c\n", "line 4: 3 columns, but 2 are expected"),
        (
            "n,s\n1,a\n3000000000,b\n",
            "line 3, column n: '3000000000' is not a valid int: it is out of the range .*$",
        ),
        ('n,s\n1,"a\nb"\n1.5,c\n', "line 4, column n: '1.5' is not a valid int; a row is read as n int, s string$"),
    ],
)
def test_a_malformed_row_is_an_error_of_the_data_with_its_place(tmp_path: Path, content: str, place: str):
    path = tmp_path / "rows.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=f"rows.csv: {place}"):
        source(path).produce()


def test_a_timestamp_without_a_zone_says_what_it_lacks(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text("at\n2026-01-01T00:00:00Z\n2026-01-01T00:00:01\n")
    with pytest.raises(DataError, match=r"line 3, column at: .* no time zone. Write 2026-01-01T00:00:01Z, or declare"):
        source(path, "at timestamp").produce()


def test_text_that_is_not_utf8_is_named(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"n,s\n1,a\n2,\xff\n")
    with pytest.raises(DataError, match=r"line 3, column s: .*not UTF-8"):
        source(path).produce()
    with pytest.raises(DataError, match=r"rows.csv, line 3: it is not UTF-8 text: byte 3 is 0xff"):
        source(path, "line string", format="line").produce()


def test_rows_before_a_malformed_one_come_first(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text("n,s\n" + "".join(f"{i},ok\n" for i in range(10)) + "x,bad\n")
    file = CsvFile(path, CsvDialect(), has_header_line=True, block_bytes=32)
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
        ("", SCHEMA, {}, "the file is empty; its first line must have the column names"),
        ("1,2,3\n", SCHEMA, {"hasHeaderLine": False}, "line 1 has 3 columns, but the output stream has 2 attributes"),
        (CSV, SCHEMA, {"format": "line"}, "exactly one string attribute"),
        (CSV, "n int", {"format": "line"}, "exactly one string attribute"),
        (CSV, SCHEMA, {"format": "parquet"}, "not a Parquet file"),
        (CSV, SCHEMA, {"format": "arrow"}, "not an Arrow IPC file"),
        ("", "n map<array<int>, int>", {"format": "jsonl"}, "the attribute n is map.*jsonl cannot hold: keys"),
        (CSV, "n array<int>, s string", {}, "the attribute n is array.*csv cannot hold"),
    ],
)
def test_a_file_that_does_not_fit_the_schema_is_found_before_it_runs(
    tmp_path: Path, content: str, schema: str, parameters: dict[str, Any], message: str
):
    path = tmp_path / "rows.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        source(path, schema, **parameters)


def test_parquet_types_are_checked_before_it_runs(tmp_path: Path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"n": ["text"]}), path)
    with pytest.raises(ValueError, match=r"column n is string, but the attribute is int$"):
        source(path, "n int", format="parquet")


def test_a_parquet_value_out_of_range_is_an_error_of_the_data(tmp_path: Path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"n": [2**40]}), path)
    with pytest.raises(
        DataError, match=r"rows.parquet, row group 1 of 1, row 1, column n: 1099511627776 is not a valid int"
    ):
        source(path, "n int", format="parquet").produce()


def test_missing_files_and_packages_are_named(tmp_path: Path):
    with pytest.raises(ValueError, match=r"absent.csv: no such file; relative paths start from the directory"):
        source(tmp_path / "absent.csv")
    with pytest.raises(ValueError, match="no files match"):
        Bench(FileSource, outputs=[SCHEMA], file=str(tmp_path))
    with pytest.raises(ValueError, match=r"package absent_package is not installed; .*pip install absent_package"):
        Bench(FileSource, outputs=[SCHEMA], file="package://absent_package/x.csv")
    with pytest.raises(ValueError, match="is not installed"):
        Bench(FileSource, outputs=[SCHEMA], file="package://../x.csv")


@pytest.mark.parametrize("file", ["{directory}", "{directory}/*.csv", "{directory}/a.csv"])
def test_a_directory_that_cannot_be_read_is_an_error_of_the_parameter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
):
    (tmp_path / "a.csv").write_text("1\n")

    def refuse(path: Path, *_: object, **_options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)
    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(ValueError, match="cannot be read: Permission denied; check its permissions"):
        Bench(FileSource, outputs=[SCHEMA], file=file.format(directory=tmp_path))


def test_a_name_that_is_too_long_is_an_error_of_the_parameter(tmp_path: Path):
    with pytest.raises(ValueError, match=r"cannot be read: File name too long$"):
        source(tmp_path / ("a" * 300))


@pytest.mark.parametrize("members", [{}, {"a.csv": "n", "b.csv": "n"}])
def test_an_archive_has_one_member(tmp_path: Path, members: dict[str, str]):
    path = tmp_path / "rows.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(DataError, match=f"the archive has {len(members)} files, but must have one"):
        source(path)


def test_the_output_stream_needs_a_schema(tmp_path: Path):
    (tmp_path / "x.csv").touch()
    with pytest.raises(ValueError, match="the output stream needs a schema"):
        Bench(FileSource, outputs=[None], base=tmp_path, file="x.csv")
