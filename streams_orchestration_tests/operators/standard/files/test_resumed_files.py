"""FileSource goes on inside of a file: the same tuples from every offset, without reading what lies before."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Offset
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.files import csv_file, json_lines, source_file
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench

SCHEMA = "n int, s string"
MALFORMED = "file string, line bigint, column string, reason string, text string"
TEXTS = [
    "",
    "a",
    "plain text",
    "ümläut",
    "日本語",
    "🎈",
    "a, b",
    'so "it" is',
    "two\nlines",
    "\ufeffx",
    "tab\t",
    "5' x",
]
ROWS = st.lists(st.tuples(st.integers(-99, 99), st.sampled_from(TEXTS)), max_size=25)
BAD = ["x,bad number", "1", "1,2,3", '2,"never closed']


def csv_text(rows: list[tuple[int, str]], *, header: bool, end: str, quoted: bool) -> str:
    def value(text: str) -> str:
        marked = quoted or any(mark in text for mark in ',"\n\ufeff')
        return '"' + text.replace('"', '""') + '"' if marked else text

    lines = ["s,n" if header else "", *(f"{value(s)},{n}" if header else f"{n},{value(s)}" for n, s in rows)]
    return end.join(lines[0 if header else 1 :]) + (end if rows else "")


def source(path: Path, **parameters: Any) -> Bench:
    outputs = [SCHEMA, MALFORMED] if parameters.get("parsing") == "permissive" else [SCHEMA]
    return Bench(FileSource, [], outputs, file=str(path), **parameters)


def is_resumable(path: Path, limit: int, **parameters: Any) -> None:
    """From every offset on come the tuples that came behind it."""
    ports = range(2 if parameters.get("parsing") == "permissive" else 1)
    straight = source(path, **parameters)
    offset, done = {"row": 0}, False
    came: list[tuple[Offset, list[int]]] = []
    while not done:
        came.append((json.loads(json.dumps(offset)), [len(straight.items(port)) for port in ports]))
        offset, done = straight.produce(offset, limit)
    for start, counts in came:
        resumed = source(path, **parameters)
        assert resumed.produce(start, 10**6).exhausted
        for port, count in zip(ports, counts, strict=True):
            assert resumed.items(port) == straight.items(port)[count:]


def as_it_was(path: Path, offset: Offset) -> None:
    """Give a file the time that it had when it was read, so that it counts as the same."""
    modified = offset["identity"][1]
    os.utime(path, ns=(modified, modified))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (csv_file, source_file, json_lines):
        monkeypatch.setattr(module, "BLOCK_BYTES", 64)


@given(ROWS, st.integers(2, 9), st.booleans(), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
@examples(50)
def test_a_csv_file_is_resumed_at_any_row(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], limit: int, header: bool, end: str, quoted: bool,
    packed: bool,
):  # fmt: skip
    path = tmp_path_factory.getbasetemp() / ("resumed.csv.gz" if packed else "resumed.csv")
    text = csv_text(rows, header=header, end=end, quoted=quoted).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    is_resumable(path, limit, hasHeaderLine=header)


@given(
    ROWS, st.lists(st.tuples(st.integers(0, 40), st.sampled_from(BAD)), max_size=9), st.integers(2, 9), st.booleans()
)
@examples(50)
def test_a_csv_file_with_bad_rows_is_resumed_at_any_row(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], bad: list[tuple[int, str]], limit: int, header: bool
):
    path = tmp_path_factory.getbasetemp() / "sieved.csv"
    lines = csv_text(rows, header=header, end="\n", quoted=False).splitlines(keepends=True)
    lines = [line if line.endswith("\n") else f"{line}\n" for line in lines]
    for place, text in bad:
        lines.insert(max(place, int(header)), text + "\n")
    path.write_text("".join(lines))
    is_resumable(path, limit, hasHeaderLine=header, parsing="permissive")


@given(ROWS, st.integers(2, 9), st.sets(st.integers(0, 40)), st.booleans())
@examples(60)
def test_json_lines_and_lines(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], limit: int, blank: set[int], permissive: bool
):
    path = tmp_path_factory.getbasetemp() / "resumed.jsonl"
    lines = [json.dumps({"n": n, "s": s}, ensure_ascii=False) for n, s in rows]
    for place in blank:
        lines.insert(place, '{"n": "x"}' if permissive and place % 2 else "")
    path.write_text("".join(f"{line}\n" for line in lines))
    is_resumable(path, limit, format="jsonl", parsing="permissive" if permissive else "strict")


@given(st.lists(ROWS, min_size=1, max_size=3), st.integers(2, 9))
@examples(30)
def test_several_files_are_resumed_at_any_row(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[Any]], limit: int
):
    directory = tmp_path_factory.mktemp("several")
    for number, rows in enumerate(files):
        (directory / f"{number}.csv").write_text(csv_text(rows, header=True, end="\n", quoted=False))
    is_resumable(directory, limit)


@pytest.mark.parametrize(
    "parameters", [{}, {"parsing": "permissive"}, {"format": "jsonl"}, {"hasHeaderLine": False}], ids=str
)
def test_a_file_is_not_read_in_front_of_the_offset(tmp_path: Path, parameters: dict[str, Any]):
    rows = [(n, "text") for n in range(200)]
    path = tmp_path / "rows"
    if "format" in parameters:
        path.write_text("".join(json.dumps({"n": n, "s": s}) + "\n" for n, s in rows))
    else:
        path.write_text(csv_text(rows, header=parameters.get("hasHeaderLine", True), end="\n", quoted=False))
    offset, _ = source(path, **parameters).produce(limit=150)
    text = path.read_bytes()
    piece = offset["piece"]
    assert 130 < piece["row"] <= 150
    header = 4 if text.startswith(b"s,n") else 0
    path.write_bytes(text[:header] + b"?" * (piece["place"] - header) + text[piece["place"] :])
    as_it_was(path, offset)
    resumed = source(path, **parameters)
    resumed.produce(offset)
    assert resumed.rows() == rows[150:]


def test_parquet_goes_on_with_its_row_group(tmp_path: Path):
    path = tmp_path / "rows.parquet"
    table = pa.table({"n": pa.array(range(100), pa.int32()), "s": ["x"] * 100})
    pq.write_table(table, path, row_group_size=10)
    offset, _ = source(path, format="parquet").produce(limit=45)
    assert offset["piece"] == {"row": 40, "place": 4, "line": 41, "malformed": 0}
    is_resumable(path, 7, format="parquet")


def test_a_file_that_was_cut_before_the_offset_is_named(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text(csv_text([(n, "text") for n in range(100)], header=True, end="\n", quoted=False))
    offset, _ = source(path).produce(limit=80)
    path.write_text("s,n\nx,1\n")
    with pytest.raises(DataError, match=r"rows.csv: 80 rows were read.*now it has 8 bytes.*: it was cut, replaced"):
        source(path).produce(offset)
