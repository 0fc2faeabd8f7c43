from __future__ import annotations

import datetime
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import DataError, OutsideError
from streams_orchestration.operators.files import part_formats as file_formats
from streams_orchestration.operators.files.part_formats import SinkFormat
from streams_orchestration.operators.sinks.gathering import Roll
from streams_orchestration.operators.standard.files.file_sink import FileSink
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration_tests.operators.harness import Bench

GATHERING = {"closeMode", "bytesPerFile", "timePerFile", "epochsPerFile", "visibility"}
ROWS = [(1, "a"), (2, None), (3, 'c,"d"')]


def sink(results: Path, **parameters: Any) -> Bench:
    """Return a sink of which every batch has files of its own; other parameters take the place of these."""
    given: dict[str, Any] = {"file": "out"} | ({} if GATHERING & parameters.keys() else {"closeMode": "batch"})
    given |= parameters
    return Bench(FileSink, ["n int, s string"], results=results, **given)


def test_a_batch_gives_one_part_with_its_tuples_in_order(tmp_path: Path):
    bench = sink(tmp_path).send(ROWS[:1]).send(ROWS[1:])
    bench.context.epoch, bench.context.batch = 3, 17
    (part,) = bench.operator.prepare_commit()
    assert part.final == tmp_path / "out" / "part-000003-000017-000.parquet"
    assert [tuple(row.values()) for row in pq.read_table(part.pending).to_pylist()] == ROWS
    assert (part.rows, part.size) == (3, part.pending.stat().st_size)


def test_nothing_is_visible_before_it_is_published(tmp_path: Path):
    bench = sink(tmp_path).send(ROWS)
    (part,) = bench.operator.prepare_commit()
    assert part.pending.parent == tmp_path / "out" / "_pending"
    assert isinstance(part.final, Path)
    assert not part.final.exists()
    assert FileSink.published(bench.context, bench.parameters) == ()
    part.pending.rename(part.final)
    assert FileSink.published(bench.context, bench.parameters) == (part.final,)


def test_a_batch_without_tuples_gives_no_file(tmp_path: Path):
    bench = sink(tmp_path)
    assert bench.operator.prepare_commit() == ()
    assert not (tmp_path / "out").exists()


def test_every_batch_has_its_own_tuples(tmp_path: Path):
    bench = sink(tmp_path)
    parts = [bench.send([row]).operator.prepare_commit()[0] for row in ROWS]
    assert [pq.read_table(part.pending)["n"].to_pylist() for part in parts] == [[1], [2], [3]]


def test_replicas_write_side_by_side_and_know_their_own_files(tmp_path: Path):
    benches = [
        Bench(FileSink, ["n int"], results=tmp_path, channel=c, file="out", closeMode="batch").send([(c,)])
        for c in range(2)
    ]
    parts = [bench.operator.prepare_commit()[0] for bench in benches]
    assert parts[0].final != parts[1].final
    for bench, part in zip(benches, parts, strict=True):
        assert FileSink.unpublished(bench.context, bench.parameters) == (part.pending,)


def test_uncommitted_files_are_named_by_their_generation(tmp_path: Path):
    bench = sink(tmp_path, visibility="read_uncommitted")
    names = []
    for generation in (1, 2):
        bench.context.generation = generation
        (part,) = bench.send(ROWS).operator.prepare_commit()
        assert isinstance(part.final, Path)
        part.pending.rename(part.final)
        names.append(part.final)
    assert [path.name for path in names] == ["part-000001-000000-000-g1.parquet", "part-000001-000000-000-g2.parquet"]
    assert FileSink.published(bench.context, bench.parameters) == tuple(names)


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl", "arrow"])
def test_a_full_disk_is_a_cause_outside_that_names_the_file_and_leaves_none(
    format: SinkFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    @contextmanager
    def full(path: Path, **_options: bool) -> Iterator[None]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        yield

    bench = sink(tmp_path, format=format).send(ROWS)
    monkeypatch.setattr(file_formats, "durable", full)
    with pytest.raises(
        OutsideError, match=r"/out/_pending cannot be written: No space left on device; nothing is lost"
    ):
        bench.operator.prepare_commit()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_csv_parts_can_be_read_back(tmp_path: Path):
    (part,) = sink(tmp_path, format="csv").send(ROWS).operator.prepare_commit()
    assert isinstance(part.final, Path)
    assert part.final.suffix == ".csv"
    table = pyarrow.csv.read_csv(part.pending)
    assert table["n"].to_pylist() == [1, 2, 3]
    assert table["s"].to_pylist()[2] == 'c,"d"'


@pytest.mark.parametrize("format", ["parquet", "jsonl", "arrow"])
def test_a_source_reads_what_a_sink_has_written(tmp_path: Path, format: str):
    schema = (
        "n int, s string, x double, b boolean, d date, t timestamp, u timestamp_ntz, l array<int>, m struct<x: int>"
    )
    at = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901)
    row = (1, 'x"\n', 0.1, True, at.date(), at.replace(tzinfo=datetime.UTC), at, [1, None], {"x": 1})
    data = [row, (None,) * 9, row]
    (part,) = (
        Bench(FileSink, [schema], results=tmp_path, file="out", format=format, closeMode="batch").send(data).commit()
    )
    assert isinstance(part.final, Path)
    assert part.final.suffix == f".{format}"
    back = Bench(FileSource, [], [schema], base=part.pending.parent, file=part.pending.name, format=format)
    back.produce()
    assert back.rows() == data


