"""FileSink with files as IBM Streams writes them, read again by a FileSource."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.files.spl_lines import packed, unpacked
from streams_orchestration.operators.standard.files.file_sink import FileSink
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench, division

KIND = (
    "n int NOT NULL, s string NOT NULL, o string, x double NOT NULL, u ubigint NOT NULL, l array<string> NOT NULL, "
    "m map<string, int> NOT NULL, t struct<a: int, b: boolean> NOT NULL"
)
TEXTS = st.text("ab,\"'\\ \n\t#{[\xe4", max_size=4)
ROWS = st.lists(
    st.tuples(
        st.integers(-(2**31), 2**31 - 1), TEXTS, st.none() | TEXTS, st.integers(-999, 999).map(lambda each: each / 8),
        st.integers(0, 2**64 - 1), st.lists(TEXTS, max_size=2),
        st.dictionaries(TEXTS, st.integers(-5, 5), max_size=2).map(lambda each: list(each.items())),
        st.fixed_dictionaries({"a": st.integers(-5, 5), "b": st.booleans()}),
    ),
    max_size=4,
)  # fmt: skip


def sink(results: Path, kind: str = "n int, s string", **parameters: Any) -> Bench:
    given: dict[str, Any] = {"file": "out", "format": "splCsv", "closeMode": "batch"} | parameters
    return Bench(FileSink, [kind], results=results, **given)


def contents(bench: Bench) -> list[str]:
    return [part.pending.read_text() for part in bench.commit()]


@pytest.mark.parametrize("format", ["splCsv", "splTxt"])
@given(rows=ROWS)
@examples(60)
def test_a_source_reads_what_a_sink_wrote(tmp_path_factory: pytest.TempPathFactory, format: str, rows: list[Any]):
    place = tmp_path_factory.mktemp("files")
    bench = sink(place, KIND, format=format).send(rows)
    for part in bench.commit():
        settings = FileSink.read_with(bench.context, bench.parameters)
        assert settings is not None
        settings.pop("schema")
        given: dict[str, Any] = settings | {"file": part.pending.name}
        reading = Bench(FileSource, [], [KIND], part.pending.parent, **given)
        reading.produce()
        assert reading.rows() == rows


def test_rows_are_literals(tmp_path: Path):
    rows = [(1, 'a,"b"'), (None, None)]
    assert contents(sink(tmp_path).send(rows)) == ['1,"a,\\"b\\""\nnull,null\n']
    assert contents(sink(tmp_path, quoteStrings=False).send(rows[1:])) == ["null,null\n"]
    assert contents(sink(tmp_path, format="splTxt").send(rows[:1])) == ['{n=1,s="a,\\"b\\""}\n']
    assert contents(sink(tmp_path, format="line", suppress=["n"]).send(rows[:1])) == ['a,"b"\n']


def test_marks_are_lines(tmp_path: Path):
    bench = sink(tmp_path, writePunctuations=True).send([(1, "a")]).mark().send([(2, "b")]).mark(Punctuation.FINAL)
    lines = ['1,"a"', "Punctuation received: WindowMarker", '2,"b"', "Punctuation received: FinalMarker", ""]
    assert contents(bench) == ["\n".join(lines)]
    assert FileSink.read_with(bench.context, bench.parameters) is None


@pytest.mark.parametrize(
    ("format", "lines"),
    [
        ("splCsv", ['0,1,"a"', '0,2,"b"', '2.5,3,"c"', "0,Punctuation received: WindowMarker", '1,4,"d"']),
        ("splTxt", ['0,{n=1,s="a"}', '0,{n=2,s="b"}', '2.5,{n=3,s="c"}', "0,Punctuation received: WindowMarker",
                    '1,{n=4,s="d"}']),
    ],
)  # fmt: skip
@pytest.mark.parametrize("closing", [{"closeMode": "batch"}, {"closeMode": "count", "tuplesPerFile": 4}])
def test_lines_begin_with_the_seconds_since_the_line_before(
    tmp_path: Path, format: str, lines: list[str], closing: dict[str, Any]
):
    bench = sink(tmp_path, format=format, hasDelayField=True, writePunctuations=True, **closing)
    text = "".join(contents(bench.at(100.0).send([(1, "a"), (2, "b")])))
    text += "".join(contents(bench.restart().at(102.5).send([(3, "c")]).mark()))
    text += "".join(contents(bench.restart().at(103.5).send([(4, "d")])))
    assert text.splitlines() == lines


def test_a_source_reads_lines_with_delays(tmp_path: Path):
    bench = sink(tmp_path, hasDelayField=True).at(5.0).send([(1, "a")]).at(5.0).send([(2, "b")])
    (part,) = bench.commit()
    settings = FileSink.read_with(bench.context, bench.parameters)
    assert settings is not None
    given: dict[str, Any] = settings | {"file": part.pending.name}
    given.pop("schema")
    reading = Bench(FileSource, [], ["n int, s string"], part.pending.parent, **given)
    reading.produce()
    assert reading.rows() == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("compression", ["zlib", "gzip", "bzip2"])
def test_compressed_files_are_merged(tmp_path: Path, compression: Any):
    bench = sink(tmp_path, compression=compression, closeMode=None)
    parts = [part.pending for rows in ([(1, "a")], [(2, "b")]) for part in bench.send(rows).commit()]
    operator: Any = bench.operator
    operator.merge(parts, tmp_path / "merged")
    assert unpacked((tmp_path / "merged").read_bytes(), compression) == b'1,"a"\n2,"b"\n'


@pytest.mark.parametrize("compression", ["zlib", "gzip", "bzip2"])
def test_compressed_files_that_are_cut_off_or_altered_are_read_or_raise_an_oserror(compression: Any):
    whole = packed(b"a line\n" * 3, compression)
    damaged = [whole[:end] for end in range(1, len(whole))]
    damaged += [whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :] for at in range(len(whole))]
    refused = 0
    for content in damaged:
        try:
            unpacked(content, compression)
        except OSError:
            refused += 1
    assert refused >= len(whole) - 1, "a file that is cut off is always refused"


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_blocks_are_written_one_after_the_other(tmp_path: Path, compression: Any):
    bench = sink(tmp_path, "b binary", format="block", compression=compression, closeMode=None)
    parts = [part.pending for rows in ([(b"a\n",), (b"\xff",)], [(b"c",)]) for part in bench.send(rows).commit()]
    operator: Any = bench.operator
    operator.merge(parts, tmp_path / "merged")
    settings = FileSink.read_with(bench.context, bench.parameters)
    assert settings is not None
    given: dict[str, Any] = settings | {"file": "merged"}
    given.pop("schema")
    reading = Bench(FileSource, [], ["b binary"], tmp_path, **given)
    reading.produce()
    assert reading.rows() == [(b"a\n\xffc",)]
    with pytest.raises(ValueError, match="format block: exactly one binary attribute is written"):
        sink(tmp_path, format="block")


def test_encodings_and_markers(tmp_path: Path):
    (part,) = sink(tmp_path, encoding="latin-1", eolMarker="\r\n").send([(1, "\xe4")]).commit()
    assert part.pending.read_bytes() == b'1,"\xe4"\r\n'
    with pytest.raises(DataError, match="is not a character of latin-1"):
        sink(tmp_path, encoding="latin-1").send([(1, "\u4e00")]).commit()


@given(st.lists(st.integers(0, 9), max_size=12), st.sets(st.integers(0, 12)), st.integers(1, 4))
@examples(40)
def test_a_file_has_so_many_tuples_wherever_batches_end(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int], cuts: set[int], count: int
):
    bench = sink(tmp_path_factory.mktemp("files"), "n int", closeMode="count", tuplesPerFile=count)
    rows, files = [(n,) for n in numbers], list[str]()
    for part in division(rows, list(cuts)):
        bench.send(part)
        files += contents(bench)
        bench.restart()
    bench.end()
    files += contents(bench)
    wanted = [numbers[at : at + count] for at in range(0, len(numbers), count)]
    assert files == ["".join(f"{n}\n" for n in part) for part in wanted]


@pytest.mark.parametrize("cut", [0, 1, 2, 3])
def test_a_file_ends_with_a_window_marker(tmp_path: Path, cut: int):
    bench = sink(tmp_path, "n int", closeMode="punct", writePunctuations=True)
    files = list[str]()
    for place, item in enumerate([1, 2, "mark", 3]):
        files += contents(bench.mark() if item == "mark" else bench.send([(item,)]))
        if place == cut:
            bench.restart()
    bench.end()
    assert [*files, *contents(bench)] == ["1\n2\nPunctuation received: WindowMarker\n", "3\n"]


def named(bench: Bench) -> dict[str, str]:
    """Return the texts of the files of a batch by their directories below the directory of pending files."""
    operator: Any = bench.operator
    return {
        str(part.pending.parent.relative_to(operator.pending())): part.pending.read_text() for part in bench.commit()
    }


NAMED = {"file": "", "nameBy": "s", "closeMode": "dynamic", "suppress": ["s"]}


def test_every_tuple_goes_into_the_file_that_it_names(tmp_path: Path):
    rows = [(1, "b/_x.csv"), (2, "/tmp/a=1"), (3, "/dev/null"), (4, "b/_x.csv")]
    bench = sink(tmp_path, **NAMED, hasDelayField=True).at(1.0).send(rows[:1]).at(2.5).send(rows[1:])
    assert named(bench) == {"b/%5Fx.csv": "0,1\n0,4\n", "tmp/a%3D1": "1.5,2\n"}
    assert FileSink.directory(bench.context, bench.parameters) == tmp_path / bench.context.name
    place = tmp_path / bench.context.name / "b" / "%5Fx.csv"
    place.mkdir(parents=True)
    part = place / "part-000001-000000-000.csv"
    part.write_text("")
    assert FileSink.published(bench.context, bench.parameters) == (part,)


@pytest.mark.parametrize("name", ["", "/", "a/../b", "x" * 256, None])
def test_a_name_that_is_none_of_a_file_is_refused(tmp_path: Path, name: str | None):
    with pytest.raises(DataError, match="is not a name of a file below the sink's directory"):
        sink(tmp_path, **NAMED).send([(1, name)]).commit()


@pytest.mark.parametrize("cut", range(5))
def test_the_first_tuple_of_a_file_names_it(tmp_path: Path, cut: int):
    rows = [(1, "a"), (2, "b"), (3, "c"), (4, "/dev/null"), (5, "d")]
    bench = sink(tmp_path, **NAMED | {"closeMode": "count"}, tuplesPerFile=2)
    first = named(bench.send(rows[:cut]))
    rest = named(bench.restart().send(rows[cut:]).end())
    assert first | rest == {"a": "1\n2\n", "c": "3\n4\n", "d": "5\n"}


def test_files_of_one_batch_have_names_of_their_own(tmp_path: Path):
    parts = sink(tmp_path, "n int", closeMode="count", tuplesPerFile=1).send([(1,), (2,)]).commit()
    names = [Path(str(part.final)).name for part in parts]
    assert names == ["part-000001-000000-000-n0.csv", "part-000001-000000-000-n1.csv"]
    for part in parts:
        part.pending.rename(str(part.final))
    bench = sink(tmp_path, "n int", closeMode="count", tuplesPerFile=1)
    assert len(FileSink.published(bench.context, bench.parameters)) == 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"format": "csv", "compression": "gzip"}, "compression is for format line or splCsv or splTxt or block"),
        ({"format": "line"}, "format line: exactly one string attribute is written"),
        ({"closeMode": "count"}, "closeMode: count needs tuplesPerFile"),
        ({"tuplesPerFile": 3, "closeMode": None}, "tuplesPerFile needs closeMode: count"),
        ({"closeMode": "punct", "partitionBy": ["n"]}, "closeMode: punct cannot be combined with partitionBy"),
        ({"file": ""}, "file is empty; name a directory"),
        ({"closeMode": "dynamic"}, "closeMode: dynamic needs nameBy"),
        ({"nameBy": "s"}, "nameBy, or in SPL a file that reads attributes, needs closeMode: dynamic, count or punct"),
        (NAMED | {"partitionBy": ["n"]}, "nameBy and partitionBy both name directories"),
        (NAMED | {"writePunctuations": True}, "writePunctuations: with closeMode: dynamic no file has all tuples"),
        (NAMED | {"nameBy": "n"}, "nameBy"),
        (NAMED | {"nameBy": "m"}, "m"),
        ({"encoding": "utf-16"}, "encoding: 'utf-16' is not an encoding with a line feed of one byte"),
    ],
)
def test_wrong_combinations_of_parameters_of_a_file_sink_are_refused(
    tmp_path: Path, parameters: dict[str, Any], message: str
):
    with pytest.raises(ValueError, match=message):
        sink(tmp_path, **parameters)
