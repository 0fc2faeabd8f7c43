"""FileSource and FileSink with files as IBM Streams reads and writes them."""

from __future__ import annotations

import bz2
import gzip
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Offset
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.formats.spl_texts import cells
from streams_orchestration.operators.standard.files.file_sink import FileSink
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.stepped_clock import SteppedClock

KIND = "n int NOT NULL, s string NOT NULL, x double NOT NULL"
TEXT = '# a comment\n1, plain text ,1.5\n\n-2,"a,b \\"c\\"",inf\n3,\'q\',2\n'
ROWS = [(1, "plain text ", 1.5), (-2, 'a,b "c"', float("inf")), (3, "q", 2.0)]


def source(path: Path, text: str | bytes, kind: str = KIND, **parameters: Any) -> Bench:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    given: dict[str, Any] = {"format": "splCsv", "file": path.name} | parameters
    return Bench(FileSource, [], [kind], path.parent, **given)


def read(bench: Bench, limit: int = 1000) -> Bench:
    """Produce all, in calls of a limit."""
    offset: Offset | None = None
    for _ in range(100):
        reached = bench.produce(offset, limit)
        offset = reached.offset
        if reached.exhausted:
            return bench
    raise AssertionError


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1,\t a  b \t,2\n", [(1, "a  b \t", 2.0)]),
        ('1, "a " ,2\n1,  ,2\n', [(1, "a ", 2.0), (1, "", 2.0)]),
        (" \t# a comment\n \t\n1,#a,2\n", [(1, "#a", 2.0)]),
        ("1,[a,2\n1,{a}b(c,2\n1, (d , 2\n", [(1, "[a", 2.0), (1, "{a}b(c", 2.0), (1, "(d ", 2.0)]),
    ],
)
def test_a_text_without_quotes_ends_at_the_separator(tmp_path: Path, text: str, rows: list[tuple[Any, ...]]):
    assert read(source(tmp_path / "a.csv", text)).rows() == rows


@pytest.mark.parametrize("limit", [1, 2, 1000])
def test_values_are_literals_by_position(tmp_path: Path, limit: int):
    assert read(source(tmp_path / "a.csv", TEXT), limit).rows() == ROWS


def test_values_of_every_type_are_read(tmp_path: Path):
    kind = (
        "b boolean NOT NULL, u ubigint NOT NULL, t timestamp_ns NOT NULL, l array<int> NOT NULL, "
        "m map<string, int> NOT NULL, s struct<a: int, t: timestamp_ns> NOT NULL, o string, p int, v binary NOT NULL"
    )
    line = 'true,18446744073709551615,(5,7,0),[1,2],{"a":1,"b":2},{a=1,t=(2,3)},null,,00ff\n'
    (batch,) = read(source(tmp_path / "a.csv", line, kind)).batches()
    arrow = batch.arrow
    assert arrow.column("t").cast(pa.int64()).to_pylist() == [5 * 10**9 + 7]
    assert arrow.drop_columns(["t", "s"]).to_pylist() == [
        {"b": True, "u": 2**64 - 1, "l": [1, 2], "m": [("a", 1), ("b", 2)], "o": None, "p": None, "v": b"\x00\xff"}
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x,a,1.5\n", "line 1, column n: 'x' is not a value of type int32"),
        ("1,a\n", "line 1, column x: the row has no value for it; give it one with defaultTuple"),
        ("1,a,1.5,2\n", "line 1: 4 values for 3 attributes; see ignoreExtraCSVValues"),
        ("\n#\n99999999999,a,1\n", "line 3, column n: "),
    ],
)
def test_a_row_that_does_not_fit_is_named_or_set_aside(tmp_path: Path, line: str, message: str):
    with pytest.raises(DataError, match=message):
        read(source(tmp_path / "a.csv", line))
    bench = read(source(tmp_path / "b.csv", line + "1,a,2\n", parsing="permissive"), 1)
    assert bench.rows() == [(1, "a", 2.0)]