def test_jsonl_cannot_hold_a_map_whose_keys_name_no_members():
    with pytest.raises(ValueError, match=r"format jsonl: the attribute m is map.*keys of a map"):
        Bench(FileSink, ["m map<array<int>, int>"], file="out", format="jsonl")


def test_csv_cannot_hold_nested_attributes():
    with pytest.raises(ValueError, match="format csv: the attribute tags is array"):
        Bench(FileSink, ["tags array<string>"], file="out", format="csv")


def test_a_relative_place_does_not_depend_on_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "out").write_text("a file in the working directory")
    monkeypatch.chdir(tmp_path)
    Bench(FileSink, ["n int"], file="out")


def test_a_file_in_the_place_of_the_directory_is_named(tmp_path: Path):
    (tmp_path / "taken").touch()
    with pytest.raises(ValueError, match=r"file: .*taken/out cannot be created or written: .*taken is not a directory"):
        sink(tmp_path, file=str(tmp_path / "taken" / "out"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_write_permission_is_named(tmp_path: Path):
    tmp_path.chmod(0o500)
    with pytest.raises(ValueError, match="cannot be created or written"):
        sink(tmp_path, file=str(tmp_path / "out"))


def test_a_csv_file_has_the_separator_the_quotes_and_the_attributes_that_are_wanted(tmp_path: Path):
    rows = [(1, "a"), (2, "b")]
    written = sink(tmp_path, format="csv", separator=";", quoteStrings=False).send(rows).commit()[0].pending
    assert written.read_text() == "n;s\n1;a\n2;b\n"
    assert sink(tmp_path, format="csv", suppress=["n"]).send(rows).commit()[0].pending.read_text() == "s\na\nb\n"


def test_a_text_that_cannot_stand_without_quotes_is_an_error_of_the_data(tmp_path: Path):
    with pytest.raises(DataError, match="attribute s: 'a,b' needs quotes to be distinct from other values"):
        sink(tmp_path, format="csv", quoteStrings=False).send([(1, "a,b")]).commit()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"separator": ";"}, "separator is for format csv only"),
        ({"quoteStrings": False}, "quoteStrings is for format csv or splCsv"),
        ({"nullTexts": ["-"]}, "nullTexts is for format csv only"),
        ({"format": "csv", "nullTexts": []}, "nullTexts: list at least one text that means null"),
        ({"format": "csv", "nullTexts": ["a,b"]}, "nullTexts: 'a,b' has a quote, a separator or a line break"),
        ({"format": "csv", "separator": '"'}, "separator: .* cannot separate values"),
        ({"suppress": ["m"]}, "suppress: the input stream has no attribute m.*n"),
        ({"suppress": ["n", "s"]}, "suppress: no attribute is left"),
        ({"file": "../out"}, "file: ../out is outside of the results of the application"),
        ({"file": "out/../../out"}, "is outside of the results of the application"),
    ],
)
def test_parameters_that_a_file_sink_cannot_honour_are_refused_before_it_starts(
    tmp_path: Path, parameters: dict[str, Any], message: str
):
    with pytest.raises(ValueError, match=message):
        sink(tmp_path, **parameters)


@pytest.mark.parametrize("value", [True, False])
def test_truncate_on_reset_has_no_effect(tmp_path: Path, value: bool):
    assert sink(tmp_path, truncateOnReset=value).send(ROWS).commit()[0].rows == 3


def test_a_sink_has_no_output_port(tmp_path: Path):
    with pytest.raises(ValueError, match="FileSink cannot have an output port"):
        Bench(FileSink, ["n int"], ["file string"], results=tmp_path, file="out")


