"""FileSource over a directory or a pattern: files in the order of their paths, replayable, each checked as it comes."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.errors.errors import DataError, TupleError
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration.operators.standard.files.named_files import NamedFiles
from streams_orchestration.operators.storage.input_files import resolve_inputs
from streams_orchestration_tests.operators.harness import Bench

SCHEMA = "n int, s string"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for number, name in enumerate(("b.csv", "a.csv", "c.csv")):
        (tmp_path / name).write_text("n,s\n" + "".join(f"{number * 10 + i},{name}\n" for i in range(3)))
    (tmp_path / "_hidden").write_text("x")
    (tmp_path / "d.csv").mkdir()
    return tmp_path


def source(base: Path, file: str, *second: str, **parameters: Any) -> Bench:
    return Bench(FileSource, outputs=[SCHEMA, *second], base=base, file=file, **parameters)


@pytest.mark.parametrize("file", [".", "*.csv", "[a-c].csv"])
def test_files_come_in_the_order_of_their_paths_each_with_a_marker(directory: Path, file: str):
    bench = source(directory, file)
    assert bench.produce().exhausted
    expected: list[Any] = []
    for number, name in ((1, "a.csv"), (0, "b.csv"), (2, "c.csv")):
        expected += [*((number * 10 + i, name) for i in range(3)), Punctuation.WINDOW]
    assert bench.items() == expected


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7, 9])
def test_a_replay_from_any_offset_gives_the_same_tuples(directory: Path, limit: int):
    whole, parts = source(directory, "."), source(directory, ".")
    whole.produce()
    offset, done = {"row": 0}, False
    while not done:
        offset, done = parts.restart().produce(offset, limit)
    assert parts.items() == whole.items()


def test_a_file_that_comes_while_others_are_read_is_read_if_its_turn_is_still_to_come(directory: Path):
    bench = source(directory, ".")
    offset = bench.produce(limit=4).offset
    (directory / "aa.csv").write_text("n,s\n100,early\n")
    (directory / "bb.csv").write_text("n,s\n200,late\n")
    bench.produce(offset)
    assert [s for _, s in bench.rows()][6:8] == ["late", "c.csv"]


def test_a_file_that_is_gone_is_named(directory: Path):
    bench = source(directory, ".")
    offset = bench.produce(limit=4).offset
    (directory / "b.csv").unlink()
    with pytest.raises(DataError, match=r"b.csv"):
        bench.restart().produce(offset)


def test_the_second_port_has_the_files_that_were_read_as_in_streams(directory: Path):
    bench = source(directory, ".", "name string, error int")
    bench.produce()
    assert bench.rows(1) == [(str(directory / name), 0) for name in ("a.csv", "b.csv", "c.csv")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("n\n1\n", "c.csv: the file has no column s"),
        ("n,t\n1,a\n", "c.csv: the file has no column s"),
        ("", "c.csv: the file is empty; its first line must have the column names"),
    ],
)
def test_a_file_whose_columns_are_others_is_named_before_it_runs_and_when_it_comes_later(
    directory: Path, content: str, message: str
):
    late = source(directory, ".")
    (directory / "c.csv").write_text(content)
    with pytest.raises(ValueError, match=message):
        source(directory, ".")
    with pytest.raises(DataError, match=message):
        late.produce()


def test_columns_that_are_new_or_elsewhere_do_no_harm(directory: Path):
    (directory / "c.csv").write_text("more,s,n\nx,c.csv,20\n")
    bench = source(directory, ".")
    bench.produce()
    assert bench.rows()[-1] == (20, "c.csv")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"n": ["1"], "s": ["a"]}, "b.parquet: column n is string, but the attribute is int$"),
        ({"m": [1], "s": ["a"]}, "b.parquet: the file has no column n"),
    ],
)
def test_types_of_parquet_files_are_compared_with_the_stream_s(tmp_path: Path, columns: dict[str, Any], message: str):
    pq.write_table(pa.table({"n": [1], "s": ["a"]}), tmp_path / "a.parquet")
    bench = source(tmp_path, "*.parquet", format="parquet")
    pq.write_table(pa.table(columns), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=message):
        bench.produce()


def test_a_piece_that_cannot_be_read_is_named(tmp_path: Path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"n": range(1000), "s": ["a"] * 1000}), path, row_group_size=500, compression="NONE")
    bench = source(tmp_path, "rows.parquet", format="parquet")
    start = pq.ParquetFile(path).metadata.row_group(1).column(0).dictionary_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + 40] = b"\xff" * 40
    path.write_bytes(bytes(content))
    with pytest.raises(DataError, match=r"rows.parquet, row group 2 of 2: "):
        bench.produce(limit=10**6)


def named(base: Path, *second: str, names: str = "file string", **parameters: Any) -> Bench:
    return Bench(NamedFiles, [names], [SCHEMA, *second], base=base, **parameters)


def test_files_that_tuples_name_are_read_as_those_of_a_directory(directory: Path):
    expected = source(directory, ".", "name string, error int")
    expected.produce()
    bench = named(directory, "name string, error int")
    bench.send([("a.csv",), (str(directory / "b.csv"),)]).restart().send([("c.csv",)])
    assert bench.items() == expected.items()
    assert bench.rows(1) == expected.rows(1)


def test_malformed_rows_of_files_that_tuples_name(directory: Path):
    (directory / "bad.csv").write_text("n,s\n1,a\nx,b\n")
    bench = named(directory, "line bigint, text string", parsing="permissive").send([("bad.csv",)])
    assert (bench.rows(), bench.rows(1)) == ([(1, "a")], [(3, "x,b")])
    dropping = named(directory, parsing="permissive").send([("bad.csv",), ("bad.csv",)])
    assert dropping.metrics == {"dropped": 2}


def test_names_start_from_a_directory_and_may_be_of_missing_files(directory: Path):
    bench = named(
        directory.parent, "error int, name string", directory=directory.name, ignoreOpenErrors=True,
        output={"s": "FileName()"},
    )  # fmt: skip
    bench.send([("missing.csv",), ("a.csv",)])
    assert {row[1] for row in bench.rows()} == {"a.csv"}
    assert bench.rows(1) == [(errno.ENOENT, str(directory / "missing.csv")), (0, str(directory / "a.csv"))]
    one = source(directory.parent, "a.csv", directory=str(directory))
    one.produce()
    assert len(one.rows()) == len(bench.rows())


@pytest.mark.parametrize("spl", [None, {"state": "mutable int32 n = 0;"}])
def test_a_row_without_a_value_fails_with_the_tuple_that_names_its_file(directory: Path, spl: Any):
    output = {"n": {"spl": "100 / ((int32)TupleNumber() - 3)"}}
    bench = named(directory, output=output, **({} if spl is None else {"spl": spl}))
    (directory / "short.csv").write_text("n,s\n1,a\n")
    with pytest.raises(TupleError) as failed:
        bench.send([("short.csv",), ("a.csv",)])
    assert (failed.value.position, str(failed.value.__cause__)) == (1, "a.csv, row 3: 100 is divided by 0")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.csv", "missing.csv: no such file"),
        ("d.csv", "d.csv: this is a directory, but a file is expected"),
        (None, "file is null, but the name of a file is expected"),
        ("t.csv", "t.csv: the file has no column s"),
        ("x.csv", "x.csv: line 2, column n: 'x' is not a valid int"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(directory: Path, name: str | None, message: str):
    (directory / "t.csv").write_text("n,t\n1,a\n")
    (directory / "x.csv").write_text("n,s\nx,a\n")
    with pytest.raises(DataError, match=message):
        named(directory).send([(name,)])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"names": "n int"}, "exactly one string attribute, the name of a file; it has 0"),
        ({"names": "a string, b string"}, "exactly one string attribute, the name of a file; it has 2"),
        ({"file": "a.csv"}, "Extra inputs are not permitted"),
        ({"format": "line"}, "format line: the output stream must have exactly one string attribute"),
    ],
)
def test_wrong_input_ports_of_a_file_source_are_refused(directory: Path, parameters: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        named(directory, **parameters)


def test_a_pattern_is_read_also_if_its_files_may_be_missing(directory: Path):
    given = source(directory, "*.csv", ignoreOpenErrors=True)
    assert given.produce().exhausted
    assert len(given.rows()) == 9
    for file in ("*.json", "package://streams_orchestration/no.csv"):
        missing = source(directory, file, ignoreOpenErrors=True)
        assert missing.produce().exhausted
        assert missing.rows() == []


@pytest.mark.parametrize("file", [".", "*.csv"])
def test_a_file_whose_name_is_not_text_is_named_with_the_remedy(tmp_path: Path, file: str):
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.csv")).write_text("n\n1\n")
    with pytest.raises(ValueError, match=r"the name '\\udcff.csv' of a file is not UTF-8 text; rename the file"):
        resolve_inputs(file, tmp_path)