def test_an_empty_value_is_the_default_of_its_type(tmp_path: Path):
    kind = "n int NOT NULL, c string NOT NULL, l array<int> NOT NULL, t timestamp_ns NOT NULL, o int"
    bench = source(tmp_path / "a.csv", ",,,,\n1,green,[2],(3,0),4\n", kind, types={"c": "enum{red, green}"})
    times = [0, 3 * 10**9]
    (batch,) = read(bench).batches()
    assert batch.arrow.column("t").cast(pa.int64()).to_pylist() == times
    assert [row[:3] + row[4:] for row in bench.rows()] == [(0, "red", [], None), (1, "green", [2], 4)]


TYPES = {"c": "enum{red, green}", "s": "set<int32>", "d": "decimal64", "m": "map<rstring, set<decimal32>>"}
TYPED = "c string NOT NULL, s array<int> NOT NULL, d string NOT NULL, m map<string, array<string>> NOT NULL"


@pytest.mark.parametrize(
    ("format", "line"),
    [
        ("splCsv", 'green,{1,2},1.50,{"a":{1,2.5}}'),
        ("splTxt", '{c=green,s={1,2},d=1.50,m={"a":{1,2.5}}}'),
    ],
)
def test_types_of_spl_that_columns_do_not_show_are_read_and_written(tmp_path: Path, format: str, line: str):
    row = ("green", [1, 2], "1.50", [("a", ["1", "2.5"])])
    bench = source(tmp_path / "a.csv", line.replace("{1,2}", "{1,2,1}"), TYPED, format=format, types=TYPES)
    assert read(bench).rows() == [row]
    sink = Bench(FileSink, [TYPED], results=tmp_path, file="out", format=format, closeMode="batch", types=TYPES)
    (part,) = sink.send([row]).commit()
    assert part.pending.read_text() == f"{line}\n"
    with pytest.raises(DataError, match="blue"):
        read(source(tmp_path / "b.csv", line.replace("green", "blue"), TYPED, format=format, types=TYPES))


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ({"x": "int32"}, "types: the stream has no attribute x"),
        ({"s": "set<rstring>"}, "types.s: set<rstring> is not a type of a column array<int>"),
        ({"s": "set<"}, "'set<' is not a type of SPL"),
    ],
)
def test_a_type_that_its_column_does_not_have_is_refused(tmp_path: Path, types: dict[str, str], message: str):
    with pytest.raises(ValueError, match=message):
        source(tmp_path / "a.csv", "", TYPED, types=types)
    with pytest.raises(ValueError, match=message):
        Bench(FileSink, [TYPED], results=tmp_path, file="out", format="splCsv", types=types)


def test_missing_values_and_further_ones(tmp_path: Path):
    bench = source(tmp_path / "a.csv", "1,,\n2\n3,c,1,9,9\n", defaultTuple={"s": "'no' || 'ne'", "x": -1},
                   ignoreExtraCSVValues=True)  # fmt: skip
    assert read(bench).rows() == [(1, "none", -1.0), (2, "none", -1.0), (3, "c", 1.0)]


@pytest.mark.parametrize(("header", "first"), [(False, 0), (True, 1), (2, 2)])
def test_lines_in_front_are_skipped(tmp_path: Path, header: bool | int, first: int):
    text = "1,a,1\n2,b,2\n3,c,3\n"
    assert len(read(source(tmp_path / "a.csv", text, hasHeaderLine=header), 1).rows()) == 3 - first


@pytest.mark.parametrize(
    ("compression", "compress"), [("zlib", zlib.compress), ("gzip", gzip.compress), ("bzip2", bz2.compress)]
)
@pytest.mark.parametrize("limit", [1, 1000])
def test_a_compressed_file_is_read_and_resumed(tmp_path: Path, compression: str, compress: Any, limit: int):
    bench = source(tmp_path / "a.dat", compress(TEXT.encode()), compression=compression)
    first = bench.produce(None, limit)
    assert read(bench.restart(), limit) and first
    with pytest.raises(DataError, match="damaged or not compressed by"):
        read(source(tmp_path / "b.dat", b"no such thing", compression=compression))