@pytest.mark.parametrize(
    ("parameters", "roll"),
    [
        ({}, Roll(10.0, 64 << 20)),
        ({"closeMode": "batch"}, None),
        ({"visibility": "read_uncommitted"}, None),
        ({"visibility": "read_uncommitted", "closeMode": "batch"}, None),
        ({"closeMode": "size", "bytesPerFile": 5}, Roll(size=5)),
        ({"closeMode": "time", "timePerFile": 5}, Roll(seconds=5)),
        ({"closeMode": "epochs", "epochsPerFile": 5}, Roll(epochs=5)),
        ({"bytesPerFile": 5, "epochsPerFile": 6}, Roll(size=5, epochs=6)),
    ],
)
def test_the_parameters_say_when_a_file_is_closed(parameters: dict[str, Any], roll: Roll | None):
    bench = Bench(FileSink, ["n int"], file="out", **parameters)
    assert isinstance(bench.operator, FileSink)
    assert bench.operator.roll() == roll


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"closeMode": "size"}, "closeMode: size needs bytesPerFile"),
        ({"closeMode": "epochs", "bytesPerFile": 5}, "closeMode: epochs needs epochsPerFile"),
        (
            {"closeMode": "size", "bytesPerFile": 5, "epochsPerFile": 5},
            "epochsPerFile cannot be combined with closeMode: size; without closeMode a file is closed at whichever",
        ),
        ({"closeMode": "batch", "timePerFile": 5}, "timePerFile cannot be combined with closeMode: batch"),
        (
            {"visibility": "read_uncommitted", "epochsPerFile": 5},
            "every micro-batch is visible at once.*out epochs",
        ),
        ({"bytesPerFile": 0}, "greater than or equal to 1"),
        ({"epochsPerFile": 0}, "greater than or equal to 1"),
        ({"partitionBy": ["m"]}, "partitionBy: the input stream has no attribute m.*n"),
        ({"partitionBy": ["n", "s"]}, "partitionBy: no attribute is left"),
        ({"partitionBy": ["n", "n"]}, "partitionBy: each attribute may be named once"),
        ({"partitionBy": ["n"], "suppress": ["n"]}, "partitionBy: each attribute may be named once"),
    ],
)
def test_wrong_parameters_for_closing_and_placing_files_are_refused(
    tmp_path: Path, parameters: dict[str, Any], message: str
):
    with pytest.raises(ValueError, match=message):
        Bench(FileSink, ["n int, s string"], results=tmp_path, file="out", **parameters)


@pytest.mark.parametrize("kind", ["double", "binary", "array<int>"])
def test_directories_are_not_named_by_values_without_a_plain_text(kind: str):
    with pytest.raises(ValueError, match=r"partitionBy: k is .*; only texts, truth values"):
        Bench(FileSink, [f"k {kind}, n int"], file="out", partitionBy=["k"])


def test_a_value_too_long_for_a_directory_is_an_error_of_the_data(tmp_path: Path):
    with pytest.raises(DataError, match="a value of s is too long to name a directory"):
        sink(tmp_path, partitionBy=["s"]).send([(1, "ü" * 127)]).commit()


VALUES = {
    "s string": st.none() | st.text(max_size=8) | st.sampled_from(["", ".", "..", "a/b", "k=v", "%41", "07", "ü"]),
    "i bigint": st.none() | st.integers(-(2**63), 2**63 - 1),
    "b boolean": st.none() | st.booleans(),
    "d date": st.none() | st.dates(),
}


@given(data=st.data(), names=st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3, unique=True))
def test_readers_of_hive_directories_get_the_rows_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, names: list[str]
):
    place = tmp_path_factory.mktemp("out")
    values = data.draw(st.lists(st.tuples(*(VALUES[name] for name in names)), max_size=12))
    rows = [(*each, number) for number, each in enumerate(values)]
    by = [name.split()[0] for name in names]
    bench = Bench(
        FileSink, [", ".join([*names, "n int"])], results=place, file="out", partitionBy=by, closeMode="batch"
    )
    for part in bench.send(rows).commit() if rows else ():
        assert isinstance(part.final, Path)
        part.final.parent.mkdir(parents=True, exist_ok=True)
        part.pending.rename(part.final)
    files = FileSink.published(bench.context, bench.parameters)
    assert len(files) == len(set(values))
    kinds = [field for field in bench.context.inputs[0] if field.name in by]
    # "0001-01-01" is a date; readers decode escaped values
    hive = pa_dataset.partitioning(pa.schema(kinds), flavor="hive")
    read = pa_dataset.dataset([str(f) for f in files], partitioning=hive, partition_base_dir=str(place / "out"))
    back = read.to_table().to_pylist() if files else []
    assert sorted((tuple(row[name] for name in (*by, "n")) for row in back), key=lambda row: row[-1]) == rows


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl", "arrow"])
def test_merged_files_hold_the_tuples_of_all_in_order(tmp_path: Path, format: SinkFormat):
    bench = sink(tmp_path, format=format, closeMode="epochs", epochsPerFile=2)
    data = [[(i, f'"{i}",\n') for i in range(first, first + 3)] for first in (0, 3, 6)]
    pending = [bench.send(rows).operator.prepare_commit()[0].pending for rows in data]
    merged = pending[0].with_name(f"merged.{format}")
    assert isinstance(bench.operator, FileSink)
    bench.operator.merge(pending, merged)
    back = Bench(FileSource, [], ["n int, s string"], base=merged.parent, file=merged.name, format=format)
    back.produce()
    assert back.rows() == [row for rows in data for row in rows]


def test_small_files_are_merged_into_one_group_of_rows(tmp_path: Path):
    bench = sink(tmp_path, closeMode="epochs", epochsPerFile=2)
    pending = [bench.send(ROWS).operator.prepare_commit()[0].pending for _ in range(10)]
    assert isinstance(bench.operator, FileSink)
    bench.operator.merge(pending, tmp_path / "merged.parquet")
    assert pq.ParquetFile(tmp_path / "merged.parquet").num_row_groups == 1
