"""Malformed rows under `parsing: permissive`: dropped and counted, or sent to the second output port; replayable."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.files.csv_file import CsvFile
from streams_orchestration.operators.files.tolerant_csv import TolerantCsvFile
from streams_orchestration.operators.formats.checks import NULL
from streams_orchestration.operators.formats.csv_dialect import CsvDialect
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench

SCHEMA = "n int, s string"
MALFORMED = "line bigint, column string, reason string, text string"
CSV = 'n,s\n1,a\nx,b\n2\n\n3,c,d\n4,"e\nf"\n5,"g\n6,h\n'
JSON = b'{"n": 1, "s": "a"}\n{"n": "x"}\n\n[1]\n{"n": 2, "s"\n{"n": 3, "s": "b"}\n'
GOOD = ["1,a", '2,"b,c"', '3,"d\ne"', "4,", '5,f"g']
BAD = ["x,a", "6", "7,a,b", "1.5,a", "99999999999,a"]


def source(path: Path, *second: str, schema: str = SCHEMA, **parameters: Any) -> Bench:
    given: dict[str, Any] = {"file": path.name, "parsing": "permissive"} | parameters
    return Bench(FileSource, outputs=[schema, *second], base=path.parent, **given)


def test_rows_of_csv_that_cannot_be_read_are_named_with_line_and_column(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text(CSV)
    bench = source(path, MALFORMED)
    offset, exhausted = bench.produce()
    assert (offset["row"], exhausted) == (7, True)
    assert bench.rows() == [(1, "a"), (4, "e\nf"), (6, "h")]
    assert bench.rows(1) == [
        (3, "n", "'x' is not a valid int", "x,b"),
        (4, "", "1 columns, but 2 are expected", "2"),
        (6, "", "3 columns, but 2 are expected", "3,c,d"),
        (9, "", "a quote is not closed", '5,"g'),
    ]
    assert bench.metrics == {"malformed": 4}


def test_malformed_rows_are_dropped_and_counted_without_a_second_port(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text(CSV)
    bench = source(path)
    bench.produce()
    assert len(bench.rows()) == 3
    assert bench.metrics == {"dropped": 4}


def test_lines_of_json_and_text(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(JSON)
    bench = source(path, MALFORMED, format="jsonl")
    bench.produce()
    assert bench.rows() == [(1, "a"), (3, "b")]
    assert bench.rows(1) == [
        (2, "n", "'x' is not a valid int", '{"n": "x"}'),
        (4, "", "an object is expected", "[1]"),
        (5, "", "it is not JSON at character 13: Expecting ':' delimiter", '{"n": 2, "s"'),
    ]
    path = tmp_path / "rows.txt"
    path.write_bytes(b"a\n\xff\nb\n")
    bench = source(path, "file string, line bigint", schema="text string", format="line")
    bench.produce()
    assert bench.rows() == [("a",), ("b",)]
    assert bench.rows(1) == [(str(path), 2)]


NULLS = [(1, "a"), (None, "b"), (3, None), (4, ""), (None, 'f"g')]
WITHOUT_VALUE = [(4, "n", NULL), (5, "s", NULL), (7, "n", NULL)]


def rows_with_nulls(path: Path) -> int:
    """Write `NULLS` behind two rows that are sound; return the number of the first row, as an error has it."""
    rows = [(8, "x"), (9, "y"), *NULLS]
    table = pa.table([pa.array([n for n, _ in rows], pa.int32()), pa.array([s for _, s in rows])], ["n", "s"])
    match path.suffix:
        case ".csv":
            path.write_text('n,s\n8,x\n9,y\n1,a\n,b\n3,\n4,""\n,"f""g"\n')
            return 2
        case ".jsonl":
            objects = ({name: value for name, value in row.items() if value is not None} for row in table.to_pylist())
            path.write_text("".join(json.dumps(each) + "\n" for each in objects))
        case ".parquet":
            pq.write_table(table, path)
        case _:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)
    return 1


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet", "arrow"])
def test_a_row_without_a_required_value_is_malformed(tmp_path: Path, format: str):
    path = tmp_path / f"rows.{format}"
    first = rows_with_nulls(path)
    required = "n int NOT NULL, s string NOT NULL"
    bench = source(path, MALFORMED, schema=required, format=format)
    bench.produce()
    assert bench.rows() == [(8, "x"), (9, "y"), (1, "a"), (4, "")]
    assert [row[:3] for row in bench.rows(1)] == [(line + first - 1, *rest) for line, *rest in WITHOUT_VALUE]
    with pytest.raises(DataError, match="NOT NULL"):
        source(path, schema=required, format=format, parsing="strict").produce()


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_rows_of_parquet_and_arrow_that_do_not_fit_are_named_by_their_number(tmp_path: Path, format: str):
    path = tmp_path / f"rows.{format}"
    texts = pa.array([b"a", b"b\xff", b"c", b"d", None, b"f"], pa.binary()).view(pa.string())
    table = pa.table({"n": pa.array([1, 2, 1 << 40, None, 5, -1 << 40], pa.int64()), "s": texts})
    if format == "parquet":
        pq.write_table(table, path, row_group_size=2)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=4)
    bench = source(path, MALFORMED, format=format)
    bench.produce()
    assert bench.rows() == [(1, "a"), (None, "d"), (5, None)]
    range_of = "it is out of the range -2147483648 to 2147483647"
    assert bench.rows(1) == [
        (2, "s", "it is not UTF-8 text: byte 2 is 0xff (invalid start byte)", '{"n": 2, "s": "b\ufffd"}'),
        (3, "n", f"1099511627776 is not a valid int: {range_of}", '{"n": 1099511627776, "s": "c"}'),
        (6, "n", f"-1099511627776 is not a valid int: {range_of}", '{"n": -1099511627776, "s": "f"}'),
    ]
    for at in range(1, 7):
        first, second = (source(path, MALFORMED, format=format) for _ in range(2))
        second.produce(first.produce(None, at).offset)
        assert first.rows() + second.rows() == bench.rows()
        assert first.rows(1) + second.rows(1) == bench.rows(1)


def test_a_line_that_is_nested_too_deeply_is_malformed(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"n": 1, "s": "a"}\n' + b"[" * 100_000 + b"\n")
    bench = source(path, "line bigint, reason string", format="jsonl")
    bench.produce()
    assert bench.rows() == [(1, "a")]
    assert bench.rows(1) == [(2, "it is nested too deeply")]
    with pytest.raises(DataError, match="line 2: it is nested too deeply"):
        source(path, format="jsonl", parsing="strict").produce()


@given(
    st.lists(st.sampled_from(GOOD + BAD), max_size=30), st.integers(1, 64), st.integers(1, 7), st.integers(0, 30),
    st.booleans(),
)  # fmt: skip
@examples(150)
def test_a_replay_from_any_offset_gives_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str], block: int, limit: int, stop: int, header: bool
):
    path = tmp_path_factory.getbasetemp() / "replayed.csv"
    path.write_text(("n,s\n" if header else "") + "".join(f"{row}\n" for row in rows))
    good = [row.partition(",")[0] for row in rows if row in GOOD]
    pieces = list(TolerantCsvFile(CsvFile(path, CsvDialect(), header, block), arrow_schema(SCHEMA)).read())
    assert [str(n) for piece in pieces for n in piece.batch.column("n").to_pylist()] == good
    assert [row.text for piece in pieces for row in piece.malformed] == [row for row in rows if row in BAD]
    whole = source(path, "text string", hasHeaderLine=header)
    whole.produce(limit=10**6)
    parts = source(path, "text string", hasHeaderLine=header)
    offset, done = {"row": 0}, False
    for step in range(100):
        offset, done = parts.produce(offset, limit)
        if step == stop:
            parts.restart()
        if done:
            break
    assert done
    assert [parts.rows(port) for port in (0, 1)] == [whole.rows(port) for port in (0, 1)]


def test_a_quote_without_its_pair_costs_one_row(tmp_path: Path):
    path = tmp_path / "rows.csv"
    rows = "".join(f"{i},ok\n" for i in range(2000))
    path.write_text(f'n,s\n1,"never closed\n{rows}')
    tolerant = TolerantCsvFile(CsvFile(path, CsvDialect(), has_header_line=True, block_bytes=512), arrow_schema(SCHEMA))
    pieces = list(tolerant.read())
    assert sum(piece.batch.num_rows for piece in pieces) == 2000
    assert [(row.line, row.text) for piece in pieces for row in piece.malformed] == [(2, '1,"never closed')]


def test_the_log_has_the_first_ones_and_then_their_number(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "rows.csv"
    path.write_text("n,s\n" + "x,a\n" * 250)
    with caplog.at_level(logging.WARNING):
        source(path).produce()
    texts = [record.getMessage().removeprefix(f"{path}: ") for record in caplog.records]
    assert texts == [
        *(f"line {line}, column n: 'x' is not a valid int" for line in range(2, 7)),
        "10 malformed rows up to line 11",
        "100 malformed rows up to line 101",
        "250 malformed rows in total",
    ]


@pytest.mark.parametrize(
    ("second", "parameters", "message"),
    [
        (("line int",), {}, "the second output port may only have the attributes"),
        (("lines bigint",), {}, "the second output port may only have the attributes"),
        (
            ("line bigint",),
            {"parsing": "strict"},
            "never gets a malformed row, since such a row is an error; set parsing: permissive",
        ),
    ],
)
def test_a_wrong_port_for_malformed_rows_is_refused(
    tmp_path: Path, second: tuple[str], parameters: dict[str, Any], message: str
):
    path = tmp_path / "rows.csv"
    path.write_text(CSV)
    with pytest.raises(ValueError, match=message):
        source(path, *second, **parameters)


@pytest.mark.parametrize("parsing", ["strict", "fast"])
def test_a_malformed_row_fails_without_permissive_parsing(tmp_path: Path, parsing: str):
    path = tmp_path / "rows.csv"
    path.write_text(CSV)
    with pytest.raises(DataError, match=r"rows.csv: line 3, column n: 'x' is not a valid int"):
        source(path, parsing=parsing).produce()