def test_encodings_and_markers(tmp_path: Path):
    bench = source(tmp_path / "a.csv", "1,\xe4,1.5;;2,b,2".encode("latin-1"), encoding="ISO-8859-1", eolMarker=";;")
    assert read(bench, 1).rows() == [(1, "\xe4", 1.5), (2, "b", 2.0)]
    lines = source(tmp_path / "b.txt", "a|\xe4".encode("latin-1"), "s string", format="line", eolMarker="|",
                   encoding="latin-1")  # fmt: skip
    assert read(lines).rows() == [("a",), ("\xe4",)]


def test_a_tuple_a_line_and_blocks(tmp_path: Path):
    bench = source(tmp_path / "a.txt", '{n=1,s="a",x=1.5}\n#\n{n=2,s="b",x=2}\n', format="splTxt")
    assert read(bench).rows() == [(1, "a", 1.5), (2, "b", 2.0)]
    blocks = source(tmp_path / "b.bin", b"abcdefg", "data binary", format="block", blockSize=3)
    assert read(blocks, 1).rows() == [(b"abc",), (b"def",), (b"g",)]
    assert read(source(tmp_path / "c.bin", b"abcdefg", "data binary", format="block")).rows() == [(b"abcdefg",)]


@pytest.mark.parametrize("limit", [1, 2, 1000])
def test_the_name_of_the_file_and_the_number_of_the_tuple(tmp_path: Path, limit: int):
    bench = source(
        tmp_path / "a.csv", "1,a,1\nx\n2,b,2\n3,c,3\n", f"k bigint, {KIND}, f string", parsing="permissive",
        output={"k": "TupleNumber()", "f": "FileName()"},
    )  # fmt: skip
    rows = read(bench, limit).rows()
    assert [row[:2] for row in rows] == [(1, 1), (2, 2), (3, 3)]
    assert {Path(row[-1]).name for row in rows} == {"a.csv"}


def test_a_file_that_need_not_be_there(tmp_path: Path):
    bench = Bench(FileSource, [], [KIND], tmp_path, file="no.csv", format="splCsv", ignoreOpenErrors=True)
    missing: Any = bench.operator
    missing.until = missing.available({"row": 0})
    assert missing.until == {"file": "no.csv", "size": 0}
    assert bench.produce().exhausted
    with pytest.raises(ValueError, match="no such file"):
        Bench(FileSource, [], [KIND], tmp_path, file="no.csv", format="splCsv")


def test_tuples_wait_for_their_delay(tmp_path: Path, stepped: SteppedClock):
    bench = source(tmp_path / "a.csv", "0,1,a,1\n2.5,2,b,2\n0,3,c,3\n", hasDelayField=True)
    waiting: Any = bench.operator
    offset = bench.produce(None, 10).offset
    assert [row[0] for row in bench.rows()] == [1]
    assert waiting.pause() == 2.5
    stepped.now += 2.0
    assert bench.produce(offset, 10).offset == offset
    assert waiting.pause() == 0.5
    stepped.now += 0.5
    assert bench.produce(offset, 10).exhausted
    assert [row[0] for row in bench.rows()] == [1, 2, 3]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"format": "csv", "compression": "gzip"}, "compression is for format line or splCsv or splTxt or block"),
        ({"encoding": "utf-16"}, "encoding: 'utf-16' is not an encoding with a line feed of one byte"),
        ({"encoding": "klingon"}, "encoding: 'klingon' is not"),
        ({"format": "csv", "hasHeaderLine": 2}, "hasHeaderLine is true or false"),
        ({"defaultTuple": {"y": 1}}, "defaultTuple: the stream has no attribute y"),
        ({"output": {"n": "FileName()"}}, r"output.n: FileName\(\) must be a string"),
    ],
)
def test_wrong_combinations_of_parameters_of_a_file_source_are_refused(
    tmp_path: Path, parameters: dict[str, Any], message: str
):
    with pytest.raises(ValueError, match=message):
        source(tmp_path / "a.csv", TEXT, **parameters)


@given(st.lists(st.text("ab,\"'[]{}\\ ", max_size=5), min_size=1, max_size=4))
@examples(60)
def test_cells_are_the_row(parts: list[str]):
    line = ",".join(parts)
    assert ",".join(cells(line, ",")) == line
